"""Time of imports and of `if2net --help`, each in a new process.

usage: python benchmarks/imports.py [--out FILE]
"""

import subprocess
import sys
import time
from statistics import median

from recording import options, record

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
    out = options(__file__, __doc__).parse_args().out
    times = {name: seconds(statement) for name, statement in STATEMENTS.items()}
    beyond = {
        name: times[f"torch and {name}"] - times["torch"]
        for name in ("if2net", "IF2Net", "IF2NetClassifier", "sklearn.base")
    }
    record(out, {"environment": environment("cpu"), "seconds": times, "beyond torch": beyond})


if __name__ == "__main__":
    main()
