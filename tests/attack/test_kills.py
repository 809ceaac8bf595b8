"""Commands that are killed at random moments lose nothing, and the next one leaves no temporary file."""

import json
import multiprocessing
import random
import signal
import time

import pytest

from if2net.files import kept_file
from if2net.learner import IF2Net
from if2net.study.bench.results import Results

pytestmark = [
    pytest.mark.attack,
    pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a fork server"),
]
ROWS = 100
IMPORTED = ["rich.markdown", "rich.progress", "pyarrow.csv", "pyarrow.parquet", "sklearn.datasets", "if2net.cli"]
IMPORTED += ["if2net.images.learning", "if2net.study.bench.runner", "if2net.study.report", "if2net.tables"]
COMMAND = """
import os
output = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(output, 1)
os.dup2(output, 2)
from if2net.cli import app
app({words!r})
"""


class Attack:
    """Starts commands in processes that a server forks, which has imported everything already, and kills them."""

    def __init__(self, log):
        self.log, self.chance = str(log), random.Random(0)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(IMPORTED)

    def started(self, words):
        code = COMMAND.format(log=self.log, words=[str(word) for word in words])
        process = self.context.Process(target=exec, args=(code,))
        process.start()
        return process

    def whole(self, *words):
        """Run a command to its end, and return the seconds it took."""
        start = time.perf_counter()
        process = self.started(words)
        process.join()
        with open(self.log) as log:
            assert process.exitcode == 0, log.read()
        return time.perf_counter() - start

    def killed(self, longest, *words):
        """Kill a command at a random moment, and return whether it was still running."""
        process = self.started(words)
        process.join(self.chance.uniform(0, longest))
        process.kill()
        process.join()
        with open(self.log) as log:
            assert process.exitcode in (0, -signal.SIGKILL), log.read()
        return process.exitcode != 0


@pytest.fixture
def attack(tmp_path):
    return Attack(tmp_path / "log.txt")


def test_a_model_keeps_all_samples_through_200_kills(attack, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    model, table = folder / "m.if2", tmp_path / "t.csv"
    table.write_text("x,z,label\n" + "".join(f"{row},{row % 7},{row % 3}\n" for row in range(ROWS)))
    words = ["learn", model, table, "--device", "cpu", "--force"]  # the same samples again and again
    attack.whole(*words, "--set", "width=500")
    longest = min(attack.whole(*words) for _ in range(2))  # the first may wait for other processes
    samples, interrupted = 3 * ROWS, 0
    while interrupted < 200:
        killed = attack.killed(longest, *words)
        interrupted += killed
        now = IF2Net.load(model, "cpu").samples
        assert now in ((samples, samples + ROWS) if killed else (samples + ROWS,))
        samples = now
    attack.whole(*words)
    assert IF2Net.load(model, "cpu").samples == samples + ROWS
    assert sorted(folder.iterdir()) == sorted([model, kept_file(model)])
    assert IF2Net.load(kept_file(model), "cpu").samples == samples


def test_a_run_keeps_its_results_through_50_kills(attack, tmp_path):
    words = ["run", "-m", "ncm", "-m", "if2net", "--set", "if2net.width=100", "--runs", "2", "--device", "cpu"]
    words += ["--jobs", "1", "--out"]
    longest = min(attack.whole(*words, tmp_path / name) for name in ("whole", "again"))
    expected, interrupted, folders = runs_of(tmp_path / "whole"), 0, 0
    while interrupted < 50:
        folders += 1
        folder, finished = tmp_path / str(folders), {}
        while len(finished) < len(expected):
            interrupted += attack.killed(longest, *words, folder)
            now = runs_of(folder)
            assert finished.items() <= now.items() <= expected.items()
            finished = now
        attack.whole(*words, folder)
        assert json.loads((folder / "config.json").read_text())["seeds"] == [0, 1]
        assert not list(folder.rglob(".*"))


def runs_of(folder):
    """Return the accuracies of the finished runs in a folder, by method and seed."""
    if not (folder / "results.json").exists():
        return {}
    return {(run.method, run.seed): str(run.R) for run in Results.read(folder / "results.json").runs}
