"""Writes the tables of docs/ablations.md, and those beside the results, from the committed result files.

usage: python results/ablations.py
"""

import json
import re
from pathlib import Path

from if2net.study.ablations import ABLATIONS
from if2net.study.ablations.output import write

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/ablations.md"


def results_of(name: str) -> dict:
    return json.loads((HERE / name / "results.json").read_text())


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: python results/ablations.py -->", f"<!-- end of {name} -->"


def with_tables(text: str) -> str:
    """The page with every table made anew."""
    for name, ablation in ABLATIONS.items():
        start, end = marks(name)
        table = f"{start}\n{ablation.table(results_of(name))}\n{end}"
        text = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, t=table: t, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for name, ablation in ABLATIONS.items():
        write(ablation, results_of(name), HERE / name)
    PAGE.write_text(with_tables(PAGE.read_text()))
