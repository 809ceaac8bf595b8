"""`if2net reproduce`: run a table, a figure or an ablation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, counted
from if2net.commands.images import print_left_out
from if2net.commands.options import DeviceOption, ForceOption, NoWaitOption
from if2net.study.commands.options import DataOption, JobsOption, MethodsOption, SetOption, check_results_folder


def reproduce(
    name: Annotated[str | None, typer.Argument(help="A table or figure, such as table-mnist.")] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="List all tables, figures and ablations, or the parts of NAME.")
    ] = False,
    method: MethodsOption = None,
    part: Annotated[
        list[str] | None, typer.Option(help="A part of a comparison, by its folder of results. Can be repeated.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds. Default: 5; 30 if the task is known."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    data: DataOption = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for results. A stopped command continues there. Default: out/NAME.")
    ] = None,
    jobs: JobsOption = None,
    settings: SetOption = None,
    no_wait: NoWaitOption = False,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Run a table or an ablation, and show ours beside the paper's figures where there are any.

    With -m, only these methods are run, and with --part, only these streams; `if2net merge` joins the results later.
    Ablations take none of -m, --part and --set.
    """
    from rich.markdown import Markdown

    from if2net.config import resolve_device
    from if2net.errors import ConfigurationError, unknown
    from if2net.output_folders import locked_folder
    from if2net.progress import progress
    from if2net.study.ablations import ABLATIONS, carry_out, write_ablation
    from if2net.study.bench.experiments import EXPERIMENTS, plans
    from if2net.study.bench.loading import Loader
    from if2net.study.bench.runner import ADVICE, check_folder, run_plans
    from if2net.study.bench.settings import from_command_line
    from if2net.study.bench.terminal import shown_steps
    from if2net.study.bench.workers import side_by_side
    from if2net.study.commands.images import prepare_rows
    from if2net.study.pretraining import per_seed
    from if2net.study.report.paper_tables import read, write

    summaries = {entry: experiment.summary for entry, experiment in EXPERIMENTS.items()}
    summaries |= {entry: ablation.summary for entry, ablation in ABLATIONS.items()}
    if name is not None and name not in summaries:
        raise unknown("table or figure", name, summaries)
    if list_them or name is None:
        if part:
            raise ConfigurationError("--list lists all parts; leave out --part.")
        listed = summaries
        if name is not None:
            parts = EXPERIMENTS[name].parts if name in EXPERIMENTS else ()
            listed = {
                part.folder: f"{part.scenario}, {part.protocol}, {counted(len(part.methods), 'method')}"
                for part in parts
            } or {name: summaries[name]}
        width = max(map(len, listed))
        output.answer([f"{entry:{width}} {text}" for entry, text in listed.items()], listed)
        return
    console, loader = output.screen(stderr=False), Loader(data)
    folder = out or Path("out") / name
    chosen_device = str(resolve_device(device))
    check_results_folder(folder, force)
    left_out: dict[Path, str] = {}
    if name in ABLATIONS:
        if method or part or settings:
            raise ConfigurationError(
                f"{name} is an ablation with settings of its own; leave out -m, --part and --set."
            )
        ablation = ABLATIONS[name]
        seeds = range(seed, seed + (runs or ablation.runs))
        with locked_folder(folder, ADVICE, wait=not no_wait), progress(name, console) as show:
            measured = carry_out(
                ablation, folder, loader, seeds=seeds, device=chosen_device, jobs=jobs or 1, show=show
            )
            files = write_ablation(ablation, measured, folder)
    else:
        planned = plans(
            name,
            folder,
            methods=method or [],
            seed=seed,
            runs=runs,
            device=chosen_device,
            given=from_command_line(settings or []),
            folders=part or [],
        )
        for plan, place in planned:
            check_folder(plan, place)
        # Most streams that differ only in the number of tasks have the same data.
        for scenario, _ in dict.fromkeys(per_seed.key(plan.scenario, 0) for plan, _ in planned):
            left_out |= prepare_rows(scenario, loader, chosen_device, console, planned[0][0].seeds)
        streams = [method for plan, _ in planned for method in plan.settings for _ in plan.seeds]
        jobs = jobs or side_by_side(streams, chosen_device)
        with (
            locked_folder(folder, ADVICE, wait=not no_wait),
            shown_steps([plan for plan, _ in planned], console) as show_step,
        ):
            run_plans(planned, loader, jobs, show_step)
            files = write(name, read(name, folder), folder)  # with the parts that were run before
    console.print(Markdown(files[0].read_text(encoding="utf-8")))
    console.print("\n".join(["Written:", *(f"  {path}" for path in files)]), soft_wrap=True)
    print_left_out(left_out, console)
    values = {"written": [str(path) for path in files], "left_out": list(left_out.values())}
    output.answer((), values)
