import numpy as np
import pytest

from if2net.data import load_dataset, parse_scenario
from if2net.errors import ConfigurationError

DIGITS = load_dataset("digits")


def test_tasks_share_no_class_and_cover_all():
    order, tasks = parse_scenario("digits-10/5").stream(DIGITS, seed=3)
    assert sorted(order) == list(range(10))
    assert [task.classes for task in tasks] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    for task in tasks:
        assert set(task.train_y) == set(task.test_y) == set(task.classes)


def test_labels_are_places_in_the_class_order():
    order, tasks = parse_scenario("digits-10/5").stream(DIGITS, seed=3)
    first = DIGITS.train_X[DIGITS.train_y == order[0]]
    np.testing.assert_array_equal(tasks[0].train_X[tasks[0].train_y == 0], first)


def test_the_seed_decides_the_order():
    scenario = parse_scenario("digits-10/5")
    assert scenario.class_order(0, 10) == scenario.class_order(0, 10)
    assert scenario.class_order(0, 10) != scenario.class_order(1, 10)


def test_fewer_classes_than_the_dataset_has_are_drawn():
    order, tasks = parse_scenario("digits-6/3").stream(DIGITS, seed=0)
    assert len(set(order)) == 6
    assert sum(len(task.train_y) for task in tasks) == np.isin(DIGITS.train_y, order).sum()


def test_validation_takes_the_place_of_test_data_and_is_not_trained_on():
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


def test_more_classes_than_there_are_is_refused():
    with pytest.raises(ConfigurationError, match="has 10"):
        parse_scenario("digits-20/5").stream(DIGITS, seed=0)
