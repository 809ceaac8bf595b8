"""Results as a run would have written them, without running anything."""

import numpy as np
import pytest

from if2net.study.bench.results import Backbone, Results, Run, Seconds, pack
from if2net.study.data import parse_scenario

COUNTS = [[8, 2, 0, 0], [0, 10, 0, 0], [0, 5, 4, 1], [0, 0, 0, 10]]  # by place in the stream


def one_run(
    method="if2net",
    seed=0,
    variant="",
    R=None,
    order=(2, 0, 3, 1),
    counts=COUNTS,
    device="cpu",
    torch="2.9",
    **changes,
):
    R = R or [[0.9 + seed / 100], [0.8, 0.7]]
    if "backbone" in changes:
        changes["backbone"] = Backbone(**changes["backbone"])
    fields = {
        "seconds": Seconds(1.0 + seed, 0.1),
        "state_bytes": 1200,
        "exemplars": 0,
        "parameters": 10,
        "environment": {"if2net": "0.2.0", "torch": torch, "device": device, "commit": None},
        "confusion": "" if counts is None else pack(np.array(counts)),
        **changes,
    }
    return Run(method, seed, list(order), R, [0.9] * len(R), variant=variant, **fields)


def results(*runs, scenario="digits-4/2", protocol="agnostic", settings=None):
    runs = list(runs) or [one_run(method, seed) for method in ("if2net", "ewc", "joint") for seed in (0, 1)]
    return Results(scenario, protocol, settings or {}, runs)


@pytest.fixture
def make_run():
    return one_run


@pytest.fixture
def make_results():
    return results


@pytest.fixture
def write_folder(tmp_path):
    """Writes results into a folder of that name."""

    def write(name, found):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        found.write(folder / "results.json")
        return folder

    return write


@pytest.fixture
def compared():
    """Makes a comparison on one scenario; later methods are better. Changes to a run go by its method."""

    def make(
        scenario, methods=("none", "joint", "gem", "il2m", "ncm", "if2net"), seeds=(0, 1, 2), change=lambda method: {}
    ):
        runs, tasks = [], parse_scenario(scenario).tasks
        for place, method in enumerate(methods):
            kept = {"exemplars": 1980} if method in ("joint", "gem", "il2m") else {}
            for seed in seeds:
                last = 0.3 + 0.05 * place + 0.01 * seed
                R = [[0.7] * i + [0.8] for i in range(tasks - 1)] + [[last] * tasks]
                R[0][0] = 0.9 + 0.01 * place
                runs.append(one_run(method, seed, R=R, order=range(4), **kept, **change(method)))
        return results(*runs, scenario=scenario, settings={method: {} for method in methods})

    return make


@pytest.fixture(scope="session")
def large_results():
    """300 tasks of one class and 20 methods, which share one matrix."""
    tasks = range(300)
    R = [[1 - (i - j) / 600 for j in tasks[: i + 1]] for i in tasks]
    counts = [[8 if i == j else int((7 * i + j) % 97 == 0) for j in tasks] for i in tasks]
    runs = [one_run(f"method {number}", R=R, order=tasks, counts=counts) for number in range(20)]
    return results(*runs, scenario="digits-300/300")


@pytest.fixture(scope="session")
def many_results():
    """25 methods and 5 tasks, as in the paper's first table."""
    methods = ["if2net", "none", "joint", *(f"method {number}" for number in range(22))]
    runs = []
    for place, method in enumerate(methods):
        for seed in (0, 1):
            R = [[0.95 - 0.03 * place + 0.01 * seed] * (i + 1) for i in range(5)]
            counts = np.eye(10, dtype=int) * 10
            runs.append(one_run(method, seed, R=R, order=range(10), counts=counts, exemplars=100 * (place % 2)))
    return results(*runs, scenario="digits-10/5")
