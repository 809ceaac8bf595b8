"""Files that only predict: small, with the same predictions, and checked like every model file."""

import numpy as np
import pytest
import torch

from if2net import IF2Net, load, modelfile
from if2net.errors import ConfigurationError, IF2NetError, InputError, ModelFileError
from if2net.export import to_predictor


@pytest.fixture(scope="module")
def net(digits, new_learner):
    X, y = digits
    return new_learner(width=300).learn(X[y < 5], y[y < 5]).learn(X[y >= 5], y[y >= 5])


@pytest.fixture(params=[False, True], ids=["float32", "int8"])
def small(request, net, tmp_path):
    """A file that only predicts."""
    path = tmp_path / "small.if2"
    to_predictor(net, path, int8=request.param)
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dtype": "float64"},
        {"encoder": "linear"},
        {"encoder": "paper", "width": 200},
        {"rule": "gradient", "encoder": "paper", "width": 200, "epochs": 1},
    ],
    ids=str,
)
def test_predictions_are_those_of_the_model(settings, digits, new_learner, tmp_path):
    X, y = digits
    net = new_learner(**settings).learn(X[y < 5], y[y < 5]).learn(X[y >= 5], y[y >= 5])
    to_predictor(net, tmp_path / "small.if2")
    small = IF2Net.load(tmp_path / "small.if2", "cpu")
    assert torch.equal(small.probabilities(X), net.probabilities(X))
    assert (small.samples, small.tasks, small.predicts_only) == (net.samples, net.tasks, True)


def test_a_predictor_keeps_its_predictions_and_counts_while_its_model_learns(digits, new_learner):
    X, y = digits
    net = new_learner().learn(X[:1000], y[:1000])
    small = net.predictor()
    before = small.probabilities(X)
    net.learn(X[1000:], y[1000:])
    assert torch.equal(small.probabilities(X), before)
    assert small.samples == 1000


def test_pictures_are_predicted(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 256, (20, 28, 28)), np.repeat(["a", "b"], 10)
    net = IF2Net(ridge=0.01, device="cpu").learn(X, y)
    to_predictor(net, tmp_path / "small.if2", int8=True)
    assert load(tmp_path / "small.if2").predict(X).tolist() == net.predict(X).tolist()
    assert (tmp_path / "small.if2").stat().st_size < 100_000


def test_files_are_small_and_eight_bits_cost_little_accuracy(digits, tmp_path):
    X, y = digits
    test = np.arange(len(y)) % 4 == 0
    net = IF2Net(seed=0, device="cpu").learn(X[~test], y[~test])
    paths = [tmp_path / name for name in ("whole.if2", "small.if2", "int8.if2")]
    net.save(paths[0])
    to_predictor(net, paths[1])
    to_predictor(net, paths[2], int8=True)
    whole, small, int8 = (path.stat().st_size for path in paths)
    assert small < whole / 5
    assert int8 < small / 3
    right = [float((load(path, "cpu").predict(X[test]) == y[test]).mean()) for path in paths]
    assert right[1] == right[0]
    assert right[2] > right[0] - 0.01


def test_changing_a_predictor_is_refused_with_the_reason(small, net, digits):
    X, y = digits
    classifier = load(small, "cpu")
    for change in (
        lambda: classifier.partial_fit(X, y),
        lambda: classifier.learner_.learn([(X, y)]),
        lambda: classifier.forget(X, y),
        lambda: classifier.forget_class(3),
        lambda: classifier.fork(),
        lambda: classifier.learner_.merge(net),
        lambda: net.merge(classifier.learner_),
    ):
        with pytest.raises(InputError, match="only predicts: it was exported without the statistics"):
            change()
    assert classifier.learner_.samples == net.samples == len(y)


def test_a_loaded_predictor_can_be_renamed_and_saved_again(small, tmp_path, digits):
    classifier = load(small, "cpu").rename(3, 30)
    assert 30 in classifier.predict(digits[0])
    classifier.save(tmp_path / "again.if2")
    again = load(tmp_path / "again.if2", "cpu")
    assert np.array_equal(again.predict_proba(digits[0]), classifier.predict_proba(digits[0]))


def test_only_a_predictor_is_rounded(net, tmp_path):
    with pytest.raises(ConfigurationError, match=r"call predictor\(\) first"):
        net.save(tmp_path / "m.if2", int8=True)
    with pytest.raises(InputError, match="Nothing has been learned yet"):
        to_predictor(IF2Net(), tmp_path / "m.if2")
    assert not list(tmp_path.iterdir())


def forged(name, value):
    """Return a change of one tensor; None removes it."""

    def change(tensors, header):
        tensors.pop(name, None)
        if value is not None:
            tensors[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        forged("temperature", None),
        forged("temperature", torch.zeros(1, dtype=torch.float64)),
        forged("temperature", torch.tensor([float("nan")], dtype=torch.float64)),
        forged("counts", torch.full((10,), -1)),
        forged("counts", torch.ones(9, dtype=torch.int64)),
        forged("beta", torch.zeros(3, 10)),
        forged("total.G", torch.zeros(10)),
        forged("more.scales", torch.zeros(10)),
        forged("beta.scales", torch.zeros(())),
        forged("beta.scales", torch.ones(1)),
        forged("beta.scales", torch.full((365,), float("inf"))),
        lambda tensors, header: header.update(predicts_only=False),
        lambda tensors, header: header.update(predicts_only="yes"),
        lambda tensors, header: header.pop("predicts_only"),
    ],
)
def test_forged_files_are_refused(change, small):
    tensors, header = modelfile.read(small)
    change(tensors, header)
    modelfile.write(small, tensors, header)
    with pytest.raises(ModelFileError, match="does not hold a whole if2net model"):
        load(small)


def test_a_whole_model_cannot_be_called_a_predictor(net, tmp_path):
    net.save(tmp_path / "m.if2")
    tensors, header = modelfile.read(tmp_path / "m.if2")
    modelfile.write(tmp_path / "m.if2", tensors, header | {"predicts_only": True})
    with pytest.raises(IF2NetError, match=r"does not belong|is missing"):
        load(tmp_path / "m.if2")
