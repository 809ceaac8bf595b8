"""Extractions that are killed lose nothing that was stored, and the next one continues."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.attack
@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts processes by fork")
def test_fifty_killed_extractions_leave_a_cache_that_the_next_one_completes():
    command = [sys.executable, str(Path(__file__).with_name("kill_extractions.py")), "50"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
