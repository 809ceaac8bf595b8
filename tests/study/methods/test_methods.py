"""The suite that every method passes. Tests that only look at a trained method share one."""

import copy
from dataclasses import fields

import numpy as np
import pytest
import torch

from if2net.study.bench.settings import resolve
from if2net.study.data import load_dataset, parse_scenario
from if2net.study.methods import METHODS

_, TASKS = parse_scenario("digits-10/5").stream(load_dataset("digits"), seed=0)
# Each method takes those settings that it has.
SMALL = {"width": 150, "memory": 60, "paths": 2, "epochs": 1}
BRIEF = SMALL | {"hidden": 32, "steps": 20}  # where only equality matters
ENOUGH = SMALL | {"hidden": 64, "steps": 120}  # where accuracy matters
FASTER = {"rate": 0.03}  # for methods with the usual rate of 0.01
# With one head over all classes these methods forget; docs/comparison.md explains why.
FORGETFUL = {"none", "nn-rw", "ewc", "mas", "ol-ewc", "si"}


def make(name, settings):
    known = {field.name for field in fields(METHODS[name].Settings)}
    chosen = [(None, key, value) for key, value in settings.items() if key in known]
    return METHODS[name](64, 0, torch.device("cpu"), resolve([name], "agnostic", chosen)[name])


def train(name, settings, tasks, spoil=False):
    """Copies of the method before the first task and after each task; `spoil` overwrites the data of each task."""
    method = make(name, settings)
    copies = [copy.deepcopy(method)]
    for task in tasks:
        X, y = task.train_X.copy(), task.train_y.copy()
        method.learn(X, y)
        if spoil:
            X[:], y[:] = np.nan, -1
        copies.append(copy.deepcopy(method))
    return copies


@pytest.fixture(scope="module", params=METHODS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def brief(name):
    """The method after 0 to 3 tasks, hardly trained."""
    return train(name, BRIEF, TASKS[:3])


@pytest.fixture(scope="module")
def trained(name):
    """The method after 0 to 5 tasks, trained well enough to be accurate."""
    if name == "eft":  # its classifiers need more steps to become certain
        return train(name, ENOUGH | {"steps": 300}, TASKS)
    usual = getattr(METHODS[name].Settings, "rate", None) == 0.01
    return train(name, ENOUGH | FASTER if usual else ENOUGH, TASKS)


def budget(name, tasks):
    """The number of samples that a method may keep."""
    if name == "joint":
        return sum(len(task.train_y) for task in tasks)
    return SMALL["memory"] if hasattr(METHODS[name].Settings, "memory") else 0


def accuracy(method, task):
    return np.mean(method.predict(task.test_X) == task.test_y)


def assert_equal(method, expected):
    """Assert the same state and the same predictions, up to the rounding of sums in another order."""
    state, expected_state = method.tensors(), expected.tensors()
    assert state.keys() == expected_state.keys()
    for key, value in state.items():
        torch.testing.assert_close(value, expected_state[key], rtol=1e-5, atol=1e-4, msg=key)
    X = np.concatenate([task.test_X for task in TASKS])
    np.testing.assert_array_equal(method.predict(X), expected.predict(X))


def test_classes_grow_and_the_last_task_is_learned(trained):
    assert set(trained[3].predict(TASKS[2].test_X)) <= set(range(6))
    assert accuracy(trained[3], TASKS[2]) > 0.5


def test_after_five_tasks_the_last_is_learned_and_the_first_is_kept_if_the_method_promises_it(name, trained):
    assert accuracy(trained[5], TASKS[-1]) > 0.2
    if name in FORGETFUL:
        assert accuracy(trained[5], TASKS[0]) < 0.5
    else:
        assert accuracy(trained[5], TASKS[0]) > 0.2


def test_predictions_depend_on_the_sample_alone(trained):
    method = trained[2]
    X = np.concatenate([TASKS[0].test_X[:20], TASKS[1].test_X[:20]])
    one_by_one = np.concatenate([method.predict(row[None]) for row in X])
    np.testing.assert_array_equal(one_by_one, method.predict(X))
    np.testing.assert_array_equal(one_by_one[::-1], method.predict(X[::-1].copy()))


def test_told_the_task_every_method_answers_with_one_of_its_classes(trained):
    for place, task in enumerate(TASKS[:2]):
        told = trained[2].predict(task.test_X, task=place, classes=task.classes)
        assert set(told) <= set(task.classes)
        agnostic = trained[2].predict(task.test_X)
        inside = np.isin(agnostic, task.classes)
        np.testing.assert_array_equal(told[inside], agnostic[inside])


def test_the_same_seed_gives_the_same_state(name, brief):
    assert_equal(train(name, BRIEF, TASKS[:2])[2], brief[2])


def test_resuming_from_a_saved_state_equals_an_uninterrupted_run(name, brief):
    resumed = make(name, BRIEF)
    resumed.tasks = 2
    resumed.restore({key: value.clone() for key, value in brief[2].tensors().items()})
    resumed.learn(TASKS[2].train_X, TASKS[2].train_y)
    assert_equal(resumed, brief[3])


def test_a_method_keeps_no_reference_to_the_data_of_a_task(name, brief):
    """Data overwritten after `learn` must not change anything: samples that a method needs later are copies."""
    assert_equal(train(name, BRIEF, TASKS[:3], spoil=True)[3], brief[3])


def test_costs_are_counted(name, brief):
    costs = brief[2].costs()
    assert costs.state_bytes > 0
    assert costs.parameters > 0
    assert costs.exemplars <= budget(name, TASKS[:2])
    assert (costs.exemplars > 0) == (budget(name, TASKS[:2]) > 0)


def test_the_state_does_not_grow_with_the_number_of_samples(name, brief):
    if name == "joint":
        pytest.skip("joint keeps all samples")
    method, half = make(name, BRIEF), len(TASKS[0].train_y) // 2
    method.learn(TASKS[0].train_X[:half], TASKS[0].train_y[:half])
    assert method.costs().state_bytes == brief[1].costs().state_bytes
