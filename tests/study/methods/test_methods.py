"""The suite that every method passes."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.data import load_dataset, parse_scenario
from if2net.study.methods import METHODS

_, TASKS = parse_scenario("digits-10/5").stream(load_dataset("digits"), seed=0)
# Small enough to be quick; each method takes those that it has.
SMALL = {"hidden": 32, "steps": 200, "width": 150, "memory": 60, "paths": 2}


def make(name, **larger):
    known = {setting.name for setting in fields(METHODS[name].Settings)}
    pairs = [f"{key}={value}" for key, value in (SMALL | larger).items() if key in known]
    settings = resolve([name], "agnostic", from_command_line(pairs))[name]
    return METHODS[name](64, 0, torch.device("cpu"), settings)


def budget(name, tasks):
    """How many samples a method may keep."""
    if name == "joint":
        return sum(len(task.train_y) for task in tasks)
    return SMALL["memory"] if hasattr(METHODS[name].Settings, "memory") else 0


def learned(name, tasks, **larger):
    method = make(name, **larger)
    for task in tasks:
        method.learn(task.train_X, task.train_y)
    return method


def accuracy(method, task):
    return np.mean(method.predict(task.test_X) == task.test_y)


@pytest.mark.parametrize("name", METHODS)
def test_classes_grow_and_the_last_task_is_learned(name):
    method = learned(name, TASKS[:3])
    assert set(method.predict(TASKS[2].test_X)) <= set(range(6))
    assert accuracy(method, TASKS[2]) > 0.5


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_predictions(name):
    first, second = (learned(name, TASKS[:2]).predict(TASKS[0].test_X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", METHODS)
def test_going_on_from_a_saved_state_equals_going_on(name):
    whole, part = learned(name, TASKS[:3]), learned(name, TASKS[:2])
    resumed = make(name)
    resumed.tasks = part.tasks
    resumed.restore({key: value.clone() for key, value in part.tensors().items()})
    resumed.learn(TASKS[2].train_X, TASKS[2].train_y)
    np.testing.assert_array_equal(resumed.predict(TASKS[1].test_X), whole.predict(TASKS[1].test_X))


@pytest.mark.parametrize("name", METHODS)
def test_predictions_depend_on_the_sample_alone(name):
    method = learned(name, TASKS[:2])
    X = np.concatenate([TASKS[0].test_X[:20], TASKS[1].test_X[:20]])
    one_by_one = np.concatenate([method.predict(row[None]) for row in X])
    np.testing.assert_array_equal(one_by_one, method.predict(X))
    np.testing.assert_array_equal(one_by_one[::-1], method.predict(X[::-1].copy()))


@pytest.mark.parametrize("name", METHODS)
def test_costs_are_counted(name):
    costs = learned(name, TASKS[:2]).costs()
    assert costs.state_bytes > 0
    assert costs.parameters > 0
    assert costs.exemplars <= budget(name, TASKS[:2])
    assert (costs.exemplars > 0) == (budget(name, TASKS[:2]) > 0)


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"joint"}))
def test_the_state_does_not_grow_with_samples(name):
    few, many = make(name), make(name)
    half = slice(0, len(TASKS[0].train_y) // 2)
    few.learn(TASKS[0].train_X[half], TASKS[0].train_y[half])
    many.learn(TASKS[0].train_X, TASKS[0].train_y)
    assert few.costs().state_bytes == many.costs().state_bytes


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_handed_the_current_task_and_keeps_no_hold_of_it(name):
    """What it was handed is spoiled as soon as it returns: whatever it looks at later must be a copy, and counted."""
    method = make(name)
    for task in TASKS[:3]:
        X, y = task.train_X.copy(), task.train_y.copy()
        method.learn(X, y)
        X[:], y[:] = np.nan, -1
    everything = np.concatenate([task.test_X for task in TASKS[:3]])
    np.testing.assert_array_equal(method.predict(everything), learned(name, TASKS[:3]).predict(everything))


# With one head over all classes, these keep nothing: the page docs/comparison.md says why.
FORGETFUL = {"none", "nn-rw", "ewc", "mas", "ol-ewc", "si"}


@pytest.mark.parametrize("name", METHODS)
def test_the_last_of_five_tasks_is_learned_and_the_first_is_kept_where_that_is_promised(name):
    method = learned(name, TASKS, hidden=100, steps=500)
    assert accuracy(method, TASKS[-1]) > 0.2
    if name in FORGETFUL:
        assert accuracy(method, TASKS[0]) < 0.5
    else:
        assert accuracy(method, TASKS[0]) > 0.2
