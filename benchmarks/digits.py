"""Accuracy and seconds of all methods on digits: by one `if2net run`, then each by a command of one thread.

The one command runs methods side by side on the cores, as it does by default, and its seconds are those of the clock.
The others are processor seconds, which depend less on the load of the machine, and include the start of each process.

usage: python benchmarks/digits.py [--only METHOD,...] [--runs 1] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from recording import parse_with_only, write

from if2net.study.bench.environment import environment
from if2net.study.methods import METHODS

SCENARIO = "digits-10/5"
SHOWN = ("steps", "rate")  # settings of methods that train a network
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def seconds_of_all(methods: list[str], runs: int) -> float:
    """Return the seconds that one command with all methods takes, by the clock."""
    options = [word for method in methods for word in ("-m", method)]
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        command = [sys.executable, "-m", "if2net", "run", SCENARIO, *options, "--runs", str(runs), "--out", folder]
        subprocess.run([*command, "--quiet"], check=True)
        return time.perf_counter() - begin


def run(method: str, runs: int) -> dict[str, Any]:
    """Return the accuracy of a method, its settings, and the processor seconds of the command that runs it."""
    variables = os.environ | dict.fromkeys(THREADS, "1")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "if2net", "run", SCENARIO, "-m", method, "--runs", str(runs), "--jobs", "1"]
        before = processor_seconds()
        subprocess.run([*command, "--out", folder, "--quiet"], check=True, env=variables)
        seconds = processor_seconds() - before
        results = json.loads((Path(folder) / "results.json").read_text())
    settings = {key: results["settings"][method][key] for key in SHOWN if key in results["settings"][method]}
    return {"accuracy": 100 * results["summary"][method]["acc_mean"], "processor_seconds": seconds, **settings}


def processor_seconds() -> float:
    """Return the processor time of all child processes and their children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of methods, separated by commas")
    parser.add_argument("--runs", type=int, default=1, help="seeds")
    arguments = parse_with_only(parser, __file__)
    methods = arguments.only.split(",") if arguments.only else [*METHODS]
    entries, together = {}, seconds_of_all(methods, arguments.runs)
    print(f"{together:.0f} seconds by one command", flush=True)
    for method in methods:
        entries[method] = run(method, arguments.runs)
        print(method, json.dumps(entries[method]), flush=True)
    total = sum(entry["processor_seconds"] for entry in entries.values())
    print(f"{total:.0f} processor seconds")
    if arguments.out is not None:
        report = {"scenario": SCENARIO, "runs": arguments.runs, "environment": environment("cpu")}
        report |= {"seconds_by_one_command": together, "processor_seconds": total, "methods": entries}
        write(arguments.out, report)


if __name__ == "__main__":
    main()
