"""Writes the README's table of results from the committed result files. usage: python results/table.py"""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
MARKS = "<!-- table: python results/table.py -->", "<!-- end of table -->"
PAPER = {"mnist": "96.16", "fashion-mnist": "95.09"}
# Heading, and for each row: who knows what, the folder's ending, and the method (with its variant) in it.
ROWS = [
    ("IF2Net, default", "agnostic", "learner/{}-agnostic", "if2net"),
    ("IF2Net, the paper's layers", "aware: told the task", "learner/{}-aware", "if2net"),
]


def cells(folder: str, method: str) -> list[str]:
    found = []
    for dataset in PAPER:
        results = json.loads((HERE / folder.format(dataset) / "results.json").read_text())
        entry = results["summary"][method]
        found.append(f"{100 * entry['acc_mean']:.2f} ± {100 * entry['acc_std']:.2f}")
        found.append(f"{entry['bwt_mean']:+.3f}")
    return found


def table() -> str:
    lines = [
        "| method | what a prediction may know | MNIST-10/5 ACC % | BWT | FashionMNIST-10/5 ACC % | BWT |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, protocol, folder, method in ROWS:
        lines.append(f"| {name} | {protocol} | {' | '.join(cells(folder, method))} |")
    lines.append(
        f"| IF2Net as published | not said | {PAPER['mnist']} | -0.004 | {PAPER['fashion-mnist']} | -0.019 |"
    )
    return "\n".join(lines)


def with_table(text: str) -> str:
    start, end = (re.escape(mark) for mark in MARKS)
    return re.sub(f"{start}.*?{end}", lambda _: f"{MARKS[0]}\n{table()}\n{MARKS[1]}", text, flags=re.DOTALL)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
