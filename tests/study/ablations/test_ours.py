from itertools import pairwise

import numpy as np
import pytest

from if2net.config import Config
from if2net.study.ablations import ABLATIONS, ingredients, stability
from if2net.study.ablations.ablation import Measurement, Measurements
from if2net.study.methods.if2net import IF2NetMethod

CELLS = [("analytic", 5), ("analytic", 50), ("gradient", 5), ("gradient", 50)]


def test_every_combination_of_ingredients_is_a_configuration_of_its_own():
    cells = ABLATIONS["ablation-ingredients"].cells
    configs = [ingredients.config_of(cell) for cell in cells]
    assert len({str(config) for config in configs}) == len(cells) == 2 * 4 * 2 * 2


def test_the_worth_of_an_ingredient_compares_cells_that_differ_in_it_alone():
    runs = []
    for cell in ABLATIONS["ablation-ingredients"].cells:
        acc = 0.8 - 0.1 * ("tweaked" in cell) - 0.05 * ("gradient; 250" in cell)
        runs.append(Measurement(cell, 0, "agnostic", {"acc": acc}, {}))
    results = Measurements("ablation-ingredients", "digits-10/5", runs)
    assert ingredients.worth_of(results, "tweak", "plain", "tweaked") == pytest.approx(-10)
    assert ingredients.worth_of(results, "width", "1000", "250", "gradient") == pytest.approx(-5)
    assert ingredients.worth_of(results, "width", "1000", "250", "analytic, ridge chosen") == pytest.approx(0)
    assert ingredients.worth_of(results, "width", "1000", "250") == pytest.approx(-5 / 4)
    assert "| width | 1000 → 250 | -1.25 | +0.00 | -5.00 |" in ingredients.table(results)


def test_every_rule_and_ridge_gives_another_result(carried_out):
    cells = [f"plain; {rule}; 250; no direct link" for rule in ingredients.FACTORS["rule"]]
    accuracies = [run.numbers["acc"] for run in carried_out("ablation-ingredients", *cells).runs]
    assert len(set(accuracies)) == 4
    assert min(accuracies) > 0.5


@pytest.mark.parametrize("count", [5, 10, 50])
def test_every_number_of_tasks_has_the_same_samples_in_turn(bench, count):
    tasks = bench.stream(0)
    cut = stability.pieces(tasks, count)
    assert [(task.index, task.classes) for task in cut] == [(i, tasks[i % 5].classes) for i in range(count)]
    for task in tasks:
        own = cut[task.index :: 5]
        assert (np.concatenate([piece.train_X for piece in own]) == task.train_X).all()
        assert (np.concatenate([piece.test_y for piece in own]) == task.test_y).all()


def test_the_analytic_rule_does_not_depend_on_the_number_of_tasks_and_stays_ahead(small, bench):
    small("ablation-stability")
    accuracies = [stability.run(f"{rule}, {count}", 0, bench)[0].numbers["acc"] for rule, count in CELLS]
    analytic, analytic_in_50, *gradient = accuracies
    assert abs(analytic_in_50 - analytic) < 0.01
    assert analytic_in_50 > max(gradient) + 0.05


def test_directions_are_used_up_and_never_come_back(small, bench):
    small("ablation-stability")
    settings = Config.of(**stability.ENCODER, **stability.RULES["gradient"])
    method, free = IF2NetMethod(bench.inputs, 0, bench.device, settings), [1.0]
    for task in stability.pieces(bench.stream(0), 10):  # every class comes twice
        method.learn(task.train_X, task.train_y)
        free.append(method.net.free_share())
    assert all(later < earlier for earlier, later in pairwise(free))
    assert free[-1] > 0
