import json
from dataclasses import replace

import numpy as np
import pytest

from if2net.errors import NumericalError
from if2net.study.bench.rows import Loader
from if2net.study.bench.search import SEARCH_SEED, search
from if2net.study.bench.settings import from_command_line
from if2net.study.data import parse_scenario
from if2net.study.methods.if2net import IF2NetMethod

SCENARIO = parse_scenario("digits-10/5")
SMALL = from_command_line(["width=60"])


class Given(Loader):
    """Gives the same data for every scenario."""

    def __init__(self, data):
        super().__init__()
        self.data = data

    def load(self, scenario, seed=0, **_):
        return self.data


@pytest.fixture(scope="module")
def loader():
    return Loader()


@pytest.fixture
def fragile(monkeypatch):
    """A ridge of 0.5 cannot be computed with."""
    learn = IF2NetMethod.learn

    def failing(self, X, y):
        if self.settings.ridge == 0.5:
            raise NumericalError("Give a larger ridge.")
        learn(self, X, y)

    monkeypatch.setattr(IF2NetMethod, "learn", failing)


def test_the_best_has_the_highest_accuracy(loader, tmp_path):
    finished = search(SCENARIO, loader, "if2net", {"ridge": ["100", "0.01"]}, fixed=SMALL)
    first, second = (trial.acc["acc"] for trial in finished.tried)
    assert second > first
    assert finished.best == {"acc": {"ridge": "0.01"}}
    finished.write(tmp_path / "search.json")
    written = json.loads((tmp_path / "search.json").read_text())
    assert (written["seed"], written["best"]) == (SEARCH_SEED, finished.best)
    assert written["fixed"] == [[None, "width", "60"]]
    assert written["tried"][0]["acc"] == first


def test_the_search_never_uses_test_data(digits):
    poisoned = replace(digits, test_X=np.full_like(digits.test_X, np.nan))
    finished = search(SCENARIO, Given(poisoned), "if2net", {"width": ["5", "60"]})
    assert finished.best["acc"] == {"width": "60"}
    assert len(finished.tried) == 2


def test_settings_that_cannot_be_computed_do_not_end_the_search(fragile, loader):
    finished = search(SCENARIO, loader, "if2net", {"ridge": ["0.5", "0.01"]}, fixed=SMALL)
    assert finished.tried[0].as_dict() == {"settings": {"ridge": "0.5"}, "error": "Give a larger ridge."}
    assert finished.best == {"acc": {"ridge": "0.01"}}


def test_a_search_without_any_result_is_an_error(fragile, loader):
    with pytest.raises(NumericalError, match=r"No combination .* Give a larger ridge\.$"):
        search(SCENARIO, loader, "if2net", {"ridge": ["0.5"]}, fixed=SMALL)


def test_under_the_transductive_protocol_every_variant_has_its_own_best(loader):
    tiny = from_command_line(["layers=2x5,4x5"])
    finished = search(SCENARIO, loader, "if2net", {"ridge": ["0.01", "1"]}, protocol="transductive", fixed=tiny)
    assert set(finished.best) == {"one task per batch", "tasks mixed"}


def test_trials_that_finish_in_another_order_keep_their_places(loader, monkeypatch):
    def backwards(work, jobs, loader, processes, show=None):
        assert processes == 2
        outcomes = list(enumerate(work(job.plan, loader.load(SCENARIO), job.method, job.seed) for job in jobs))
        return reversed(outcomes)

    grid = {"ridge": ["100", "0.01"]}
    one = search(SCENARIO, loader, "if2net", grid, fixed=SMALL)
    monkeypatch.setattr("if2net.study.bench.search.results_of", backwards)
    two = search(SCENARIO, loader, "if2net", grid, fixed=SMALL, jobs=2)
    assert [(trial.settings, trial.acc) for trial in two.tried] == [
        (trial.settings, trial.acc) for trial in one.tried
    ]
