"""Write table.md and the figures of the paper's comparisons from the committed result files. Nothing is run again.

usage: python results/images.py
"""

from pathlib import Path

from if2net.study.bench.experiments import OWN
from if2net.study.report.paper_tables import FORMS, read, write

HERE = Path(__file__).parent

if __name__ == "__main__":
    for name in FORMS:
        if name not in OWN and (results := read(name, HERE / name)):
            write(name, results, HERE / name)
