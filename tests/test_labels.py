"""Labels of any type: new ones can appear, they stay sorted, and predictions have the same type."""

import numpy as np
import pandas as pd
import pytest
import torch

from if2net import IF2Net
from if2net.errors import InputError
from if2net.labels import Labels

KINDS = {
    "integers": [3, 1, 3, 1],
    "negative integers": [-1, -5, -1, -5],
    "text": ["owl", "jay", "owl", "jay"],
    "truth values": [True, False, True, False],
    "whole floats": [2.0, 1.0, 2.0, 1.0],
    "numpy text": np.array(["owl", "jay", "owl", "jay"]),
    "a list of numpy text": [np.str_("owl"), np.str_("jay")] * 2,
    "small unsigned integers": np.array([3, 1, 3, 1], dtype=np.uint8),
    "text objects": np.array(["owl", "jay", "owl", "jay"], dtype=object),
    "a pandas series of integers": pd.Series([3, 1, 3, 1], index=[9, 8, 7, 6]),
    "a pandas series of text": pd.Series(["owl", "jay", "owl", "jay"]),
    "a pandas series of categories": pd.Series(["owl", "jay", "owl", "jay"], dtype="category"),
    "pandas integers that can be missing": pd.Series([3, 1, 3, 1], dtype="Int64"),
    "pandas truth values that can be missing": pd.Series([True, False, True, False], dtype="boolean"),
    "pandas categories of truth values": pd.Series([True, False, True, False], dtype="category"),
    "a torch tensor": torch.tensor([3, 1, 3, 1]),
    "a torch tensor of truth values": torch.tensor([True, False, True, False]),
    "one column": torch.tensor([[3], [1], [3], [1]]),
    "a tuple": ("owl", "jay", "owl", "jay"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["learner", "classifier"])
def test_labels_of_every_type_are_learned_and_predicted(new_learner, new_classifier, digits, tmp_path, kind, model):
    y = KINDS[kind]
    X = digits[0][:4]
    expected = np.asarray(y).reshape(-1)
    if model == "learner":
        learner = new_learner(ridge=1e-4).learn(X, y)
    else:
        learner = new_classifier(ridge=1e-4).fit(X, y).learner_
    assert learner.classes.tolist() == sorted(set(expected.tolist()))
    assert learner.predict(X).tolist() == expected.tolist()
    assert type(learner.predict(X).tolist()[0]) is type(expected.tolist()[0])
    learner.save(tmp_path / "model.if2")
    loaded = IF2Net.load(tmp_path / "model.if2", device="cpu").classes
    assert loaded.tolist() == learner.classes.tolist()
    assert loaded.dtype == learner.classes.dtype


def test_new_labels_get_new_columns_and_old_ones_keep_theirs():
    labels = Labels().extended(np.array([5, 2, 5]))
    before = labels.columns(np.array([2, 5])).tolist()
    labels = labels.extended(np.array([1, 5]))
    assert labels.columns(np.array([2, 5])).tolist() == before
    assert sorted(labels.columns(np.array([1, 2, 5])).tolist()) == [0, 1, 2]
    assert labels.sorted.tolist() == [1, 2, 5]
    assert [labels.known[column] for column in labels.sorted_columns] == [1, 2, 5]


def test_a_whole_float_is_the_same_class_as_its_integer():
    labels = Labels([0, 1]).extended(np.array([1.0, 2.0]))
    assert labels.sorted.tolist() == [0, 1, 2]


def test_numpy_numbers_become_python_numbers_that_a_file_can_store():
    labels = Labels().extended(np.array([np.int64(3), np.int64(1)], dtype=object))
    assert [type(label) for label in labels.known] == [int, int]


def test_keeping_some_columns_drops_the_other_labels():
    assert Labels(["c", "a", "b"]).keep([0, 2]).known == ("c", "b")


def test_a_renamed_class_keeps_its_hash_and_a_new_class_of_the_old_name_gets_another():
    before = Labels().extended(np.array(["jay", "owl"]))
    after = before.rename({"owl": "barn owl"})
    assert after.hashes.tolist() == before.hashes.tolist()
    again = after.extended(np.array(["owl"]))
    assert len(set(again.hashes.tolist())) == 3
    assert after.fork().extended(np.array(["owl"])).hashes.tolist() == again.hashes[2:].tolist()
    assert again.rename({"owl": "barn owl", "barn owl": "owl"}).hashes.tolist() == again.hashes.tolist()
    assert after.rename({"barn owl": "owl"}).renamed == {}


def test_classes_of_two_learners_are_the_same_if_their_first_names_are():
    early = Labels(["jay", "owl"])
    renamed = early.rename({"owl": "barn owl"})
    joined, columns = renamed.joined(Labels(["wren", "owl"]))
    assert (joined.known, columns.tolist()) == (("jay", "barn owl", "wren"), [2, 1])
    assert early.joined(renamed)[0].known == early.known
    assert Labels().joined(renamed)[0].hashes.tolist() == renamed.keep([1, 0]).hashes.tolist()
    with pytest.raises(InputError, match="Both learners have a class 'barn owl', but it is not the same class"):
        renamed.joined(Labels(["barn owl"]))


@pytest.mark.parametrize(("here", "there"), [([0, 1], [False, True]), ([True], [1]), ([1], ["1.0"]), (["0.0"], [0])])
def test_labels_of_another_kind_with_the_same_hash_are_not_joined(here, there):
    assert Labels(here).hashes[-1] == Labels(there).hashes[-1]
    with pytest.raises(InputError, match="cannot be mixed"):
        Labels(here).joined(Labels(there))


def test_classes_of_another_kind_are_joined_where_renaming_tells_what_they_are():
    renamed = Labels([0, 1]).rename({0: "owl", 1: "jay"})
    assert renamed.joined(Labels([1]))[1].tolist() == [1]
    with pytest.raises(InputError, match="cannot be mixed"):
        renamed.joined(Labels([2]))


def test_a_removed_class_leaves_no_name():
    assert Labels(["jay", "owl"]).rename({"owl": "barn owl"}).keep([0]).renamed == {}


@pytest.mark.parametrize(
    "renamed", [[["a", 2**63]], [[["a"], 1]], [["a", 1], ["b", 1]], [["a", int(Labels(["owl"]).hashes[0])]]]
)
def test_hashes_of_a_file_that_cannot_be_are_refused(renamed):
    with pytest.raises(InputError):
        Labels.restored(["owl", "a", "b"], renamed, [])


def test_unknown_labels_have_no_column():
    with pytest.raises(InputError, match=r"never been learned: 'wren'\.$"):
        Labels(["owl"]).columns(np.array(["owl", "wren"]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([1, "a"], dtype=object), "kinds number and text cannot be mixed"),
        (np.array([1, 2]), "kinds number and text cannot be mixed"),
        (np.array([b"a"]), "not bytes"),
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), "not datetime64"),
    ],
    ids=["mixed", "against earlier classes", "bytes", "dates"],
)
def test_labels_that_cannot_be_sorted_or_saved_are_refused(y, message):
    labels = Labels(["owl"])
    with pytest.raises(InputError, match=message):
        labels.extended(y)
    assert labels.known == ("owl",)


@pytest.mark.parametrize(
    ("known", "y", "message"),
    [
        ([0, 1], np.array([True, False]), "kinds number and truth value cannot be mixed"),
        ([], np.array([1, True], dtype=object), "kinds number and truth value cannot be mixed"),
        ([], np.array([1.0, np.inf]), "label inf is too large"),
        ([], np.array([1.0, 1e300]), r"label 1e\+300 is too large"),
        ([], np.array([1, 2**64], dtype=object), "label 18446744073709551616 is too large"),
        ([], np.array([2**63], dtype=np.uint64), "too large"),
        ([2**53 + 1], np.array([1.5]), "too large"),
        (["a"], np.array(["a\0"], dtype=object), "ends in a NUL character"),
    ],
    ids=["True after 1", "True among ints", "infinity", "1e300", "2⁶⁴", "2⁶³", "beside a float", "NUL"],
)
def test_labels_that_would_become_another_class_are_refused(known, y, message):
    with pytest.raises(InputError, match=message):
        Labels(known).extended(y)
    with pytest.raises(InputError, match=message):
        Labels(known).columns(y)


def test_large_whole_numbers_stay_different_classes():
    labels = Labels().extended(np.array([2**62, 2**62 + 1]))
    assert labels.sorted.tolist() == [2**62, 2**62 + 1]


@pytest.mark.parametrize("y", [["a", "a\0"], [np.str_("a"), np.str_("a\0")], pd.Series(["a", "a\0"])])
def test_a_learner_refuses_text_that_would_become_another_class(new_learner, digits, y):
    with pytest.raises(InputError, match="ends in a NUL character; remove"):
        new_learner().learn(digits[0][:2], y)


def test_a_label_that_is_too_long_for_a_name_is_refused():
    with pytest.raises(InputError, match="has 1,001 characters; use a name of at most 1,000"):
        Labels().extended(np.array(["owl", "o" * 1001]))


def test_text_that_no_file_can_hold_is_refused_as_a_label():
    with pytest.raises(InputError, match="is not valid text"):
        Labels().extended(np.array(["owl", "\ud800"]))
    assert len(Labels().extended(np.array(["owl", "\udcff"]))) == 2  # a byte in the name of a folder
