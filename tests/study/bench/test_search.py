import pytest

from if2net.decision import Analytic
from if2net.errors import NumericalError
from if2net.study.bench.search import SEARCH_SEED, search
from if2net.study.bench.settings import from_command_line
from if2net.study.data import parse_scenario

SCENARIO = parse_scenario("digits-10/5")
SMALL = from_command_line(["width=100"])


@pytest.fixture
def fragile(monkeypatch):
    """A ridge of 0.5 cannot be computed with."""
    solved = Analytic.beta.fget

    def beta(self):
        if self.config.ridge == 0.5:
            raise NumericalError("Give a larger ridge.")
        return solved(self)

    monkeypatch.setattr(Analytic, "beta", property(beta))


def test_the_best_has_the_highest_accuracy():
    found = search(SCENARIO, None, "if2net", {"ridge": ["100", "0.01"]}, fixed=SMALL)
    first, second = (entry["acc"] for entry in found["tried"])
    assert second > first
    assert found["best"] == {"acc": {"ridge": "0.01"}}
    assert found["seed"] == SEARCH_SEED


def test_settings_that_cannot_be_computed_with_do_not_end_the_search(fragile):
    found = search(SCENARIO, None, "if2net", {"ridge": ["0.5", "0.01"]}, fixed=SMALL)
    assert found["tried"][0] == {"settings": {"ridge": "0.5"}, "error": "Give a larger ridge."}
    assert found["best"] == {"acc": {"ridge": "0.01"}}


def test_a_search_in_which_nothing_works_says_so(fragile):
    with pytest.raises(NumericalError, match=r"No combination .* Give a larger ridge\.$"):
        search(SCENARIO, None, "if2net", {"ridge": ["0.5"]}, fixed=SMALL)


def test_under_the_transductive_protocol_every_variant_has_its_own_best():
    found = search(SCENARIO, None, "if2net", {"ridge": ["0.01", "1"]}, protocol="transductive", fixed=SMALL)
    assert set(found["best"]) == {"one task per batch", "tasks mixed"}


def test_combinations_side_by_side_find_the_same():
    grid = {"ridge": ["100", "0.01", "1"]}
    one, two = (search(SCENARIO, None, "if2net", grid, fixed=SMALL, jobs=jobs) for jobs in (1, 2))
    for found in (one, two):
        for entry in found["tried"]:
            del entry["seconds"]
    assert one == two
