"""Write the tables of docs/ablations.md, and those beside the results, from the committed result files.

usage: python results/ablations.py
"""

import re
from functools import cache
from pathlib import Path

from if2net.study.ablations import ABLATIONS, Measurements, write_ablation

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/ablations.md"


@cache
def results_of(name: str) -> Measurements:
    return Measurements.read(HERE / name / "results.json")


def with_tables(text: str) -> str:
    """Return the page with current tables."""
    for name, ablation in ABLATIONS.items():
        start, end = f"<!-- {name}: python results/ablations.py -->", f"<!-- end of {name} -->"
        table = f"{start}\n{ablation.table(results_of(name))}\n{end}"
        text = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, t=table: t, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for name, ablation in ABLATIONS.items():
        write_ablation(ablation, results_of(name), HERE / name)
    PAGE.write_text(with_tables(PAGE.read_text()))
