"""Writes the tables of the README and of the docs from the committed result files.

A table stands between `<!-- table: NAME, by results/table.py -->` and `<!-- end of table -->`.

usage: python results/table.py
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from if2net.study.bench.display import markdown, size, spread
from if2net.study.bench.experiments import BOUNDS, PEERS, Part
from if2net.study.bench.experiments import TABLES as COMPARISONS
from if2net.study.bench.reproduce import paper_figures
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS
from if2net.study.pretraining.training import recipe_for
from if2net.study.report.comparison import FORMS, gathered, read
from if2net.study.report.gather import Section
from if2net.study.report.naming import BACKBONES, title
from if2net.study.report.paper_tables import across

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGES = ("protocols", "comparison", "speed", "image-benchmarks")
TARGETS = [ROOT / "README.md", *(ROOT / f"docs/{page}.md" for page in PAGES)]
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
    lines = [
        "| | seconds a task | ours right afterwards | times ours | predicting, times ours | accuracy % | peak MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in benchmark("learning")["contenders"].items():
        numbers = [f"{found[key]:.1f}" for key in ("seconds_a_task", "seconds_of_ours", "times_ours")]
        numbers += [f"{found['times_ours_to_predict']:.1f}", f"{100 * found['accuracy']:.2f}"]
        lines.append(row([name, *numbers, f"{found['peak_megabytes']:,.0f}"]))
    return lines


def limits() -> list[str]:
    found = benchmark("limits")
    rows = {
        "filling G, of the rate of a float32 matrix product": f"{100 * found['shares']['filling_share']:.0f} %",
        "learning a task, ridge choice included, of the same": f"{100 * found['shares']['learning_share']:.0f} %",
        "one new sample until it can be predicted, of a factorisation": f"1/{1 / found['one_sample']['share']:.0f}",
        "task 1,000, of task 2 (2,000 features; 2,000 samples a task)": f"{found['growth']['tasks']['1000']:.2f}",
        "the same with 200 samples a task": f"{found['growth']['small_tasks']['1000']:.2f}",
    }
    return facts(rows)


def precision() -> list[str]:
    """At the smallest ridge that would be chosen, where rounding does most."""
    found, seen = benchmark("accuracy"), set[tuple[str, str]]()
    ways = list(found["errors"][0]["ways"])
    lines = [
        row(["features", "G and Q in", *(f"β by a {way}" for way in ways), "scores, corrected", "equal predictions"]),
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for entry in found["errors"]:
        case = (entry["features"], entry["statistics"])
        if case not in seen:  # the smaller ridge comes first
            seen.add(case)
            ours = entry["ways"]["factor in float32, corrected"]
            errors = [f"{entry['ways'][way]['beta']:.0e}" for way in ways]
            share = f"{100 * ours['equal_predictions']:.2f} %"
            lines.append(row([*case, *errors, f"{ours['scores']:.0e}", share]))
    for width, times in found["share_of_the_time_of_a_float64_factor"].items():
        for statistics, taken in times.items():
            shares = [f"{taken[way]:.2f}" for way in ways]
            lines.append(row([f"time, at {int(width):,} features", statistics, *shares, "", ""]))
    return lines


def gpu() -> list[str]:
    found = benchmark("gpu")
    seconds = found["learning_seconds"] + found["solving_seconds"]
    rows = {
        f"learned and solved on one {found['device']}": f"{seconds:.1f} s",
        "as many more samples, the weights being there": f"{found['learning_again_seconds']:.1f} s",
        "of it copying from host memory, were it alone": f"{found['copying_seconds']:.2f} s",
        "rate, of the GPU's own float32 product": f"{100 * found['share']['float32']:.0f} %",
        "rate, of the product of halves": f"{100 * found['share']['halves']:.0f} %",
        "the same, the weights being there": " and ".join(
            f"{100 * found['share_again'][name]:.0f} %" for name in found["share"]
        ),
        "error of G, float32's own": f"{found['error_of_gram']['float32']:.1e}",
        "error of G, of halves": f"{found['error_of_gram']['halves']:.1e}",
        "predictions a second": f"{found['predictions_a_second']:,.0f}",
        "peak memory": f"{found['peak_gigabytes']:.1f} GB",
    }
    return facts(rows)


def features() -> list[str]:
    ratios = benchmark("features")["speed_up"]
    rows = {
        "times as fast, median of the rounds": f"{ratios['median']:.2f}",
        "least and most": f"{min(ratios['all']):.2f} to {max(ratios['all']):.2f}",
    }
    return facts(rows)


def facts(rows: dict[str, str]) -> list[str]:
    return ["| | |", "|---|---:|", *(row([name, value]) for name, value in rows.items())]


IMAGES = [name for name, form in FORMS.items() if form.figures]


def image_commands() -> list[str]:
    """Every image benchmark of the paper: how it is run, and whether it has been."""
    rows = []
    for name in IMAGES:
        parts = COMPARISONS[name][1]()
        sequences = "; ".join(title(part.scenario) for part in parts)
        backbones = "; ".join(dict.fromkeys(backbone(part) for part in parts))
        memory = next(f"{value:,}" for _, setting, value in parts[0].own if setting == "memory")
        rows.append([f"`if2net reproduce {name}`", sequences, backbones, state(name), memory])
    headings = ["command", "task sequences", "backbone", "results here", "exemplars at most"]
    return markdown(headings, rows, words=4).splitlines()


def backbone(part: Part) -> str:
    scenario = parse_scenario(part.scenario)
    if scenario.backbone != "held-out":
        return BACKBONES[scenario.backbone]
    depth = recipe_for(scenario.dataset, 0).architecture.removeprefix("resnet")
    return f"ResNet-{depth}, trained on the other classes"


def state(name: str) -> str:
    found = {section.scenario: section for section in image_sections([name])}
    wanted = [part.scenario for part in COMPARISONS[name][1]()]
    missing = [title(scenario) for scenario in wanted if scenario not in found]
    if not found:
        return "not run yet"
    fewest = min(int(entry.summary["runs"]) for section in found.values() for entry in section.series)
    return f"{fewest} seeds" + (f"; not run yet: {'; '.join(missing)}" if missing else "")


def image_sections(names: list[str]) -> list[Section]:
    return gathered([entry for name in names for entry in read(name, HERE / name)])


def image_cifar() -> list[str]:
    return FORMS["table-cifar"].words("table-cifar", image_sections(["table-cifar"])).splitlines()


def image_summary() -> list[str]:
    return across(image_sections(IMAGES)).splitlines()


def short_images() -> list[str]:
    """Of every task sequence: ours, the best of the methods that the paper compares, and the best of the peers."""
    rows = []
    for section in image_sections(IMAGES):
        found = {entry.name: entry.summary for entry in section.series}
        compared = [name for name in found if name not in (*BOUNDS, *PEERS, "if2net")]
        best = [max(names, key=lambda name: found[name]["acc_mean"]) for names in (compared, PEERS)]
        cells = [f"{accuracy(found[name])}, {name}" for name in best]
        rows.append([title(section.scenario), accuracy(found["if2net"]), *cells])
    headings = ["task sequence", "IF2Net", "best of those the paper compares", "best of the analytic peers"]
    return markdown(headings, rows, words=1).splitlines()


def image_figures() -> list[str]:
    """What there is of the other benchmarks: how they compare with the paper, and their figures."""
    lines = []
    for name in IMAGES:
        found = image_sections([name])
        if not found:
            continue
        words = [] if name == "table-cifar" else FORMS[name].words(name, found).splitlines()
        heading = ", ".join(title(section.scenario) for section in found)
        figures = [f"![{heading}: ACC of every method](../results/{name}/{file})" for file in FORMS[name].figures]
        lines += [f"### {heading}", "", *words, *([""] if words else []), *figures, ""]
    return lines


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
    "precision": precision,
    "gpu": gpu,
    "features": features,
    "image-commands": image_commands,
    "image-cifar": image_cifar,
    "image-summary": image_summary,
    "image-figures": image_figures,
    "short-images": short_images,
}


def with_tables(text: str) -> str:
    return MARKED.sub(lambda found: "\n".join([found[1].rstrip(), *TABLES[found[2]](), found[3]]), text)


if __name__ == "__main__":
    for path in TARGETS:
        path.write_text(with_tables(path.read_text()))
