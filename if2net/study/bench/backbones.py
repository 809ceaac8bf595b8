"""Which backbone the numbers come from: those of two networks may not stand in one table, whatever their paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError
from if2net.images.extractor import load_extractor
from if2net.study.bench.stream import Plan
from if2net.study.pretraining.held_out import is_held_out, resolved

Identity = Callable[[int], str | None]  # seed → that of its backbone as it is now


def identity(plan: Plan, data: Path | None, seed: int) -> str:
    """Of the backbone that this seed would be run with now."""
    ready = resolved(plan.scenario, seed, data, device=plan.device)
    return load_extractor(str(ready.backbone), plan.device).identity


def identities(runs: list[dict[str, Any]], own: bool) -> set[tuple[int, str]]:
    """Those that runs were made with, each with its seed where every seed has its own, else with 0.

    Older runs, and those on tables, do not say whose they are.
    """
    return {(run["seed"] if own else 0, run["backbone"]["identity"]) for run in runs if "backbone" in run}


def check(plan: Plan, out: Path, runs: list[dict[str, Any]], now: Identity) -> None:
    """Refuse to go on with runs of another backbone."""
    own = is_held_out(plan.scenario)  # then every seed has one, and those of seeds that are not asked for may be gone
    for seed, recorded in sorted(identities(runs, own)):
        if (not own or seed in plan.seeds) and now(seed) != recorded:
            which = f"of seed {seed}" if own else plan.scenario.backbone
            raise ConfigurationError(
                f"The backbone {which} is no longer the one that the results in {out} were made with: its weights or "
                "its preprocessing have changed. Choose another folder with --out, or move this one away."
            )
