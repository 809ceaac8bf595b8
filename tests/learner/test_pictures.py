"""Pictures: which encoder they get, in which forms they can be given, and that nothing else changes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from if2net import IF2NetClassifier, load, modelfile
from if2net.config import Config
from if2net.encoder.innate.encoder import NODES, NODES_OF_OLDER_FILES
from if2net.errors import ConfigurationError, InputError
from if2net.learner import IF2Net

# Fewer nodes than the default, so that the tests take less time.
CPU = {"device": "cpu", "width": 500}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    y = np.repeat(["bars", "columns", "squares"], 12)
    X = random.integers(0, 60, size=(36, 24, 25, 3), dtype=np.uint8)
    X[:12, 4:8] += 150
    X[12:24, :, 4:8] += 150
    X[24:, 8:16, 8:16] += 150
    return X, y


@pytest.fixture(scope="module")
def learned(data):
    return IF2Net(**CPU).learn(*data)


@pytest.fixture(scope="module")
def learned_classifier(data):
    return IF2NetClassifier(device="cpu", width=0).fit(*data)


def scores(net, X):
    return net.scores(X).numpy()


def test_pictures_get_the_innate_encoder_and_rows_the_wide_one(learned, data):
    X, y = data
    assert (learned.config.encoder, learned.config.image_shape) == ("innate", "24x25x3")
    assert (learned.predict(X) == y).all()
    assert learned.encoder.width == 500 + 3841
    assert learned.samples == 36
    assert IF2Net(device="cpu").learn(np.eye(4), [0, 0, 1, 1]).config.encoder == "wide"


def test_the_settings_and_files_say_how_many_random_nodes_there_are(data, tmp_path):
    net = IF2Net(device="cpu").learn(data[0][:4], data[1][::9])
    assert net.config.width == NODES["small"]
    assert net.encoder.width == NODES["small"] + 3841
    net.save(tmp_path / "pictures.if2")
    assert modelfile.read(tmp_path / "pictures.if2")[1]["config"]["width"] == NODES["small"]


def test_a_file_that_does_not_say_it_has_the_nodes_of_its_time(learned, data, tmp_path, monkeypatch):
    assert NODES_OF_OLDER_FILES["small"] == 4352
    monkeypatch.setitem(NODES_OF_OLDER_FILES, "small", 500)
    learned.save(tmp_path / "older.if2")
    tensors, header = modelfile.read(tmp_path / "older.if2")
    header["config"]["width"] = None
    modelfile.write(tmp_path / "older.if2", tensors, header)
    older = IF2Net.load(tmp_path / "older.if2", device="cpu")
    np.testing.assert_array_equal(scores(older, data[0][:5]), scores(learned, data[0][:5]))
    older.learn(*data).save(tmp_path / "again.if2")
    assert IF2Net.load(tmp_path / "again.if2", device="cpu").encoder.width == 500 + 3841
    for new in (IF2Net(device="cpu"), IF2Net(device="cpu", encoder="innate")):
        assert new.merge(older).encoder.width == 500 + 3841


def test_learners_with_other_numbers_of_nodes_or_of_rows_are_not_merged(learned, data):
    more = IF2Net(device="cpu", width=600).learn(data[0][:4], data[1][::9])
    with pytest.raises(InputError, match=r"to merge has 600 random nodes, and the one to merge into 500, .* width"):
        learned.fork().learn(*data).merge(more)
    with pytest.raises(InputError, match="has 600 random nodes"):
        IF2Net(**CPU).merge(more)
    rows = IF2Net(device="cpu").learn(np.eye(4), [0, 0, 1, 1])
    no_nodes = IF2Net(device="cpu", width=0).learn(*data)
    for settings, other in (
        ({"encoder": "innate"}, rows),
        ({"encoder": "innate", "image_shape": "2x2"}, rows),
        ({"width": 0}, rows),
        ({"encoder": "wide"}, no_nodes),
        ({"activation": "tanh"}, learned),
    ):
        new = IF2Net(device="cpu", **settings)
        with pytest.raises(InputError, match="different encoders"):
            new.merge(other)
        assert new.encoder is None


def test_a_learner_takes_over_the_tensors_of_one_with_the_same_settings(data):
    X, y = data
    settings = {"device": "cpu", "encoder": "innate", "image_shape": "24x25x3"}
    learned = IF2Net(**settings).learn(X[::6], y[::6])
    other = IF2Net(**settings)
    other.restore(learned.tensors(), learned.labels, learned.tasks)
    assert other.encoder.width == NODES["small"] + 3841
    np.testing.assert_array_equal(scores(other, X[:3]), scores(learned, X[:3]))


def test_a_pickle_of_an_earlier_version_has_the_nodes_of_its_time(learned, data, monkeypatch):
    monkeypatch.setitem(NODES_OF_OLDER_FILES, "small", 500)
    older = pickle.loads(pickle.dumps(learned))
    older.config = replace(older.config, width=None)
    older = pickle.loads(pickle.dumps(older))
    assert older.config.width == 500
    np.testing.assert_array_equal(scores(older.predictor(), data[0][:5]), scores(learned, data[0][:5]))


def test_dense_encoders_take_pictures_as_rows(data):
    X, y = data
    for settings in ({"encoder": "wide", "width": 50}, {"scale": 0.5, "width": 50}, {"encoder": "linear"}):
        net = IF2Net(device="cpu", **settings).learn(X, y)
        assert net.config.encoder in ("wide", "linear")
        np.testing.assert_array_equal(scores(net, X), scores(net, X.reshape(36, -1)))


@pytest.mark.parametrize(
    "form",
    [
        lambda X: torch.from_numpy(X).permute(0, 3, 1, 2),
        lambda X: X.reshape(len(X), -1),
        lambda X: X.astype(np.float64),
        lambda X: np.concatenate([X, np.full_like(X[..., :1], 255)], axis=3),
    ],
    ids=["tensor", "flat rows", "float64", "alpha"],
)
def test_every_form_of_the_same_pictures_gives_the_same_scores(learned, data, form):
    np.testing.assert_array_equal(scores(learned, form(data[0][:5])), scores(learned, data[0][:5]))


def test_flat_rows_need_their_shape(learned, data):
    X, y = data
    rows = X.reshape(36, -1)
    classifier = IF2NetClassifier(**CPU, config={"image_shape": (24, 25, 3)}).fit(rows, y)
    np.testing.assert_allclose(classifier.decision_function(rows[:5]), scores(learned, X[:5]), atol=1e-4)
    with pytest.raises(InputError, match="needs pictures"):
        IF2Net(encoder="innate", device="cpu").learn(rows, y)
    with pytest.raises(InputError, match="but X has 1,800 features"):
        IF2Net(image_shape="28x28", device="cpu").learn(rows, y)


def test_a_classifier_is_saved_without_the_weights_and_loaded(data, tmp_path):
    X, y = data
    classifier = IF2NetClassifier(**CPU).fit(X, y)
    classifier.save(tmp_path / "model.if2")
    again = load(tmp_path / "model.if2", device="cpu")
    assert again.get_params()["encoder"] == "innate"
    assert again.n_features_in_ == 1800
    np.testing.assert_array_equal(again.predict_proba(X[:5]), classifier.predict_proba(X[:5]))
    assert not [name for name in again.learner_.frozen_tensors() if "weights" in name]


def test_forgotten_pictures_leave_nothing_behind(data):
    X, y = data
    rest = np.arange(36) % 3 > 0
    both = IF2Net(**CPU, ridge=0.1).learn(X, y).forget(X[~rest], y[~rest])
    np.testing.assert_allclose(
        scores(both, X), scores(IF2Net(**CPU, ridge=0.1).learn(X[rest], y[rest]), X), atol=1e-4
    )


@pytest.mark.parametrize("width", [0, 1000])
def test_single_pictures_are_forgotten_in_float64(data, width):
    """Their features differ by the rounding of float32 from those that they had in a batch."""
    X, y = data
    net = IF2Net(dtype="float64", width=width, device="cpu").learn(X, y)
    for place in (0, 7, 20):
        net.forget(X[place : place + 1], y[place : place + 1])
    assert net.samples == 33


def test_learners_of_pictures_merge(learned, data):
    X, y = data
    merged = IF2Net(**CPU).learn(X[::2], y[::2]).merge(IF2Net(**CPU, seed=1).learn(X[1::2], y[1::2]))
    np.testing.assert_allclose(scores(merged, X[:5]), scores(learned, X[:5]), atol=1e-3)
    with pytest.raises(InputError, match="has 0 random nodes"):
        merged.merge(IF2Net(width=0, device="cpu").learn(X, y))
    fractions = IF2Net(**CPU).learn(np.asarray(X, dtype=np.float64) / np.max(X), y)
    with pytest.raises(InputError, match="different ranges of values"):
        merged.merge(fractions)
    new = IF2Net(device="cpu").merge(learned)
    assert new.config.image_shape == "24x25x3"
    np.testing.assert_allclose(scores(new, X[:5]), scores(learned, X[:5]), atol=1e-4)


def test_a_learner_from_an_older_file_stays_as_it_is_and_does_not_merge_with_a_new_one(learned, data, tmp_path):
    X, y = data
    learned.save(tmp_path / "model.if2")
    tensors, header = modelfile.read(tmp_path / "model.if2")
    del tensors["encoder.resized"]
    modelfile.write(tmp_path / "older.if2", tensors, header)
    older = IF2Net.load(tmp_path / "older.if2", device="cpu")
    expected = scores(older, X[:5])
    assert not np.allclose(expected, scores(learned, X[:5]), atol=0.01)
    older.save(tmp_path / "again.if2")
    np.testing.assert_array_equal(scores(IF2Net.load(tmp_path / "again.if2", device="cpu"), X[:5]), expected)
    with pytest.raises(InputError, match=r"^The learner to merge comes from a file of an earlier version"):
        IF2Net(**CPU).learn(X, y).merge(older)
    with pytest.raises(InputError, match=r"^The learner to merge into comes from a file of an earlier version"):
        older.merge(IF2Net(**CPU).learn(X / 255, y))


def test_batches_of_pictures_are_learned_as_one_task(learned, data):
    X, y = data
    net = IF2Net(**CPU).learn((X[part], y[part]) for part in np.split(np.arange(36), 3))
    np.testing.assert_allclose(scores(net, X[:5]), scores(learned, X[:5]), atol=1e-3)


def test_a_few_pictures_update_a_model_as_if_it_had_learned_them_at_once(data, monkeypatch):
    monkeypatch.setattr("if2net.decision.analytic.NEW_SHARE", 1.0)
    X, y = data
    net = IF2Net(**CPU, ridge=0.1).learn(X[1:], y[1:]).learn(X[:1], y[:1])
    _ = net.scores(X[:1])
    net.learn(X[:2], y[:2])
    expected = IF2Net(**CPU, ridge=0.1).learn(np.concatenate([X, X[:2]]), np.concatenate([y, y[:2]]))
    np.testing.assert_allclose(scores(net, X), scores(expected, X), atol=1e-2)


def test_pictures_that_cannot_be_used_change_nothing(learned, data):
    X, y = data
    before, numbers = scores(learned, X[:3]), X.astype(np.float32)
    for wrong in (
        X[:, :20],
        X[..., :1],
        X / np.float32(255),
        X.astype(np.float32) - 128,
        X.astype(np.float32) * np.nan,
    ):
        for action in (learned.learn, learned.forget):
            with pytest.raises(InputError):
                action(wrong, y)
        with pytest.raises(InputError):
            learned.predict(wrong)
    np.testing.assert_array_equal(scores(learned, X[:3]), before)
    new = IF2Net(device="cpu")
    with pytest.raises(InputError, match="scale them"):
        new.learn(numbers - 128, y)
    assert new.config.encoder == "auto"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (lambda X: X[:, 1:], "These pictures are 23x25x3, but this learner takes pictures of 24x25x3"),
        (lambda X: X[..., 0], "These pictures are 24x25x1"),
        (lambda X: X[0], "a single picture"),
        (lambda X: torch.from_numpy(X[0]).permute(2, 0, 1), "a single picture"),
        (lambda X: X.tolist(), "such as np.array"),
        (lambda X: torch.from_numpy(X).to_sparse(), "call X.to_dense"),
    ],
    ids=["size", "grey", "single array", "single tensor", "nested lists", "sparse tensor"],
)
def test_a_classifier_says_what_is_wrong_with_pictures(learned_classifier, data, form, sentence):
    for call in (learned_classifier.predict, lambda X: learned_classifier.partial_fit(X, data[1])):
        before = learned_classifier.decision_function(data[0])
        with pytest.raises(InputError, match=sentence):
            call(form(data[0]))
        np.testing.assert_array_equal(learned_classifier.decision_function(data[0]), before)


def test_a_generator_is_gathered_where_a_tweak_needs_several_passes():
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    settings = {"width": 10, "tweaked": True, "device": "cpu"}
    batches = ((X[part], y[part]) for part in np.split(np.arange(40), 4))
    net, whole = IF2Net(**settings).learn(batches), IF2Net(**settings).learn(X, y)
    np.testing.assert_allclose(scores(net, X), scores(whole, X), atol=1e-4)


def test_settings_of_other_encoders_are_refused():
    with pytest.raises(ConfigurationError, match="no setting scale"):
        Config(encoder="innate", scale=0.5)
    with pytest.raises(ConfigurationError, match="at least 0"):
        Config(encoder="innate", width=-1)
    with pytest.raises(ConfigurationError, match="at least 1"):
        IF2Net(width=0, device="cpu").learn(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ConfigurationError, match="image_shape"):
        Config(image_shape="28")


@pytest.mark.slow
def test_the_gradient_rule_learns_pictures(data):
    net = IF2Net(**CPU, rule="gradient", epochs=1).learn(*data)
    assert (net.predict(data[0]) == data[1]).mean() > 0.9
