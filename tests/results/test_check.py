import subprocess
import sys
from pathlib import Path


def test_the_committed_results_pass_all_checks():
    program = Path(__file__).parents[2] / "results" / "check.py"
    finished = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
