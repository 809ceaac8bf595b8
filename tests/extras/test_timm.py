"""Models of timm as backbones, with random weights, because there may be no internet."""

import csv

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from if2net.cli import app
from if2net.errors import ConfigurationError
from if2net.images.backbones import timm as backbone
from if2net.images.extractor import Extractor, Options, load_extractor

pytestmark = pytest.mark.extras

each_kind = pytest.mark.parametrize("name", ["test_resnet", "test_efficientnet", "test_vit"])


@pytest.fixture
def timm():
    return pytest.importorskip("timm")


def random_weights(name, seed=0):
    torch.manual_seed(seed)
    return backbone.load(name, pretrained=False)


def pictures(count, size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


@each_kind
def test_the_features_are_the_pooled_output_of_timm(name, timm):
    extractor = Extractor(random_weights(name))
    torch.manual_seed(0)
    module = timm.create_model(name, num_classes=0).eval()
    facts = timm.data.resolve_model_data_config(module)
    pixels = pictures(2, facts["input_size"][-1])
    normal = timm.data.create_transform(**facts).transforms[-1]  # the last transform normalises
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    with torch.inference_mode():
        expected = module(normal(images))
    np.testing.assert_allclose(extractor(pixels), expected, rtol=1e-3, atol=1e-4)


@each_kind
def test_all_depths_together_have_the_channels_that_timm_lists(name, timm):
    network = random_weights(name)
    channels = [info["num_chs"] for info in timm.create_model(name).feature_info]
    extractor = Extractor(network, Options(depths=tuple(range(1, network.depths + 1))))
    features = extractor(pictures(1, network.preprocessing.framing.size))
    assert network.depths == len(channels) + 1
    assert features.shape[1] == sum(channels) + Extractor(network)(pictures(1, 160)).shape[1]
    assert np.isfinite(features).all()


def test_other_weights_have_another_identity(timm):
    first, again, other = (Extractor(random_weights("test_resnet", seed)).identity for seed in (0, 0, 1))
    assert first == again != other


def test_unknown_models_and_unavailable_weights_are_refused(timm, tmp_path, monkeypatch):
    with pytest.raises(ConfigurationError, match="timm cannot load the model resnet1"):
        load_extractor("timm:resnet1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigurationError, match="timm cannot load the model test_resnet"):
        load_extractor("timm:test_resnet")


def test_a_model_learns_pictures_through_timm_and_refuses_other_weights(timm, tmp_path, monkeypatch):
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    for name, picture in zip("ab", pictures(2, 40), strict=True):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        Image.fromarray(picture).save(tmp_path / "pictures" / name / "0.png")
    weights, load = {"seed": 0}, backbone.load

    def without_internet(name, device):
        torch.manual_seed(weights["seed"])
        return load(name, device, pretrained=False)

    monkeypatch.setattr(backbone, "load", without_internet)
    model, folder = str(tmp_path / "m.if2"), str(tmp_path / "pictures")
    run = CliRunner().invoke
    assert run(app, ["learn", model, folder, "--backbone", "timm:test_resnet", "--device", "cpu"]).exit_code == 0
    rows = csv.DictReader(run(app, ["predict", model, folder]).stdout.splitlines())
    assert [row["prediction"] for row in rows] == ["a", "b"]
    weights["seed"] = 1
    assert "no longer the one" in str(run(app, ["predict", model, folder]).exception)
