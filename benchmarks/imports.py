"""Time of imports and of `if2net --help`, each in a new process.

usage: python benchmarks/imports.py [--out FILE]
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from if2net.files import write_text
from if2net.study.bench.environment import environment

REPEATS = 7
STATEMENTS = {
    "python": "pass",
    "torch": "import torch",
    "import if2net": "import if2net",
    "torch and if2net": "import torch, if2net",
    "torch and IF2Net": "import torch; from if2net import IF2Net",
    "torch and IF2NetClassifier": "import torch; from if2net import IF2NetClassifier",
    "torch and sklearn.base": "import torch, sklearn.base",
    "if2net --help": "import sys; sys.argv = ['if2net', '--help']; from if2net.cli import main; main()",
}


def seconds(statement: str) -> float:
    """Return the median over new processes. The first one warms up the disk cache and does not count."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    out = parser.parse_args().out
    times = {name: seconds(statement) for name, statement in STATEMENTS.items()}
    beyond = {
        name: times[f"torch and {name}"] - times["torch"]
        for name in ("if2net", "IF2Net", "IF2NetClassifier", "sklearn.base")
    }
    report = {"environment": environment("cpu"), "seconds": times, "beyond torch": beyond}
    write_text(out, json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
