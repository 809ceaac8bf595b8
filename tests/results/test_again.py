"""results/again.py: recorded rows are run again with their settings and seeds."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from if2net.study.bench.results import Results

ROOT = Path(__file__).parents[2]


def test_recorded_rows_that_run_again_agree_with_the_record(tmp_path):
    command = [sys.executable, ROOT / "results/again.py", tmp_path, "digits", "-m", "ncm", "--device", "cpu"]
    subprocess.run(command, check=True, capture_output=True)
    recorded, again = (Results.read(folder / "digits/results.json") for folder in (ROOT / "results", tmp_path))
    expected = {run.seed: run for run in recorded.runs if run.method == "ncm"}
    assert {run.method for run in again.runs} == {"ncm"}
    assert {run.seed for run in again.runs} == set(expected)
    assert again.settings["ncm"] == recorded.settings["ncm"]
    for run in again.runs:
        assert run.class_order == expected[run.seed].class_order
        np.testing.assert_allclose(np.concatenate(run.R), np.concatenate(expected[run.seed].R), atol=0.01)
