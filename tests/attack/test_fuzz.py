"""Damaged files are read or refused in a sentence, with little memory and without a hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import execute

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads its memory from /proc")
PROGRAM = Path(__file__).with_name("fuzz.py")
EVERYTHING = {"models": 10_000, "results": 5_000, "tables": 5_000, "images": 1_000}


def run(kind, count):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(PROGRAM), kind, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_some_damaged_files_are_read_or_refused():
    words = [str(PROGRAM), ",".join(EVERYTHING), "60"]
    execute(f"import runpy, sys\nsys.argv = {words!r}\nrunpy.run_path({str(PROGRAM)!r}, run_name='__main__')")


@pytest.mark.attack
@pytest.mark.parametrize("kind", EVERYTHING)
def test_thousands_of_damaged_files_are_read_or_refused(kind):
    run(kind, EVERYTHING[kind])
