"""Write the tables of the README and of the site from the committed result files.

A table is between `<!-- table: NAME, by results/table.py -->` and `<!-- end of table -->`.

usage: python results/table.py
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import innate_tables
import spread as by_order
from sentences import content, results

from if2net.study.bench.display import costs, markdown, spread
from if2net.study.bench.experiments import BOUNDS, EXPERIMENTS, OWN, PEERS, Part
from if2net.study.bench.paper import paper_figures
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS
from if2net.study.pretraining.training import recipe_for
from if2net.study.report.gather import BACKBONES, Section, title
from if2net.study.report.paper_tables import FORMS, across, gathered, read

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGES = (
    "protocols",
    "comparison",
    "speed",
    "benchmarks",
    "image-benchmarks",
    "innate",
    "guides/where-models-go",
    "guides/unknown",
)
TARGETS = [ROOT / "README.md", *(ROOT / f"docs/{page}.md" for page in PAGES)]
MARKED = re.compile(r"(<!-- table: ([\w-]+), by results/table\.py -->\n).*?(<!-- end of table -->)", re.DOTALL)
PAPER = paper_figures("table-mnist")

AWARE, ONE, MIXED = "aware: given the task", "transductive, one task per batch", "transductive, tasks mixed"
# Each row: the method as printed, its protocol in words and by name, and the method (with its variant) in results.
PROTOCOLS = [
    (name, words, protocol, f"{method} ({words.removeprefix('transductive, ')})" if words in (ONE, MIXED) else method)
    for words, protocol in (
        ("agnostic", "agnostic"),
        (AWARE, "aware"),
        (ONE, "transductive"),
        (MIXED, "transductive"),
    )
    for name, method in (
        ("IF2Net, wide layer" if protocol == "agnostic" else "IF2Net, the paper's layers", "if2net"),
        ("the paper's gradient rule", "if2net-gradient"),
        ("IF2Net-EWC", "if2net-ewc"),
    )
]


def summary(folder: str, method: str) -> dict[str, float]:
    return results(folder).summary[method]


def protocols() -> str:
    """IF2Net and the paper's rules under each protocol."""
    columns = [[f"{name}-10/5 ACC %", "BWT", "seeds"] for name in ("MNIST", "FashionMNIST")]
    lines = []
    for name, words, protocol, method in PROTOCOLS:
        cells = [name, words]
        for dataset in PAPER:
            entry = summary(f"table-mnist/{dataset}-{protocol}", method)
            cells += [accuracy(entry), f"{entry['bwt_mean']:+.3f}", str(entry["runs"])]
        lines.append(cells)
    published = [[f"{figures['if2net'][key]:{form}}" for key, form in PRINTED] for figures in PAPER.values()]
    lines.append(["IF2Net as published", "not said", *(cell for cells in published for cell in (*cells, "5"))])
    return markdown(["method", "what a prediction may know", *columns[0], *columns[1]], lines, words=2)


PRINTED = [("acc", ".2f"), ("bwt", "+.3f")]


def comparison(methods: list[str] | None = None, part: str = "agnostic") -> str:
    """All methods, with the paper's ACC beside ours."""
    columns = [heading for name in ("MNIST", "FashionMNIST") for heading in (f"{name}-10/5 ACC %", "paper")]
    lines = []
    for method in methods or METHODS:
        entries = [summary(f"table-mnist/{dataset}-{part}", method) for dataset in PAPER]
        tried = dict.fromkeys(trials(f"{dataset}{part.removeprefix('agnostic')}", method) for dataset in PAPER)
        cells = [method, f"{entries[0]['exemplars']:,}", ", ".join(tried)]
        for entry, figures in zip(entries, PAPER.values(), strict=True):
            cells += [accuracy(entry), f"{figures[method]['acc']:.2f}" if method in figures else ""]
        lines.append([*cells, *costs(entries[0])[:2]])
    return markdown(["method", "exemplars", "trials", *columns, "learning s", "state"], lines)


def digits() -> str:
    """All methods on digits: accuracy, and the processor seconds of one run."""
    seconds = benchmark("digits")["methods"]
    lines = []
    for method in METHODS:
        entry = summary("digits", method)
        exemplars, tried = f"{entry['exemplars']:,}", trials("digits", method)
        taken = f"{seconds[method]['processor_seconds']:.0f}"
        lines.append([method, exemplars, tried, accuracy(entry), f"{entry['bwt_mean']:+.3f}", taken])
    return markdown(["method", "exemplars", "trials", "ACC %", "BWT", "processor s"], lines)


def trials(data: str, method: str) -> str:
    """Return the number of trials of a method."""
    paths = HERE.glob(f"search/{data}-{method}.json")
    return str(sum(len(content(path)["tried"]) for path in paths))


def speed() -> str:
    """Seconds, accuracy and memory of learning the same features."""
    lines = []
    for name, entry in benchmark("learning")["contenders"].items():
        numbers = [f"{entry[key]:.1f}" for key in ("seconds_a_task", "seconds_of_ours", "times_ours")]
        numbers += [f"{entry['times_ours_to_predict']:.1f}", f"{100 * entry['accuracy']:.2f}"]
        lines.append([name, *numbers, f"{entry['peak_megabytes']:,.0f}"])
    headings = ["method", "seconds per task", "ours right after", "times ours", "predicting, times ours"]
    return markdown([*headings, "accuracy %", "MB"], lines)


def products() -> str:
    """Seconds of the large products and of the factor, by processor and library."""
    lines = [
        [processor, name, *(f"{entry[key]:.2f}" for key in ("product", "gram", "factor")), f"{entry['error']:.0e}"]
        for processor, report in by_processor("products")
        for name, entry in report["libraries"].items()
    ]
    headings = ["processor", "library", "projecting, s", "filling G, s", "factorising, s", "error of G"]
    return markdown(headings, lines, words=2)


def rows() -> str:
    """Seconds from rows to the first prediction. RanPAC does the same work for every task, and learns two."""
    lines = []
    for processor, report in by_processor("rows"):
        contenders = report["contenders"]
        published = contenders["ranpac as published"]["seconds"]
        for name, entry in contenders.items():
            measured = {task: entry["seconds"][task] for task in ("1", "2", "10") if task in entry["seconds"]}
            compared = {"1": published["1"], "2": published["2"], "10": published["2"]}
            cells = [f"{time:.1f} ({compared[task] / time:.1f} ×)" for task, time in measured.items()]
            cells += ["as task 2"] * (3 - len(cells))
            features = [f"{entry['features']:,}", f"{entry['features_for_the_ridge']:,}"]
            lines.append([processor, name, *features, *cells, f"{100 * entry['accuracy_after_two']:.1f}"])
    headings = ["method", "features", "for the ridge", "task 1, s", "task 2, s", "task 10, s", "accuracy %"]
    return markdown(["processor", *headings], lines, words=2)


def by_processor(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the maker of the processor and the report, for each processor that a benchmark was run on."""
    for file in (name, f"{name}-intel"):
        report = benchmark(file)
        maker = re.match(r"\w+", report["environment"]["processor"])
        yield maker[0] if maker else "", report


def steps() -> str:
    """Seconds of the first and second task with plain, recorded and compiled steps."""
    lines = []
    for method, ways in benchmark("training_steps")["methods"].items():
        for way, entry in ways.items():
            times = [f"{value:.2f}" for value in entry["seconds"]] if "seconds" in entry else [entry["error"], ""]
            lines.append([method, way, *times])
    return markdown(["method", "steps", "task 1, s", "task 2, s"], lines, words=2)


def recipe() -> str:
    """Accuracy on held-back training images by the recipe of the pre-training, the depths and the pooling."""
    tried = content("results/recipe/trials.json")["tried"]
    by_choice = {
        (trial["rotations"], trial["smoothing"], trial["epochs"], *trial["depths"], "pool", trial["pool"]): trial
        for trial in tried
    }
    recipes = sorted({key[:3] for key in by_choice}, reverse=True)
    choices = dict.fromkeys(key[3:] for key in by_choice)
    lines = []
    for choice in sorted(choices):
        accs = [by_choice.get((*chosen, *choice)) for chosen in recipes]
        cells = [f"{100 * trial['accuracy']:.2f}" if trial else "" for trial in accs]
        *depths, _, pool = choice
        lines.append(
            [f"{'–'.join(dict.fromkeys(str(end) for end in (depths[0], depths[-1])))}, {pool}×{pool}", *cells]
        )
    words = [
        f"{'rotations' if rotations else 'no rotations'}, smoothing {smoothing:g}, {epochs} epochs"
        for rotations, smoothing, epochs in recipes
    ]
    return markdown(["depths and pooling", *words], lines)


def small() -> str:
    """Accuracy and seconds on small and narrow data."""
    data = benchmark("small")["data"]
    headings = [heading for name in next(iter(data.values())) for heading in (f"{name}, %", "s")]
    lines = []
    for name, entries in data.items():
        pairs = [(f"{entry['accuracy']:.1f}", f"{entry['seconds']:.2f}") for entry in entries.values()]
        lines.append([name, *(cell for pair in pairs for cell in pair)])
    return markdown(["data", *headings], lines)


def few() -> str:
    """Seconds until a prediction after one more sample, by the way in which β is found."""
    lines = []
    for row in benchmark("few")["rows"]:
        taken, ratios = row["seconds"], row["times_factor"]
        cells = [f"{taken[way]:.2f} ({ratios[way]:.2f})" for way in ("row_space", "update")]
        width, samples = f"{row['width']:,}", f"{row['samples']:,}"
        lines.append([width, samples, cells[0], f"{taken['factor']:.2f}", cells[1]])
    return markdown(["random features", "samples", "space of the rows", "a factor of G", "the next sample"], lines)


def threads() -> str:
    """Time of small models with as many threads as they are worth, relative to all threads."""
    report = benchmark("threads")
    loads = {"quiet": "quiet", "busy": "beside busy loops", "torch": "beside other programs of torch"}
    lines = [
        [words, *(f"{report[load][case]['of_all_threads']:.2f}" for load in loads)] for case, words in THREADS.items()
    ]
    return markdown(["computation", *loads.values()], lines)


THREADS = {
    "iris": "learning and predicting iris",
    "digits": "learning and predicting digits",
    "eigenvectors": "eigenvectors of 1,280 inputs",
}


def imbalance() -> str:
    """Balanced accuracy where the classes differ in size."""
    data = benchmark("imbalance")["data"]
    lines = []
    for name, entries in data.items():
        pairs = [(entry["balanced_accuracy"], entry["balanced_accuracy_std"]) for entry in entries.values()]
        lines.append([name, *(f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in pairs)])
    return markdown(["data", *next(iter(data.values()))], lines)


def limits() -> str:
    """Rates relative to a bare matrix product, and the growth of the cost."""
    results = benchmark("limits")
    shares, growth = results["shares"], results["growth"]
    long, last = results.get("features_of_the_long_sequences", 2000), list(growth["tasks"])[-1]
    rows = {
        "filling G, rate relative to a float32 matrix product": f"{100 * shares['filling_share']:.0f} %",
        "learning a task, ridge choice included, the same": f"{100 * shares['learning_share']:.0f} %",
        "one new sample until it can be predicted, of a factorisation": f"1/{1 / results['one_sample']['share']:.0f}",
        f"task {int(last):,} relative to task 2 ({long:,} features)": f"{growth['tasks'][last]:.2f}",
        f"the same with {long // 10:,} samples per task": f"{growth['small_tasks'][last]:.2f}",
    }
    return facts(rows)


def precision() -> str:
    """Errors at the smallest possible ridge, where rounding matters most."""
    results, seen = benchmark("accuracy"), set[tuple[str, str]]()
    ways = list(results["errors"][0]["ways"])
    lines = []
    for entry in results["errors"]:
        case = (entry["features"], entry["statistics"])
        if case not in seen:  # the smaller ridge comes first
            seen.add(case)
            ours = entry["ways"]["factor in float32, corrected"]
            errors = [f"{entry['ways'][way]['beta']:.0e}" for way in ways]
            share = f"{100 * ours['equal_predictions']:.2f} %"
            lines.append([*case, *errors, f"{ours['scores']:.0e}", share])
    for width, times in results["share_of_the_time_of_a_float64_factor"].items():
        for statistics, taken in times.items():
            shares = [f"{taken[way]:.2f}" for way in ways]
            lines.append([f"time, at {int(width):,} features", statistics, *shares, "", ""])
    headings = ["features", "G and Q in", *(f"β by a {way}" for way in ways), "scores, corrected"]
    return markdown([*headings, "equal predictions"], lines, words=2)


def gpu() -> str:
    """Learning and predicting on one GPU."""
    results = benchmark("gpu")
    share, again, error = results["share"], results["share_again"], results["error_of_gram"]
    seconds = results["learning_seconds"] + results["solving_seconds"]
    rows = {
        f"learned and solved on one {results['device']}": f"{seconds:.1f} s",
        "the same number of samples again, with the weights in place": f"{results['learning_again_seconds']:.1f} s",
        "copying from host memory, on its own": f"{results['copying_seconds']:.2f} s",
        "rate relative to the GPU's own float32 product": f"{100 * share['float32']:.0f} %",
        "rate relative to the product of halves": f"{100 * share['halves']:.0f} %",
        "the same, with the weights in place": " and ".join(f"{100 * again[name]:.0f} %" for name in share),
        "error of G, float32's own": f"{error['float32']:.1e}",
        "error of G, products of halves": f"{error['halves']:.1e}",
        "predictions per second": f"{results['predictions_a_second']:,.0f}",
        "peak memory": f"{results['peak_gigabytes']:.1f} GB",
    }
    return facts(rows)


def features() -> str:
    """The speed of a backbone against torch eager."""
    ratios = benchmark("features")["speed_up"]
    rows = {
        "speed relative to torch eager, median of the rounds": f"{ratios['median']:.2f}",
        "lowest and highest": f"{min(ratios['all']):.2f} to {max(ratios['all']):.2f}",
    }
    return facts(rows)


def predictors() -> str:
    """Sizes and accuracies of model files that can learn, that only predict, and that are rounded to eight bits."""
    lines = []
    for name, kinds in benchmark("predictors")["datasets"].items():
        for kind, entry in kinds.items():
            shares = [entry.get("accuracy"), entry.get("changed predictions")]
            cells = ["" if share is None else f"{100 * share:.2f}" for share in shares]
            lines.append([name, kind, f"{entry['bytes'] / 1e6:.2f}", *cells])
    return markdown(["data", "file", "MB", "accuracy %", "other predictions %"], lines, words=2)


def facts(rows: dict[str, str]) -> str:
    return markdown(["measurement", "value"], rows.items())


IMAGES = [name for name, form in FORMS.items() if form.figures and name not in OWN]


def image_commands() -> str:
    """The command of every image benchmark of the paper, and its number of seeds."""
    rows = []
    for name in IMAGES:
        parts = EXPERIMENTS[name].parts
        sequences = "; ".join(title(part.scenario) for part in parts)
        backbones = "; ".join(dict.fromkeys(backbone(part) for part in parts))
        memory = next(f"{value:,}" for _, setting, value in parts[0].own if setting == "memory")
        rows.append([f"`if2net reproduce {name}`", sequences, backbones, state(name), memory])
    headings = ["command", "task sequences", "backbone", "results here", "exemplars, at most"]
    return markdown(headings, rows, words=4)


def backbone(part: Part) -> str:
    scenario = parse_scenario(part.scenario)
    if scenario.backbone != "held-out":
        return BACKBONES[scenario.backbone]
    depth = recipe_for(scenario.dataset, 0).architecture.removeprefix("resnet")
    return f"ResNet-{depth}, trained on the other classes"


def state(name: str) -> str:
    sections = {section.scenario: section for section in sections_in(name)}
    wanted = [part.scenario for part in EXPERIMENTS[name].parts]
    missing = [title(scenario) for scenario in wanted if scenario not in sections]
    if not sections:
        return "not run yet"
    fewest = min(int(entry.summary["runs"]) for section in sections.values() for entry in section.series)
    return f"{fewest} seeds" + (f"; not run yet: {'; '.join(missing)}" if missing else "")


@cache
def sections_in(*names: str) -> list[Section]:
    return gathered([entry for name in names for entry in read(name, HERE / name)])


def image_cifar() -> str:
    return FORMS["table-cifar"].head("table-cifar", sections_in("table-cifar"))


def image_summary() -> str:
    """ACC of all task sequences, with the number of trials of each method."""
    lines = []
    for place, line in enumerate(across(sections_in(*IMAGES)).splitlines()):
        method, exemplars, *rest = line.strip("|").split("|")
        tried = ("trials", "---:")[place] if place < 2 else trials("images", method.strip())
        tried = "" if tried == "0" else tried  # PCL, which is not compared on CIFAR
        lines.append(f"| {' | '.join(cell.strip() for cell in (method, exemplars, tried, *rest))} |")
    return "\n".join(lines)


def short_images() -> str:
    """IF2Net, the best method that the paper compares and the best analytic peer, for every task sequence."""
    rows = []
    for section in sections_in(*IMAGES):
        summaries = {entry.name: entry.summary for entry in section.series}
        compared = [name for name in summaries if name not in (*BOUNDS, *PEERS, "if2net")]
        best = [max(names, key=lambda name: summaries[name]["acc_mean"]) for names in (compared, PEERS)]
        cells = [f"{accuracy(summaries[name])}, {name}" for name in best]
        rows.append([title(section.scenario), accuracy(summaries["if2net"]), *cells])
    headings = ["task sequence", "IF2Net", "best method of the paper's comparison", "best analytic peer"]
    return markdown(headings, rows)


def photographs() -> str:
    """ACC on features of the backbones alone, and with innate features beside them."""
    beside = {(parse_scenario(s.scenario).dataset, s.tasks): s for s in sections_in("photographs")}
    rows = []
    for section in sections_in(*IMAGES):
        scenario = parse_scenario(section.scenario)
        both = beside.get((scenario.dataset, section.tasks))
        if both is not None and scenario.backbone == "held-out":
            for name in [*PEERS, "if2net"]:
                own, joined = (next(e.summary for e in one.series if e.name == name) for one in (section, both))
                rows.append([title(section.scenario), name, accuracy(own), accuracy(joined)])
    headings = ["task sequence", "method", "the backbone's features", "innate features beside them"]
    return markdown(headings, rows, words=2)


def image_searches() -> str:
    """Trials and best settings of the searches on images: method by method, one column per kind of features."""
    folders = {
        "CIFAR": "images",
        "CIFAR, innate features beside": "cifar100@held-out,beside=innate-large",
        "CUB": "cub200@held-out",
        "CUB, innate features beside": "cub200@held-out,beside=innate-large",
        "CUB, EfficientNet-Lite0": "cub200@efficientnet-lite0",
        "Dogs": "stanford-dogs@held-out",
        "Dogs, innate features beside": "stanford-dogs@held-out,beside=innate-large",
    }
    rows = []
    for method in METHODS:
        paths = [HERE / "search" / f"{key}-{method}.json" for key in folders.values()]
        cells = [_search(path) if path.exists() else "" for path in paths]
        if any(cells):
            rows.append([method, *cells])
    return markdown(["method", *folders], rows)


def three_tasks() -> str:
    """ACC on CIFAR-60/10 of the methods trained by gradients, after searches over three tasks and over ten."""
    folders = ("table-cifar-three-tasks", "table-cifar")
    three, ten = (results(f"{folder}/cifar100-60-10-held-out").summary for folder in folders)
    rows = []
    for name, summary in three.items():
        difference = 100 * (ten[name]["acc_mean"] - summary["acc_mean"])
        rows.append([name, accuracy(summary), accuracy(ten[name]), f"{difference:+.2f}"])
    headings = ["method", "search over three tasks", "search over ten tasks", "difference"]
    return markdown(headings, rows)


def _search(path: Path) -> str:
    """Return the number of trials, the best accuracy and its settings."""
    search = content(path)
    best = max(search["tried"], key=lambda trial: trial.get("acc", 0))
    settings = ", ".join(f"{name} {value}" for name, value in best["settings"].items())
    return f"{len(search['tried'])} trials: {100 * best['acc']:.2f} ({settings})"


def image_figures() -> str:
    """The figures of every benchmark, with the paper's figures."""
    parts = []
    for name in IMAGES:
        if sections := sections_in(name):
            heading = "; ".join(title(section.scenario) for section in sections)
            words = [] if name == "table-cifar" else [FORMS[name].head(name, sections)]
            figures = [f"![{heading}: ACC of every method](../results/{name}/{file})" for file in FORMS[name].figures]
            parts += [f"### {heading}", *words, "\n".join(figures)]
    return "\n\n".join(parts) + "\n"


def benchmark(name: str) -> dict[str, Any]:
    return content(f"benchmarks/{name}.json")


def accuracy(entry: dict[str, float]) -> str:
    return spread(100 * entry["acc_mean"], 100 * entry["acc_std"], 2, int(entry["runs"]))


def novelty(kind: str) -> str:
    """AUROC and false accepts of each score, and the shares that `unknown` rejects."""
    by_pair = content("results/novelty/pairs.json")[kind]
    scores = ("novelty", "max-softmax", "energy", "Mahalanobis")
    rows = []
    for pair, entry in by_pair.items():
        cells = [f"{entry[score]['auroc']:.4f}" for score in scores]
        cells += [f"{100 * entry[score]['false_accepts']:.1f}" for score in scores]
        cells.append(" / ".join(f"{100 * share:.1f}" for share in entry["known rejected"].values()))
        cells.append(f"{100 * entry['rejected']['unknown']:.1f}")
        rows.append([pair, *cells])
    rejected = ["known rejected at 1 / 5 / 10 %", "unknown rejected at 5 %"]
    headings = ["known, unknown", *scores, *(f"{score}, accepts" for score in scores), *rejected]
    return markdown(headings, rows)


def novelty_weights() -> str:
    """AUROC on the held-back pairs by the weight of the winner's score, beside the best compared score."""
    by_pair = content("results/novelty/pairs.json")["held back"]
    used, alone = str(0.5), str(math.inf)
    rows, figures = [], []
    for pair, entry in by_pair.items():
        best = max(("max-softmax", "energy", "Mahalanobis"), key=lambda score: entry[score]["auroc"])
        far = [entry["with far term"][weight] for weight in (used, alone)]
        figures.append([*entry["weights"].values(), *far, entry[best]["auroc"]])
        rows.append([pair, *(f"{auroc:.4f}" for auroc in figures[-1]), best])
    *columns, _ = zip(*figures, strict=True)  # not the mean over different scores
    rows.append(["mean", *(f"{fmean(column):.4f}" for column in columns), "", ""])
    *weights, _ = next(iter(by_pair.values()))["weights"]
    headings = [f"weight {float(weight):g}" for weight in weights]
    headings += ["no distance", "0.5, far term", "no distance, far term", "best other score", "which"]
    return markdown(["known, unknown", *headings], rows)


TABLES: dict[str, Callable[[], str]] = {
    "protocols": protocols,
    "digits": digits,
    "comparison": comparison,
    "current": lambda: comparison(["none", "ewc", "mas", "ol-ewc", "si"], "agnostic-current"),
    "orders": by_order.orders,
    "pairs": by_order.alike,
    "products": products,
    "rows": rows,
    "steps": steps,
    "recipe": recipe,
    "speed": speed,
    "small": small,
    "few": few,
    "threads": threads,
    "imbalance": imbalance,
    "limits": limits,
    "precision": precision,
    "gpu": gpu,
    "features": features,
    "predictors": predictors,
    "novelty": lambda: novelty("test"),
    "novelty-held-back": lambda: novelty("held back"),
    "novelty-weights": novelty_weights,
    "image-commands": image_commands,
    "image-cifar": image_cifar,
    "image-summary": image_summary,
    "image-figures": image_figures,
    "short-images": short_images,
    "photographs": photographs,
    "image-searches": image_searches,
    "three-tasks": three_tasks,
    "innate": innate_tables.innate,
    "innate-short": innate_tables.innate_short,
    "innate-command": innate_tables.innate_command,
    "innate-folders": innate_tables.innate_folders,
    "innate-peers": innate_tables.innate_peers,
    "innate-imitation": innate_tables.innate_imitation,
    "innate-small": innate_tables.innate_small,
    "innate-again": innate_tables.innate_again,
    "innate-nodes-of-small": innate_tables.innate_nodes_of_small,
    "innate-arrays": innate_tables.innate_arrays,
    "innate-flips": innate_tables.innate_flips,
    "innate-resized": innate_tables.innate_resized,
    "innate-views": innate_tables.innate_views,
    "innate-precision": innate_tables.innate_precision,
    "innate-adaptation": innate_tables.innate_adaptation,
    "innate-nodes": innate_tables.innate_nodes,
    "innate-widths": innate_tables.innate_widths,
    "innate-readouts": innate_tables.innate_readouts,
    "innate-cost": innate_tables.innate_cost,
}


def with_tables(text: str) -> str:
    return MARKED.sub(lambda mark: f"{mark[1]}{TABLES[mark[2]]()}\n{mark[3]}", text)


if __name__ == "__main__":
    for path in TARGETS:
        path.write_text(with_tables(path.read_text()))
