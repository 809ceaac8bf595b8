import os
import time
from pathlib import Path

import pytest
import torch
from processes import forked
from waiting import until

from if2net.study.bench import workers
from if2net.study.bench.loading import Loader
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.bench.workers import Job, results_of, side_by_side
from if2net.study.data import parse_scenario


def sleep(folder):
    (folder / str(os.getpid())).touch()
    time.sleep(120)


def have_a_worker_sleep(folder):
    with workers.workers(1, None, None) as pool:
        pool.submit(sleep, folder).result()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie has ended


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_a_worker_does_not_outlive_a_killed_parent(tmp_path):
    parent = forked().Process(target=have_a_worker_sleep, args=(tmp_path,))
    parent.start()
    until(lambda: list(tmp_path.iterdir()))
    worker = int(next(tmp_path.iterdir()).name)
    assert alive(worker)
    parent.kill()
    parent.join()
    until(lambda: not alive(worker))


def threads_of(plan, data, method, seed, out, show):
    return torch.get_num_threads()


def test_a_worker_trains_small_networks_with_one_thread_and_leaves_ours_alone(monkeypatch):
    context = forked()  # its processes start faster than new ones
    monkeypatch.setattr("multiprocessing.get_context", lambda method: context)
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 6)
    before = torch.get_num_threads()
    plan = Plan(parse_scenario("digits-10/5"), resolve(["none", "if2net"], "agnostic", []), (0,))
    jobs = [Job(plan, None, method, 0) for method in ("none", "if2net")]
    assert dict(results_of(threads_of, jobs, Loader(), processes=2)) == {0: 1, 1: 3}
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("methods", "cores", "device", "wanted"),
    [
        ("if2net none joint", 2, "cpu", 2),
        ("if2net none joint", 8, "cpu", 2),
        ("none joint gem owm bic eft", 64, "cpu", 4),
        ("if2net ncm slda", 8, "cpu", 1),
        ("none joint gem", 64, "cuda", 1),
    ],
)
def test_methods_that_train_run_side_by_side_on_the_cores(monkeypatch, methods, cores, device, wanted):
    monkeypatch.setattr(workers.os, "cpu_count", lambda: cores)
    assert side_by_side(methods.split(), device) == wanted
