"""run, tune, reproduce and merge: comparing methods on streams of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from if2net.commands.options import (
    BackboneOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    JobsOption,
    MethodsOption,
    ProtocolOption,
    SetOption,
)

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_METHODS = ["if2net", "none", "joint"]
TABLE_RUNS = 5  # as in the paper


def run(
    scenario: Annotated[str, typer.Argument(help="DATASET-CLASSES/TASKS")] = "digits-10/5",
    backbone: BackboneOption = None,
    method: MethodsOption = None,
    runs: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; it also shuffles the classes.")] = 0,
    protocol: ProtocolOption = "agnostic",
    data: DataOption = None,
    device: DeviceOption = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results; a killed run goes on there.")] = None,
    jobs: JobsOption = 1,
    settings: SetOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare methods on a stream of tasks: table, results.json and report.html."""
    from rich.console import Console

    from if2net.config import resolve_device
    from if2net.study.bench import hyperparameters
    from if2net.study.bench import settings as reading
    from if2net.study.bench.display import Display, results_table
    from if2net.study.bench.folder import prepare
    from if2net.study.bench.runner import run_plans
    from if2net.study.bench.stream import Plan
    from if2net.study.commands.images import load_shown
    from if2net.study.data import parse_scenario
    from if2net.study.report import write_report

    _known_protocol(protocol)
    console = Console()
    wanted = parse_scenario(scenario, backbone)
    chosen = method or DEFAULT_METHODS
    given = (reading.from_file(config) if config else []) + reading.from_command_line(settings or [])
    searched = hyperparameters.found(chosen, wanted.dataset, protocol)
    resolved = reading.resolve(chosen, protocol, searched + given)
    plan = Plan(wanted, resolved, tuple(range(seed, seed + runs)), protocol, str(resolve_device(device)))
    load_shown(wanted, data, plan.device, console, plan.seeds)  # what is missing is said before anything is written
    folder = prepare(plan, out)
    with Display([plan], console) as display:
        (results,) = run_plans([(plan, folder)], data, jobs, display)
    write_report(results, folder)
    console.print(results_table(results))
    console.print(f"Results: {folder / 'results.json'}\nReport:  {folder / 'report.html'}", soft_wrap=True)


def tune(
    scenario: Annotated[str, typer.Argument(help="DATASET-CLASSES/TASKS")],
    method: Annotated[str, typer.Option("-m", "--method", help="The method.")],
    out: Annotated[Path, typer.Option(help="JSON file for everything tried.")],
    grid: Annotated[list[str] | None, typer.Option("--grid", help="key=value,value,...; repeatable.")] = None,
    backbone: BackboneOption = None,
    protocol: ProtocolOption = "agnostic",
    data: DataOption = None,
    device: DeviceOption = "auto",
    jobs: JobsOption = 1,
    settings: SetOption = None,
) -> None:
    """Search settings on held-back training data of a stream that is never reported.

    Without --grid, the method's own grid in bench/hyperparameters.toml.
    """
    from rich.console import Console

    from if2net.config import resolve_device
    from if2net.study.bench import hyperparameters
    from if2net.study.bench.results import write_json
    from if2net.study.bench.search import parse_grid, search
    from if2net.study.bench.settings import from_command_line
    from if2net.study.commands.images import load_shown
    from if2net.study.data import parse_scenario

    _known_protocol(protocol)
    console = Console()
    wanted = parse_scenario(scenario, backbone)
    load_shown(wanted, data, str(resolve_device(device)), console, [0])  # what is missing is said first
    out.parent.mkdir(parents=True, exist_ok=True)
    found = search(
        wanted,
        data,
        method,
        parse_grid(grid) if grid else hyperparameters.grid(method),
        protocol=protocol,
        fixed=from_command_line(settings or []),
        device=str(resolve_device(device)),
        jobs=jobs,
        show=lambda entry: console.print(entry),
    )
    write_json(out, found)
    console.print(f"Best: {found['best']}\nAll: {out}", soft_wrap=True)


def reproduce(
    name: Annotated[str | None, typer.Argument(help="A table or figure, such as table-mnist.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    method: MethodsOption = None,
    runs: Annotated[int | None, typer.Option(min=1, help="How many seeds. Default: 5; 3 for most ablations.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results; it goes on there. Default: out/NAME.")] = None,
    jobs: JobsOption = 1,
    settings: SetOption = None,
) -> None:
    """Run a table or an ablation of the paper, ours beside the paper's figures; a killed one goes on.

    With -m, a part of a table, to be merged later; -m and --set are for tables of methods, not for ablations.
    """
    from dataclasses import replace

    from rich.console import Console

    from if2net.config import resolve_device
    from if2net.errors import ConfigurationError, unknown
    from if2net.study.ablations import ABLATIONS
    from if2net.study.bench import reproduce as tables
    from if2net.study.bench.display import Display
    from if2net.study.bench.runner import run_plans
    from if2net.study.bench.settings import from_command_line
    from if2net.study.commands.images import load_shown
    from if2net.study.report.comparison import write

    summaries = {known: summary for known, (summary, _) in tables.TABLES.items()}
    summaries |= {known: ablation.summary for known, ablation in ABLATIONS.items()}
    if list_them or name is None:
        for known, summary in summaries.items():
            typer.echo(f"{known:20} {summary}")
        return
    if name not in summaries:
        raise unknown("table or figure", name, summaries)
    console = Console()
    folder = out or Path("out") / name
    if name in ABLATIONS:
        if method or settings:
            raise ConfigurationError(f"{name} is an ablation with settings of its own; leave out -m and --set.")
        _ablation(name, folder, runs, seed, data, str(resolve_device(device)), jobs, console)
        return
    plans = tables.plans(
        name,
        folder,
        methods=method or [],
        seeds=tuple(range(seed, seed + (runs or TABLE_RUNS))),
        device=str(resolve_device(device)),
        given=from_command_line(settings or []),
    )
    # Streams that differ in the number of tasks alone have the same features.
    for scenario in dict.fromkeys(replace(plan.scenario, tasks=1) for plan, _ in plans if plan.scenario.backbone):
        load_shown(scenario, data, plans[0][0].device, console, plans[0][0].seeds)
    with Display([plan for plan, _ in plans], console) as display:
        results = run_plans(plans, data, jobs, display)
    _written(write(name, results, folder), console)


def _ablation(
    name: str, folder: Path, runs: int | None, seed: int, data: Path | None, device: str, jobs: int, console: Console
) -> None:
    from if2net.progress import progress
    from if2net.study.ablations import ABLATIONS, carry_out
    from if2net.study.ablations.output import write

    ablation = ABLATIONS[name]
    seeds = range(seed, seed + (runs or ablation.runs))
    with progress(name, console) as show:
        results = carry_out(ablation, folder, seeds=seeds, data=data, device=device, jobs=jobs, show=show)
    _written(write(ablation, results, folder), console)


def _written(files: list[Path], console: Console) -> None:
    """The table on the screen, and where it lies; the figures with it."""
    from rich.markdown import Markdown

    console.print(Markdown(files[0].read_text(encoding="utf-8")))
    console.print("\n".join(["Written:", *(f"  {path}" for path in files)]), soft_wrap=True)


def merge(
    parts: Annotated[list[Path], typer.Argument(help="Folders that run or reproduce have written.")],
    out: Annotated[Path, typer.Option(help="Folder for the whole.")],
) -> None:
    """Join results that were made on different machines."""
    from if2net.study.bench.merging import merge_folders

    for path in merge_folders(parts, out):
        typer.echo(f"Results: {path}")


def _known_protocol(name: str) -> None:
    from if2net.errors import unknown
    from if2net.study.bench.protocol import PROTOCOLS

    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)
