"""Scenarios in which every seed has its own backbone: `@held-out` and `@innate-adapted`."""

from __future__ import annotations

from dataclasses import replace

from if2net.errors import ConfigurationError
from if2net.images.backbones import registry
from if2net.images.extractor import Options
from if2net.progress import Show
from if2net.study.data import Scenario
from if2net.study.pretraining import held_out, innate_adapted
from if2net.study.pretraining.preparation import Device, Folder, Prepared

NAMES = (held_out.NAME, *innate_adapted.NAMES)


def is_per_seed(scenario: Scenario) -> bool:
    """Return whether the scenario asks for a backbone per seed."""
    return _name(scenario) in NAMES


def key(scenario: Scenario, seed: int) -> tuple[Scenario, int]:
    """Return a key for the rows of a scenario. It has the number of tasks only if the first task is trained on."""
    if _name(scenario) in innate_adapted.NAMES:
        return scenario, seed
    return replace(scenario, tasks=1), seed if is_per_seed(scenario) else 0


def for_search(scenario: Scenario) -> Scenario:
    """Return the scenario with one backbone for all streams, for a search."""
    if _name(scenario) in innate_adapted.NAMES:
        raise ConfigurationError(
            f"{scenario.backbone} has seen the training pictures that a search holds back; search with "
            f"{innate_adapted.NAMES[_name(scenario)]}."
        )
    return held_out.with_seed(scenario, 0)


def prepare(
    scenario: Scenario, seed: int, folder: Folder = None, *, device: Device = "cpu", show: Show | None = None
) -> Prepared:
    """Return the scenario with the backbone file of a seed, and the images that could not be used.

    A missing backbone is trained.
    """
    check(scenario)
    if not is_per_seed(scenario):
        return Prepared(scenario)
    maker = innate_adapted if _name(scenario) in innate_adapted.NAMES else held_out
    return maker.prepare(scenario, seed, folder, device, show)


def check(scenario: Scenario) -> None:
    """Raise an error, without data, if the name or an option of the backbone is wrong."""
    if scenario.backbone is None:
        return
    name, options = registry.split(scenario.backbone)
    registry.check_name(name, (*registry.NAMES, *NAMES))
    own = held_out.SEED if name == held_out.NAME else None
    Options.parse([word for word in options if own is None or not word.startswith(own)], {})


def _name(scenario: Scenario) -> str:
    return (scenario.backbone or "").partition(",")[0]
