"""Run the methods of committed results again, with the settings and the seeds that the files record.

The new results go to the same folders under OUT. With -m, only these methods are run. A stopped script continues.

usage: python results/again.py OUT FOLDER... [-m METHOD]... [--data DIR] [--device auto] [--jobs 1]
"""

import argparse
from pathlib import Path

from rich.console import Console

from if2net.config import resolve_device
from if2net.study.bench.loading import Loader
from if2net.study.bench.results import Results
from if2net.study.bench.runner import run_plans
from if2net.study.bench.stream import Plan
from if2net.study.commands.images import prepare_rows
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS

HERE = Path(__file__).parent


def plan_of(folder: str, methods: list[str], device: str) -> Plan:
    """Return the plan of recorded results, or of some of their methods."""
    results = Results.read(HERE / folder / "results.json")
    runs = [run for run in results.runs if not methods or run.method in methods]
    settings = {run.method: METHODS[run.method].Settings(**results.settings[run.method]) for run in runs}
    seeds = tuple(sorted({run.seed for run in runs}))
    return Plan(parse_scenario(results.scenario), settings, seeds, results.protocol, device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="+", help="folders below results/ with a results.json")
    parser.add_argument("-m", "--method", action="append", default=[])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    device, loader, console = str(resolve_device(arguments.device)), Loader(arguments.data), Console()
    planned = [(plan_of(folder, arguments.method, device), arguments.out / folder) for folder in arguments.folders]
    for plan, _ in planned:
        prepare_rows(plan.scenario, loader, device, console, plan.seeds)
    run_plans(planned, loader, arguments.jobs, lambda step: console.print(step))


if __name__ == "__main__":
    main()
