"""The measures of an evaluation, compared with those of scikit-learn and with counting by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, precision_recall_fscore_support

from if2net.evaluation import KEPT, Evaluation


@pytest.fixture(scope="module")
def predicted():
    """Random probabilities for three classes, and labels that follow them now and then; one class has no samples."""
    random = np.random.default_rng(0)
    probabilities = random.dirichlet(np.ones(4), size=500)
    y = np.where(random.random(500) < 0.5, probabilities.argmax(axis=1), random.integers(3, size=500)) % 3
    return np.array(["a", "b", "c"])[y], probabilities


def evaluated(y, probabilities, blocks=1):
    evaluation = Evaluation(np.array(["a", "b", "c", "d"]))
    for part in np.array_split(np.arange(len(y)), blocks):
        evaluation.add(part.tolist(), y[part], probabilities[part])
    return evaluation


def test_measures_are_those_of_scikit_learn(predicted):
    y, probabilities = predicted
    predictions = np.array(["a", "b", "c", "d"])[probabilities.argmax(axis=1)]
    evaluation = evaluated(y, probabilities)
    assert evaluation.accuracy == pytest.approx(accuracy_score(y, predictions))
    with pytest.warns(UserWarning, match="not in y_true"):
        assert evaluation.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, predictions))
    precision, recall, _, samples = precision_recall_fscore_support(y, predictions, zero_division=0)
    assert [one.samples for one in evaluation.per_class] == samples.tolist()
    np.testing.assert_allclose([one.precision for one in evaluation.per_class], precision)
    np.testing.assert_allclose([one.recall or 0 for one in evaluation.per_class], recall)
    assert evaluation.per_class[3].recall is None
    assert sum(count for *_, count in evaluation.confusions) == (y != predictions).sum()


def test_blocks_do_not_change_the_result(predicted):
    one, many = evaluated(*predicted), evaluated(*predicted, blocks=7)
    assert many.per_class == one.per_class
    assert many.confusions == one.confusions
    assert many.mistakes == one.mistakes
    assert many.calibration_error == pytest.approx(one.calibration_error)


def test_the_calibration_error_is_the_mean_distance_over_bins(predicted):
    y, probabilities = predicted
    winners, right = probabilities.max(axis=1), np.array(list("abcd"))[probabilities.argmax(axis=1)] == y
    expected = 0.0
    for low in np.arange(15) / 15:
        inside = (winners >= low) & (winners < low + 1 / 15)
        expected += abs(right[inside].sum() - winners[inside].sum()) / len(y)
    assert evaluated(y, probabilities).calibration_error == pytest.approx(expected)


def test_the_interval_stays_inside_0_and_1_and_contains_the_accuracy():
    y, sure = np.array(["a"] * 20), np.tile([1.0, 0, 0, 0], (20, 1))
    evaluation = evaluated(y, sure)
    assert evaluation.accuracy_interval == pytest.approx((0.8389, 1.0), abs=1e-4)
    assert evaluation.calibration_error == 0


def test_the_surest_mistakes_are_kept(predicted):
    evaluation = evaluated(*predicted)
    chances = [mistake.probability for mistake in evaluation.mistakes]
    assert len(chances) == KEPT
    assert chances == sorted(chances, reverse=True)
    assert all(mistake.label != mistake.prediction for mistake in evaluation.mistakes)
    y, probabilities = predicted
    wrong = np.array(list("abcd"))[probabilities.argmax(axis=1)] != y
    assert chances[0] == probabilities[wrong].max()


def test_labels_that_the_model_does_not_know_count_as_wrong(predicted):
    y, probabilities = predicted
    evaluation = evaluated(np.array(["z"] * len(y)), probabilities)
    assert evaluation.accuracy == evaluation.balanced_accuracy == 0
    assert evaluation.unknown == ["z"]
