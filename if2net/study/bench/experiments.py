"""The named comparisons, the paper's and ours: methods, scenarios and protocols, and the plans to run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from if2net.encoder import INNATE
from if2net.errors import ConfigurationError, unknown
from if2net.study.bench import hyperparameters
from if2net.study.bench.settings import Given, resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS

RUNS = 5  # as in the paper
RUNS_WITH_TASKS = 30  # where predictions know the task, ACC depends on which classes share one
OURS = [name for name in METHODS if name.startswith("if2net")]
BOUNDS = ("none", "joint")  # plain training, and training on all data at once
COMPARED = ("owm", "ari", "fs-dgpm", "rps-net", "logd", "gem", "il2m", "bic")  # in the paper's table of CIFAR
PEERS = ("ncm", "slda", "ranpac", "acil")  # analytic methods, which the paper does not compare
OWN = ("innate", "photographs")  # experiments that are not the paper's
# Streams for the innate encoders, with options of the backbone: mirror images are left out where they were worse on
# held-back pictures (results/innate.py).
INNATE_STREAMS = {
    "mnist-10/5": ",flip=no",
    "fashion-mnist-10/5": "",
    "cifar10-10/5": "",
    **{f"cifar100-100/{tasks}": "" for tasks in (10, 20, 50, 100)},
}


@dataclass(frozen=True)
class Part:
    """One folder of results: methods on a scenario under a protocol, with a loss over the classes of some scope."""

    scenario: str
    protocol: str
    methods: tuple[str, ...]
    scope: str = "seen"
    own: Given = field(default_factory=list)  # settings of this part, for one method or for all that have them
    runs: int = RUNS  # unless the user asks for another number

    @property
    def folder(self) -> str:
        """The name of the folder for the results."""
        scenario = parse_scenario(self.scenario)
        if scenario.backbone is not None:
            backbone, *_ = scenario.backbone.split(",")
            return f"{scenario.dataset}-{scenario.classes}-{scenario.tasks}-{backbone}"
        ending = "" if self.scope == "seen" else f"-{self.scope}"
        return f"{scenario.dataset}-{self.protocol}{ending}"

    def settings(self, methods: list[str], given: Given) -> dict[str, Any]:
        """Return settings from the search, from this part and from the user, each with priority over those before."""
        scenario = parse_scenario(self.scenario)
        searched = hyperparameters.searched(methods, scenario.dataset, self.protocol, self.scope, scenario.backbone)
        own: Given = [(None, "scope", self.scope)] if self.scope != "seen" else []
        own += [
            (name, key, value)
            for method, key, value in self.own
            for name in methods
            if method in (None, name) and _has(name, key)
        ]
        relevant = [entry for entry in given if entry[0] in (None, *methods)]
        return resolve(methods, self.protocol, [*searched, *own, *relevant])


def _has(method: str, setting: str) -> bool:
    return setting in {field.name for field in fields(METHODS[method].Settings)}


@dataclass(frozen=True)
class Experiment:
    """A table or a figure: a one-line summary and its parts."""

    summary: str
    parts: tuple[Part, ...]


def plans(
    name: str,
    out: Path,
    *,
    methods: list[str],
    seed: int = 0,
    runs: int | None = None,
    device: str,
    given: Given,
    folders: Sequence[str] = (),
) -> list[tuple[Plan, Path]]:
    """Return the plans of an experiment, each with its folder; only for some methods or folders if they are named.

    The seeds begin with `seed`. Without `runs`, each part has a number of its own.
    """
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    for method in methods:
        if method not in METHODS:
            raise unknown("method", method, METHODS)
    parts = EXPERIMENTS[name].parts
    for folder in folders:
        if folder not in (known := [part.folder for part in parts]):
            raise unknown("part", folder, known)
    parts = tuple(part for part in parts if not folders or part.folder in folders)
    planned = []
    for part in parts:
        if chosen := [method for method in part.methods if not methods or method in methods]:
            settings = part.settings(chosen, given)
            seeds = tuple(range(seed, seed + (runs or part.runs)))
            plan = Plan(parse_scenario(part.scenario), settings, seeds, part.protocol, device)
            planned.append((plan, out / part.folder))
    if not planned:
        compared = dict.fromkeys(method for part in parts for method in part.methods)
        raise ConfigurationError(f"{name} compares none of {', '.join(methods)}; choose from {', '.join(compared)}.")
    return planned


# As `milder` in hyperparameters.toml, for single streams. ARI was not run to the end with its rate on Tiny-ImageNet;
# with twice that rate it diverged.
MILDER: dict[str, Given] = {
    "cifar100-60/20@held-out": [("ari", "rate", 0.2)],
    "tiny-imagenet-100/50@held-out": [("ari", "rate", 0.1)],
    **{f"cub200-100/{tasks}@held-out": [("ari", "rate", 0.1), ("ari", "epochs", 48)] for tasks in (5, 10, 20)},
}


def _mnist_parts() -> tuple[Part, ...]:
    """Return the parts of table-mnist: all methods agnostic, and IF2Net under the other two protocols.

    The methods with a penalty on the weights also run with a loss over the classes of the current task alone. That
    is the likeliest explanation of the paper's figures for them.
    """
    parts = []
    for scenario in ("mnist-10/5", "fashion-mnist-10/5"):
        parts.append(Part(scenario, "agnostic", tuple(METHODS)))
        parts.append(Part(scenario, "agnostic", ("none", "ewc", "mas", "ol-ewc", "si"), scope="current"))
        for protocol in ("aware", "transductive"):
            parts.append(Part(scenario, protocol, tuple(OURS), runs=RUNS_WITH_TASKS))
    return tuple(parts)


def _image_parts(*scenarios: str, methods: tuple[str, ...], memory: int) -> tuple[Part, ...]:
    """Return agnostic parts on features of a backbone, with the memory of the paper.

    With `@held-out`, the backbone has not seen the classes. That is the paper's protocol for images.
    """
    everyone = (*BOUNDS, *methods, *PEERS, "if2net")
    parts = []
    for scenario in scenarios:
        given: Given = [
            (None, "memory", memory),
            ("owm", "classes", parse_scenario(scenario).classes),  # all rows of the head from the start
            *MILDER.get(scenario, []),
        ]
        parts.append(Part(scenario, "agnostic", everyone, own=given))
    return tuple(parts)


def _innate_parts() -> tuple[Part, ...]:
    """Return agnostic parts on the features of the innate networks, and on pixels of CIFAR.

    The pixels of MNIST and FashionMNIST are in table-mnist. The other methods run on the shortest stream of each data
    set only, because FeCAM solves every class again after each task. With the large network and 100 classes, its
    covariances would take more than 120 GB.
    """
    parts = []
    for encoder in INNATE:
        for stream, options in INNATE_STREAMS.items():
            scenario = parse_scenario(f"{stream}@{encoder}{options}")
            methods: tuple[str, ...] = ("if2net",)
            if scenario.tasks <= 10:
                fits = scenario.classes <= 10 or encoder == "innate"
                methods = (*PEERS, *(("fecam",) if fits else ()), "if2net")
            parts.append(Part(scenario.name, "agnostic", methods))
    for stream in ("cifar10-10/5@pixels", "cifar100-100/10@pixels"):
        parts.append(Part(stream, "agnostic", (*PEERS, "fecam", "if2net")))
    return tuple(parts)


EXPERIMENTS: dict[str, Experiment] = {
    "table-mnist": Experiment("MNIST-10/5 and FashionMNIST-10/5, all methods", _mnist_parts()),
    "table-cifar": Experiment(
        "CIFAR-60/10 after each task, on features of a backbone for the other 40 classes",
        _image_parts("cifar100-60/10@held-out", methods=COMPARED, memory=2000),
    ),
    "figure-cifar": Experiment(
        "CIFAR-60/20 after each task, on the same features",
        _image_parts("cifar100-60/20@held-out", methods=COMPARED, memory=2000),
    ),
    "table-imagenet-subset": Experiment(
        "Tiny-ImageNet-100/10, /25 and /50 instead of ImageNet-Subset",
        _image_parts(
            *(f"tiny-imagenet-100/{tasks}@held-out" for tasks in (10, 25, 50)),
            methods=("fs-dgpm", "ari", "rps-net", "gem", "il2m"),
            memory=4400,
        ),
    ),
    "figure-cub": Experiment(
        "CUB-100/5, /10 and /20; CUB-100/10 also on EfficientNet-Lite0 with its ImageNet weights",
        _image_parts(
            *(f"cub200-100/{tasks}@held-out" for tasks in (5, 10, 20)),
            "cub200-100/10@efficientnet-lite0",
            methods=("pcl", *COMPARED),
            memory=4400,
        ),
    ),
    "photographs": Experiment(
        "CIFAR-60/10, CUB-100/5, /10, /20 and Stanford Dogs-60/5, /10, with innate features beside the backbone's",
        tuple(
            Part(f"{scenario}@held-out,beside=innate-large", "agnostic", (*PEERS, "if2net"))
            for scenario in (
                "cifar100-60/10",
                *(f"cub200-100/{tasks}" for tasks in (5, 10, 20)),
                *(f"stanford-dogs-60/{tasks}" for tasks in (5, 10)),
            )
        ),
    ),
    "figure-dogs": Experiment(
        "Stanford Dogs-60/5 and -60/10",
        _image_parts(
            *(f"stanford-dogs-60/{tasks}@held-out" for tasks in (5, 10)), methods=("pcl", *COMPARED), memory=2000
        ),
    ),
    "innate": Experiment(
        "MNIST, FashionMNIST, CIFAR-10 and CIFAR-100 in 10 to 100 tasks, with the innate encoders", _innate_parts()
    ),
}
