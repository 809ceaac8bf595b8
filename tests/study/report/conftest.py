"""Results as a run would have written them, without running anything."""

import pytest

from if2net.study.bench import results as store

COSTS = {"state_bytes": 1200, "exemplars": 0, "parameters": 10}
CONFUSION = [[8, 2, 0, 0], [0, 10, 0, 0], [0, 5, 4, 1], [0, 0, 0, 10]]  # by place in the stream


def one_run(method="if2net", seed=0, variant="", R=None, order=(2, 0, 3, 1), **changes):
    R = R or [[0.9 + seed / 100, None], [0.8, 0.7]]
    seconds = {"learn": 1.0 + seed, "predict": 0.1}
    run = store.finished_run(method, variant, seed, list(order), R, [0.9] * len(R), seconds, COSTS)
    return run | {"confusion": CONFUSION} | changes


def results(*runs, scenario="digits-4/2", protocol="agnostic", settings=None):
    found = store.new_results(scenario, protocol, "cpu")
    found["runs"] = list(runs) or [one_run(method, seed) for method in ("if2net", "ewc", "joint") for seed in (0, 1)]
    found["settings"] = settings or {}
    store.summarise(found)
    return found


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
        store.write_json(folder / "results.json", found)
        return folder

    return write


@pytest.fixture
def compared():
    """A comparison on one scenario: three tasks, unless said; the later a method stands, the better it is."""

    def make(scenario, methods=("none", "joint", "gem", "il2m", "ncm", "if2net"), seeds=(0, 1, 2), tasks=3):
        runs = []
        for place, method in enumerate(methods):
            kept = {"exemplars": 1980} if method in ("joint", "gem", "il2m") else {}
            for seed in seeds:
                last = 0.3 + 0.05 * place + 0.01 * seed
                R = [[0.7] * i + [0.8] + [None] * (tasks - 1 - i) for i in range(tasks - 1)] + [[last] * tasks]
                R[0][0] = 0.9 + 0.01 * place
                runs.append(one_run(method, seed, R=R, order=range(4), **kept))
        return results(*runs, scenario=scenario, settings={method: {} for method in methods})

    return make


@pytest.fixture(scope="session")
def large_results():
    """1,000 tasks of one class and 20 methods, which share one matrix."""
    tasks = range(1000)
    R = [[1 - (i - j) / 2000 if j <= i else None for j in tasks] for i in tasks]
    confusion = [[8 if i == j else int((7 * i + j) % 97 == 0) for j in tasks] for i in tasks]
    run = one_run(R=R, order=tasks, confusion=confusion)
    return results(*({**run, "method": f"method {number}"} for number in range(20)), scenario="digits-1000/1000")
