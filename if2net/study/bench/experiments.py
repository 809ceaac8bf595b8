"""The paper's comparisons by name: which methods each runs, on which scenarios, under which protocols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from if2net.study.bench import hyperparameters
from if2net.study.bench.settings import Given, resolve
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS

OURS = [name for name in METHODS if name.startswith("if2net")]
# Those of the paper's table of CIFAR, between the two that bound them; and the analytic peers, which it lacks.
BOUNDS = ("none", "joint")
COMPARED = ("owm", "ari", "fs-dgpm", "rps-net", "logd", "gem", "il2m", "bic")
PEERS = ("ncm", "slda", "ranpac", "acil")


@dataclass(frozen=True)
class Part:
    """One folder of results: methods on a scenario under a protocol, with a loss over the classes of some scope."""

    scenario: str
    protocol: str
    methods: tuple[str, ...]
    scope: str = "seen"
    own: Given = field(default_factory=list)  # settings of this part: of a method, or of all that have them

    @property
    def folder(self) -> str:
        scenario = parse_scenario(self.scenario)
        if scenario.backbone is not None:
            return f"{scenario.dataset}-{scenario.classes}-{scenario.tasks}-{scenario.backbone}"
        ending = "" if self.scope == "seen" else f"-{self.scope}"
        return f"{scenario.dataset}-{self.protocol}{ending}"

    def settings(self, methods: list[str], given: Given) -> dict[str, Any]:
        """What a search has found, what this part asks for, and what a user gives; the later of these wins."""
        found = hyperparameters.found(methods, parse_scenario(self.scenario).dataset, self.protocol, self.scope)
        own: Given = [(None, "scope", self.scope)] if self.scope != "seen" else []
        own += [
            (name, key, value)
            for whom, key, value in self.own
            for name in methods
            if whom in (None, name) and _has(name, key)
        ]
        mine = [entry for entry in given if entry[0] in (None, *methods)]
        return resolve(methods, self.protocol, [*found, *own, *mine])


def _has(method: str, setting: str) -> bool:
    return setting in {field.name for field in fields(METHODS[method].Settings)}


def _table_mnist() -> list[Part]:
    """All methods agnostic; IF2Net also where the task is told or leaks through the batch.

    The methods that only hold weights back also with the loss over the current task's classes alone, which is the
    likeliest way to the paper's figures for them.
    """
    parts = []
    for scenario in ("mnist-10/5", "fashion-mnist-10/5"):
        parts.append(Part(scenario, "agnostic", tuple(METHODS)))
        parts.append(Part(scenario, "agnostic", ("none", "ewc", "mas", "ol-ewc", "si"), scope="current"))
        parts += [Part(scenario, protocol, tuple(OURS)) for protocol in ("aware", "transductive")]
    return parts


def _images(
    *scenarios: str, methods: tuple[str, ...], memory: int, own: Given | None = None
) -> Callable[[], list[Part]]:
    """Agnostic, on the features of a backbone that has not seen the classes: the paper's protocol for images.

    The memory is the paper's. Tasks are small here: 300 steps are many epochs already.
    """
    everyone = (*BOUNDS, *methods, *PEERS, "if2net")
    own = [(None, "memory", memory), (None, "steps", 300), *(own or [])]
    return lambda: [Part(scenario, "agnostic", everyone, own=own) for scenario in scenarios]


TABLES: dict[str, tuple[str, Callable[[], list[Part]]]] = {
    "table-mnist": ("MNIST-10/5 and FashionMNIST-10/5, all methods", _table_mnist),
    "table-cifar": (
        "CIFAR-60/10 after each task, on features of a backbone for the other 40 classes",
        _images("cifar100-60/10@held-out", methods=COMPARED, memory=2000),
    ),
    "figure-cifar": (
        "CIFAR-60/20 after each task, on the same features",
        # With the rate of 0.05 that the search has found, the training of BiC diverged on four of these five streams.
        _images("cifar100-60/20@held-out", methods=COMPARED, memory=2000, own=[("bic", "rate", 0.01)]),
    ),
    "table-imagenet-subset": (
        "Tiny-ImageNet-100/10, /25 and /50 in the place of ImageNet-Subset",
        _images(
            *(f"tiny-imagenet-100/{tasks}@held-out" for tasks in (10, 25, 50)),
            methods=("fs-dgpm", "ari", "rps-net", "gem", "il2m"),
            memory=4400,
        ),
    ),
    "figure-cub": (
        "CUB-100/5, /10 and /20; CUB-100/10 also on EfficientNet-Lite0 with its ImageNet weights",
        _images(
            *(f"cub200-100/{tasks}@held-out" for tasks in (5, 10, 20)),
            "cub200-100/10@efficientnet-lite0",
            methods=("pcl", *COMPARED),
            memory=4400,
        ),
    ),
    "figure-dogs": (
        "Stanford Dogs-60/5 and -60/10",
        _images(
            *(f"stanford-dogs-60/{tasks}@held-out" for tasks in (5, 10)), methods=("pcl", *COMPARED), memory=2000
        ),
    ),
}
