import numpy as np
import pytest

from if2net.config import Config
from if2net.study.ablations import ABLATIONS, ingredients, stability
from if2net.study.ablations.cells import Measurement, Measurements


def test_every_combination_of_ingredients_is_a_valid_configuration():
    cells = ABLATIONS["ablation-ingredients"].cells
    assert len(set(cells)) == len(cells) == 2 * 4 * 2 * 2
    for levels in ingredients.FACTORS.values():
        for settings in levels.values():
            Config.of(**settings)


def test_the_worth_of_an_ingredient_compares_cells_that_differ_in_it_alone():
    runs = []
    for cell in ABLATIONS["ablation-ingredients"].cells:
        acc = 0.8 - 0.1 * ("tweaked" in cell) - 0.05 * ("gradient; 250" in cell)
        runs.append(Measurement(cell, 0, "agnostic", {"acc": acc}))
    results = Measurements("ablation-ingredients", "digits-10/5", {}, runs)
    assert ingredients.worth_of(results, "tweak", "plain", "tweaked") == pytest.approx(-10)
    assert ingredients.worth_of(results, "width", "1000", "250", "gradient") == pytest.approx(-5)
    assert ingredients.worth_of(results, "width", "1000", "250", "analytic, ridge chosen") == pytest.approx(0)
    assert ingredients.worth_of(results, "width", "1000", "250") == pytest.approx(-5 / 4)
    assert "| width | 1000 → 250 | -1.25 | +0.00 | -5.00 |" in ingredients.table(results)


def test_the_ridge_and_the_rule_reach_the_learner(carried_out):
    cells = [f"plain; {rule}; 250; no direct link" for rule in ingredients.FACTORS["rule"]]
    acc = [run.numbers["acc"] for run in carried_out("ablation-ingredients", *cells).runs]
    assert len(set(acc)) > 2
    assert min(acc) > 0.5


def test_every_number_of_tasks_has_the_same_samples(bench):
    tasks = bench.stream(0)
    for count in (5, 10, 50):
        cut = stability.pieces(tasks, count)
        assert len(cut) == count
        assert [task.index for task in cut] == list(range(count))
        assert cut[0].classes == cut[5 % count].classes
        assert sum(len(task.train_y) for task in cut) == sum(len(task.train_y) for task in tasks)
        assert sum(len(task.test_y) for task in cut) == sum(len(task.test_y) for task in tasks)


def test_the_analytic_rule_does_not_depend_on_the_number_of_tasks(small, bench):
    small("ablation-stability")
    cells = ("analytic, 5", "analytic, 50", "gradient, 50")
    few, many, gradient = (stability.run(cell, 0, bench)[0].numbers["acc"] for cell in cells)
    assert many == pytest.approx(few, abs=0.04)
    assert gradient < many


def test_directions_are_used_up_and_never_come_back(small, bench):
    small("ablation-stability")
    free = [stability.run(f"gradient, {count}", 0, bench)[0].numbers["free"] for count in (5, 10)]
    assert np.allclose(free, free[0], rtol=0.1)
    assert 0 < free[0] < 1
