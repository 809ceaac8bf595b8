import json
from dataclasses import replace

import numpy as np
import pytest

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench.loading import Loader
from if2net.study.bench.protocol import DIGITS
from if2net.study.bench.search import (
    LEAST_TRIALS,
    MOST_TRIALS,
    SEARCH_SEED,
    Trial,
    explore,
    parse_grid,
    proposals,
    search,
)
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


def test_a_grid_of_the_same_setting_twice_is_refused():
    with pytest.raises(ConfigurationError, match="grid of the setting epochs is given twice"):
        parse_grid(["epochs=1,2", "step=1", "epochs=3"])


def test_the_best_has_the_highest_accuracy(loader, tmp_path):
    finished = search(SCENARIO, loader, "if2net", {"ridge": ["100", "0.01"]}, fixed=SMALL)
    first, second = (trial.acc["acc"] for trial in finished.tried)
    assert second > first
    assert finished.best == {"acc": {"ridge": "0.01"}}
    finished.write(tmp_path / "search.json")
    written = json.loads((tmp_path / "search.json").read_text())
    assert {"date", "commit", "processor", "device"} <= set(written["environment"])
    assert (written["seed"], written["best"]) == (SEARCH_SEED, finished.best)
    assert written["fixed"] == [[None, "width", "60"]]
    assert written["tried"][0]["acc"] == round(first, DIGITS)


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


def explored(space, accuracy, method="none"):
    tried = []
    while planned := proposals(method, space, tried):
        tried += [Trial(settings, {"acc": accuracy(settings)}) for settings in planned]
    return tried


@pytest.mark.parametrize("optimum", [0.01, 0.02, 0.3, 5.0])
def test_values_on_both_sides_of_the_best_are_tried_wherever_it_is(optimum):
    tried = explored({"rate": [0.01, 2.0]}, lambda settings: -abs(np.log(float(settings["rate"]) / optimum)))
    rates = sorted(float(trial.settings["rate"]) for trial in tried)
    best = max(tried, key=lambda trial: trial.acc["acc"])
    assert rates[0] < float(best.settings["rate"]) < rates[-1]
    assert abs(np.log2(float(best.settings["rate"]) / optimum)) < 0.6
    assert len(tried) >= LEAST_TRIALS


def test_searches_that_find_the_best_early_have_as_many_trials_as_others():
    flat = explored({"rate": [0.01, 2.0], "epochs": [5, 2]}, lambda settings: float(settings["rate"] == "0.01"))
    assert len(flat) == LEAST_TRIALS
    assert len({tuple(trial.settings.items()) for trial in flat}) == LEAST_TRIALS


def test_a_search_that_climbs_on_and_on_ends_with_the_same_number_for_every_method():
    space = {"rate": [0.01, 1.1], "epochs": [5, 2], "hidden": [100, 2]}
    tried = explored(space, lambda settings: float(settings["rate"]) * float(settings["hidden"]))
    assert len(tried) == MOST_TRIALS


def test_a_space_of_words_is_tried_completely():
    assert len(explored({"standardise": ["auto", "feature", "none"]}, lambda _: 0.5, "ncm")) == 3


def test_settings_that_are_impossible_end_a_ladder():
    tried = explored({"shrinkage": [0.5, 10.0]}, lambda settings: float(settings["shrinkage"]), "slda")
    assert max(float(trial.settings["shrinkage"]) for trial in tried) == 0.5


def test_an_explored_space_is_judged_on_the_first_tasks_without_test_data(digits):
    poisoned = replace(digits, test_X=np.full_like(digits.test_X, np.nan))
    finished = explore(SCENARIO, Given(poisoned), "ncm", {"standardise": ["auto", "none"]})
    assert (finished.tasks, len(finished.tried)) == (3, 2)
    assert finished.best["acc"]["standardise"] in ("auto", "none")


def test_a_search_learns_as_many_tasks_as_asked_for(digits):
    few, all_tasks = (
        explore(SCENARIO, Given(digits), "ncm", {"standardise": ["auto"]}, tasks=tasks)
        for tasks in (1, SCENARIO.tasks)
    )
    assert (few.tasks, all_tasks.tasks) == (1, SCENARIO.tasks)
    assert few.tried[0].acc["acc"] > all_tasks.tried[0].acc["acc"]


def test_a_space_is_explored_under_the_protocol_and_its_first_variant_decides(digits):
    tiny = from_command_line(["layers=2x5,4x5"])
    finished = explore(
        SCENARIO, Given(digits), "if2net", {"ridge": [1.0, 10.0]}, protocol="transductive", fixed=tiny, tasks=2
    )
    assert (finished.protocol, len(finished.tried)) == ("transductive", LEAST_TRIALS)
    one_task = [trial.acc.get("one task per batch", 0.0) for trial in finished.tried]
    assert finished.best["one task per batch"] == finished.tried[int(np.argmax(one_task))].settings


@pytest.mark.parametrize("tasks", [0, SCENARIO.tasks + 1])
def test_a_search_on_tasks_that_the_stream_lacks_is_refused(tasks, digits):
    with pytest.raises(ConfigurationError, match=f"learns 1 to {SCENARIO.tasks} tasks, not {tasks}"):
        explore(SCENARIO, Given(digits), "ncm", {"standardise": ["auto"]}, tasks=tasks)
