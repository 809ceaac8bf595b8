"""What a method must reach, or must not, for its implementation to be believed; read off the committed results."""

import json
from pathlib import Path

import pytest

from if2net.study.methods import METHODS
from if2net.study.report.comparison import FORMS, gathered, read

TABLE = Path(__file__).parents[2] / "results" / "table-mnist"


def results(part):
    return json.loads((TABLE / part / "results.json").read_text())


MNIST = results("mnist-agnostic")["summary"]
ANCHORS = {
    "none": (19, 20.5),
    "joint": (97.5, 100),
    "ewc": (19, 25),
    "si": (19, 25),
    "ol-ewc": (19, 25),
    "mas": (18, 25),  # a task in five, less what its penalty costs the last one
    "gem": (90, 100),
    "bic": (90, 100),
    "il2m": (90, 100),
    "rps-net": (90, 100),
    "owm": (85, 100),
}


@pytest.mark.parametrize("method", ANCHORS)
def test_a_method_is_where_others_have_seen_it(method):
    least, most = ANCHORS[method]
    assert least <= 100 * MNIST[method]["acc_mean"] <= most


@pytest.mark.parametrize("part", ["mnist-agnostic", "fashion-mnist-agnostic"])
def test_the_table_has_five_seeds_of_every_method(part):
    runs = results(part)["runs"]
    assert {(run["method"], run["seed"]) for run in runs} == {(name, seed) for name in METHODS for seed in range(5)}
    orders = {run["seed"]: run["class_order"] for run in runs}
    assert len({tuple(order) for order in orders.values()}) == 5


def test_the_table_is_made_from_the_committed_results():
    found = gathered(read("table-mnist", TABLE))
    assert (TABLE / "table.md").read_text() == FORMS["table-mnist"].table("table-mnist", found) + "\n"


@pytest.mark.parametrize("part", ["mnist", "fashion-mnist"])
def test_what_the_paper_reaches_leaks_through_the_batch(part):
    found = results(f"{part}-transductive")["summary"]
    assert found["if2net (one task per batch)"]["acc_mean"] > 0.9
    assert found["if2net (tasks mixed)"]["acc_mean"] < 0.4
