"""From result folders to the sections of a report: one for each scenario under each protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from if2net.errors import ConfigurationError
from if2net.study.bench import metrics
from if2net.study.bench import results as store
from if2net.study.report.checking import check, refuse_an_ablation

Confusions = Counter[tuple[int, int]]  # (true class, predicted class) → test samples


@dataclass(frozen=True)
class Source:
    """A results file, and the name of the folder that it lies in."""

    name: str
    results: dict[str, Any]


@dataclass(frozen=True)
class Series:
    """A method in a section, over its seeds. Its mark is its colour and shape, the same on the whole page."""

    name: str
    mark: int
    method: str
    runs: Sequence[dict[str, Any]]
    summary: dict[str, float]
    settings: dict[str, Any]
    devices: Sequence[str]

    @property
    def tasks(self) -> int:
        return len(self.runs[0]["R"])

    @property
    def keeps_exemplars(self) -> bool:
        return self.summary["exemplars"] > 0

    @cached_property
    def curve(self) -> tuple[list[float], list[float]]:
        """ACC on all tasks seen so far after each task: means and standard deviations over the seeds."""
        columns = list(zip(*(metrics.curve(run["R"]) for run in self.runs), strict=True))
        return [fmean(column) for column in columns], [
            stdev(column) if len(column) > 1 else 0.0 for column in columns
        ]

    @cached_property
    def confusions(self) -> Confusions:
        """All test samples of all seeds after the last task. Empty where the runs are older than this record."""
        counts: Confusions = Counter()
        for run in self.runs:
            order, matrix = run["class_order"], np.array(run.get("confusion", []), ndmin=2)
            for true, predicted in zip(*matrix.nonzero(), strict=True):
                counts[order[true], order[predicted]] += int(matrix[true, predicted])
        return counts

    def accuracy(self, i: int, j: int) -> float:
        """R[i][j], mean over the seeds."""
        return fmean(run["R"][i][j] for run in self.runs)


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
    def title(self) -> str:
        return f"{self.scenario}, {self.protocol}"


def read_sources(folders: Iterable[Path]) -> list[Source]:
    """The results in these folders, or in the folders inside them."""
    files: dict[Path, Path] = {}  # where it lies, however that is written → as it was given
    for folder in folders:
        for file in store.result_files(folder):
            files.setdefault(file.resolve(), file)
    names = _short_names([place.parent for place in files])
    return [Source(name, _complete(file)) for name, file in zip(names, files.values(), strict=True)]


def read_one(folder: Path) -> dict[str, Any]:
    """The results in a folder that holds one results file."""
    sources = read_sources([folder])
    if len(sources) > 1:
        raise ConfigurationError(
            f"{folder} holds several results; choose one of {', '.join(source.name for source in sources)} in it."
        )
    return sources[0].results


def devices_of(results: dict[str, Any], runs: Iterable[dict[str, Any]]) -> list[str]:
    """What some runs of a results file ran on; older ones did not say it of each."""
    return list(dict.fromkeys(run.get("device", results["environment"]["device"]) for run in runs))


def sections(sources: Sequence[Source]) -> list[Section]:
    """Group by scenario and protocol. A method in several folders of a group is named with what tells them apart."""
    groups: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        groups.setdefault((source.results["scenario"], source.results["protocol"]), []).append(source)
    marks: dict[str, int] = {}
    return [Section(*key, _series(group, marks), group) for key, group in groups.items()]


def _series(sources: Sequence[Source], marks: dict[str, int]) -> list[Series]:
    found = []
    held = Counter(label for source in sources for label in source.results["summary"])
    for source, own in zip(sources, _own_names([source.name for source in sources]), strict=True):
        for label, summary in source.results["summary"].items():
            name = label if held[label] == 1 or not own else f"{label}, {own}"
            runs = [run for run in source.results["runs"] if store.label(run) == label]
            method, mark = runs[0]["method"], marks.setdefault(name, len(marks))
            settings = source.results["settings"].get(method, {})
            found.append(Series(name, mark, method, runs, summary, settings, devices_of(source.results, runs)))
    return found


def _own_names(names: Sequence[str]) -> list[str]:
    """Each name without the words that all of them begin with.

    >>> _own_names(["mnist-aware", "mnist-aware-ewc"])
    ['', 'ewc']
    """
    words = [name.split("-") for name in names]
    shared = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
    return ["-".join(own[shared:]) for own in words]


def _complete(file: Path) -> dict[str, Any]:
    """The results in a file, with a summary of exactly the runs in it."""
    try:
        results = store.read_results(file)
    except ConfigurationError:
        refuse_an_ablation(file)
        raise
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not text, hence no results file of if2net; move it away.") from error
    check(results, file)
    store.summarise(results)
    return results


def _short_names(folders: Sequence[Path]) -> list[str]:
    """As much of the end of each path as tells them apart."""
    longest = max((len(folder.parts) for folder in folders), default=0)
    for length in range(1, longest):
        names = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
