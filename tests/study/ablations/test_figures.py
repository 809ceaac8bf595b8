import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from if2net.study.ablations import ABLATIONS, tsne
from if2net.study.ablations.rademacher import correlation


class Oracle:
    """A method with fixed answers."""

    def __init__(self, answers):
        self.answers = answers

    def predict(self, X, task):
        return self.answers


def test_the_fit_of_random_labels_is_one_when_all_are_learned_and_none_when_half_are():
    signs = np.array([1, -1, 1, -1])
    X = np.zeros((4, 1))
    assert correlation(Oracle(np.array([1, 0, 1, 0])), X, signs, 0) == 1.0
    assert correlation(Oracle(np.array([1, 0, 0, 1])), X, signs, 0) == 0.0
    assert correlation(Oracle(np.array([0, 1, 0, 1])), X, signs, 0) == -1.0


def test_the_complexity_is_summed_over_the_tasks_so_far(carried_out):
    results = carried_out("figure-rademacher", "a", "e")
    for run in results.runs:
        assert [len(row) for row in run.lists["fits"]] == [1, 2, 3, 4, 5]
        for count, row in enumerate(run.lists["fits"], start=1):
            assert run.numbers[f"after {count}"] == pytest.approx(sum(row))
    table = ABLATIONS["figure-rademacher"].table(results)
    assert re.findall(r"^\| \((.)\).*? \| (any|agnostic|aware) \|", table, re.MULTILINE) == [
        ("a", "any"),
        ("e", "agnostic"),
        ("e", "aware"),
    ]
    (plot,) = ABLATIONS["figure-rademacher"].figure(results).figure.axes
    assert len(plot.lines) == 2


def test_every_seed_draws_other_labels(carried_out):
    runs = carried_out("figure-rademacher", "e", seeds=(0, 1)).runs
    assert runs[0].lists["fits"] != runs[2].lists["fits"]


def test_neighbours_are_counted_among_the_others():
    rows = np.repeat(np.arange(4.0), 20)[:, None] + np.linspace(0, 0.01, 80)[:, None]
    labels = np.repeat(np.arange(4), 20)
    assert tsne.shared(rows, labels) == 1.0
    assert tsne.shared(rows, np.tile([0, 1], 40)) < 0.6


def test_tsne_shows_more_classes_with_every_task_and_the_raw_samples_of_all(carried_out):
    results = carried_out("figure-tsne")
    shown = {run.cell: sorted(set(run.lists["labels"])) for run in results.runs}
    assert shown["raw, tasks 1 to 5"] == list(range(10))
    assert [len(shown[f"aware, tasks 1 to {count}"]) for count in range(1, 6)] == [2, 4, 6, 8, 10]
    points = np.array(results.runs[0].lists["points"])
    assert (points.min(), points.max()) == (0.0, 1.0)
    chart = ABLATIONS["figure-tsne"].figure(results)
    ElementTree.fromstring(chart.svg())
    assert len(chart.figure.axes) == 11
