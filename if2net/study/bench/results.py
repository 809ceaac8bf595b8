"""results.json: the finished runs of some methods on one scenario, typed and checked.

The file is one JSON object with these keys:

- scenario: DATASET-CLASSES/TASKS, for images with @BACKBONE.
- protocol: agnostic, aware or transductive.
- environments: a list of the different environments of the runs: versions, platform, processor, threads, device, date
  and commit; null for an unknown value.
- class_orders, backbones: lists of the different class orders and backbones of the runs.
- settings: the settings of each method.
- runs: one object per method, variant and seed, with the fields of `Run` and the metrics that follow from R. Its
  `environment`, `class_order` and `backbone` are indices into these lists, counted from 0. An index is left out if
  all runs have the same value.
- summary: for each method, means and standard deviations over the seeds. It follows from the runs, so it is not read.

Accuracies, ACC, BWT and FWT are fractions. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from reprlib import repr as shortened
from statistics import fmean
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from if2net.errors import ConfigurationError, NumericalError
from if2net.files import read_bytes, write_text
from if2net.output_folders import make_folder
from if2net.study.bench import metrics
from if2net.study.bench.environment import Environment
from if2net.study.bench.protocol import DIGITS, PROTOCOLS
from if2net.study.bench.shared_values import distinct, from_indices, to_indices
from if2net.study.data.scenario import PATTERN
from if2net.study.methods import METHODS
from if2net.study.pretraining import per_seed

SUMMARISED = ("acc", "bwt", "fwt", "average_incremental", "forgetting")
SHARED = ("environment", "class_order", "backbone")  # values that many runs have in common
CHECKED = ConfigDict(strict=True, allow_inf_nan=False)

Accuracy = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Settings = dict[str, Any]


@dataclass(frozen=True, config=CHECKED)
class Seconds:
    """The time that all tasks of a run took together."""

    learn: float
    predict: float = 0.0


@dataclass(frozen=True, config=CHECKED)
class Backbone:
    """The backbone of the features of a run, and the data it was trained on, if known."""

    identity: str
    pretrained_on: str | None = None


@dataclass(frozen=True, config=CHECKED)
class Run:
    """One method on one stream of tasks.

    Attributes
    ----------
    method, variant : str
        The method, and the variant of the protocol if there are several.
    seed : int
        The seed of the stream and of the method.
    class_order : list of int
        The class of the data set at each place of the stream.
    R : list of lists
        R[i][j] is the accuracy on task j after learning task i. Row i has i + 1 accuracies.
    independent : list of float
        For each task, the accuracy of a model that has learned that task alone.
    seconds : Seconds
        The time for learning and for predicting.
    state_bytes, exemplars, parameters : int
        The memory between tasks in bytes, the training samples in it, and the numbers in the model.
    environment : dict
        The versions and the machine. If the run was killed and continued, they are those of its last part.
    confusion : str
        The test samples after the last task, counted by true and predicted class, as `pack` writes them. Empty if
        they were not counted. `counts` is the matrix.
    backbone : Backbone or None
        None for tables.
    """

    method: str
    seed: Count
    class_order: list[Count]
    R: list[list[Accuracy]]
    independent: list[Accuracy]
    seconds: Seconds
    state_bytes: Count
    exemplars: Count
    parameters: Count
    environment: Environment
    variant: str = ""
    confusion: str = ""
    backbone: Backbone | None = None

    def __post_init__(self) -> None:
        try:
            self._check()
        except ValueError as error:
            raise ValueError(f"in the run of {self.label} with seed {self.seed}, {error}") from error

    def _check(self) -> None:
        for key in ("if2net", "device"):
            if not isinstance(self.environment.get(key), str):
                raise ValueError(f"the environment must name {key!r}")
        metrics.check(self.R)
        if len(self.independent) != len(self.R):
            raise ValueError(
                f"R and 'independent' must have one entry per task, but they have {len(self.R)} and "
                f"{len(self.independent)}"
            )
        if len(set(self.class_order)) < len(self.class_order):
            raise ValueError("'class_order' has a class twice")
        if self.confusion:
            unpack(self.confusion, len(self.class_order))

    @property
    def label(self) -> str:
        """The name in tables: the method, with its variant if the protocol has several."""
        return f"{self.method} ({self.variant})" if self.variant else self.method

    @property
    def device(self) -> str:
        return str(self.environment["device"])

    acc = cached_property(lambda run: metrics.acc(run.R))
    bwt = cached_property(lambda run: metrics.bwt(run.R))
    fwt = cached_property(lambda run: metrics.fwt(run.R, run.independent))
    average_incremental = cached_property(lambda run: metrics.average_incremental(run.R))
    forgetting = cached_property(lambda run: metrics.forgetting(run.R))

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Test samples by [true class][predicted class], both as places in `class_order`; None if not counted."""
        return unpack(self.confusion, len(self.class_order)) if self.confusion else None


@dataclass(frozen=True, config=CHECKED)
class Results:
    """The finished runs on one scenario under one protocol."""

    scenario: str
    protocol: str
    settings: dict[str, Settings]
    runs: list[Run]

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"the protocol {self.protocol!r} is none of {', '.join(PROTOCOLS)}")
        match = re.fullmatch(PATTERN, self.scenario)
        if match is None or not (tasks := int(match[3])):
            raise ValueError(f"a scenario is written DATASET-CLASSES/TASKS, not {self.scenario!r}")
        seen = set()
        for run in self.runs:
            if len(run.R) != tasks:
                raise ValueError(f"R of {run.label}, seed {run.seed}, must have {tasks} rows, one per task")
            if (run.label, run.seed) in seen:
                raise ValueError(f"the run of {run.label} with seed {run.seed} is there twice")
            seen.add((run.label, run.seed))

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read and check a file. Raise a ConfigurationError if anything is wrong with it."""
        try:
            return _READER.validate_json(read_bytes(path))
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read ({error.strerror}); choose another folder.") from error
        except ValidationError as error:
            _refuse_ablation(path)
            raise ConfigurationError(
                f"{path} is not a results file of this version: {_first_error(error)}. Run it again, or move the "
                "file away."
            ) from error

    @classmethod
    def merged(cls, parts: Sequence[Results]) -> Results:
        """Return the runs of all parts, each with its environment. The settings of the parts must agree.

        Of several runs of a seed, the first is kept.
        """
        first = parts[0]
        settings: dict[str, Settings] = {}
        for part in parts:
            _check_mergeable(first, part, settings)
            settings |= part.settings
        runs = {(run.method, run.variant, run.seed): run for part in reversed(parts) for run in part.runs}
        joined = replace(first, settings=settings, runs=_ordered(runs.values(), METHODS))
        known = backbones(joined)
        if len(known) > len({seed for seed, _ in known}):
            raise ConfigurationError(
                "The parts have different backbones, so their numbers cannot be compared; run one of them again with "
                "the backbone of the other."
            )
        return joined

    def with_runs(self, runs: Iterable[Run], settings: dict[str, Settings], order: Iterable[str] = ()) -> Results:
        """Return these results with more runs. Methods are in the given order, then the others."""
        ordered = _ordered([*self.runs, *runs], [*order, *METHODS])
        return replace(self, settings=self.settings | settings, runs=ordered)

    def write(self, path: Path) -> None:
        """Write the file atomically. ACC, BWT, FWT and the summary are for other programs, and rounded."""
        lists, runs = to_indices(
            [
                {key: value for key, value in asdict(run).items() if value not in (None, "")}
                | rounded({"acc": run.acc, "bwt": run.bwt, "fwt": run.fwt})
                for run in self.runs
            ],
            SHARED,
        )
        head = {"scenario": self.scenario, "protocol": self.protocol, **lists}
        summary = {method: rounded(entry) for method, entry in self.summary.items()}
        write_json(path, {**head, "settings": self.settings, "runs": runs, "summary": summary})

    def methods(self) -> list[str]:
        """Return the labels of the methods, in the order of the runs."""
        return list(dict.fromkeys(run.label for run in self.runs))

    def of(self, method: str) -> list[Run]:
        """Return the runs of a method, given its label."""
        return [run for run in self.runs if run.label == method]

    @property
    def environments(self) -> list[Environment]:
        """The different environments of the runs."""
        return distinct(run.environment for run in self.runs)

    @property
    def trained_on(self) -> str:
        """The data that the backbones were trained on, as text; empty if unknown."""
        known = [run.backbone.pretrained_on for run in self.runs if run.backbone]
        return "; ".join(dict.fromkeys(text for text in known if text))

    @cached_property
    def summary(self) -> dict[str, dict[str, float]]:
        """Method → number of runs, mean and standard deviation of each metric over them, and costs."""
        return {method: _summary(self.of(method)) for method in self.methods()}


_READER = TypeAdapter(Annotated[Results, BeforeValidator(partial(from_indices, keys=SHARED, optional=("backbone",)))])


def pack(counts: np.ndarray) -> str:
    """Return a matrix of counts as text: 32-bit little-endian numbers by byte planes, zlib, base85.

    >>> unpack(pack(np.array([[5, 0], [1, 4]])), 2).tolist()
    [[5, 0], [1, 4]]
    """
    planes = np.ascontiguousarray(counts, dtype="<u4").view("u1").reshape(-1, 4).T
    return base64.b85encode(zlib.compress(planes.tobytes(), 9)).decode()


def unpack(text: str, classes: int) -> np.ndarray:
    """Return the matrix that `pack` has written."""
    try:
        # The limit is one byte more than the matrix has, because a few bytes of zlib can expand to gigabytes.
        content = zlib.decompressobj().decompress(base64.b85decode(text), 4 * classes**2 + 1)
        planes = np.frombuffer(content, dtype="u1")
        return np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").reshape(classes, classes)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"'confusion' does not hold counts of {classes} × {classes} classes") from error


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically, with one line per entry of its lists and objects."""
    try:
        text = _lines(content)
    except ValueError as error:
        raise NumericalError(
            f"{path} was not written: a number in it is infinite or NaN. The cause is a class without test samples, "
            "or a training that diverged; leave it out."
        ) from error
    write_text(path, text + "\n")


def result_files(folder: Path) -> list[Path]:
    """Return the results file of a folder, or those of the folders in it."""
    direct = folder / "results.json"
    files = [direct] if direct.exists() else sorted(folder.glob("*/results.json"))
    if not files:
        raise ConfigurationError(f"{folder} holds no results.json; give folders that `if2net run` has written.")
    return files


def merge_folders(parts: Sequence[Path], out: Path) -> list[Path]:
    """Merge the results of several folders, or of several folders of folders; return the files written."""
    groups: dict[Path, list[Results]] = {}
    for part in parts:
        for file in result_files(part):
            groups.setdefault(file.relative_to(part), []).append(Results.read(file))
    merged = {out / name: Results.merged(group) for name, group in groups.items()}
    for path, results in merged.items():
        if path.exists() and any(run not in results.runs for run in Results.read(path).runs):
            raise ConfigurationError(
                f"{path} holds runs that the parts lack; give {out} as one of the parts, or choose another folder."
            )
    for path, results in merged.items():
        make_folder(path.parent, "choose another folder")
        results.write(path)
    return list(merged)


def _lines(content: dict[str, Any]) -> str:
    """
    >>> print(_lines({"seed": 0, "runs": [{"acc": 0.5}, {"acc": 0.7}]}))
    {
    "seed": 0,
    "runs": [
     {"acc":0.5},
     {"acc":0.7}
    ]
    }
    """

    def compact(value: object) -> str:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))

    def entry(value: object) -> str:
        if isinstance(value, dict) and value:
            return "{\n " + ",\n ".join(f"{compact(key)}: {compact(inner)}" for key, inner in value.items()) + "\n}"
        if isinstance(value, list) and value:
            return "[\n " + ",\n ".join(map(compact, value)) + "\n]"
        return compact(value)

    return "{\n" + ",\n".join(f"{compact(key)}: {entry(value)}" for key, value in content.items()) + "\n}"


def _summary(runs: Sequence[Run]) -> dict[str, float]:
    entry: dict[str, float] = {"runs": len(runs)}
    for key in SUMMARISED:
        values = [getattr(run, key) for run in runs]
        entry[f"{key}_mean"] = fmean(values)
        entry[f"{key}_std"] = metrics.deviation(values)
    entry["learn_seconds_mean"] = fmean(run.seconds.learn for run in runs)
    for key in ("state_bytes", "exemplars", "parameters"):
        entry[key] = max(getattr(run, key) for run in runs)
    return entry


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    """Return the numbers as they are written: with as many decimals as an accuracy."""
    return {key: round(value, DIGITS) for key, value in numbers.items()}


def _ordered(runs: Iterable[Run], methods: Iterable[str]) -> list[Run]:
    """Return the runs by method, variant and seed. Methods that are not in the list come last."""
    places = {method: place for place, method in reversed(list(enumerate(methods)))}
    return sorted(runs, key=lambda run: (places.get(run.method, len(places)), run.method, run.variant, run.seed))


def _check_mergeable(first: Results, part: Results, settings: dict[str, Settings]) -> None:
    for key in ("scenario", "protocol"):
        if getattr(first, key) != getattr(part, key):
            raise ConfigurationError(
                f"Results of {getattr(first, key)} and of {getattr(part, key)} cannot be merged; choose parts of the "
                f"same {key}."
            )
    for method, own in part.settings.items():
        if settings.get(method, own) != own:
            raise ConfigurationError(
                f"The parts have different settings of {method}, so they cannot be merged; run one of them again."
            )


def backbones(results: Results) -> set[tuple[int, str]]:
    """Return the identities of the backbones, each with its seed, or with 0 if all seeds share one."""
    own = any(f"@{name}" in results.scenario for name in per_seed.NAMES)
    return {(run.seed if own else 0, run.backbone.identity) for run in results.runs if run.backbone}


def _first_error(error: ValidationError) -> str:
    """
    >>> try:
    ...     _READER.validate_json('{"scenario": "digits-10/5", "protocol": 7}')
    ... except ValidationError as error:
    ...     print(_first_error(error))
    'protocol' should be a valid string, but is 7
    """
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    words = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if first["type"] == "missing":
        return f"{place!r} is missing"
    if first["type"] in ("json_invalid", "value_error"):
        return words
    if first["input"] is None and "R" in first["loc"]:
        return "it is of an older version, with null in R for the tasks that follow"
    return f"{repr(place) if place else 'the content'} {words}, but is {shortened(first['input'])}"


def _refuse_ablation(path: Path) -> None:
    """Raise an error if the file belongs to an ablation."""
    try:
        name = json.loads(path.read_bytes())["ablation"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    raise ConfigurationError(
        f"{path} belongs to the ablation {name}. Only runs of methods can be shown, compared or merged; see table.md "
        "beside it."
    )
