"""The sentences of the README and the docs that state numbers, each with the committed numbers behind it.

results/check.py looks for these sentences on the pages, and for numbers on the pages that are in none of them. A
change of a number or of its sentence therefore needs a change here and on the page.
"""

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import ablation_sentences
import row_files
import spread as by_class
from comparing import extremes, relation_by_seed

from if2net.decision.analytic import FEW, NEW_SHARE
from if2net.encoder import INNATE
from if2net.encoder.innate.encoder import NODES
from if2net.encoder.presets import automatic_width
from if2net.membership import REPEATED
from if2net.study.bench import hyperparameters
from if2net.study.bench.paper import paper_figures
from if2net.study.bench.results import Results
from if2net.study.methods import METHODS

HERE = Path(__file__).parent
ROOT = HERE.parent
CORRECTED = "factor in float32, corrected"
REPLAY = ("gem", "fs-dgpm", "bic", "ari", "rps-net", "logd", "il2m")
MNIST, FASHION = "table-mnist/mnist-agnostic", "table-mnist/fashion-mnist-agnostic"
EARLIER, EARLIER_FASHION = "table-mnist-earlier/mnist-agnostic", "table-mnist-earlier/fashion-mnist-agnostic"


@cache
def content(path: str | Path) -> Any:
    """Return the content of a JSON file, given its path in the repository."""
    return json.loads((ROOT / path).read_text())


@cache
def results(folder: str) -> Results:
    return Results.read(HERE / folder / "results.json")


def acc(folder: str, *methods: str) -> list[float]:
    """Return the ACC of methods in percent."""
    return [100 * results(folder).summary[method]["acc_mean"] for method in methods]


def spread(folder: str, *methods: str) -> list[float]:
    """Return the ACC of methods in percent, each with its standard deviation."""
    entries = [results(folder).summary[method] for method in methods]
    return [100 * entry[key] for entry in entries for key in ("acc_mean", "acc_std")]


def leads(folder: str, ahead: str, behind: str, there: str = "") -> list[float]:
    """Return the ACC of one method minus that of another (there, in another folder) in points, for each seed."""
    places = ((folder, ahead), (there or folder, behind))
    first, second = ({run.seed: run.acc for run in results(place).of(method)} for place, method in places)
    return [100 * (first[seed] - second[seed]) for seed in first if seed in second]


def relation(folder: str, first: str, second: str, there: str = "") -> str:
    """Return whether one method is ahead of another, level with it or behind it, by the rule of docs/metrics.md."""
    deviations = spread(folder, first)[1], spread(there or folder, second)[1]
    return relation_by_seed(leads(folder, first, second, there), deviations)


def tried(file: str, **settings: str) -> float:
    """Return the best accuracy of the trials with these settings on held-back training data, in percent."""
    trials = content(f"results/{file}.json")["tried"]
    return 100 * max(trial["acc"] for trial in trials if settings.items() <= trial["settings"].items())


def printed(data: str, *methods: str) -> list[float]:
    """Return the ACC of methods in the paper."""
    return [paper_figures("table-mnist")[data][method]["acc"] for method in methods]


def beyond_print(data: str, *methods: str) -> list[float]:
    """Return the ACC here minus the ACC in the paper, in points."""
    ours = acc(f"table-mnist/{data}-agnostic", *methods)
    return [mine - theirs for mine, theirs in zip(ours, printed(data, *methods), strict=True)]


def within(differences: Iterable[float]) -> float:
    """Return the largest absolute difference, rounded up to one decimal."""
    return math.ceil(10 * max(map(abs, differences))) / 10


def sentences() -> dict[str, list[tuple[str, Iterable[Any]]]]:
    """Return page → sentences, each with the values of its placeholders."""
    firsts = ([run.R[-1][0] for run in results(MNIST).of(name)] for name in ("if2net", "none"))
    kept = [100 * sum(first) / len(first) for first in firsts]
    fashion = acc(FASHION, "if2net", "joint")
    weights = ("ewc", "mas", "ol-ewc", "si")
    claimed = [*printed("mnist", *weights), *printed("fashion-mnist", *weights)]
    behind = [
        lead
        for folder in (MNIST, FASHION)
        for ours, *others in [acc(folder, "if2net", "if2net-gradient", "if2net-ewc")]
        for lead in (ours - other for other in others)
    ]
    aware, leaking = "table-mnist/fashion-mnist-aware", "table-mnist/fashion-mnist-transductive"
    accs = {run.seed: 100 * run.acc for run in results(aware).of("if2net")}
    by_order = [len(accs), *spread(aware, "if2net"), *extremes(accs.values())]
    first_five = [fmean(list(accs.values())[:5]), stdev(list(accs.values())[:5])]
    leaks = [
        fmean(
            known[run.seed] - 100 * run.acc
            for run in results(f"{data}-transductive").of("if2net (one task per batch)")
        )
        for data in ("table-mnist/mnist", "table-mnist/fashion-mnist")
        for known in [{run.seed: 100 * run.acc for run in results(f"{data}-aware").of("if2net")}]
    ]
    (start, *costs), explained = by_class.fit()
    fitted = [start, *(-cost for cost in costs), explained]
    published = [paper_figures("table-mnist")["fashion-mnist"]["if2net"][key] for key in ("acc", "acc_std")]
    weak = ("rps-net", "pcl", "logd", "ari")
    deviations = spread(FASHION, *weak)[1::2]
    held_back = [
        value
        for data in ("mnist", "fashion-mnist")
        for value in (
            tried(f"encoder/{data}-width", width="2000"),
            tried(f"search/earlier/{data}-agnostic-gradient-wide"),
        )
    ]
    calibration = content("benchmarks/calibration.json")["data"]
    ece = {data: calibration[f"{data}-10/5"]["ece"]["mean"] for data in ("fashion-mnist", "mnist", "digits")}
    without_samples = {
        how_many: [100 * accuracy[how] for how in ("without samples", "with samples")]
        for how_many, accuracy in content("benchmarks/forget_class.json")["forgotten"].items()
    }
    batches = content("benchmarks/bad_batches.json")
    sizes = [entry["size"] for entry in batches["ordinary"].values()]
    usual = [entry["size"] for entry in batches["ordinary"].values() if not entry["refused"]]
    study = content("benchmarks/study_streams.json")["streams"].values()
    tasks = sum(stream["batches"] for stream in study if not stream["refused"])
    largest = max(stream.get("size", 0) for stream in study)
    spoiled = batches["bad_batches"]["digits, encoder linear"]["all values x 1e+06"]["loss_without_check"]
    starts = batches["first_batches_of_digits"]
    false_alarms = [
        percentage
        for table in batches["small_starts"].values()
        for first, percentages in table["refused"].items()
        for percentage in percentages.values()
        if int(first) >= 10
    ]
    amounts = [entry["loss"] for entry in batches["rare_amounts"].values()]
    contenders = content("benchmarks/learning.json")["contenders"]
    acil, slda = (contenders[name]["times_ours"] for name in ("acil's recursion as published", "slda"))
    state = results(MNIST).summary["if2net"]["state_bytes"] / 1e6
    widths = automatic_width(1), automatic_width(1000)
    twenty = acc(MNIST, "ewc")
    return {
        "README": [
            ("IF2Net stays at {:.0f} %, plain training falls to {:.0f} %", kept),
            (
                "The paper's {:.0f} % on FashionMNIST is reached here only with the task given",
                printed("fashion-mnist", "if2net"),
            ),
            (
                "without it IF2Net on pixels has {:.1f} %, and a network trained on all classes at once "
                "(`joint`) {:.1f} %",
                fashion,
            ),
            ("why EWC is at {:.0f} %", twenty),
            (
                "on arrays of FashionMNIST, `innate` has {:.2f} % with `flips=True`, {:.2f} % by default",
                (arrays_of_fashion_mnist("innate", True), arrays_of_fashion_mnist("innate", False)),
            ),
            ("Python 3.11 or newer", ()),
            ("the Apache License 2.0", ()),
        ],
        "docs/start": [("Python 3.11 or newer", ())],
        "docs/algorithm": [
            ("γ = 0.4 is safe only where the largest eigenvalue is 1", ()),
            ("after {} samples or {:.0f} % of all samples", (FEW, 100 * NEW_SHARE)),
            ("is {:.3f} on FashionMNIST, {:.3f} on MNIST and {:.3f} on digits", ece.values()),
            ("Σ^0.15 w", ()),
            ("their α = 0.1 is below the rounding", ()),
        ],
        "docs/guides/deployed": [
            ("error is {:.2f} on digits and {:.2f} on FashionMNIST", (ece["digits"], ece["fashion-mnist"])),
            ("by default, between {:,} and {:,}", widths),
            ("Of {} data sets, learned class by class", (len(sizes),)),
            ("and {} made with scikit-learn) the largest figure is {:.1f}", (len(usual) - 2, max(usual))),
            ("as far as they run without a GPU: {:,} tasks of digits", (tasks,)),
            ("with figures up to {:.1f} (`benchmarks/study_streams.py`)", (largest,)),
            ("a batch times 10⁶ costs the old digits {:.0f} points", (spoiled,)),
            ("cost the old classes at most {:.1f} points", (max(amounts),)),
            ("From ten first rows on, at most {:.1f} % of the batches", (max(false_alarms),)),
            ("If at least {:.0f} % of a batch", (100 * REPEATED,)),
            ("a single first sample costs {:.1f} points", (starts["500"] - starts["1"],)),
        ],
        "docs/faq": [
            ("A random layer on pixels reaches {:.1f} % on FashionMNIST", fashion),
            ("about {:.0f} MB in memory at the default limit of {:,} nodes", (10 * round(state / 10), widths[1])),
            ("Why is EWC at {:.0f} %?", twenty),
            ("{:.0f} to {:.0f} times as fast as RanPAC as published", times_as_fast("as published")),
            ("{:.1f} to {:.1f} times as fast as RanPAC in its best order", times_as_fast("in the best order")),
            ("{:.1f} times as fast as SLDA and, by an estimate, {:.0f} times as fast as ACIL", (slda, acil)),
            ("between {:,} and {:,}, is the default", widths),
            ("{:.2f} % against {:.2f} % when one class is forgotten", without_samples["one class"]),
            ("{:.2f} % against {:.2f} % when five are", without_samples["five classes"]),
            ("learns {:.2f} million samples in seconds", (content("benchmarks/gpu.json")["samples"] / 1e6,)),
        ],
        "docs/protocols": [
            ("FashionMNIST's {:.0f} % is far above", printed("fashion-mnist", "if2net")),
            ("agreement with the printed {:.2f} ± {:.2f} proves nothing", published),
            ("Over {} orders of the classes ACC is {:.2f} ± {:.2f}, from {:.2f} to {:.2f}", by_order),
            ("The first five orders alone give {:.2f} ± {:.2f}", first_five),
            ("the analytic rule loses {:.1f} points on MNIST and {:.1f} on FashionMNIST in the same orders", leaks),
            ("chose a μ of {:.1f} to 10⁶", (min(chosen_mu()),)),
            ("the analytic rule had {:.1f} instead of {:.1f} % on MNIST", mixed("mnist")),
            ("and {:.1f} instead of {:.1f} % on FashionMNIST with tasks mixed", mixed("fashion-mnist")),
            ("ACC = {:.1f} − {:.1f} · hardest pairs − {:.1f} · other similar pairs, with R² = {:.2f}", fitted),
            ("neighbouring labels, these accuracies make an ACC of {:.1f}", (by_class.neighbours(),)),
            ("The classes of a task explain {:.0f} % of the variance", (100 * by_class.share_of_pairs(),)),
            ("{:.1f} against {:.1f} on MNIST and {:.1f} against {:.1f} on FashionMNIST", held_back),
        ],
        "docs/ablations": ablation_sentences.sentences(),
        "docs/benchmarks": [
            ("Its γ is fixed at 0.1", ()),
            ("have 90, 6, 2, 1 and 1 % of the samples", ()),
            ("learns {:.2f} million samples", (content("benchmarks/gpu.json")["samples"] / 1e6,)),
            ("are {:.1f} times as fast as plain ones on task 1, and {:.1f} times on task 2", recorded_steps()),
        ],
        "docs/speed": [
            (
                "{:.2f} of its time at 10,000 features and {:.2f} at 4,096, where G and Q are in float32",
                [share_of_time("accuracy", width, "float32", "factor in float32") for width in ("10000", "4096")],
            ),
            (
                "it takes {:.2f} of the time of a float64 factor at 10,000 features and {:.2f} of it at 4,096",
                [share_of_time("accuracy", width, "float64", CORRECTED) for width in ("10000", "4096")],
            ),
            (
                "On an AMD processor it took {:.2f} at 4,096",
                (share_of_time("accuracy-amd", "4096", "float64", CORRECTED),),
            ),
            ("99.9 % equal predictions hold", ()),
        ],
        "docs/guides/comparing": [
            (
                "There are {} files with such a commit in `results/`: two searches and an older row",
                (files_with_uncommitted_code(),),
            ),
            *(
                (
                    template,
                    [*(results(folder).settings["logd"][key] for key in ("rate", "epochs")), *spread(folder, "logd")],
                )
                for template, folder in (
                    ("With a rate of {} and {} epochs LOGD had {:.2f} ± {:.2f}", EARLIER_FASHION),
                    ("with {} and {} epochs it has {:.2f} ± {:.2f}", FASHION),
                )
            ),
            (
                "{:.2f} % against {:.2f} % on held-back training data",
                [
                    tried("search/fashion-mnist-logd", rate=rate, epochs=epochs)
                    for rate, epochs in (("0.02", "6"), ("0.01", "2"))
                ],
            ),
            ("on MNIST, IF2Net had {:.2f} and OWM {:.2f} before", acc(EARLIER, "if2net", "owm")),
            (
                "a rate of {} instead of {}",
                [results(folder).settings["fs-dgpm"]["rate"] for folder in (MNIST, "fs-dgpm/mnist")],
            ),
            (
                "with a rate of 0.04, the first search has {:.2f} % on held-back training data and the second one "
                "{:.2f} %",
                [
                    tried(file, rate="0.04", ascent="0.0167")
                    for file in ("fs-dgpm/mnist-search", "search/mnist-fs-dgpm")
                ],
            ),
            ("Its row was {:.2f} ± {:.2f} before", spread("fs-dgpm/mnist", "fs-dgpm")),
            ("lower in every order now: {:.2f} ± {:.2f}", spread(MNIST, "fs-dgpm")),
        ],
        "docs/comparison": [
            ("All {} methods that the paper compares", (len(METHODS) - 8,)),  # without 3 of ours and 5 peers
            ("IF2Net has {:.2f} ± {:.2f}, `joint` {:.2f} ± {:.2f}", spread(MNIST, "if2net", "joint")),
            ("RanPAC ({:.2f}), ACIL ({:.2f}) and FeCAM ({:.2f})", acc(MNIST, "ranpac", "acil", "fecam")),
            ("BiC ({:.2f}) and RPS-Net ({:.2f})", acc(MNIST, "bic", "rps-net")),
            (
                "RanPAC has {:.2f} ± {:.2f}, IF2Net {:.2f} ± {:.2f} and ACIL {:.2f} ± {:.2f}",
                spread(FASHION, "ranpac", "if2net", "acil"),
            ),
            ("`joint` has {:.2f}; the best with exemplars is BiC, {:.2f}", acc(FASHION, "joint", "bic")),
            (
                "RPS-Net {:.2f}, ACIL {:.2f} and `if2net-gradient` {:.2f}",
                acc(EARLIER_FASHION, "rps-net", "acil", "if2net-gradient"),
            ),
            ("are {:.0f} to {:.0f} points behind", extremes(behind)),
            (
                "come within {:.1f} points of the printed figure",
                (within(beyond_print("mnist", "pcl", *(set(REPLAY) - {"fs-dgpm"}))),),
            ),
            ("FS-DGPM is {:.1f} above, and OWM {:.1f}", beyond_print("mnist", "fs-dgpm", "owm")),
            (
                "On FashionMNIST the replay methods are within {:.1f} points",
                (within(beyond_print("fashion-mnist", *REPLAY)),),
            ),
            ("stay at {:.0f} %: only the last task", acc(MNIST, "none")),
            ("EWC, MAS, OL-EWC and SI at {:.0f} to {:.0f} %", extremes(claimed)),
            (
                "EWC's figure, {:.2f} against the printed {:.2f}",
                [*acc("table-mnist/mnist-agnostic-current", "ewc"), *printed("mnist", "ewc")],
            ),
            (
                "FashionMNIST: {:.2f} for joint training and {:.2f} for IF2Net",
                printed("fashion-mnist", "joint", "if2net"),
            ),
            ("once reach {:.2f} here", fashion[1:]),
            (
                "own layers have {:.2f} ± {:.2f} over {} orders where the task is *given*",
                [*spread(aware, "if2net"), len(accs)],
            ),
            (
                "and {:.2f} ± {:.2f} where a test batch holds one task only",
                spread(leaking, "if2net (one task per batch)"),
            ),
            ("mixed it is {:.2f} ± {:.2f}", spread(leaking, "if2net (tasks mixed)")),
            (
                "**EFT at {:.2f} and {:.2f}.** {:.2f} and {:.2f} here",
                [
                    *(value for data in ("mnist", "fashion-mnist") for value in printed(data, "eft")),
                    *(value for folder in (MNIST, FASHION) for value in acc(folder, "eft")),
                ],
            ),
            (
                "stay {:.0f}, {:.0f}, {:.0f} and {:.0f} points below the printed figures, with a spread of {:.0f} to "
                "{:.0f}",
                [*(-value for value in beyond_print("fashion-mnist", *weak)), *extremes(deviations)],
            ),
            ("no better: {:.2f} ± {:.2f} on MNIST", spread("eft-groups", "eft")),
            ("its authors' rigidity of 2.5", ()),
            ("the highest mean, {:.2f} ± {:.2f}, level", spread("digits", "if2net")),
            ("`joint` is behind it, {:.2f} ± {:.2f}", spread("digits", "joint")),
            (
                "FS-DGPM learns one of the five orders badly ({:.2f})",
                (min(100 * run.acc for run in results("digits").of("fs-dgpm")),),
            ),
            ("takes {:.0f} seconds by the clock", (content("benchmarks/digits.json")["seconds_by_one_command"],)),
            ("differs by up to {:.0f} points from that of the same order", (most_between_processors(),)),
            ("more than 0.1 points higher", ()),
            ("it has {:.2f} ± {:.2f} for ten tasks and one hidden layer", spread("owm/ten-tasks", "owm")),
            ("code](https://github.com/beijixiong3510/OWM) gives 94.36", ()),
            ("it has {:.2f} ± {:.2f}, below the authors' 96.35 to 96.68", spread("owm/two-tasks", "owm")),
            (
                "OWM learns one of the five orders badly ({:.2f})",
                (min(100 * run.acc for run in results(FASHION).of("owm")),),
            ),
            ("FashionMNIST, with a rate of {}, this was seen on a CPU only", (rate_of_logd(FASHION),)),
            (
                "made on the H200, has a rate of {}, and no file says whether {} diverges there",
                [rate_of_logd(folder) for folder in (EARLIER_FASHION, FASHION)],
            ),
            ("on a CPU, with torch {} instead of {}", [torch_of(method) for method in ("logd", "owm")]),
            ("an MNIST row that was {:.1f} points higher", (-fmean(leads(MNIST, "fs-dgpm", "fs-dgpm", EARLIER)),)),
            ("on none of MNIST, where it has {:.2f} ± {:.2f}", spread("logd/mnist", "logd")),
            ("(`follow` {})", (hyperparameters.space("if2net")[0]["follow"][0],)),
        ],
    }


def arrays_of_fashion_mnist(encoder: str, flips: bool) -> float:
    """Return the accuracy of an innate encoder with its default nodes, with or without mirror images."""
    wanted = ("product", "fashion-mnist", encoder, NODES[INNATE[encoder]])
    (row,) = (
        row
        for row in row_files.read(row_files.INNATE / "rows.jsonl")
        if (row["kind"], row["data"], row["encoder"], row["width"]) == wanted and row["settings"]["flips"] == flips
    )
    return fmean(row["accuracy"])


def files_with_uncommitted_code() -> int:
    """Return the number of files with results or speeds of which some ran from a commit with uncommitted changes."""
    files = [path for folder in ("results", "benchmarks") for path in (ROOT / folder).rglob("*.json")]
    return sum('-dirty"' in path.read_text() for path in files)


def recorded_steps() -> list[float]:
    """Return how many times as fast recorded steps are as plain ones, for each task."""
    ways = content("benchmarks/training_steps.json")["methods"]["none"]
    return [plain / own for plain, own in zip(*(ways[way]["seconds"] for way in ("plain", "recorded")), strict=True)]


def share_of_time(file: str, width: str, statistics: str, way: str) -> float:
    """Return the time of a way to β, divided by that of a factor in float64."""
    return content(f"benchmarks/{file}.json")["share_of_the_time_of_a_float64_factor"][width][statistics][way]


def most_between_processors() -> float:
    """Return by how many points the accuracy of a method on digits differs at most, in the first order."""
    there = content("benchmarks/digits.json")["methods"]
    runs = [run for method in there for run in results("digits").of(method) if run.seed == 0]
    return max(abs(100 * run.acc - there[run.method]["accuracy"]) for run in runs)


def rate_of_logd(folder: str) -> float:
    return results(folder).settings["logd"]["rate"]


def torch_of(method: str) -> str:
    """Return the version of torch of a method on FashionMNIST, without its build."""
    return str(results(FASHION).of(method)[0].environment["torch"]).partition("+")[0]


def mixed(data: str) -> list[float]:
    """Return the best accuracy with mixed tasks in the search of the ridge, and that of the ridge that was chosen."""
    search = content(f"results/search/{data}-transductive-if2net.json")
    tried = [trial for trial in search["tried"] if "error" not in trial]
    accuracies = {trial["settings"]["ridge"]: 100 * trial["tasks mixed"] for trial in tried}
    return [max(accuracies.values()), accuracies[search["best"]["one task per batch"]["ridge"]]]


def chosen_mu() -> list[float]:
    """Return the values of μ in Remark 1 that the searches chose for the gradient rules."""
    best = [content(path)["best"] for path in sorted((HERE / "search").glob("*mnist*-if2net-*.json"))]
    return [float(next(iter(variants.values()))["mu"]) for variants in best]


def times_as_fast(order: str) -> list[float]:
    """Return the lowest and the highest of RanPAC's times from rows to the first prediction, relative to ours.

    Both have as many features. There is a ratio for each processor and each task of ours; RanPAC does the same work
    for the second task and the tenth.
    """
    ratios = []
    for name in ("rows", "rows-intel"):
        contenders = content(f"benchmarks/{name}.json")["contenders"]
        ours, theirs = (contenders[who]["seconds"] for who in ("IF2NetClassifier(width=8719)", f"ranpac {order}"))
        ratios += [theirs.get(task, theirs["2"]) / ours[task] for task in ("1", "10", "2")]
    return extremes(ratios)
