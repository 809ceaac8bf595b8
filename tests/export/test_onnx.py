"""An exported graph, run by onnxruntime, gives the predictions of the model."""

import json
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from if2net import IF2Net, IF2NetClassifier, learn_images
from if2net.errors import ConfigurationError, InputError
from if2net.export import to_onnx
from if2net.export.onnx import _matrix
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.read import read_image

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session_of(net, path, **options):
    to_onnx(net, path, **options)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def assert_equal(session, net, X, rows=None):
    """Check that the graph agrees with the model on X; `rows` are the features where X is something else."""
    labels, probabilities, scores = session.run(None, {"X": X})
    rows = X if rows is None else rows
    np.testing.assert_allclose(scores, net.scores(rows), atol=1e-4)
    np.testing.assert_allclose(probabilities, net.probabilities(rows), atol=1e-4)
    assert labels.tolist() == net.predict(rows).tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "wide"},
        {"encoder": "wide", "standardise": "feature", "activation": "sigmoid"},
        {"encoder": "linear"},
        {"encoder": "paper", "width": 200},
        {"encoder": "paper-25x4", "width": 200, "rule": "gradient", "epochs": 1, "dtype": "float64"},
    ],
    ids=str,
)
def test_the_graph_equals_a_model_of_rows(settings, digits, new_learner, tmp_path):
    X, y = digits
    net = new_learner(**settings).learn(X[y < 5], y[y < 5]).learn(X[y >= 5], y[y >= 5])
    session = session_of(net, tmp_path / "digits.onnx")
    X = X.astype(net.config.dtype)
    assert_equal(session, net, X)
    assert_equal(session, net, X[:1])


@pytest.mark.parametrize(("shape", "flips", "full"), [((28, 24, 3), False, 255), ((10, 12), True, 16)])
def test_the_graph_equals_a_model_of_pictures(shape, flips, full, tmp_path):
    random = np.random.default_rng(0)
    X, y = random.integers(0, full + 1, (30, *shape)).astype(np.float32), np.repeat(["a", "b", "c"], 10)
    net = IF2Net(flips=flips, ridge=0.01, device="cpu").learn(X, y)
    assert net.config.encoder == "innate"
    session = session_of(net, tmp_path / "pictures.onnx")
    assert_equal(session, net, X.reshape(30, *shape[:2], -1), X)
    assert f"from 0 to {full}" in session.get_modelmeta().custom_metadata_map["preprocessing"]


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(
    "mode",
    [lambda: torch.autocast("cpu", torch.bfloat16), torch.inference_mode, lambda: default_dtype(torch.bfloat16)],
    ids=["autocast", "inference mode", "default type"],
)
def test_the_modes_of_the_caller_do_not_change_the_graph(mode, tmp_path):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 17, (30, 10, 12)).astype(np.float32), np.repeat(["a", "b", "c"], 10)
    net = IF2Net(ridge=0.01, device="cpu").learn(X, y)
    _matrix.cache_clear()
    with mode():
        to_onnx(net, tmp_path / "under.onnx")
    _matrix.cache_clear()
    assert_equal(session_of(net, tmp_path / "plain.onnx"), net, X[..., None], X)
    assert (tmp_path / "under.onnx").read_bytes() == (tmp_path / "plain.onnx").read_bytes()


@pytest.mark.parametrize("backbone", ["pixels,size=8,beside=innate", "efficientnet-lite0,size=64,pool=2"])
def test_the_graph_holds_the_backbone_of_a_model_of_images(backbone, pictures, tmp_path, own_cache):
    net = IF2Net(encoder="linear", ridge=0.01, device="cpu")
    learn_images(net, pictures, backbone=backbone, device="cpu")
    extractor = load_extractor(backbone)
    framing = extractor.preprocessing.framing
    pixels = np.stack([read_image(path, framing) for path in sorted(pictures.rglob("*.png"))])
    session = session_of(net, tmp_path / "images.onnx")
    assert_equal(session, net, pixels, extractor(pixels))
    assert (tmp_path / "images.onnx").stat().st_size < 15e6  # the network is stored once, though it sees flips, too
    assert f"{framing.size}×{framing.size} pixels" in session.get_modelmeta().custom_metadata_map["preprocessing"]


def test_any_torch_network_can_be_the_backbone(network, pictures, tmp_path, own_cache):
    net, extractor = IF2Net(encoder="linear", device="cpu"), Extractor(network)
    pixels = np.random.default_rng(0).integers(0, 256, (12, 28, 28, 3), dtype=np.uint8)
    net.learn(extractor(pixels), np.repeat(["a", "b"], 6))
    net.backbone = {"text": extractor.text, "identity": extractor.identity}
    assert_equal(session_of(net, tmp_path / "images.onnx", backbone=extractor), net, pixels, extractor(pixels))


@pytest.mark.parametrize(
    "labels", [["jay", "owl", "Zaunkönig"], [-3, 0, 2**40], [1.0, 2.0, 3.0], [False, True]], ids=str
)
def test_labels_keep_their_kind(labels, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.array(labels)[np.arange(60) % len(labels)]
    net = IF2NetClassifier(width=20, device="cpu", random_state=0).fit(X + np.arange(60)[:, None] % len(labels), y)
    predicted = session_of(net, tmp_path / "m.onnx").run(["label"], {"X": X})[0]
    assert predicted.tolist() == net.predict(X).tolist()
    assert isinstance(predicted.tolist()[0], type(labels[0]))


def test_the_file_says_what_it_needs(digits, new_learner, tmp_path):
    X, y = digits
    net = new_learner().learn(X, y)
    net.feature_names = [f"pixel {place}" for place in range(64)]
    session = session_of(net, tmp_path / "digits.onnx")
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == list(range(10))
    assert json.loads(facts["feature_names"]) == net.feature_names
    assert session.get_inputs()[0].shape == ["N", 64]
    assert [output.name for output in session.get_outputs()] == ["label", "probabilities", "scores"]
    content = onnx.load(tmp_path / "digits.onnx")
    assert (content.producer_name, content.opset_import[0].version) == ("if2net", 17)


def test_models_that_have_no_graph_are_refused(digits, new_learner, tmp_path):
    X, y = digits
    for net in (IF2NetClassifier(), new_learner()):
        with pytest.raises(InputError, match="Nothing has been learned yet"):
            to_onnx(net, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="depends on the task"):
        to_onnx(new_learner(encoder="paper", width=20, representation="per-task").learn(X, y), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def backbone_file(path, opset=13, batch="N"):
    """Write a network of one convolution with weights of its own, whose maps are its output and its input's mean."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2]),
            helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
        ],
        "small",
        [helper.make_tensor_value_info("x", kind, [batch, 3, 16, 16])],
        [helper.make_tensor_value_info(name, kind, None) for name in ("y", "mean")],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return str(path)


@pytest.mark.parametrize("options", [",depths=1+2,pool=2,flip=yes", ""])
def test_an_onnx_file_can_be_the_backbone(options, pictures, tmp_path, own_cache):
    backbone = backbone_file(tmp_path / "net.onnx") + options
    net = IF2Net(encoder="linear", ridge=0.01, device="cpu")
    learn_images(net, pictures, backbone=backbone, device="cpu")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 16, 16, 3), dtype=np.uint8)
    session = session_of(net, tmp_path / "images.onnx", backbone=backbone)
    assert_equal(session, net, pixels, load_extractor(backbone)(pixels))


def test_an_onnx_file_with_a_fixed_batch_size_is_refused(pictures, tmp_path, own_cache):
    backbone = backbone_file(tmp_path / "net.onnx", batch=2)
    net = IF2Net(encoder="linear", ridge=0.01, device="cpu")
    learn_images(net, pictures, backbone=backbone, device="cpu")
    with pytest.raises(ConfigurationError, match="free batch dimension"):
        to_onnx(net, tmp_path / "images.onnx", backbone=backbone)
