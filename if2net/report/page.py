"""report.html: one self-contained page over a results file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from if2net.bench import metrics
from if2net.bench.display import size, spread
from if2net.bench.results import label
from if2net.report.charts import colour, heat_map, line_chart

EXPLAINED = {
    "agnostic": "A prediction depends on the sample and the model alone.",
    "aware": "The evaluator tells the model which task a sample belongs to; not comparable with agnostic figures.",
    "transductive": "The representation is solved again on the test batch, so a prediction depends on the rest of "
    "it; not comparable with agnostic figures. The gap between the two variants is what leaks through the batch.",
}


def write_report(results: dict[str, Any], folder: Path) -> Path:
    """Write report.html beside the results."""
    path = folder / "report.html"
    path.write_text(render(results), encoding="utf-8")
    return path


def render(results: dict[str, Any]) -> str:
    groups = {name: [run for run in results["runs"] if label(run) == name] for name in results["summary"]}
    seeds, methods = ({run[key] for run in results["runs"]} for key in ("seed", "method"))
    style = (files("if2net.report") / "style.css").read_text(encoding="utf-8")
    title = f"{results['scenario']}, {results['protocol']}"
    body = [
        f"<h1>{escape(results['scenario'])}</h1>",
        f"<p><strong>{escape(results['protocol'])}</strong> protocol. {EXPLAINED[results['protocol']]}</p>",
        f'<p class="soft">{_count(len(methods), "method")}, {_count(len(seeds), "seed")}.</p>',
        "<h2>Summary</h2>",
        _summary(results["summary"]),
        "<h2>Accuracy on all tasks seen so far</h2>",
        _key(list(groups)),
        line_chart([_curve(name, runs) for name, runs in groups.items()], x_label="tasks learned", y_label="ACC %"),
        "<h2>Accuracy matrix R</h2>",
        '<p class="soft">Row: after learning this task. Column: accuracy on that task, in percent, mean over the '
        "seeds. Nothing is forgotten where a column keeps its shade downwards.</p>",
        _maps(groups),
        "<h2>Settings and environment</h2>",
        f"<pre>{escape(json.dumps(results['environment'], indent=1))}</pre>",
        "<details><summary>Settings</summary>"
        f"<pre>{escape(json.dumps(results['settings'], indent=1))}</pre></details>",
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body>{''.join(body)}</body></html>"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(summary: dict[str, dict[str, float]]) -> str:
    best = max(entry["acc_mean"] for entry in summary.values())
    headings = ("method", "ACC %", "BWT", "FWT", "incremental %", "learning s", "state", "exemplars")
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    rows = "".join(_summary_row(name, entry, entry["acc_mean"] == best) for name, entry in summary.items())
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _summary_row(name: str, entry: dict[str, float], best: bool) -> str:
    def cell(key: str, factor: int, digits: int) -> str:
        return spread(factor * entry[f"{key}_mean"], factor * entry[f"{key}_std"], digits, int(entry["runs"]))

    cells = [
        cell("bwt", 1, 4),
        cell("fwt", 1, 4),
        cell("average_incremental", 100, 2),
        f"{entry['learn_seconds_mean']:.1f}",
        size(entry["state_bytes"]),
        f"{int(entry['exemplars']):,}",
    ]
    first = f"<td{' class=best' if best else ''}>{cell('acc', 100, 2)}</td>"
    return f"<tr><td>{escape(name)}</td>{first}{''.join(f'<td>{text}</td>' for text in cells)}</tr>"


def _curve(name: str, runs: Sequence[dict[str, Any]]) -> tuple[str, list[float], list[float]]:
    columns = list(zip(*(metrics.curve(run["R"]) for run in runs), strict=True))
    return name, [fmean(column) for column in columns], [pstdev(column) for column in columns]


def _key(names: Sequence[str]) -> str:
    items = (f'<span><i style="background:{colour(i)}"></i>{escape(name)}</span>' for i, name in enumerate(names))
    return f'<p class="key">{"".join(items)}</p>'


def _maps(groups: dict[str, list[dict[str, Any]]]) -> str:
    figures = []
    for name, runs in groups.items():
        R = _mean_matrix([run["R"] for run in runs])
        figures.append(f"<figure><figcaption>{escape(name)}</figcaption>{heat_map(R)}</figure>")
    return f'<div class="maps">{"".join(figures)}</div>'


def _mean_matrix(matrices: Sequence[metrics.Matrix]) -> list[list[float | None]]:
    tasks = range(len(matrices[0]))
    return [
        [fmean(R[i][j] or 0.0 for R in matrices) if matrices[0][i][j] is not None else None for j in tasks]
        for i in tasks
    ]
