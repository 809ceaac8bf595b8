import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
from pathlib import Path
from if2net.study.bench.workers import Workers

def sleeper(folder):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(120)

if __name__ == "__main__":
    with Workers(2, None, None) as workers:
        for place in range(2):
            workers.pool.submit(sleeper, sys.argv[1])
        time.sleep(120)
"""


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie has ended


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    script, started = tmp_path / "script.py", tmp_path / "started"
    script.write_text(SCRIPT)
    started.mkdir()
    parent = subprocess.Popen([sys.executable, script, started])
    until(lambda: len(list(started.iterdir())) == 2)
    workers = [int(path.name) for path in started.iterdir()]
    assert all(alive(pid) for pid in workers)
    parent.kill()
    parent.wait()
    until(lambda: not any(alive(pid) for pid in workers))
