"""The commands. Each only reads its words and calls the library; nothing heavy is imported before it is needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="A classifier that keeps learning new classes, keeps no old data and forgets nothing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DEFAULT_METHODS = ["if2net", "none", "joint"]

MethodsOption = Annotated[list[str] | None, typer.Option("-m", "--method", help="A method; may be repeated.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Folder with datasets; else IF2NET_DATA.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="key=value or method.key=value; repeatable.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file with settings; --set wins.")]
JobsOption = Annotated[int, typer.Option(min=1, help="How many runs side by side, each in a process of its own.")]
ProtocolOption = Annotated[str, typer.Option(help="agnostic, aware or transductive.")]


@app.command()
def run(
    scenario: Annotated[str, typer.Argument(help="DATASET-CLASSES/TASKS")] = "digits-10/5",
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

    from if2net.bench import hyperparameters
    from if2net.bench import settings as reading
    from if2net.bench.display import Display, results_table
    from if2net.bench.folder import prepare
    from if2net.bench.runner import run_plans
    from if2net.bench.stream import Plan
    from if2net.config import resolve_device
    from if2net.data import parse_scenario
    from if2net.report import write_report

    _known_protocol(protocol)
    console = Console()
    wanted = parse_scenario(scenario)
    chosen = method or DEFAULT_METHODS
    given = (reading.from_file(config) if config else []) + reading.from_command_line(settings or [])
    searched = hyperparameters.found(chosen, wanted.dataset, protocol)
    resolved = reading.resolve(chosen, protocol, searched + given)
    plan = Plan(wanted, resolved, tuple(range(seed, seed + runs)), protocol, str(resolve_device(device)))
    wanted.load(data)  # what is missing is said before anything is written
    folder = prepare(plan, out)
    with Display([plan], console) as display:
        (results,) = run_plans([(plan, folder)], data, jobs, display)
    write_report(results, folder)
    console.print(results_table(results))
    console.print(f"Results: {folder / 'results.json'}\nReport:  {folder / 'report.html'}", soft_wrap=True)


@app.command()
def tune(
    scenario: Annotated[str, typer.Argument(help="DATASET-CLASSES/TASKS")],
    method: Annotated[str, typer.Option("-m", "--method", help="The method.")],
    out: Annotated[Path, typer.Option(help="JSON file for everything tried.")],
    grid: Annotated[list[str] | None, typer.Option("--grid", help="key=value,value,...; repeatable.")] = None,
    protocol: ProtocolOption = "agnostic",
    data: DataOption = None,
    device: DeviceOption = "auto",
    settings: SetOption = None,
) -> None:
    """Search settings on held-back training data of a stream that is never reported.

    Without --grid, the method's own grid in bench/hyperparameters.toml.
    """
    from rich.console import Console

    from if2net.bench import hyperparameters
    from if2net.bench.results import write_json
    from if2net.bench.search import parse_grid, search
    from if2net.bench.settings import from_command_line
    from if2net.config import resolve_device
    from if2net.data import parse_scenario

    _known_protocol(protocol)
    console = Console()
    wanted = parse_scenario(scenario)
    out.parent.mkdir(parents=True, exist_ok=True)
    found = search(
        wanted,
        wanted.load(data),
        method,
        parse_grid(grid) if grid else hyperparameters.grid(method),
        protocol=protocol,
        fixed=from_command_line(settings or []),
        device=str(resolve_device(device)),
        show=lambda entry: console.print(entry),
    )
    write_json(out, found)
    console.print(f"Best: {found['best']}\nAll: {out}", soft_wrap=True)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="A table of the paper, such as table-mnist.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    method: MethodsOption = None,
    runs: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results; it goes on there. Default: out/NAME.")] = None,
    jobs: JobsOption = 1,
    settings: SetOption = None,
) -> None:
    """Run a table of the paper, ours beside the paper's figures. With -m, a part of it, to be merged later."""
    from rich.console import Console
    from rich.markdown import Markdown

    from if2net.bench import reproduce as tables
    from if2net.bench.display import Display
    from if2net.bench.runner import run_plans
    from if2net.bench.settings import from_command_line
    from if2net.config import resolve_device

    if list_them or name is None:
        for known, (summary, _) in tables.TABLES.items():
            typer.echo(f"{known:14} {summary}")
        return
    console = Console()
    folder = out or Path("out") / name
    plans = tables.plans(
        name,
        folder,
        methods=method or [],
        seeds=tuple(range(seed, seed + runs)),
        device=str(resolve_device(device)),
        given=from_command_line(settings or []),
    )
    with Display([plan for plan, _ in plans], console) as display:
        results = run_plans(plans, data, jobs, display)
    text = tables.markdown(name, results)
    (folder / "table.md").write_text(text)
    console.print(Markdown(text))
    console.print(f"Table: {folder / 'table.md'}", soft_wrap=True)


@app.command()
def merge(
    parts: Annotated[list[Path], typer.Argument(help="Folders that run or reproduce have written.")],
    out: Annotated[Path, typer.Option(help="Folder for the whole.")],
) -> None:
    """Join results that were made on different machines."""
    from if2net.bench.merging import merge_folders

    for path in merge_folders(parts, out):
        typer.echo(f"Results: {path}")


@app.command()
def methods() -> None:
    """List the methods."""
    from if2net.methods import METHODS

    for name, method in METHODS.items():
        typer.echo(f"{name:16} {method.summary}")


@app.command()
def datasets() -> None:
    """List the datasets."""
    from if2net.data import DATASETS

    for name, source in DATASETS.items():
        typer.echo(f"{name:14} {source.summary} ({source.licence})")


def _known_protocol(name: str) -> None:
    from if2net.bench.protocol import PROTOCOLS
    from if2net.errors import unknown

    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)


def main() -> None:
    """The `if2net` command: what a user can mend is said in a sentence, without a traceback."""
    from if2net.errors import IF2NetError

    # Threads that wait without spinning: on a busy machine small networks train many times faster so.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except IF2NetError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("Stopped. Start the same command with the same --out to go on.", err=True)
        sys.exit(130)
