"""Train an innate network several times, each time with an empty compile cache, and compare the bits.

The trainings run side by side: a busy GPU changes which kernel is the fastest, and must not change the result.

usage: python results/innate_repeat.py [--size small] [--times 3] [--steps 600] [--batch 512] [--device cuda]
                                       [--weights FOLDER] [--out FILE]
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

from row_files import record

from if2net.encoder.innate.training import SIZES


def hashes(arguments: argparse.Namespace) -> list[str]:
    """Return the hash of the weights after each training."""
    words = [f"--{name}={getattr(arguments, name)}" for name in ("size", "steps", "batch", "device")]
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(arguments.times):
            own = Path(folder) / str(number)
            caches = {"TORCHINDUCTOR_CACHE_DIR": str(own / "inductor"), "TRITON_CACHE_DIR": str(own / "triton")}
            out = (arguments.weights or Path(folder)) / f"{arguments.size}-{number}.if2"
            command = [sys.executable, "-m", "if2net", "innate", "train", *words, f"--out={out}", "--json"]
            running.append(subprocess.Popen(command, env=os.environ | caches, stdout=subprocess.PIPE))
        return [json.loads(process.communicate()[0])["hash"] for process in running]


def repeated(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    facts = {name: getattr(arguments, name) for name in ("size", "steps", "batch")}
    found = hashes(arguments)
    outcome = {"hashes": found, "same_bits": len(set(found)) == 1}
    yield facts | outcome


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--weights", type=Path, help="keep the trained networks in this folder")
    record(parser, "repeat.jsonl", repeated)
