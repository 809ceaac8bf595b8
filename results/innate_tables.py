"""The tables of docs/innate.md and the README on the innate encoders, from the files in results/innate/."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from row_files import INNATE, Row, read
from sentences import content, results

from if2net.study.bench.display import markdown
from if2net.study.bench.experiments import EXPERIMENTS
from if2net.study.data import parse_scenario

NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
CLASSES = {"mnist": 10, "fashion-mnist": 10, "cifar10": 10, "cifar100": 100}
SIZES = {"innate": "small", "innate-large": "large"}
# The numbers of nodes of the encoders in the tables of results. The last one of an encoder is its default.
WIDTHS = {"innate": (4352, 8192), "innate-large": (8192, 16_384)}
# The nodes of the small encoder in earlier trials, its default until then.
FORMER = 4352
# The default read-out and others: nodes, whether the features are used as well, the scale of the nodes, and whether
# both views count as rows.
NODES = {
    "features, both views as rows": (0, True, 1.0, True),
    "features": (0, True, 1.0, False),
    "features and 2,048 nodes": (2048, True, 1.0, False),
    "features and 4,352 nodes": (FORMER, True, 1.0, False),
    "features and 4,352 nodes x0.5": (4352, True, 0.5, False),
    "features and 4,352 nodes x2": (4352, True, 2.0, False),
    "features and 8,192 nodes, the default": (8192, True, 1.0, False),
    "4,352 nodes": (4352, False, 1.0, False),
    "8,192 nodes": (8192, False, 1.0, False),
}
# The peers are compared with mirror images. A search without them is in the same file.
PEERS_VIEWS = 2
# Weights of mirror images.
VIEWS = (0.0, 0.2, 0.35, 0.5)
# Earlier read-outs that are shown, in this order.
READOUTS = (
    "one view",
    "flips",
    "flips, rows of length 1",
    "flips, last stage x2.0",
    "flips, first stage x.5",
    "flips and 2 shifts by 1, flips averaged",
    "flips and 4 shifts by 1, flips averaged",
    "flips and 4 shifts by 1, all averaged",
    "large, grid (4, 3, 2, 1), own statistics",
    "large, grid (4, 4, 4, 2), own statistics",
    "large, grid (6, 5, 4, 2), own statistics",
    "large, power .5, own statistics",
    "both sizes, flips",
)


def lines(name: str) -> Iterator[Row]:
    return read(INNATE / f"{name}.jsonl")


def best(data: str, size: str, views: int, readout: tuple[Any, ...], by: str = "accuracy") -> float | None:
    """Return the accuracy of a read-out on held-back pictures with the best ridge; None if it was not tried."""
    wanted = (data, size, views, *readout)
    keys = ("data", "size", "views", "nodes", "direct", "scale", "pairs")
    return max((row[by] for row in lines("nodes") if tuple(row[key] for key in keys) == wanted), default=None)


def held_back(data: str, encoder: str, width: int, file: str = "rows") -> dict[bool, float]:
    """Return the accuracy on held-back training pictures, with and without mirror images."""
    return {
        row["flips"]: row["accuracy"]
        for row in lines(file)
        if row["kind"] == "held back" and (row["data"], row["encoder"], row["width"]) == (data, encoder, width)
    }


def product(data: str, encoder: str, tasks: int, width: int | None = None) -> list[float]:
    """Return the test accuracy by class order; the held-back pictures decide on mirror images."""
    width = width or WIDTHS[encoder][-1]
    both = held_back(data, encoder, width)
    if not both:
        return []
    wanted = (data, encoder, tasks, width, max(both, key=lambda flips: both[flips]))
    runs = [row for row in lines("rows") if row["kind"] == "product"]
    accuracies = {
        (run["data"], run["encoder"], run["tasks"], run["width"], run["settings"]["flips"]): run["accuracy"]
        for run in runs
    }
    return accuracies.get(wanted, [])


def cell(figures: list[float]) -> str:
    """Return the mean over class orders, and the range if they differ."""
    if not figures:
        return "–"
    difference = f"{max(figures) - min(figures):.2f}"
    mean = f"{sum(figures) / len(figures):.2f}"
    return mean if difference == "0.00" else f"{mean} (range {difference})"


STREAMS = (("mnist", 5), ("fashion-mnist", 5), ("cifar10", 5), *(("cifar100", n) for n in (10, 20, 50, 100)))


def innate(tasks: Iterable[int] = (5, 10, 20, 50, 100), names: Iterable[str] = SIZES.values()) -> str:
    """ACC of the learner with its default nodes, one row per stream."""
    rows = []
    for data, n in STREAMS:
        if n in tasks:
            folders = [f"{data}-{CLASSES[data]}-{n}-{encoder}" for encoder in SIZES]
            accuracies = [[100 * run.acc for run in results(f"innate/{folder}").of("if2net")] for folder in folders]
            rows.append([f"{NAMES[data]}, {n} tasks", *map(cell, accuracies)])
    return markdown(["classes in tasks", *names], rows)


def innate_short() -> str:
    """The same for some of the streams, without the ranges."""
    return re.sub(r" \(range [\d.]+\)", "", innate((5, 10, 100), SIZES))


def innate_command() -> str:
    """ACC of all methods by `if2net reproduce innate`, one row per encoder and stream."""
    methods = ("if2net", "ranpac", "acil", "slda", "fecam", "ncm")
    rows = []
    for part in EXPERIMENTS["innate"].parts:
        scenario = parse_scenario(part.scenario)
        summary = results(f"innate/{part.folder}").summary
        encoder = str(scenario.backbone).partition(",")[0]
        cells = [_of_orders(summary[name]) if name in summary else "–" for name in methods]
        stream = f"{NAMES[scenario.dataset]}, {scenario.tasks} tasks, {SIZES.get(encoder, encoder)}"
        rows.append([stream, *(cells if scenario.tasks <= 10 else cells[:1])])
    return markdown(["classes in tasks, features", *methods], [row + [""] * (7 - len(row)) for row in rows])


def innate_nodes_of_small() -> str:
    """ACC on the small features by the number of random nodes, beside the methods that have nodes themselves."""
    rows = []
    for data in ("mnist", "fashion-mnist"):
        folder = f"{data}-10-5-innate"
        default = results(f"innate/{folder}").summary
        former, *more = (results(f"innate/nodes-{nodes}/{folder}").summary for nodes in (FORMER, 10_000, 16_384))
        cells = [entry["if2net"] for entry in (former, default, *more)] + [default["ranpac"], default["acil"]]
        rows.append([NAMES[data], *map(_of_orders, cells)])
    ours = [f"if2net, {nodes:,} nodes" for nodes in (*WIDTHS["innate"], 10_000, 16_384)]
    return markdown(["data", *ours, "ranpac, 10,000 nodes", "acil, 8,192 nodes"], rows)


def _of_orders(summary: dict[str, float]) -> str:
    """Return mean ± standard deviation, without it for a single class order, and the number of orders if not five."""
    orders = int(summary["runs"])
    figures = f"{100 * summary['acc_mean']:.2f}" + (f" ± {100 * summary['acc_std']:.2f}" if orders > 1 else "")
    return figures if orders == 5 else f"{figures} ({orders} of 5)"


def innate_flips() -> str:
    rows = []
    for data, name in NAMES.items():
        by_encoder = [held_back(data, encoder, widths[-1]) for encoder, widths in WIDTHS.items()]
        rows.append([name, *(f"{accuracies[flips]:.2f}" for accuracies in by_encoder for flips in (False, True))])
    headings = ["small, plain", "small, mirrored", "large, plain", "large, mirrored"]
    return markdown(["held-back pictures of", *headings], rows)


def innate_arrays() -> str:
    """Test accuracy on arrays of FashionMNIST by mirror images, with the default nodes."""
    runs = {
        (row["encoder"], row["width"], row["settings"]["flips"]): row["accuracy"]
        for row in lines("rows")
        if (row["kind"], row["data"]) == ("product", "fashion-mnist")
    }
    headings = {False: "without mirror images, the default", True: "`flips=True`"}
    rows = [
        [words, *(cell(runs[encoder, widths[-1], flips]) for encoder, widths in WIDTHS.items())]
        for flips, words in headings.items()
    ]
    return markdown(["arrays of FashionMNIST", *SIZES.values()], rows)


def innate_resized() -> str:
    """Held-back accuracy of both encoders with pictures of 28×28 pixels as they are, and resized to 32×32."""
    rows = []
    for data in ("mnist", "fashion-mnist"):
        for encoder, widths in WIDTHS.items():
            width = FORMER if encoder == "innate" else widths[-1]
            files = [held_back(data, encoder, width, file) for file in ("rows-28x28", "rows")]
            cells = [f"{accuracies[flips]:.2f}" for flips in (False, True) for accuracies in files]
            rows.append([f"{NAMES[data]}, {SIZES[encoder]}", *cells])
    return markdown(["held-back pictures of", "plain, 28", "plain, 32", "mirrored, 28", "mirrored, 32"], rows)


def innate_views() -> str:
    """Held-back accuracy of the small encoder by the side of the pictures and the weight of their mirror images."""
    trials: dict[tuple[str, int], dict[float, Row]] = {}
    rates = {row["side"]: row["per_second"] for row in lines("views") if "per_second" in row}
    for row in (row for row in lines("views") if "data" in row):
        trials.setdefault((row["data"], row["side"]), {})[row["weight"]] = row
    order = {data: place for place, data in enumerate(NAMES)}
    rows = []
    for (data, side), by_weight in sorted(trials.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        own = 28 if "mnist" in data else 32
        cells = [_compared(by_weight.get(weight), side == own) for weight in VIEWS]
        rows.append([f"{NAMES[data]}, {side}", f"{rates[side]:,}", *cells])
    return markdown(
        ["held-back pictures of, side", "pictures per second", "plain", *(f"{weight:g}" for weight in VIEWS[1:])],
        rows,
    )


def _compared(row: Row | None, own: bool) -> str:
    """Return the accuracy, and how far it is from that of the same pictures with their own side and one view."""
    if row is None:
        return "–"
    gain, error = row["over_plain"]
    return f"{row['accuracy']:.2f}" + ("" if own and not row["weight"] else f" ({gain:+.2f} ± {error:.2f})")


def innate_precision() -> str:
    """The rate of the small network and the held-back accuracy of its features, by the precision of its maps."""
    rates = {row["precision"]: row["per_second"] for row in lines("int8") if "per_second" in row}
    trials = {(row["precision"], row["data"]): row for row in lines("int8") if "data" in row}
    rows = []
    for precision, rate in rates.items():
        cells = []
        for data in ("mnist", "fashion-mnist"):
            trial = trials[precision, data]
            gain, error = trial["over_float32"]
            compared = "" if precision == "float32" else f" ({gain:+.2f} ± {error:.2f})"
            cells.append(f"{trial['accuracy']:.2f}{compared}")
        rows.append([precision, f"{rate:,}", *cells])
    return markdown(["maps of the small network in", "pictures per second", "MNIST", "FashionMNIST"], rows)


def innate_folders() -> str:
    """Held-back accuracy and size of the model file by the encoder of the features, which are rows."""
    by_encoder = {(row["data"], row["tasks"], row["encoder"]): row for row in lines("folders")}
    rows = []
    for data, tasks in dict.fromkeys(key[:2] for key in by_encoder):
        pair = [by_encoder[data, tasks, encoder] for encoder in ("linear", "wide")]
        stream = "all classes at once" if tasks == 1 else f"{tasks} tasks"
        cells = [f"{row['accuracy']:.2f}, {row['size'] / 1e6:.0f} MB" for row in pair]
        rows.append([f"{NAMES[data]}, {stream}", *cells])
    return markdown(["held-back pictures of", "`encoder=linear`", "`encoder=wide`"], rows)


def innate_peers() -> str:
    """Each method on the features of both networks, with the number of trials of its search."""
    searches = [row for row in lines("peers") if row["views"] == PEERS_VIEWS]
    peers = {(row["data"], row["size"], row["method"]): row for row in searches}
    columns = [(data, encoder, n) for encoder in SIZES for data, n in (("fashion-mnist", 5), ("cifar100", 10))]
    rows = [
        [
            f"if2net, {width:,} nodes",
            *(cell(product(*column, width)) if width in WIDTHS[column[1]] else "" for column in columns),
        ]
        for width in sorted({width for widths in WIDTHS.values() for width in widths})
    ]
    for method in ("ncm", "slda", "fecam", "acil", "ranpac"):
        measured = [peers.get((data, SIZES[encoder], method)) for data, encoder, _ in columns]
        cells = (f"{cell(row['accuracy'])}, {len(row['trials'])} trials" if row else "–" for row in measured)
        rows.append([method, *cells])
    return markdown(["method", *(f"{NAMES[data]}, {SIZES[encoder]}" for data, encoder, _ in columns)], rows)


def innate_imitation() -> str:
    """Held-back accuracy with mirror images by the weight of the imitation, with nodes and without."""
    trials = {
        (row["steps"], row["imitation"], row["data"], row["views"], row["nodes"]): row for row in lines("imitation")
    }
    columns = [(data, 2, nodes) for data in ("cifar100", "fashion-mnist") for nodes in (0, FORMER)]
    rows = [
        [
            f"{imitation:g}",
            f"{steps:,}",
            *(f"{trials[steps, imitation, *column]['accuracy']:.2f}" for column in columns),
        ]
        for steps, imitation in dict.fromkeys(key[:2] for key in trials)
    ]
    headings = [NAMES[data] + (f", {nodes:,} nodes" if nodes else "") for data, _, nodes in columns]
    return markdown(["weight of the imitation", "steps", *headings], rows)


def innate_small() -> str:
    """Held-back accuracy on FashionMNIST of networks trained on grey drawings only, beside the usual one."""
    usual = {"grey": 0.2, "plain": 0.3, "widths": [32, 80, 160, 320], "blocks": [0, 1, 1, 1]}
    measured = [usual | row for row in lines("imitation") if (row["imitation"], row["steps"]) == (0, 12_000)]
    networks: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
    for row in [*measured, *lines("small")]:
        if row["data"] == "fashion-mnist":
            widths, blocks = (" ".join(map(str, row[key])) for key in ("widths", "blocks"))
            facts = f"{100 * row['grey']:.0f} %", f"{100 * row['plain']:.0f} %", widths, blocks
            networks.setdefault(facts, {})[row["views"], row["nodes"]] = row["accuracy"]
    columns = [(views, nodes) for views in (2, 1) for nodes in (0, FORMER)]
    rows = [
        [*facts, *(f"{accuracies[c]:.2f}" if c in accuracies else "–" for c in columns)]
        for facts, accuracies in networks.items()
    ]
    headings = [("mirrored" if views == 2 else "plain") + (f", {n:,} nodes" if n else "") for views, n in columns]
    return markdown(["grey drawings", "on black", "widths", "blocks", *headings], rows)


def innate_again() -> str:
    """Held-back accuracy of the small network in the package and of the one that was trained again."""
    best: dict[tuple[str, str], float] = {}
    for row in lines("again"):
        key = row["size"], row["data"]
        best[key] = max(best.get(key, 0.0), row["accuracy"])
    data = ("cifar100", "fashion-mnist")
    rows = [
        [name, *(f"{best[size, each]:.2f}" for each in data)]
        for name, size in (("in the package", "small"), ("trained again", "small-again.if2"))
    ]
    return markdown(["small network", *(NAMES[each] for each in data)], rows)


def innate_adaptation() -> str:
    """Held-back accuracy by the classes of the first task and the rate of the adaptation."""
    rows = [
        [
            " and ".join(map(str, row["classes"])),
            f"{row['rate']:g}" if row["rate"] else "not adapted",
            *(f"{row[key]:.2f}" for key in ("accuracy", "first", "later")),
            f"{100 * row['change']:.0f} %",
        ]
        for row in lines("adaptation")
    ]
    headings = ["rate", "all classes", "those of the first task", "the others", "change of the features"]
    return markdown(["first task", *headings], rows)


def innate_widths() -> str:
    """The best accuracy by the number of nodes, its ridge, and the ridges that three criteria prefer."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in lines("widths"):
        groups.setdefault((row["data"], row["size"], row["nodes"]), []).append(row)
    rows = []
    for (data, size, nodes), trials in sorted(
        groups.items(), key=lambda item: (list(NAMES).index(item[0][0]), item[0][1] != "small", item[0][2])
    ):
        accurate = max(trials, key=lambda trial: trial["accuracy"])
        ridges = [min(trials, key=lambda trial: trial[key])["ridge"] for key in ("error", "gcv", "inner_fifth")]
        accuracies = [accurate["accuracy"], max(trial["discriminant"] for trial in trials)]
        rows.append(
            [
                f"{NAMES[data]}, {size}, {nodes:,} nodes",
                *(f"{accuracy:.2f}" for accuracy in accuracies),
                *(f"{ridge:.2g}" for ridge in (accurate["ridge"], *ridges)),
            ]
        )
    headings = ["ridge", "discriminant", "most accurate ridge", "least error", "least GCV", "for a fifth"]
    return markdown(["held-back pictures of", *headings], rows)


def innate_nodes() -> str:
    columns = [("cifar100", "small", 2), ("fashion-mnist", "small", 2), ("fashion-mnist", "small", 1)]
    columns += [("fashion-mnist-first", "large", 2)]
    rows = []
    for name, readout in NODES.items():
        cells = []
        for data, size, views in columns:
            for by in ("accuracy", "discriminant"):
                accuracy = best(data, size, views, readout, by)
                cells.append(cell([] if accuracy is None else [accuracy]))
        rows.append([name, *cells])
    kinds = {("small", 2): "", ("small", 1): ", plain", ("large", 2): ", large"}
    titles = [NAMES[data.removesuffix("-first")] + kinds[size, views] for data, size, views in columns]
    return markdown(["read-out", *(f"{title}{by}" for title in titles for by in ("", ", discriminant"))], rows)


def innate_readouts() -> str:
    trials = {(row["tag"], row["size"], row["data"]): row for row in lines("readouts")}
    data = ("cifar100", "fashion-mnist")
    rows = []
    for tag in READOUTS:
        for size in ("small", "large", "both"):
            if (tag, size, data[0]) in trials:
                name = f"{size}: {tag.removeprefix('large, ').removeprefix('both sizes, ')}"
                pair = [trials.get((tag, size, each), {}) for each in data]
                rows.append([name, *(cell([row["ridge"]] if row else []) for row in pair)])
                if "lda" in pair[0]:
                    rows.append([f"{name}, linear discriminant", *(cell([row["lda"]]) for row in pair)])
    return markdown(["read-out", "CIFAR-100", "FashionMNIST"], rows)


def innate_cost() -> str:
    """Times and sizes of both encoders, and of the small one with other numbers of nodes."""
    measured = content("benchmarks/innate.json")
    speed, others = measured["per_second"], (", 4,352 nodes", ", 16,384 nodes")
    learned = [measured[f"fashion-mnist{nodes}"] for nodes in ("", *others)]
    clock = [measured["by_the_clock"][f"small{nodes}"] for nodes in ("", *others)]
    training = {row["size"]: row for row in lines("training") if "seconds" in row}
    rows = [
        ["training on drawings, steps of 512", *(f"{training[size]['steps']:,}" for size in SIZES.values())],
        ["training on drawings, seconds", *(f"{training[size]['seconds']:.0f}" for size in SIZES.values())],
        *(
            [f"pictures per second, {dtype}", *(f"{speed[f'{size} {dtype}']:,}" for size in SIZES.values())]
            for dtype in ("float32", "bfloat16")
        ),
        ["pictures per second, with nodes", *(f"{speed[f'{size} with nodes']:,}" for size in SIZES.values())],
        ["the same, two threads", *_small(f"{rate:,}" for rate in clock)],
        ["learning FashionMNIST, mirror images", *_small(("no", "no", "yes"))],
        ["learning FashionMNIST, seconds", *_small(f"{entry['seconds']:.0f}" for entry in learned)],
        [
            "learning FashionMNIST, processor seconds",
            *_small(f"{entry['processor_seconds']:.0f}" for entry in learned),
        ],
        ["its accuracy", *_small(f"{100 * entry['accuracy']:.2f}" for entry in learned)],
        ["its model file, MB", *_small(f"{entry['bytes'] / 1e6:.0f}" for entry in learned)],
    ]
    headings = ["", *SIZES.values(), *(f"small{nodes}" for nodes in others)]
    return markdown(headings, [row + ["–"] * (len(headings) - len(row)) for row in rows])


def _small(cells: Iterable[str]) -> list[str]:
    """Return the cells of the small encoder, with none for the large one after the first."""
    default, *more = cells
    return [default, "–", *more]
