"""Write table.md and the figures of the comparisons from the committed result files. Nothing is run again.

usage: python results/images.py
"""

from pathlib import Path

from if2net.study.report.paper_tables import FORMS, read, write

HERE = Path(__file__).parent

if __name__ == "__main__":
    for name in FORMS:
        if results := read(name, HERE / name):
            write(name, results, HERE / name)
