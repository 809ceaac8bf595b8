"""Train an innate network several times, each time with an empty compile cache, and compare the bits.

The trainings run side by side: a busy GPU changes which kernel is the fastest, and must not change the result. The
script needs a GPU.

usage: python results/innate_repeat.py [--size small] [--times 3] [--steps 600] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from innate_widths import record

from if2net.encoder.innate.training import SIZES
from if2net.study.bench.environment import environment


def hashes(size: str, times: int, steps: int) -> list[str]:
    """Return the hash of the weights after each training."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(times):
            own = Path(folder) / str(number)
            caches = {"TORCHINDUCTOR_CACHE_DIR": str(own / "inductor"), "TRITON_CACHE_DIR": str(own / "triton")}
            words = ["--size", size, "--steps", str(steps), "--device", "cuda", "--out", f"{own}.if2", "--json"]
            command = [sys.executable, "-m", "if2net", "innate", "train", *words]
            running.append(subprocess.Popen(command, env=os.environ | caches, stdout=subprocess.PIPE))
        return [json.loads(process.communicate()[0])["hash"] for process in running]


def repeated(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    found = hashes(arguments.size, arguments.times, arguments.steps)
    facts = {"size": arguments.size, "steps": arguments.steps, "hashes": found, "same_bits": len(set(found)) == 1}
    yield facts | {"environment": environment("cuda")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    record(parser, "repeat.jsonl", repeated)
