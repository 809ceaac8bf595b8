"""Check the committed results, and that the README and the docs agree with them.

Each failed check prints a sentence, and the exit status is 1. No experiment runs, and no file is written.

usage: python results/check.py
"""

import json
import re
import sys
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import ablations  # noqa: E402
import innate_tables  # noqa: E402
import table  # noqa: E402
from best import settings_of  # noqa: E402
from sentences import content, leads, relation, results, sentences  # noqa: E402

from if2net.encoder.innate.training import SIZES  # noqa: E402
from if2net.study.ablations import ABLATIONS, Measurements  # noqa: E402
from if2net.study.bench import hyperparameters  # noqa: E402
from if2net.study.bench.experiments import BOUNDS, COMPARED, EXPERIMENTS, OWN, PEERS  # noqa: E402
from if2net.study.bench.protocol import DIGITS  # noqa: E402
from if2net.study.bench.results import rounded  # noqa: E402
from if2net.study.bench.search import SEARCH_SEED, Trial, proposals  # noqa: E402
from if2net.study.bench.shared_values import distinct  # noqa: E402
from if2net.study.data import parse_scenario  # noqa: E402
from if2net.study.methods import METHODS  # noqa: E402
from if2net.study.report.gather import Section  # noqa: E402
from if2net.study.report.paper_tables import FORMS  # noqa: E402

Checked = Iterator[tuple[bool, str]]  # whether a check holds, and the sentence to print if not

MOST_BYTES = 6_500_000  # of all files in results/
SEEDS = 5
# Methods that diverged, and the folder of the results that lack them.
DIVERGED = {("table-imagenet-subset/tiny-imagenet-100-50-held-out", "ari")}
TWO_DECIMALS = re.compile(r"\d+\.\d{2,}")
MEASURED = re.compile(r"\d+\.\d+|\d+(?= (?:%|points))")
HAIR = 1.5  # points; figures of matplotlib 3.8 and 3.11 differ by less
# The paper's label of each table and figure with data → its name in `if2net reproduce`.
PAPER = {
    "Table_MNIST_FMNIST": "table-mnist",
    "Table_CIFAR": "table-cifar",
    "Table_ImangeNet": "table-imagenet-subset",
    "Table_Param_Initialization": "table-init",
    "Table_Node_blocks": "table-blocks",
    "Table_orthogonaqlized_layers": "table-layers",
    "Visualization": "figure-tsne",
    "Fig_CUB": "figure-cub",
    "Fig_StanfordDogs": "figure-dogs",
    "CIFAR_20": "figure-cifar",
    "Fig_Rademacher_complexity": "figure-rademacher",
}
# Method → lowest and highest credible ACC on MNIST-10/5, in percent.
ANCHORS = {
    "none": (19, 20.5),
    "joint": (97.5, 100),
    "ewc": (19, 25),
    "si": (19, 25),
    "ol-ewc": (19, 25),
    "mas": (17, 25),  # one task in five, less the cost of its penalty on the last one
    "gem": (90, 100),
    "bic": (90, 100),
    "il2m": (90, 100),
    "rps-net": (90, 100),
    "owm": (85, 100),
}


@cache
def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def percent(section: Section) -> dict[str, float]:
    """Return method → ACC in percent."""
    return {series.name: 100 * series.summary["acc_mean"] for series in section.series}


def compared(names: dict[str, float]) -> list[str]:
    """Return the methods that the paper compares."""
    return [name for name in names if name not in (*BOUNDS, *PEERS, "if2net")]


def prose_and_tables(text: str) -> tuple[str, str]:
    """Return a page without its tables, and the tables alone."""
    without = re.sub("<!-- table:.*?<!-- end of table -->", "", text, flags=re.DOTALL)
    prose = "\n".join(line for line in without.splitlines() if not line.startswith("|"))
    return prose, "\n".join(line for line in text.splitlines() if line.startswith("|"))


def same_figure(first: str, second: str) -> bool:
    """Return whether two SVG files show the same words, lines and points."""
    words, places, pixels = zip(*map(drawn, (first, second)), strict=True)
    return (
        words[0] == words[1]
        and places[0].shape == places[1].shape
        and pixels[0].shape == pixels[1].shape
        and np.abs(np.subtract(*places)).max() < HAIR
        and np.count_nonzero(np.abs(np.subtract(*pixels)) > 128) < 10
    )


def drawn(svg: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    words = sorted(re.findall(r">([^<>]*\S[^<>]*)</text>", svg))
    places = re.findall(r'(?<= [dxy]=")[^"]*', re.sub("<text[^>]*>", "", svg))
    numbers = re.findall(r"-?\d+(?:\.\d+)?", " ".join(places))
    pictures = [Image.open(BytesIO(b64decode(data))) for data in re.findall(r'base64,([^"]+)', svg)]
    pixels = [np.asarray(picture.convert("RGBA"), dtype=float).ravel() for picture in pictures]
    return words, np.array(numbers, dtype=float), np.concatenate([np.zeros(1), *pixels])


def files_are_whole() -> Checked:
    size = sum(
        path.stat().st_size for path in HERE.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".png")
    )
    yield size <= MOST_BYTES, f"results/ holds {size:,} bytes, more than {MOST_BYTES:,}."
    orders: dict[tuple[str, int], list[int]] = {}
    tests: dict[tuple[str, int], list[int]] = {}
    for path in sorted(HERE.rglob("results.json")):
        written, name = json.loads(path.read_text()), path.parent.relative_to(HERE)
        read_again = ablations.results_of(str(name)) if "ablation" in written else results(str(name))
        used = distinct(run.environment for run in read_again.runs)
        yield written["environments"] == used, f"The environments of {name} are not those of its runs."
        if isinstance(read_again, Measurements):
            same = written["summary"] == [asdict(entry) for entry in read_again.summary]
            yield same, f"The summary of {name} does not follow from the runs."
            continue
        scenario = parse_scenario(read_again.scenario)
        stream = f"{scenario.dataset}-{scenario.classes}@{scenario.backbone}"
        for entry, run in zip(written["runs"], read_again.runs, strict=True):
            where = f"{run.label}, seed {run.seed}, in {name}"
            follows = rounded({key: getattr(run, key) for key in ("acc", "bwt", "fwt")})
            same = follows.items() <= entry.items()
            yield same, f"ACC, BWT or FWT of {where} does not follow from R."
            same = run.class_order == orders.setdefault((stream, run.seed), run.class_order)
            yield same, f"{where} has another order of the classes than other runs of this seed."
            if run.counts is not None:
                counts = run.counts.astype(float).reshape(len(run.R), -1, len(run.class_order))
                right = run.counts.diagonal().reshape(len(run.R), -1).sum(axis=1) / counts.sum(axis=(1, 2))
                same = np.allclose(right, run.R[-1], atol=10**-DIGITS)
                yield same, f"The confusions of {where} do not give the last row of R."
                samples = run.counts.sum(axis=1).tolist()
                same = samples == tests.setdefault((stream, run.seed), samples)
                yield same, f"The confusions of {where} are of another test set than those of other runs."
        summary = {method: rounded(entry) for method, entry in read_again.summary.items()}
        yield written["summary"] == summary, f"The summary of {name} does not follow from the runs."


def environments_are_recorded() -> Checked:
    """Check that all files name a date, a commit and a processor, or say that they are older."""
    for path in sorted([*HERE.rglob("*.json"), *(ROOT / "benchmarks").glob("*.json")]):
        written = json.loads(path.read_text())
        known = written.get("environments", [written.get("environment", written)])
        named = all(map(is_recorded, known))
        yield named, f"{path.relative_to(ROOT)} does not name the date, the commit and the processor."
    for path in sorted(HERE.rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        known = [row["environment"] for row in rows if "arguments" in row]
        named = "arguments" in rows[0] and all(map(is_recorded, known))
        yield named, f"{path.relative_to(ROOT)} does not name the date, the commit and the processor."


def is_recorded(environment: dict[str, Any]) -> bool:
    """Return whether date, commit and processor are known. With `added_by`, commit and processor can be null."""
    older = bool(environment.get("added_by"))
    commit = environment.get("commit") or older
    processor = environment.get("processor") or (older and "processor" in environment)
    return bool(environment.get("date") and commit and processor)


def the_paper_is_complete() -> Checked:
    pages = "\n".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    ours = {*OWN, *(name for name in ABLATIONS if name.startswith("ablation-"))}
    known = {*EXPERIMENTS, *ABLATIONS}
    yield known - ours == set(PAPER.values()), "The experiments are not those of the paper's tables and figures."
    for name in (*PAPER.values(), *OWN):
        yield f"if2net reproduce {name}" in pages, f"The docs do not mention `if2net reproduce {name}`."
    for name in PAPER.values():
        for part in EXPERIMENTS[name].parts if name in EXPERIMENTS else ():
            folder = f"{name}/{part.folder}"
            if not (HERE / folder / "results.json").exists():
                yield False, f"{folder} has not been run."
                continue
            for method, settings in part.settings(list(part.methods), []).items():
                if (folder, method) in DIVERGED:
                    yield method not in results(folder).summary, f"{method} has runs in {folder}; it is not missing."
                    continue
                # Results lack settings that were added later, whose defaults give the same results.
                recorded = results(folder).settings.get(method, {"": None})
                same = recorded.items() <= asdict(settings).items()
                yield same, f"The settings of {method} in {folder} are not those of the experiment."
                count = len({run.seed for run in results(folder).runs if run.method == method})
                yield count >= SEEDS, f"{method} has {count} seeds in {folder}, fewer than {SEEDS}."


def searches_are_used() -> Checked:
    for path in [path for name in ("search", "search/earlier", "encoder") for path in (HERE / name).glob("*.json")]:
        search = content(path)
        yield is_finished(search), f"{path.relative_to(HERE)} has not tried the values beside its best."
        for variant, settings in search["best"].items():
            highest = max(search["tried"], key=lambda trial: trial.get(variant, 0))
            same = highest["settings"] == settings
            yield same, f"The best of {path.relative_to(HERE)} is not the best that was tried."
    file = tomllib.loads((ROOT / "if2net/study/bench/hyperparameters.toml").read_text())
    for method, entry in file.items():
        for key, settings in entry.get("best", {}).items():
            path, source = HERE / "search" / f"{key}-{method}.json", "the committed search"
            if not path.exists():
                expected, source = best_of_innate(method, key), "results/innate_peers.py"
            else:
                expected = settings_of(content(path)) if content(path)["seed"] == SEARCH_SEED else None
            same = {name: str(value) for name, value in settings.items()} == expected
            yield same, f"The settings of {method} for {key} are not the best of {source}."
    methods = {m for name in table.IMAGES for part in EXPERIMENTS[name].parts for m in part.methods}
    searched = {path.stem.removeprefix("images-") for path in (HERE / "search").glob("images-*.json")}
    yield methods - searched == {"pcl"}, "Other methods than the docs say have no search on CIFAR."


def is_finished(search: dict[str, Any]) -> bool:
    """Return whether a search would make no more trials; True for a grid, and for other spaces than the present."""
    space, _ = hyperparameters.space(search["method"], search["protocol"])
    if "tasks" not in search or search["tried"][0]["settings"].keys() != space.keys():
        return True
    tried = [
        Trial(trial["settings"], {variant: trial[variant] for variant in search["best"] if variant in trial})
        for trial in search["tried"]
    ]
    fixed = [(method, name, value) for method, name, value in search["fixed"]]
    return not proposals(search["method"], space, tried, fixed, search["protocol"])


def best_of_innate(method: str, key: str) -> dict[str, str]:
    """Return the best settings of the search on the features of an innate network; IF2Net has no search."""
    data, _, encoder = key.partition("@")
    if method == "if2net":
        return {"encoder": encoder}
    wanted = (data, innate_tables.SIZES[encoder], method)
    chosen = {
        (row["data"], row["size"], row["method"]): row["chosen"]
        for row in innate_tables.lines("peers")
        if row["views"] == innate_tables.PEERS_VIEWS
    }
    return chosen[wanted]


def tables_are_current() -> Checked:
    """Check that all tables in the README, in the docs and beside the results follow from the results."""
    placed = set()
    for path in table.TARGETS:
        text = path.read_text()
        placed |= {match[2] for match in table.MARKED.finditer(text)}
        yield table.with_tables(text) == text, f"{path} is out of date; run results/table.py."
    yield placed == set(table.TABLES), f"No page shows the tables {', '.join(set(table.TABLES) - placed)}."
    for name, form in FORMS.items():
        if name in OWN:  # these have no table.md
            continue
        same = (HERE / name / "table.md").read_text() == form.table(name, table.sections_in(name)) + "\n"
        yield same, f"results/{name}/table.md is out of date; run results/images.py."
        for file, draw in form.figures.items():
            current = same_figure((HERE / name / file).read_text(), draw(table.sections_in(name)).svg())
            yield current, f"results/{name}/{file} is out of date; run results/images.py."
            yield f"results/{name}/{file})" in page("image-benchmarks"), f"The docs do not show {name}/{file}."
    text = page("ablations")
    yield ablations.with_tables(text) == text, "docs/ablations.md is out of date; run results/ablations.py."
    for name, ablation in ABLATIONS.items():
        measured = ablations.results_of(name)
        cells = {run.cell for run in measured.runs}
        yield cells == set(ablation.cells), f"results/{name} does not have all cells."
        yield len({entry.runs for entry in measured.summary}) == 1, f"The cells of {name} have different seeds."
        same = (HERE / name / "table.md").read_text() == ablation.table(measured) + "\n"
        yield same, f"results/{name}/table.md is out of date; run results/ablations.py."
        if ablation.figure:
            current = same_figure((HERE / name / "figure.svg").read_text(), ablation.figure(measured).svg())
            yield current, f"results/{name}/figure.svg is out of date; run results/ablations.py."
            yield f"results/{name}/figure.svg)" in text, f"docs/ablations.md does not show the figure of {name}."


def figures_in_the_text_are_in_a_table() -> Checked:
    tried = content("results/search/earlier/images-if2net.json")["tried"]
    searched = {f"{100 * trial['acc']:.2f}" for trial in tried} | {"4.95"}  # an example on the page checks this one
    for folder in ("cub200-100-5-held-out", "cub200-100-10-efficientnet-lite0"):
        searched |= {f"{100 * run.acc:.2f}" for run in results(f"figure-cub/{folder}").of("logd")}
    for name, known in (("ablations", set()), ("image-benchmarks", searched)):
        prose, tables = prose_and_tables(page(name))
        for figure in sorted(set(TWO_DECIMALS.findall(prose)) - set(TWO_DECIMALS.findall(tables)) - known):
            yield False, f"docs/{name}.md quotes {figure}, which is in no table of the page."


def sentences_are_true() -> Checked:
    """Check that every sentence with numbers is on its page, and that the page has no other numbers."""
    for name, expected in sentences().items():
        text = re.sub(
            r"```.*?```|<!-- [\w-]+: .*?<!-- end of [\w-]+ -->", "", (ROOT / f"{name}.md").read_text(), flags=re.S
        )
        rest = " ".join(text.split())
        for template, values in expected:
            sentence = template.format(*values)
            yield sentence in rest, f"{name}.md does not say: {sentence}"
            rest = rest.replace(sentence, "")
        for figure in MEASURED.findall(rest):
            yield False, f"{name}.md has {figure}, which is in no sentence of results/sentences.py."


def mnist() -> Checked:
    summary = results("table-mnist/mnist-agnostic").summary
    for method, (least, most) in ANCHORS.items():
        acc = 100 * summary[method]["acc_mean"]
        yield least <= acc <= most, f"ACC of {method} on MNIST is {acc:.2f}, not between {least} and {most}."
    for data in ("mnist", "fashion-mnist"):
        runs = results(f"table-mnist/{data}-agnostic").runs
        expected = {(method, seed) for method in METHODS for seed in range(SEEDS)}
        yield {(run.method, run.seed) for run in runs} == expected, f"A method or seed is missing in {data}-agnostic."
        orders = {tuple(run.class_order) for run in runs}
        yield len(orders) == SEEDS, f"{data}-agnostic has {len(orders)} orders of the classes, not {SEEDS}."
        leaking = results(f"table-mnist/{data}-transductive").summary
        one, mixed = (leaking[f"if2net ({variant})"]["acc_mean"] for variant in ("one task per batch", "tasks mixed"))
        yield one > 0.8 and mixed < 0.4, f"On {data}, the paper's figures no longer depend on the leak."


def ahead_in_every_order(name: str, tasks: int) -> set[str]:
    """Return the methods that IF2Net is ahead of with every seed."""
    (section,) = [section for section in table.sections_in(name) if f"/{tasks}@" in section.scenario]
    acc = {(run.method, run.seed): run.acc for run in section.runs}
    methods, seeds = ({key[place] for key in acc} for place in (0, 1))
    return {m for m in methods if all(acc["if2net", seed] > acc[m, seed] for seed in seeds)}


def cifar() -> Checked:
    (section,), (longer,) = (table.sections_in(name) for name in ("table-cifar", "figure-cifar"))
    series = {entry.name: entry for entry in section.series}
    ten, twenty = percent(section), percent(longer)
    others = {name: acc for name, acc in ten.items() if name != "if2net"}
    keeping = {name for name, entry in series.items() if entry.keeps_exemplars and name != "joint"}
    yield len(keeping) == 7, "On CIFAR-60/10, seven methods should keep exemplars."
    yield max(keeping, key=ten.__getitem__) == "bic", "On CIFAR-60/10, BiC is not the best with exemplars."
    below = {name for name in keeping if ten[name] < ten["ncm"]}
    yield below == {"ari", "il2m", "fs-dgpm", "gem", "logd"}, "On CIFAR-60/10, other methods are below NCM."
    above = {name for name in others if others[name] > others["joint"]}
    yield above == {"ranpac", "slda", "acil"}, "On CIFAR-60/10, other methods are above joint training."
    yield ten["if2net"] - max(others.values()) < 3, "On CIFAR-60/10, the lead of IF2Net is 3 points or more."
    ahead = ahead_in_every_order("table-cifar", 10)
    yield ahead == set(others), "On CIFAR-60/10, IF2Net is not ahead of every method with every seed."
    best = sorted(compared(ten), key=ten.__getitem__)[-2:]
    yield best == ["owm", "bic"], "On CIFAR-60/10, OWM and BiC are not the best of the paper's methods."
    for name in compared(ten):
        higher = all(a > b for a, b in zip(series["if2net"].curve[0], series[name].curve[0], strict=True))
        yield higher, f"On CIFAR-60/10, IF2Net is not above {name} after every task."
    first = {name: 100 * series[name].curve[0][0] for name in (*compared(ten), *BOUNDS)}
    slow = {first.pop(name) for name in ("gem", "logd")}
    text = " ".join(page("image-benchmarks").split())
    lost = [ten[name] - twenty[name] for name in COMPARED]
    for said in (
        f"are between {min(first.values()):.2f} and {max(first.values()):.2f} here",
        *(f"GEM and LOGD are at {figure:.2f}," for figure in slow),
        f"The methods of the paper lose between {min(lost):.1f} and {max(lost):.1f} points",
        f"This costs {ten['if2net'] - twenty['if2net']:.1f} points",
    ):
        yield said in text, f"docs/image-benchmarks.md does not say: {said}"
    top = sorted(COMPARED, key=twenty.__getitem__)[-3:]
    yield top == ["rps-net", "owm", "bic"], "On CIFAR-60/20, the best three of the paper's methods are others."
    named = ("if2net", "ranpac", "acil", "slda", "owm", "bic", "rps-net")
    yield from quoted("CIFAR-60/20", [twenty[name] for name in named])
    ahead = ahead_in_every_order("figure-cifar", 20)
    yield {*PEERS} <= ahead, "On CIFAR-60/20, IF2Net is not ahead of the analytic methods with every seed."


def quoted(where: str, figures: list[float]) -> Checked:
    prose, _ = prose_and_tables(page("image-benchmarks"))
    for figure in figures:
        yield f"{figure:.2f}" in prose, f"The docs do not quote {figure:.2f} of {where}."


def tiny_imagenet() -> Checked:
    name = "table-imagenet-subset"
    best = {10: ("rps-net", "acil"), 25: ("rps-net", "ranpac"), 50: ("il2m", "ranpac")}
    by_tasks = {section.tasks: percent(section) for section in table.sections_in(name)}
    for section in table.sections_in(name):
        acc, where = by_tasks[section.tasks], f"Tiny-ImageNet-100/{section.tasks}"
        method, peer = best[section.tasks]
        others = {key: value for key, value in acc.items() if key != "if2net"}
        ahead = ahead_in_every_order(name, section.tasks)
        yield ahead == set(others), f"On {where}, IF2Net is not ahead of every method with every seed."
        yield max(compared(acc), key=acc.__getitem__) == method, f"On {where}, {method} is not the paper's best."
        yield max(others, key=acc.__getitem__) == peer, f"On {where}, {peer} is not second."
    lost = {key: by_tasks[10][key] - by_tasks[50][key] for key in by_tasks[50]}
    order = sorted(compared(lost), key=lost.__getitem__)
    yield (order[0], order[-1]) == ("il2m", "rps-net"), "On Tiny-ImageNet, other methods lose least and most."
    peers = [max(by_tasks[tasks][peer] for peer in PEERS) for tasks in (10, 25, 50)]
    shrinking = [by_tasks[tasks]["if2net"] - peer for tasks, peer in zip((10, 25, 50), peers, strict=True)]
    share = lost["if2net"] / (shrinking[0] - shrinking[2])
    yield 0.4 < share < 0.5, "On Tiny-ImageNet, IF2Net's loss is not nearly half of the decrease of its lead."
    least, second, *_ = sorted(leads(f"{name}/tiny-imagenet-100-50-held-out", "if2net", "ranpac"))
    yield second - least > 0.5, "On Tiny-ImageNet-100/50, the lead over RanPAC is small in several class orders."
    own = [
        f"{100 * series.summary['acc_mean']:.2f} ± {100 * series.summary['acc_std']:.2f}"
        for section in table.sections_in(name)
        for series in section.series
        if series.name == "if2net"
    ]
    first = [f"{by_tasks[tasks][method]:.2f}" for tasks, (method, _) in best.items()]
    rival = [f"{by_tasks[tasks][peer]:.2f}" for tasks, (_, peer) in best.items()]
    text = " ".join(page("image-benchmarks").split())
    for said in (
        f"{own[0]} with ten tasks, {own[1]} with 25 and {own[2]} with 50",
        f"IF2Net loses {lost['if2net']:.1f} points, the methods of the paper between {lost['il2m']:.1f} (IL2M)",
        f"and {lost['rps-net']:.1f} (RPS-Net), ARI left aside. RanPAC gains {-lost['ranpac']:.1f} and ACIL",
        f"ACIL {-lost['acil']:.1f}, which is within the spread.",
        f"RPS-Net with ten and with 25 ({first[0]} and {first[1]}), and IL2M with 50 ({first[2]})",
        f"ACIL with ten ({rival[0]}) and RanPAC with 25 and 50 ({rival[1]} and {rival[2]})",
        f"{shrinking[0]:.1f}, {shrinking[1]:.1f} and {shrinking[2]:.1f} points. Over RanPAC it is {least:.1f} points",
        "points in one class order with 50 tasks.",
    ):
        yield said in text, f"docs/image-benchmarks.md does not say: {said}"


def diverged() -> Checked:
    """Check docs/image-benchmarks.md: why ARI has no row with 50 tasks of Tiny-ImageNet."""
    found = content("results/table-imagenet-subset/diverged.json")
    outcomes = [*found["acc"].values()]
    yield outcomes.count("diverged") == 2 == len(outcomes) - 1, "ARI did not diverge on two of three streams."
    rate = float(content("results/search/images-ari.json")["best"]["acc"]["rate"])
    yield found["rate"] == rate / 2, "ARI diverged on Tiny-ImageNet-100/50 with another rate than half of its own."
    (part,) = [p for p in EXPERIMENTS["table-imagenet-subset"].parts if p.scenario == found["scenario"]]
    now = asdict(part.settings(["ari"], [])["ari"])["rate"]
    yield now == rate / 4, f"On Tiny-ImageNet-100/50, the rate of ARI is {now}, not a quarter of that of its search."
    text = " ".join(page("image-benchmarks").split())
    for said in ("with half of its rate it diverged on two of three streams", "uses a quarter of the rate there"):
        yield said in text, f"docs/image-benchmarks.md does not say: {said}"


def dogs() -> Checked:
    for section, best in zip(table.sections_in("figure-dogs"), ("bic", "pcl"), strict=True):
        acc, where = percent(section), f"Stanford Dogs-60/{section.tasks}"
        deviation = min(100 * e.summary["acc_std"] for e in section.series if e.name in ("if2net", "ranpac"))
        yield max(compared(acc), key=acc.__getitem__) == best, f"On {where}, {best} is not the paper's best."
        behind = max(acc[name] for name in (best, "acil", "slda", "joint"))
        yield acc["if2net"] > behind, f"On {where}, IF2Net is not ahead of the others."
        gap = acc["if2net"] - acc["ranpac"]
        yield 0.2 < gap < 0.35 < deviation, f"On {where}, RanPAC is not behind by 0.3 points, within the spread."
        yield from quoted(where, [acc[name] for name in ("if2net", "ranpac", best)])


def cub() -> Checked:
    highest, led = 0.0, list[str]()
    for section in table.sections_in("figure-cub"):
        acc, where = percent(section), section.scenario
        best = max(compared(acc), key=acc.__getitem__)
        yield acc["if2net"] > acc[best], f"On {where}, IF2Net is not ahead of the paper's methods."
        yield acc["joint"] < acc[best], f"On {where}, no method is above joint."
        if "efficientnet" in section.scenario:
            order = sorted(("acil", "slda", "if2net", "ranpac"), key=acc.__getitem__)
            yield order == ["ranpac", "if2net", "slda", "acil"], f"On {where}, the analytic methods changed order."
            yield acc["acil"] - acc["ranpac"] < 0.7, f"On {where}, the analytic methods are not within 0.7 points."
            ahead = sum(lead > 0 for lead in leads("figure-cub/cub200-100-10-efficientnet-lite0", "acil", "if2net"))
            yield ahead == 5, f"On {where}, ACIL is ahead of IF2Net in {ahead} orders, not in all."
            logd = sorted(100 * run.acc for run in section.runs if run.method == "logd")
            yield from quoted(where, [*(acc[name] for name in order), acc["ncm"], logd[0]])
            yield best == "pcl", f"On {where}, PCL is not the paper's best."
        else:
            yield acc["if2net"] > acc["slda"], f"On {where}, IF2Net is not ahead of SLDA."
            folder = f"figure-cub/cub200-100-{section.tasks}-held-out"
            ahead = sum(lead > 0 for lead in leads(folder, "ranpac", "if2net"))
            yield 2 <= ahead <= 3, f"On {where}, RanPAC is ahead in {ahead} class orders, not in about half."
            yield abs(acc["acil"] - acc["if2net"]) < 0.5, f"On {where}, ACIL and IF2Net are not level."
            yield from quoted(where, [acc["if2net"], acc["acil"]])
            led.append(f"{acc['if2net'] - acc['ranpac']:.1f}")
            highest = max(highest, acc[best])
    said = f"IF2Net is {led[0]}, {led[1]} and {led[2]}\n  points above RanPAC"
    yield said in page("image-benchmarks"), f"docs/image-benchmarks.md does not say: {said}"
    collapsed, *others = sorted(100 * run.acc for run in results("figure-cub/cub200-100-5-held-out").of("logd"))
    yield collapsed < others[0] / 2, "LOGD does not collapse on one stream of CUB-100/5."
    yield from quoted("the paper's methods on CUB", [highest, collapsed, others[0], others[-1]])


def relations() -> Checked:
    """Check what the README and the docs call ahead, level and behind; IF2Net is ahead of all methods not named."""
    held_out: list[tuple[str, str, tuple[int, ...]]] = [
        ("table-cifar", "cifar100-60", (10,)),
        ("figure-cifar", "cifar100-60", (20,)),
        ("table-imagenet-subset", "tiny-imagenet-100", (10, 25, 50)),
        ("figure-cub", "cub200-100", (5, 10, 20)),
        ("figure-dogs", "stanford-dogs-60", (5, 10)),
    ]
    level = {"figure-cub": {"acil", "ranpac"}, "figure-dogs": {"ranpac"}}
    others: dict[str, dict[str, set[str]]] = {  # folder → methods that are level with IF2Net and that are ahead of it
        "table-mnist/mnist-agnostic": {"behind": {"joint"}},
        "table-mnist/fashion-mnist-agnostic": {"level": {"joint", "ranpac", "acil"}},
        "digits": {"level": {"fecam", "ranpac", "acil", "if2net-ewc"}},
        "figure-cub/cub200-100-10-efficientnet-lite0": {"level": {"slda", "ranpac"}, "behind": {"acil"}},
        **{
            f"{name}/{data}-{n}-held-out": {"level": level.get(name, set())}
            for name, data, tasks in held_out
            for n in tasks
        },
        **{f"innate/{part.folder}": {} for part in EXPERIMENTS["innate"].parts},
        "innate/mnist-10-5-innate": {"level": {"acil"}},
        **{f"photographs/{part.folder}": {} for part in EXPERIMENTS["photographs"].parts},
    }
    for nodes, data, word in (
        (4352, "fashion-mnist", "level"),
        (10_000, "mnist", "level"),  # as many nodes as RanPAC
        (10_000, "fashion-mnist", "ahead"),
        (16_384, "mnist", "ahead"),
        (16_384, "fashion-mnist", "ahead"),
    ):
        own, there = f"innate/nodes-{nodes}/{data}-10-5-innate", f"innate/{data}-10-5-innate"
        found = [relation(own, "if2net", method, there) for method in ("ranpac", "acil")]
        yield found == [word] * 2, f"In {own}, IF2Net is {' and '.join(found)} of RanPAC and ACIL."
    for tasks in (5, 10):
        others[f"photographs/cub200-100-{tasks}-held-out"] = {"level": {"ranpac"}}
    for folder, named in others.items():
        expected = {method: "ahead" for method in results(folder).summary if method != "if2net"}
        expected |= {method: word for word, methods in named.items() for method in methods}
        for method, word in expected.items():
            found = relation(folder, "if2net", method)
            yield (
                found == word,
                f"In {folder}, IF2Net and {method}: {found}, not {word}, by the rule of docs/metrics.md.",
            )


def innate_features_beside() -> Checked:
    """Check docs/image-benchmarks.md: the gains by innate features and the leads of IF2Net over RanPAC."""
    text = " ".join(page("image-benchmarks").split())
    alone = {
        **{f"cub200-100-{tasks}-held-out": "figure-cub" for tasks in (5, 10, 20)},
        "cifar100-60-10-held-out": "table-cifar",
        **{f"stanford-dogs-60-{tasks}-held-out": "figure-dogs" for tasks in (5, 10)},
    }

    def gain(folder: str, method: str) -> float:
        with_both, without = (
            results(f"{name}/{folder}").summary[method]["acc_mean"] for name in ("photographs", alone[folder])
        )
        return float(100 * (with_both - without))

    leading = {folder: leads(f"photographs/{folder}", "if2net", "ranpac") for folder in alone}
    behind = [sum(lead < 0 for lead in entry) for entry in leading.values()]
    yield behind == [2, 1, 0, 0, 0, 0], f"With innate features, RanPAC is ahead in {behind} class orders."
    cub5, cub10, cub20, cifar10, dogs5, dogs10 = (f"{np.mean(entry):.1f}" for entry in leading.values())
    own, other = ([gain(folder, method) for folder in alone] for method in ("if2net", "ranpac"))
    slda = [gain(folder, "slda") for folder in alone][-2:]
    yield all(-16 < loss < -15 for loss in slda), f"On Dogs, innate features cost SLDA {slda} points, not 15."
    for said in (
        f"by {cifar10} points on CIFAR, by {cub5}, {cub10} and {cub20} on CUB, and by {dogs5} and {dogs10} on",
        f"worth {own[3]:.1f} points to IF2Net on CIFAR, and {min(own[:3]):.1f} to {max(own[:3]):.1f} on CUB",
        f"they cost {-own[4]:.1f} and {-own[5]:.1f} points**, and RanPAC loses {-other[4]:.1f} and {-other[5]:.1f}",
    ):
        yield said in text, f"docs/image-benchmarks.md does not say: {said}"


def backbones_of_images() -> Checked:
    """Check docs/image-benchmarks.md: all methods of a table have the same backbones, and respect the memory."""
    for name in table.IMAGES:
        for section in table.sections_in(name):
            if parse_scenario(section.scenario).backbone == "held-out":
                known = {(run.seed, run.backbone) for run in section.runs}
                same = len(known) == len({backbone for _, backbone in known}) == SEEDS
                yield same, f"{section.scenario} has {len(known)} backbones, not one per seed."
            memory = {series.name: series.settings.get("memory", 0) for series in section.series}
            over = {run.method for run in section.runs if run.exemplars > memory[run.method]}
            yield over == {"joint"}, f"In {section.scenario}, {over} keep more exemplars than their memory."


def training_on_images() -> Checked:
    """Check docs/image-benchmarks.md: which methods are trained for at least 300 steps."""
    tried = content("results/search/images-logd.json")["tried"]
    outcomes = {trial.get("acc") for trial in tried}
    yield (len(tried), len(outcomes)) == (17, 7), "The 17 trials of LOGD on CIFAR do not have seven outcomes."
    for name in table.IMAGES:
        for section in table.sections_in(name):
            scenario = parse_scenario(section.scenario)
            steps = {series.name: series.settings["steps"] for series in section.series if "steps" in series.settings}
            fewer = {method for method, count in steps.items() if count < 300}
            free = {"stanford-dogs": {"logd", "bic", "il2m"}, "cub200": {"logd", "bic"}}
            of_search = free.get(scenario.dataset, {"il2m", "ari"})
            expected = of_search if scenario.backbone == "held-out" else {"bic", "il2m"}
            same = fewer == expected & set(steps)
            yield same, f"In {section.scenario}, other methods may take fewer than 300 steps: {fewer}."


def initialisation() -> Checked:
    """Check docs/ablations.md: random and analytic starts."""
    measured, text = ablations.results_of("table-init"), " ".join(page("ablations").split())
    random = ("random, 0.02", "random, 0.002")
    samples = ("analytic 1k, 0.0002", "analytic 2.5k, 0.0002", "analytic 5k, 0.0002")
    analytic, one_task = ("analytic 1k, 0.002", *samples), "transductive, one task per batch"

    def by_seed(row: str, epochs: int, protocol: str, key: str = "acc") -> list[float]:
        cell = (f"{row}; {epochs}", protocol)
        return [run.numbers[key] for run in measured.runs if (run.cell, run.protocol) == cell]

    def spread(row: str, protocol: str) -> tuple[float, float]:
        value = measured.of(f"{row}; 10", protocol).numbers["acc"]
        return 100 * value.mean, 100 * value.std

    losses = [by_seed(row, 1, "aware", "loss") for row in (*reversed(samples), "random, 0.02")]
    same_order = all(sorted(column) == list(column) for column in zip(*losses, strict=True))
    yield same_order, "In table-init, the order of the losses of task 1 differs between the seeds."
    (mean, _), (other, deviation) = (spread(row, "aware") for row in ("random, 0.002", "analytic 1k, 0.002"))
    yield abs(other - mean) < deviation, "In table-init, aware, the starts differ by more than the spread."
    lowest = [min(accs) for accs in zip(*(by_seed(row, 10, one_task) for row in analytic), strict=True)]
    highest = [max(accs) for accs in zip(*(by_seed(row, 10, one_task) for row in random), strict=True)]
    ahead = all(low > high for low, high in zip(lowest, highest, strict=True))
    yield ahead, f"In table-init, {one_task}, a random start is ahead with one of the seeds."
    leads = [spread(row, one_task)[0] - spread(other, one_task)[0] for row in analytic for other in random]
    yield (round(min(leads)), round(max(leads))) == (25, 30), f"In table-init, {one_task}, the lead is not 25 to 30."
    pairs = zip(spread("random, 0.002", "agnostic"), spread(analytic[0], "agnostic"), strict=True)
    yield all(abs(a - b) <= 0.03 for a, b in pairs), "In table-init, agnostic, the starts differ at the same step."
    for protocol in ("aware", "agnostic", one_task):
        words = [f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in (spread(row, protocol) for row in samples)]
        expected = f"{words[0]}, {words[1]} and {words[2]}"
        yield expected in text, f"docs/ablations.md does not quote {expected} ({protocol})."
    large = sorted(by_seed("analytic 5k, 0.0002, μ = 2⁻³⁰", 1, "aware", "loss"))
    yield large[3] < 0.4 and round(large[4], -1) == 70, "In table-init, the losses with μ = 2⁻³⁰ are others."
    for protocol in ("aware", "agnostic"):
        (first, deviation), *_, (last, _) = [spread(row, protocol) for row in samples]
        yield last - first < deviation, f"In table-init, {protocol}, more samples gain more than the spread."
    means = [spread(row, one_task)[0] for row in samples]
    yield sorted(means, reverse=True) == means, f"In table-init, {one_task}, more samples gain something."


def orthogonalised_layers() -> Checked:
    """Check docs/ablations.md: cases (d) and (e)."""
    measured = ablations.results_of("table-layers")

    def leads(protocol: str) -> list[float]:
        accs = {(run.cell, run.seed): run.numbers["acc"] for run in measured.runs if run.protocol == protocol}
        return [100 * (acc - accs["d", seed]) for (case, seed), acc in accs.items() if case == "e"]

    gains = leads("aware")
    yield min(gains) > 0, "In table-layers, aware, (e) is not ahead of (d) with each seed."
    yield sum(gain < 0.1 for gain in gains) == 3, "In table-layers, (e) leads by less than 0.1 with other seeds."
    ahead = sum(gain > 0 for gain in leads("transductive, one task per batch"))
    yield ahead == 4, f"In table-layers, transductive, (e) is ahead with {ahead} seeds."


def innate() -> Checked:
    """Check that every row with figures in docs/innate.md is a trial, and that no other figure is quoted."""
    keys = ("flip", "cifar100 fit", "cifar100", "fashion-mnist")
    measured = {
        (*(trial[key] for key in keys), *trial["grids"])
        for trial in innate_tables.lines("trials")
        if "grids" in trial
    }
    prose, tables = prose_and_tables(page("innate"))
    rows = [[cell.strip() for cell in line.split("|")[2:-1]] for line in tables.splitlines()]
    for grid, flips, fitted, *figures in (row for row in rows if len(row) == 5 and row[1] in ("yes", "no")):
        entry = (flips == "yes", int(fitted.replace(",", "")), *map(float, figures), *map(int, grid))
        yield entry in measured, f"docs/innate.md has {' and '.join(figures)}, which is in no trial."
    quoted = TWO_DECIMALS.findall(re.sub(r"\]\(.*?\)", "]", prose))  # without the targets of links
    for figure in set(quoted) - set(TWO_DECIMALS.findall(tables)):
        yield False, f"docs/innate.md quotes {figure}, which is in none of its tables."
    repeated = [*innate_tables.lines("repeat")]
    same = all(len(row["hashes"]) == 3 and len({*row["hashes"]}) == 1 and row["steps"] == 600 for row in repeated)
    yield same and {row["size"] for row in repeated} == {*SIZES}, "docs/innate.md: repeated trainings differ."
    for size in SIZES:
        rows = [row for row in innate_tables.lines("training") if row.get("size") == size and "kernels" in row]
        same = (len(rows), len({row["digest"] for row in rows})) == (2, 1)
        yield same, f"docs/innate.md: whole trainings of the {size} network differ."
    said = "three trainings of each size with 600 steps, side by side, had the same bits"
    yield said in " ".join(prose.split()), f"docs/innate.md does not say: {said}"
    for part in EXPERIMENTS["innate"].parts:
        scenario, summary = parse_scenario(part.scenario), results(f"innate/{part.folder}").summary
        acc = {name: 100 * entry["acc_mean"] for name, entry in summary.items()}
        encoder = str(scenario.backbone).partition(",")[0]
        if encoder in innate_tables.SIZES:
            before = np.mean(innate_tables.product(scenario.dataset, encoder, scenario.tasks))
            # Image files are interpolated in another way than arrays, which matters most for the small encoder here.
            most = 0.3 if part.folder == "fashion-mnist-10-5-innate" else 0.2
            yield (
                abs(acc["if2net"] - before) < most,
                f"{part.folder}: IF2Net has {acc['if2net']} instead of {before}.",
            )
        ahead = {name for name in acc if acc[name] > acc["if2net"]}
        yield not ahead, f"{part.folder}: {ahead} are ahead of IF2Net."


CHECKS: tuple[Callable[[], Checked], ...] = (
    files_are_whole,
    environments_are_recorded,
    the_paper_is_complete,
    searches_are_used,
    tables_are_current,
    figures_in_the_text_are_in_a_table,
    sentences_are_true,
    mnist,
    cifar,
    tiny_imagenet,
    diverged,
    dogs,
    cub,
    relations,
    innate_features_beside,
    backbones_of_images,
    training_on_images,
    initialisation,
    orthogonalised_layers,
    innate,
)


def main() -> int:
    """Print the sentences of the failed checks, and the number of all checks."""
    checked = [entry for check in CHECKS for entry in check()]
    failed = [sentence for holds, sentence in checked if not holds]
    print("\n".join([*failed, f"{len(checked):,} checks, {len(failed)} failed."]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
