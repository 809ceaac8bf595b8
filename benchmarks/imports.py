"""How long imports and `--help` take, each in a fresh process; writes benchmarks/imports.json.

usage: python benchmarks/imports.py
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from if2net.study.bench.results import environment

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
    """The median over fresh processes; the first is a warm-up for the disk."""
    taken = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return median(taken[1:])


def main() -> None:
    found = {name: seconds(statement) for name, statement in STATEMENTS.items()}
    beyond = {
        name: found[f"torch and {name}"] - found["torch"]
        for name in ("if2net", "IF2Net", "IF2NetClassifier", "sklearn.base")
    }
    report = {"environment": environment("cpu"), "seconds": found, "beyond torch": beyond}
    Path(__file__).with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
