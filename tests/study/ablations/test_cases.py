import numpy as np
import pytest
import torch

from if2net.study.ablations.cases import CASES, Sizes, new_case

SIZES = Sizes(blocks=2, epochs=2)


def learned(case, representation, bench, tasks=2):
    method = new_case(case, representation, bench.inputs, 0, bench.device, SIZES)
    for task in bench.stream(0)[:tasks]:
        method.learn(task.train_X, task.train_y)
    return method


@pytest.mark.parametrize("case", CASES)
def test_every_case_learns_a_task(case, bench):
    task = bench.stream(0)[0]
    method = new_case(case, "first", bench.inputs, 0, bench.device, Sizes(blocks=4, epochs=20))
    method.learn(task.train_X, task.train_y)
    assert np.mean(method.predict(task.train_X) == task.train_y) > 0.8


@pytest.mark.parametrize(("case", "projectors"), [("a", 4), ("b", 3), ("c", 2)])
def test_as_many_layers_are_orthogonalised_as_the_case_says(case, projectors, bench):
    tensors = learned(case, "first", bench, tasks=1).tensors()
    assert len([name for name in tensors if ".P." in name or name.startswith("P.")]) == projectors


@pytest.mark.parametrize("case", ["b", "c"])
def test_what_is_frozen_stays_as_it_was(case, bench):
    before = dict(learned(case, "first", bench, tasks=1).tensors())
    after = dict(learned(case, "first", bench, tasks=2).tensors())
    frozen = [name for name in before if name.startswith(("encoder.", "tweaks."))]
    assert frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)


def test_with_one_representation_a_task_the_told_task_matters(bench):
    task = bench.stream(0)[0]
    own, first = learned("b", "per-task", bench), learned("b", "first", bench)
    assert not np.array_equal(own.predict(task.test_X, task=0), own.predict(task.test_X, task=1))
    assert np.array_equal(first.predict(task.test_X, task=0), first.predict(task.test_X, task=1))


def test_a_transductive_prediction_depends_on_the_rest_of_the_batch(bench):
    method, task = learned("b", "per-task", bench), bench.stream(0)[0]
    whole = method.predict(task.test_X, transductive=True)
    alone = np.concatenate([method.predict(row[None], transductive=True) for row in task.test_X])
    assert not np.array_equal(whole, alone)


@pytest.mark.parametrize("case", ["b", "c", "d", "e"])
def test_on_the_training_data_of_a_task_a_transductive_prediction_is_the_aware_one(case, bench):
    method = learned(case, "per-task", bench)
    for place, task in enumerate(bench.stream(0)[:2]):
        own = method.predict(task.train_X, task=place)
        assert np.array_equal(method.predict(task.train_X, transductive=True), own)


@pytest.mark.parametrize("case", ["b", "c"])
@pytest.mark.parametrize("representation", ["first", "per-task"])
def test_a_case_goes_on_from_its_tensors(case, representation, bench):
    task, method = bench.stream(0)[2], learned(case, representation, bench)
    other = new_case(case, representation, bench.inputs, 0, bench.device, SIZES)
    other.tasks = method.tasks
    other.restore({name: tensor.clone() for name, tensor in method.tensors().items()})
    for one in (method, other):
        one.learn(task.train_X, task.train_y)
    assert np.array_equal(method.predict(task.test_X, task=1), other.predict(task.test_X, task=1))
    assert all(torch.equal(value, other.tensors()[name]) for name, value in method.tensors().items())
