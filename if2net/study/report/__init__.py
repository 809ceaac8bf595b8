"""The report: one page over results, charts as files, the paper's tables, and the comparison of two results.

gather.py computes the numbers. page_tables.html.j2 lays out the tables of the page, page.html.j2 the rest of it, and
charts.py draws the charts. paper_tables.py writes the tables in markdown, compare.py compares two results, and
rerun.py names the commands.
"""

from if2net.study.report.page import write_report

__all__ = ["write_report"]
