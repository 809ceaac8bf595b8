"""Writes the tables of the README and of the docs from the committed result files.

A table stands between `<!-- table: NAME, by results/table.py -->` and `<!-- end of table -->`.

usage: python results/table.py
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from if2net.bench.display import size, spread
from if2net.bench.reproduce import paper_figures
from if2net.methods import METHODS

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGETS = [ROOT / "README.md", *(ROOT / f"docs/{page}.md" for page in ("protocols", "comparison", "speed"))]
MARKED = re.compile(r"(<!-- table: ([\w-]+), by results/table\.py -->\n).*?(<!-- end of table -->)", re.DOTALL)
PAPER = paper_figures("table-mnist")

TOLD, ONE, MIXED = "aware: told the task", "transductive, one task per batch", "transductive, tasks mixed"
# For each row: what it is, what a prediction may know, the folder, and the method (with its variant) in it.
PROTOCOLS = [
    ("IF2Net, default", "agnostic", "learner/{}-agnostic", "if2net"),
    ("the paper's gradient rule", "agnostic", "searched/{}-agnostic-gradient", "if2net"),
    ("IF2Net-EWC", "agnostic", "searched/{}-agnostic-ewc", "if2net"),
    ("IF2Net, the paper's layers", TOLD, "learner/{}-aware", "if2net"),
    ("the paper's gradient rule", TOLD, "searched/{}-aware-gradient", "if2net"),
    ("IF2Net-EWC", TOLD, "searched/{}-aware-ewc", "if2net"),
    *(
        (name, protocol, f"searched/{{}}-transductive-{rule}", f"if2net ({protocol.removeprefix('transductive, ')})")
        for protocol in (ONE, MIXED)
        for name, rule in (
            ("IF2Net, the paper's layers", "analytic"),
            ("the paper's gradient rule", "gradient"),
            ("IF2Net-EWC", "ewc"),
        )
    ),
]


def summary(folder: str, method: str) -> dict[str, float]:
    return json.loads((HERE / folder / "results.json").read_text())["summary"][method]


def protocols(rows: list[tuple[str, str, str, str]] = PROTOCOLS) -> list[str]:
    lines = [
        "| method | what a prediction may know | MNIST-10/5 ACC % | BWT | FashionMNIST-10/5 ACC % | BWT |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, protocol, folder, method in rows:
        cells = [name, protocol]
        for dataset in PAPER:
            entry = summary(folder.format(dataset), method)
            cells += [accuracy(entry), f"{entry['bwt_mean']:+.3f}"]
        lines.append(row(cells))
    published = [f"{figures['if2net'][key]:{form}}" for figures in PAPER.values() for key, form in PRINTED]
    return [*lines, row(["IF2Net as published", "not said", *published])]


PRINTED = [("acc", ".2f"), ("bwt", "+.3f")]


def short_protocols() -> list[str]:
    """The rows of the analytic rule."""
    return protocols([row for row in PROTOCOLS if row[0].startswith("IF2Net,")])


def comparison(methods: list[str] | None = None, part: str = "agnostic") -> list[str]:
    """All methods, ours beside the paper's ACC."""
    lines = [
        "| method | exemplars | MNIST-10/5 ACC % | paper | FashionMNIST-10/5 ACC % | paper | learning s | state |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for method in methods or METHODS:
        entries = [summary(f"table-mnist/{dataset}-{part}", method) for dataset in PAPER]
        cells = [method, f"{entries[0]['exemplars']:,}"]
        for entry, figures in zip(entries, PAPER.values(), strict=True):
            cells += [accuracy(entry), f"{figures[method]['acc']:.2f}" if method in figures else ""]
        seconds = sum(entry["learn_seconds_mean"] for entry in entries) / len(entries)
        lines.append(row([*cells, f"{seconds:.1f}", size(entries[0]["state_bytes"])]))
    return lines


def current() -> list[str]:
    return comparison(["none", "ewc", "mas", "ol-ewc", "si"], "agnostic-current")


def speed() -> list[str]:
    lines = ["| | seconds a task | times ours | accuracy % | peak MB |", "|---|---:|---:|---:|---:|"]
    for name, found in benchmark("learning")["contenders"].items():
        numbers = [f"{found['seconds_a_task']:.1f}", f"{found['times_ours']:.1f}", f"{100 * found['accuracy']:.2f}"]
        lines.append(row([name, *numbers, f"{found['peak_megabytes']:,.0f}"]))
    return lines


def limits() -> list[str]:
    found = benchmark("limits")
    by_task = found["growth"]["tasks"]
    rows = {
        "filling G, of the rate of a float32 matrix product": f"{100 * found['shares']['filling_share']:.0f} %",
        "learning a task, ridge choice included, of the same": f"{100 * found['shares']['learning_share']:.0f} %",
        "one new sample until it can be predicted, of a factorisation": f"1/{1 / found['one_sample']['share']:.0f}",
        "task 1,000, of task 2 (2,000 features)": f"{by_task['1000']:.2f}",
    }
    return ["| | |", "|---|---:|", *(row([name, value]) for name, value in rows.items())]


def benchmark(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())


def accuracy(entry: dict[str, float]) -> str:
    return spread(100 * entry["acc_mean"], 100 * entry["acc_std"], 2, int(entry["runs"]))


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


TABLES: dict[str, Callable[[], list[str]]] = {
    "protocols": protocols,
    "short-protocols": short_protocols,
    "comparison": comparison,
    "current": current,
    "speed": speed,
    "limits": limits,
}


def with_tables(text: str) -> str:
    return MARKED.sub(lambda found: "\n".join([found[1].rstrip(), *TABLES[found[2]](), found[3]]), text)


if __name__ == "__main__":
    for path in TARGETS:
        path.write_text(with_tables(path.read_text()))
