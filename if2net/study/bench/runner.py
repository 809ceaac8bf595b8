"""Runs the streams of plans that are not in their folders yet, one after the other or in parallel."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path

from if2net.errors import ConfigurationError, InUseError, NumericalError
from if2net.files import read_bytes
from if2net.images.extractor import load_extractor
from if2net.output_folders import is_empty, locked_folder, make_folder
from if2net.study.bench.loading import Loader
from if2net.study.bench.results import Results, Run, backbones, write_json
from if2net.study.bench.stream import Plan, ShowStep, checkpoint_path, finished_runs
from if2net.study.bench.workers import Job, results_of
from if2net.study.data import Dataset
from if2net.study.pretraining.per_seed import is_per_seed, prepare

LONGEST_NAME = 255  # bytes, the limit of most file systems
ADVICE = "choose another folder"  # for one that cannot be created
KEPT_ENDING = 120  # bytes of a longer name: the folder of the data set, the tasks and the backbone

IdentityOf = Callable[[int], str | None]  # seed → identity of its backbone


def run_plan(plan: Plan, data: Dataset, out: Path | None, show: ShowStep | None = None) -> Results:
    """Run the streams of a plan that are not in `out` yet, on loaded data."""
    results = previous(plan, out, lambda _: (data.backbone or {}).get("identity"))
    for job in _missing(plan, out, results):
        results = _keep(job, results, finished_runs(plan, data, job.method, job.seed, out, show))
    return results


def run_plans(
    plans: list[tuple[Plan, Path]], loader: Loader, jobs: int = 1, show: ShowStep | None = None
) -> list[Results]:
    """Run several plans, `jobs` streams at a time, each in a process. They share the cores or the GPU."""
    results = [previous(plan, out, partial(_current_backbone, plan, loader.folder)) for plan, out in plans]
    work = [(place, job) for place, (plan, out) in enumerate(plans) for job in _missing(plan, out, results[place])]
    work.sort(key=lambda entry: entry[1].seed)  # if every seed has its own data, it is loaded less often
    for place in {place for place, _ in work}:  # a folder in which everything is finished stays as it is
        plan, out = plans[place]
        write_json(make_folder(out, ADVICE) / "config.json", plan.as_dict())
    failed = []
    for number, runs in results_of(attempt, [job for _, job in work], loader, jobs, show):
        place, job = work[number]
        if isinstance(runs, NumericalError):
            failed.append(f"{job.plan.scenario.name} {job.method} seed {job.seed}: {runs}")
        else:
            results[place] = _keep(job, results[place], runs)
    if failed:
        raise NumericalError(
            "\n".join(["All other runs are finished and kept; these could not be computed:", *failed])
        )
    return results


def attempt(
    plan: Plan, data: Dataset, name: str, seed: int, out: Path | None = None, show: ShowStep | None = None
) -> list[Run] | NumericalError:
    """Return the runs of a stream, or the error if its training diverges, so that other streams continue."""
    try:
        return finished_runs(plan, data, name, seed, out, show)
    except NumericalError as error:
        return error


def previous(plan: Plan, out: Path | None, identity: IdentityOf) -> Results:
    """Return the results in `out`, which must have the same plan and the same backbone."""
    results = check_folder(plan, out) if out is not None else None
    if out is None or results is None:
        return Results(plan.scenario.name, plan.protocol, settings={}, runs=[])
    check_backbones(plan, out, results, identity)
    return results


def check_folder(plan: Plan, out: Path) -> Results | None:
    """Return the results in `out`. Another scenario, protocol or setting is an error."""
    if not (out / "results.json").exists():
        return None
    results = Results.read(out / "results.json")
    if (results.scenario, results.protocol) != (plan.scenario.name, plan.protocol):
        raise ConfigurationError(
            f"{out} holds results of {results.scenario} ({results.protocol}); choose another folder."
        )
    for name, settings in plan.settings.items():
        old, new = results.settings.get(name), asdict(settings)
        if old is not None and old != new:
            changed = [key for key, value in new.items() if old.get(key) != value]
            raise ConfigurationError(
                f"{out} holds results of {name} with another value of {', '.join(changed)}; choose another folder."
            )
    return results


def check_backbones(plan: Plan, out: Path, results: Results, identity: IdentityOf) -> None:
    """Raise an error if the results have another backbone."""
    per_seed = is_per_seed(plan.scenario)  # backbones of other seeds than the plan's may be gone
    for seed, recorded in sorted(backbones(results)):
        if (not per_seed or seed in plan.seeds) and identity(seed) != recorded:
            which = f"of seed {seed}" if per_seed else plan.scenario.backbone
            raise ConfigurationError(
                f"The backbone {which} has changed since the results in {out} were written: its weights or its "
                "preprocessing are different. Choose another folder, or move this one away."
            )


@contextmanager
def output_folder(plan: Plan, out: Path | None, wait: bool = True) -> Iterator[Path]:
    """Create and lock the folder of a plan. Nothing in it is removed.

    A folder that the user names is continued. The default folder is named after the scenario. If it is in use, or
    holds anything but an unfinished run of this plan, a number is added to the name.
    """
    if out is not None:
        with locked_folder(out, ADVICE, wait):
            yield out
        return
    name = folder_name(plan.scenario.name)
    candidates = (Path("out") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    with ExitStack() as stack:
        for folder in candidates:
            with suppress(InUseError):
                if is_empty(folder) or _is_beginning(plan, folder):
                    stack.enter_context(locked_folder(folder, ADVICE, wait=False))
                    break
        yield folder


def folder_name(scenario: str) -> str:
    """Return the name of the folder for a scenario, short enough for every file system.

    >>> folder_name("digits-10/5")
    'digits-10-5'
    >>> folder_name("folder:/home/" + 60 * "birds/" + "all-6/3")[-40:]
    'ds-birds-birds-birds-birds-birds-all-6-3'
    """
    name = scenario.replace("/", "-")
    whole = os.fsencode(name)
    if len(whole) <= LONGEST_NAME:
        return name
    return f"{hashlib.sha256(whole).hexdigest()[:8]}-{whole[-KEPT_ENDING:].decode(errors='ignore').lstrip('-')}"


def _is_beginning(plan: Plan, folder: Path) -> bool:
    try:
        same = json.loads(read_bytes(folder / "config.json")) == plan.as_dict()
        runs = Results.read(folder / "results.json").runs if (folder / "results.json").exists() else []
    except (OSError, ValueError, RecursionError):  # among them the errors of if2net
        return False
    return same and len({(run.method, run.seed) for run in runs}) < len(plan.settings) * len(plan.seeds)


def _current_backbone(plan: Plan, folder: Path | None, seed: int) -> str:
    ready = prepare(plan.scenario, seed, folder, device=plan.device).scenario
    return load_extractor(str(ready.backbone), plan.device).identity


def _missing(plan: Plan, out: Path | None, results: Results) -> Iterator[Job]:
    finished = {(run.method, run.seed) for run in results.runs}
    for name in plan.settings:
        for seed in plan.seeds:
            if (name, seed) not in finished:
                yield Job(plan, out, name, seed)


def _keep(job: Job, results: Results, runs: list[Run]) -> Results:
    """Add finished runs to the results and to the file. Methods have the order of the plan."""
    settings = {job.method: asdict(job.plan.settings[job.method])}
    results = results.with_runs(runs, settings, order=job.plan.settings)
    if job.out is not None:
        results.write(make_folder(job.out, ADVICE) / "results.json")
        checkpoint_path(job.out, job.method, job.seed).unlink(missing_ok=True)
    return results
