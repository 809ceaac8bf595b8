"""Runs plans: what their folders do not already hold, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench import backbones, folder
from if2net.study.bench import results as store
from if2net.study.bench.stream import Plan, Show, checkpoint_path, finished_runs
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset
from if2net.study.methods import METHODS


def run_plan(plan: Plan, data: Dataset, out: Path | None, show: Show | None = None) -> dict[str, Any]:
    """Run everything that `out` does not already hold, and return the results."""
    found = previous(plan, out, lambda _: (data.backbone or {}).get("identity"))
    for job in _missing(plan, out, found):
        _keep(job, found, finished_runs(plan, data, job.method, job.seed, out, show))
    return found


def run_plans(
    plans: list[tuple[Plan, Path]], data: Path | None, jobs: int = 1, show: Show | None = None
) -> list[dict[str, Any]]:
    """Run several plans, `jobs` streams at a time in processes of their own that share the cores or the GPU."""
    found = [previous(plan, out, partial(backbones.identity, plan, data)) for plan, out in plans]
    work = [
        (job, results)
        for (plan, out), results in zip(plans, found, strict=True)
        for job in _missing(plan, out, results)
    ]
    work.sort(key=lambda entry: entry[0].seed)  # where every seed has data of its own, it is loaded less often
    begun = {job.out for job, _ in work}
    for plan, out in plans:
        if out in begun:  # a folder in which all is finished stays as it is
            folder.record(plan, out)
    failed = []
    for place, runs in results_of(attempt, [job for job, _ in work], data, jobs, show):
        if isinstance(runs, NumericalError):
            failed.append((work[place][0], runs))
        else:
            _keep(*work[place], runs)
    if failed:
        raise _summary(failed)
    return found


def attempt(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: Show | None = None
) -> list[dict[str, Any]] | NumericalError:
    """The runs, or why they cannot be computed: one training that diverges must not end those of the others."""
    try:
        return finished_runs(plan, data, name, seed, out, show)
    except NumericalError as error:
        return error


def _summary(failed: list[tuple[Job, NumericalError]]) -> NumericalError:
    lines = [f"{job.plan.scenario.name} {job.method} seed {job.seed}: {error}" for job, error in failed]
    return NumericalError("\n".join(["All other runs are finished and kept; these could not be computed:", *lines]))


def previous(plan: Plan, out: Path | None, identity: backbones.Identity) -> dict[str, Any]:
    """The results that `out` holds already, which must be of the same plan and of the same backbone."""
    fresh = store.new_results(plan.scenario.name, plan.protocol, plan.device)
    if out is None or not (out / "results.json").exists():
        return fresh
    old = store.read_results(out / "results.json")
    if (old["scenario"], old["protocol"]) != (fresh["scenario"], fresh["protocol"]):
        raise ConfigurationError(
            f"{out} holds results of {old['scenario']} ({old['protocol']}); choose another folder with --out."
        )
    for name, settings in plan.settings.items():
        if name in old["settings"] and old["settings"][name] != asdict(settings):
            changed = [key for key, value in asdict(settings).items() if old["settings"][name].get(key) != value]
            raise ConfigurationError(
                f"{out} holds results of {name} with another value of {', '.join(changed)}; "
                "choose another folder with --out."
            )
    backbones.check(plan, out, old["runs"], identity)
    return old


def _missing(plan: Plan, out: Path | None, found: dict[str, Any]) -> Iterator[Job]:
    done = {(run["method"], run["seed"]) for run in found["runs"]}
    for name in plan.settings:
        for seed in plan.seeds:
            if (name, seed) not in done:
                yield Job(plan, out, name, seed)


def _keep(job: Job, found: dict[str, Any], runs: list[dict[str, Any]]) -> None:
    """Add finished runs to the results, and to the file."""
    found["runs"] += runs
    found["settings"][job.method] = asdict(job.plan.settings[job.method])
    _sort(job.plan, found)
    store.summarise(found)
    if job.out is not None:
        store.write_json(job.out / "results.json", found)
        checkpoint_path(job.out, job.method, job.seed).unlink(missing_ok=True)


def _sort(plan: Plan, found: dict[str, Any]) -> None:
    """Runs in the order of the plan, whatever the order in which they were finished."""
    methods = [*plan.settings, *METHODS]
    found["runs"].sort(key=lambda run: (methods.index(run["method"]), run["variant"], run["seed"]))
