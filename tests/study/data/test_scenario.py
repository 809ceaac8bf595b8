import numpy as np
import pytest

from if2net.errors import ConfigurationError, InputError
from if2net.study.data import Dataset, load_dataset, parse_scenario

DIGITS = load_dataset("digits")


def test_tasks_share_no_class_and_cover_all_classes():
    order, tasks = parse_scenario("digits-10/5").stream(DIGITS, seed=3)
    assert sorted(order) == list(range(10))
    assert [task.classes for task in tasks] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    for task in tasks:
        assert set(task.train_y) == set(task.test_y) == set(task.classes)


def test_labels_are_positions_in_the_class_order():
    order, tasks = parse_scenario("digits-10/5").stream(DIGITS, seed=3)
    first = DIGITS.train_X[DIGITS.train_y == order[0]]
    np.testing.assert_array_equal(tasks[0].train_X[tasks[0].train_y == 0], first)


def test_the_seed_determines_the_class_order():
    scenario = parse_scenario("digits-10/5")
    assert scenario.class_order(0, 10) == scenario.class_order(0, 10)
    assert scenario.class_order(0, 10) != scenario.class_order(1, 10)


def test_a_scenario_may_have_fewer_classes_than_the_data_set():
    order, tasks = parse_scenario("digits-6/3").stream(DIGITS, seed=0)
    assert len(set(order)) == 6
    assert sum(len(task.train_y) for task in tasks) == np.isin(DIGITS.train_y, order).sum()


def test_validation_data_replaces_the_test_data_and_is_not_trained_on():
    _, tasks = parse_scenario("digits-10/5").stream(DIGITS, seed=0, validation=True)
    train = np.concatenate([task.train_X for task in tasks])
    held = np.concatenate([task.test_X for task in tasks])
    assert len(train) + len(held) == len(DIGITS.train_y)
    rows = {row.tobytes() for row in DIGITS.train_X}
    assert all(row.tobytes() in rows for row in held)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digits", "DATASET-CLASSES/TASKS"),
        ("digits-10/3", "cannot be cut evenly"),
        ("digits-0/0", "cannot be cut evenly"),
        ("digit-10/5", "did you mean 'digits'"),
    ],
)
def test_a_wrong_scenario_is_refused_with_advice(text, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_scenario(text)


def test_more_classes_than_the_data_set_has_are_refused():
    with pytest.raises(ConfigurationError, match="has 10; write digits-10/5 to"):
        parse_scenario("digits-20/5").stream(DIGITS, seed=0)
    with pytest.raises(ConfigurationError, match="write digits-10/10 to"):
        parse_scenario("digits-12/4").check_classes(10)


@pytest.mark.parametrize(("names", "called"), [((), "1"), (("ant", "bee"), "'bee'")])
def test_a_class_with_too_few_samples_for_validation_is_named(names, called):
    y = np.array([0] * 60 + [1])
    data = Dataset("insects", np.zeros((61, 2)), y, np.zeros((61, 2)), y, names)
    with pytest.raises(InputError, match=f"class {called} of insects has too few training samples, 1,"):
        parse_scenario("digits-2/1").stream(data, seed=0, validation=True)
    parse_scenario("digits-2/1").stream(data, seed=0)
    one = parse_scenario("digits-1/1")
    seed = next(seed for seed in range(99) if one.class_order(seed, 2) == [0])
    assert one.stream(data, seed, validation=True)[0] == [0]  # a class that is not drawn may be small
