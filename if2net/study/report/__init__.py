"""Tables, figures and the HTML page."""

from if2net.study.report.page import write_report

__all__ = ["write_report"]
