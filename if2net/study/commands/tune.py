"""`if2net tune`: search settings of a method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from if2net.commands.answer import SENTENCES, Output
from if2net.commands.images import print_left_out
from if2net.commands.options import BackboneOption, DeviceOption, ForceOption, check_output
from if2net.study.commands.options import DataOption, JobsOption, ProtocolOption, SetOption, check_results_folder

# How a file of this command begins.
SEARCH = rb'\{\n"scenario": [^\n]*\n"protocol": [^\n]*\n"method": '


def tune(
    scenario: Annotated[str, typer.Argument(help="DATASET-CLASSES/TASKS")],
    method: Annotated[str, typer.Option("-m", "--method", help="The method.")],
    out: Annotated[Path, typer.Option(help="JSON file for everything that was tried.")],
    grid: Annotated[list[str] | None, typer.Option("--grid", help="key=value,value,... Can be repeated.")] = None,
    tasks: Annotated[
        int | None, typer.Option(help="The number of tasks that a trial learns; 3 without --grid.")
    ] = None,
    backbone: BackboneOption = None,
    protocol: ProtocolOption = "agnostic",
    data: DataOption = None,
    device: DeviceOption = "auto",
    jobs: JobsOption = None,
    settings: SetOption = None,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Search settings on held-back training data of a stream that is never reported.

    Without --grid, the space of the method in bench/hyperparameters.toml is searched.
    """
    from if2net.config import resolve_device
    from if2net.errors import ConfigurationError
    from if2net.output_folders import make_folder
    from if2net.study.bench import hyperparameters
    from if2net.study.bench.loading import Loader
    from if2net.study.bench.protocol import check_protocol
    from if2net.study.bench.search import FIRST_TASKS, LEAST_TRIALS, check_tasks, explore, parse_grid, search
    from if2net.study.bench.settings import from_command_line
    from if2net.study.bench.workers import side_by_side
    from if2net.study.commands.images import prepare_rows
    from if2net.study.data import parse_scenario
    from if2net.study.pretraining.per_seed import for_search

    check_results_folder(out.parent, force=True)
    if out.exists():
        check_output(out, SEARCH, force=force)
    console, loader = output.screen(stderr=False), Loader(data)
    check_protocol(protocol)
    stream = parse_scenario(scenario, backbone)
    first = tasks if tasks is not None else min(FIRST_TASKS, stream.tasks)
    if grid and tasks is not None:
        raise ConfigurationError("A grid is tried on all tasks; leave out --tasks, or --grid to search the space.")
    check_tasks(stream, first)
    for_search(stream)  # a backbone that cannot be searched with is an error before it is trained
    space, fixed = hyperparameters.space(method, protocol) if not grid else ({}, [])
    chosen_device = str(resolve_device(device))
    left_out = prepare_rows(stream, loader, chosen_device, console, [0])
    options: dict[str, Any] = {
        "protocol": protocol,
        "fixed": fixed + from_command_line(settings or []),
        "device": chosen_device,
        "jobs": jobs or side_by_side([method] * LEAST_TRIALS, chosen_device),
        "show": lambda trial: console.print(trial.as_dict()),
    }
    if grid:
        finished = search(stream, loader, method, parse_grid(grid), **options)
    else:
        finished = explore(stream, loader, method, space, tasks=first, **options)
    make_folder(out.parent, "choose another --out")
    finished.write(out)
    console.print(f"Best: {finished.best}\nAll: {out}", soft_wrap=True)
    print_left_out(left_out, console)
    values = {"out": str(out), "best": finished.best, "left_out": list(left_out.values())}
    output.answer((), values)
