import numpy as np
import pytest

from if2net.errors import IF2NetError, InputError
from if2net.tables.columns import Columns, columns_to_learn, columns_to_predict, feature_names, features_of, labels_of


@pytest.mark.parametrize(
    ("names", "label", "expected"),
    [
        (["a", "b", "c"], None, "c"),
        (["Target", "a", "b"], None, "Target"),
        (["a", "y", "b"], None, "y"),
        (["a", "y", "b"], "a", "a"),
    ],
)
def test_the_label_is_the_one_said_or_named_so_or_the_last(names, label, expected):
    columns = columns_to_learn(names, label)
    assert columns.label == expected
    assert columns.features == tuple(name for name in names if name != expected)


@pytest.mark.parametrize(
    ("names", "label", "known", "sentence"),
    [
        (["height", "kind"], "kimd", None, "did you mean 'kind'"),
        (["x", "class", "y"], None, None, "could each be the label"),
        (["kind"], None, None, "no column beside the label"),
        (["height", "kind"], None, ["height", "width"], "missing here: 'width'"),
        (["kind", "height", "width"], None, ["height", "width"], "No column looks like the label"),
    ],
)
def test_columns_that_do_not_fit_are_named(names, label, known, sentence):
    with pytest.raises(IF2NetError, match=sentence):
        columns_to_learn(names, label, known)


def test_a_model_gets_its_own_columns_in_its_own_order():
    assert columns_to_learn(["extra", "b", "a", "label"], None, ["a", "b"]) == Columns(("a", "b"), "label")
    assert columns_to_predict(["b", "label", "a"], None, ["a", "b"]) == Columns(("a", "b"), None)


def test_labels_are_not_features_when_predicting():
    assert columns_to_predict(["a", "Class", "b"]).features == ("a", "b")
    assert columns_to_predict(["a", "kind", "b"], "kind").features == ("a", "b")
    assert columns_to_predict(["a", "b"]).features == ("a", "b")
    with pytest.raises(IF2NetError, match="did you mean 'kind'"):
        columns_to_predict(["a", "kind"], "kimd")


def test_vectors_and_images_are_flattened_beside_single_numbers():
    arrays = {"image": np.arange(8).reshape(2, 2, 2), "size": np.array([10, 20]), "y": np.array([0, 1])}
    columns = columns_to_learn(list(arrays))
    assert features_of(arrays, columns).tolist() == [[0, 1, 2, 3, 10], [4, 5, 6, 7, 20]]
    assert feature_names(arrays, columns) is None


def test_whole_floats_are_classes_and_fractions_are_not():
    columns = Columns(("x",), "y")
    assert labels_of({"y": np.array([1.0, 3.0])}, columns).dtype == np.int64
    with pytest.raises(InputError, match="fractions"):
        labels_of({"y": np.array([1.0, 3.5])}, columns)
