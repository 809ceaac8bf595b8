"""`if2net run`: compare methods on a stream of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output
from if2net.commands.images import print_left_out
from if2net.commands.options import BackboneOption, DeviceOption, ForceOption, NoWaitOption
from if2net.study.commands.options import (
    ConfigOption,
    DataOption,
    JobsOption,
    MethodsOption,
    ProtocolOption,
    SetOption,
    check_results_folder,
)

DEFAULT_METHODS = ["if2net", "none", "joint"]
INNATE_NOTE = (
    "if2net uses the innate encoder for these pictures, and the other methods use pixels. For the dense encoder: "
    "--set if2net.encoder=wide"
)
FEATURES_NOTE = (
    "The methods get the features of the innate network, which has seen drawings only; if2net adds random nodes to "
    "them. For another network: --backbone efficientnet-lite0"
)
EXPLANATION = (
    "ACC: the accuracy after the last task. BWT: the change of the accuracy on earlier tasks since they were "
    "learned. FWT: the accuracy on a new task minus that of a model that learns it alone. See docs/metrics.md.\n"
    "none: a network that is trained on one task after the other, without protection. joint: a new network for each "
    "task, trained on the data of all tasks so far."
)


def run(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="DATASET-CLASSES/TASKS.")] = "digits-10/5",
    backbone: BackboneOption = None,
    method: MethodsOption = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The first seed. It also shuffles the classes.")] = 0,
    protocol: ProtocolOption = "agnostic",
    data: DataOption = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results, where a stopped run continues. Default: a new folder in out/."),
    ] = None,
    jobs: JobsOption = None,
    settings: SetOption = None,
    config: ConfigOption = None,
    no_wait: NoWaitOption = False,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Compare methods on a stream of tasks: a table, results.json and report.html.

    Without -m: if2net, none and joint.
    """
    from if2net.config import resolve_device
    from if2net.encoder import INNATE
    from if2net.study.bench import hyperparameters
    from if2net.study.bench.loading import Loader
    from if2net.study.bench.protocol import check_protocol
    from if2net.study.bench.runner import check_folder, output_folder, run_plans
    from if2net.study.bench.settings import from_command_line, from_file, resolve
    from if2net.study.bench.stream import Plan
    from if2net.study.bench.terminal import results_table, shown_steps
    from if2net.study.bench.workers import side_by_side
    from if2net.study.commands.images import prepare_rows
    from if2net.study.data import parse_scenario
    from if2net.study.report import write_report

    console, loader = output.screen(stderr=False), Loader(data)
    check_protocol(protocol)
    stream = parse_scenario(scenario, backbone)
    methods = method or DEFAULT_METHODS
    given = (from_file(config) if config else []) + from_command_line(settings or [])
    innate = hyperparameters.for_pictures(stream, protocol, given) if "if2net" in methods else []
    searched = hyperparameters.searched(
        [name for name in methods if name != "if2net" or not innate],
        stream.dataset,
        protocol,
        backbone=stream.backbone,
    )
    resolved = resolve(methods, protocol, searched + innate + given)
    if innate:
        console.print(INNATE_NOTE, soft_wrap=True)
    if stream.backbone in INNATE and backbone is None and "@" not in scenario:
        console.print(FEATURES_NOTE, soft_wrap=True)
    plan = Plan(stream, resolved, tuple(range(seed, seed + runs)), protocol, str(resolve_device(device)))
    # Everything that can be missing is an error before anything is trained or written.
    check_results_folder(out or Path("out"), force or out is None)
    if out is not None:
        check_folder(plan, out)
    left_out = prepare_rows(stream, loader, plan.device, console, plan.seeds)
    with output_folder(plan, out, wait=not no_wait) as folder:
        jobs = jobs or side_by_side([*resolved] * runs, plan.device)
        with shown_steps([plan], console) as show:
            (results,) = run_plans([(plan, folder)], loader, jobs, show)
        write_report(results, folder)
    console.print(results_table(results))
    console.print(EXPLANATION, soft_wrap=True, highlight=False)
    console.print(f"Results: {folder / 'results.json'}\nReport:  {folder / 'report.html'}", soft_wrap=True)
    print_left_out(left_out, console)
    values = {"folder": str(folder), "summary": results.summary, "left_out": list(left_out.values())}
    output.answer((), values)
