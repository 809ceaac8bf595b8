"""From result folders to the sections of a report, one for each scenario under each protocol.

Every number that the report shows is computed here. The tables of the page are laid out in page_tables.html.j2 from
these classes, the tables in markdown in paper_tables.py, and the charts in charts.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from if2net.errors import ConfigurationError
from if2net.study.bench import metrics
from if2net.study.bench.display import Metric
from if2net.study.bench.environment import Environment
from if2net.study.bench.experiments import BOUNDS
from if2net.study.bench.results import Results, Run, result_files
from if2net.study.data import parse_scenario

HIGHLIGHTED = "if2net"  # the method that stands out until the reader chooses another one
# Methods with one output layer for all classes, and nothing that compares those of the newest task with the old ones.
SINGLE_HEAD = ("none", "nn-rw", "ewc", "ol-ewc", "mas", "si")
MOST_CLASSES = 30  # columns of the table of classes
MOST_CONFUSIONS = 5  # of each method
MOST_NAMES = 3  # of the largest group of methods on one device; a longer list becomes "the others"

DATASETS = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR",
    "tiny-imagenet": "Tiny-ImageNet",
    "cub200": "CUB",
    "stanford-dogs": "Stanford Dogs",
}
# The paper's backbone is trained on the classes that are not learned. Any other one is named.
BACKBONES = {
    "held-out": "",
    "held-out,beside=innate-large": "innate features beside",
    "efficientnet-lite0": "EfficientNet-Lite0, ImageNet weights",
}
FEATURES = (
    "features: of a ResNet that was trained on the classes that are not learned, unless another backbone is named"
)


def title(scenario: str) -> str:
    """Name a scenario in tables and figures.

    >>> title("cifar100-60/10@held-out"), title("cub200-100/10@efficientnet-lite0")
    ('CIFAR-60/10', 'CUB-100/10, EfficientNet-Lite0, ImageNet weights')
    """
    parsed = parse_scenario(scenario)
    backbone = BACKBONES.get(parsed.backbone or "held-out", parsed.backbone)
    stream = f"{DATASETS.get(parsed.dataset, parsed.dataset)}-{parsed.classes}/{parsed.tasks}"
    return f"{stream}, {backbone}" if backbone else stream


@dataclass(frozen=True)
class Source:
    """Results, and the name of the folder that holds them."""

    name: str
    results: Results

    @property
    def environments(self) -> list[tuple[Environment, list[str]]]:
        """Each environment, with the methods that ran in it."""
        return [
            (own, list(dict.fromkeys(run.label for run in self.results.runs if run.environment == own)))
            for own in self.results.environments
        ]


@dataclass(frozen=True, eq=False)
class Series:
    """A method in a section, over its seeds. Its index is the same in all sections of a page."""

    name: str
    index: int
    runs: Sequence[Run]
    summary: dict[str, float]
    settings: Mapping[str, Any]

    @property
    def method(self) -> str:
        return self.runs[0].method

    @property
    def devices(self) -> list[str]:
        return list(dict.fromkeys(run.device for run in self.runs))

    @property
    def tasks(self) -> int:
        return len(self.runs[0].R)

    @property
    def keeps_exemplars(self) -> bool:
        return self.summary["exemplars"] > 0

    def mean(self, key: str) -> float:
        return self.summary[f"{key}_mean"]

    def deviation(self, key: str) -> float:
        return self.summary[f"{key}_std"]

    def cell(self, metric: Metric) -> str:
        """Mean ± standard deviation over the seeds."""
        return metric.cell(self.summary)

    @cached_property
    def curve(self) -> tuple[list[float], list[float]]:
        """ACC on all tasks seen so far, after each task: means and standard deviations over the seeds."""
        columns = list(zip(*(metrics.curve(run.R) for run in self.runs), strict=True))
        return [fmean(column) for column in columns], [metrics.deviation(column) for column in columns]

    def accuracy(self, i: int, j: int) -> float:
        """R[i][j], mean over the seeds."""
        return fmean(run.R[i][j] for run in self.runs)

    @cached_property
    def confusions(self) -> tuple[list[int], np.ndarray]:
        """The classes, and the test samples by true and by predicted class after the last task, over all seeds."""
        counted = [run for run in self.runs if run.counts is not None]
        classes = sorted({label for run in counted for label in run.class_order})
        counts = np.zeros((len(classes), len(classes)), dtype=int)
        for run in counted:
            places = np.searchsorted(classes, run.class_order)
            counts[np.ix_(places, places)] += run.counts
        return classes, counts

    @cached_property
    def class_accuracies(self) -> dict[int, float]:
        classes, counts = self.confusions
        return {
            label: float(counts[place, place] / total)
            for place, (label, total) in enumerate(zip(classes, counts.sum(axis=1), strict=True))
            if total
        }

    @cached_property
    def worst_confusions(self) -> list[tuple[int, int, float]]:
        """(true class, predicted class, share of the true class), the largest share first."""
        classes, counts = self.confusions
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        np.fill_diagonal(shares, 0)
        order = np.argsort(-shares, axis=None, kind="stable")[:MOST_CONFUSIONS]
        worst = [(*divmod(int(place), len(classes)), float(shares.flat[place])) for place in order]
        return [(classes[true], classes[predicted], share) for true, predicted, share in worst if share]

    @property
    def forgets_all(self) -> bool:
        """Whether only about 1/T of the samples can be right: a single head, and a loss over all classes."""
        return self.tasks > 1 and self.method in SINGLE_HEAD and self.settings.get("scope", "seen") == "seen"


@dataclass(frozen=True)
class Section:
    """Everything that may be compared: one scenario under one protocol."""

    scenario: str
    protocol: str
    series: Sequence[Series]
    sources: Sequence[Source]

    @property
    def tasks(self) -> int:
        return self.series[0].tasks

    @property
    def runs(self) -> list[Run]:
        return [run for series in self.series for run in series.runs]

    @property
    def title(self) -> str:
        return f"{self.scenario}, {self.protocol}"

    @property
    def has_backbone(self) -> bool:
        return parse_scenario(self.scenario).backbone is not None

    @cached_property
    def ranked(self) -> list[Series]:
        """The series, the highest ACC first."""
        return sorted(self.series, key=lambda series: -series.mean("acc"))

    @cached_property
    def highlighted(self) -> Series:
        """IF2Net, or the best method where it was not run."""
        return next((series for series in self.series if series.method == HIGHLIGHTED), self.best)

    @cached_property
    def best(self) -> Series:
        return max(self.competing, key=lambda series: series.mean("acc"))

    @property
    def competing(self) -> Sequence[Series]:
        """All but the bounds: `none` has no defence against forgetting, `joint` has all data at once."""
        return [series for series in self.series if series.method not in BOUNDS] or self.series

    def leaders(self, task: int | None = None) -> set[str]:
        """The names of the series with the highest ACC, at the end or after a task."""
        acc = {entry.name: entry.mean("acc") if task is None else entry.curve[0][task] for entry in self.competing}
        highest = max(acc.values())
        return {name for name, value in acc.items() if value == highest}

    @cached_property
    def classes(self) -> list[int]:
        """The classes of the table of classes: all in order, or the hardest where there are too many."""
        tables = [series.class_accuracies for series in self.series]
        known = sorted({label for table in tables for label in table})
        if len(known) <= MOST_CLASSES:
            return known
        return sorted(known, key=lambda label: fmean(t[label] for t in tables if label in t))[:MOST_CLASSES]

    @cached_property
    def devices(self) -> list[str]:
        return list(dict.fromkeys(device for series in self.series for device in series.devices))

    @property
    def several_devices(self) -> str:
        """A sentence that says which methods ran on which device; empty where all ran on the same one."""
        if len(self.devices) < 2:
            return ""
        groups: dict[str, list[str]] = {}
        for series in self.series:
            groups.setdefault(" and ".join(sorted(series.devices)), []).append(series.name)
        *few, most = sorted(groups, key=lambda devices: len(groups[devices]))
        names = {devices: " and ".join(groups[devices]) for devices in (*few, most)}
        if few and len(groups[most]) > MOST_NAMES:
            names[most] = "the others"
        clauses = ", ".join(f"{methods} ran on {devices}" for devices, methods in names.items())
        return f"Seconds of different devices cannot be compared: {clauses}."

    @property
    def trained_on(self) -> str:
        """The data that the backbones have seen; empty where there is none to name."""
        return "; ".join(dict.fromkeys(filter(None, (source.results.trained_on for source in self.sources))))


def read_sources(folders: Iterable[Path]) -> list[Source]:
    """Read the results in these folders, or in the folders inside them."""
    files: dict[Path, Path] = {}  # the same file may be given in two ways
    for folder in folders:
        for file in sorted(result_files(folder), key=_by_number):
            files.setdefault(file.resolve(), file)
    names = _short_names([path.parent for path in files])
    return [Source(name, Results.read(file)) for name, file in zip(names, files.values(), strict=True)]


def read_one(folder: Path) -> Results:
    """Read the results in a folder that holds one results file."""
    sources = read_sources([folder])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise ConfigurationError(f"{folder} holds several results; choose one of {names} in it.")
    return sources[0].results


def sections_of(sources: Sequence[Source]) -> list[Section]:
    """Group results by scenario and protocol. A method in several folders of a group carries its folder's name."""
    groups: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        if not source.results.runs:
            raise ConfigurationError(
                f"{source.name} holds no finished run; start `if2net run` with this folder first."
            )
        groups.setdefault((source.results.scenario, source.results.protocol), []).append(source)
    indices: dict[str, int] = {}
    return [Section(*key, list(_series(group, indices)), group) for key, group in groups.items()]


def _series(sources: Sequence[Source], indices: dict[str, int]) -> Iterator[Series]:
    holders = Counter(label for source in sources for label in source.results.methods())
    for source, own in zip(sources, _own_names([source.name for source in sources]), strict=True):
        for label in source.results.methods():
            name = label if holders[label] == 1 or not own else f"{label}, {own}"
            runs = source.results.of(label)
            settings = source.results.settings.get(runs[0].method, {})
            index = indices.setdefault(name, len(indices))
            yield Series(name, index, runs, source.results.summary[label], settings)


def _by_number(path: Path) -> list[str]:
    """A key that sorts cub-5 before cub-10."""
    return [part.zfill(9) for part in re.split(r"(\d+)", str(path.parent))]


def _own_names(names: Sequence[str]) -> list[str]:
    """Each name without the words that all of them begin with.

    >>> _own_names(["mnist-aware", "mnist-aware-ewc"])
    ['', 'ewc']
    """
    words = [name.split("-") for name in names]
    shared = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
    return ["-".join(own[shared:]) for own in words]


def _short_names(folders: Sequence[Path]) -> list[str]:
    """As much of the end of each path as distinguishes them."""
    longest = max((len(folder.parts) for folder in folders), default=0)
    for length in range(1, longest):
        names = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
