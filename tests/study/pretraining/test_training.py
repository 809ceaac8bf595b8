import re

import numpy as np
import pytest
import torch
from PIL import Image

from if2net import modelfile
from if2net.errors import ConfigurationError, ModelFileError
from if2net.images.backbones.resnet import ARCHITECTURES, ResNet
from if2net.images.extractor import Extractor, load_extractor
from if2net.study.bench.loading import image_rows, unseen
from if2net.study.data import load_images, parse_scenario
from if2net.study.pretraining import training as pretraining
from if2net.study.pretraining.augmentation import crop, mirror, shift
from if2net.study.pretraining.training import Recipe, held_out_classes, pretrain

SMALL = Recipe("resnet56", epochs=3, batch_size=4, rate=0.05, rotations=True, size=8)


@pytest.fixture(autouse=True)
def smaller(monkeypatch):
    """Use two blocks in all, which train in a second instead of minutes."""
    monkeypatch.setitem(ARCHITECTURES, "resnet56", ((4, 8), 1))
    monkeypatch.setattr("if2net.images.backbones.file.DEFAULTS", {"resnet56": {"depths": (1, 2), "pool": 2}})


@pytest.fixture
def coloured():
    """Two classes of 8×8 images."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 100, (16, 8, 8, 3), dtype=np.uint8)
    labels = np.arange(16) % 2
    pixels[labels == 1, :, :, 0] += 150
    return pixels, labels


def train(coloured, out, recipe=SMALL, **more):
    pretrain(*coloured, ["blue", "red"], recipe, out, dataset="colours", **more)


def test_a_training_learns_and_writes_a_backbone_with_its_classes(coloured, tmp_path):
    shown = []
    recipe = Recipe("resnet56", 30, 8, 0.1, rotations=False)
    train(coloured, tmp_path / "b.if2", recipe, show=lambda *step: shown.append(step))
    assert [(done, total) for done, total, _ in shown] == [(epoch, 30) for epoch in range(1, 31)]
    assert float(re.search(r"accuracy ([\d.]+) %", shown[-1][2])[1]) > 90
    extractor = load_extractor(str(tmp_path / "b.if2"))
    assert extractor.backbone.seen_classes == ("blue", "red")
    assert extractor.backbone.pretrained_on == "2 classes of colours"
    assert extractor(coloured[0]).shape == (16, (4 + 8) * 4)
    assert list(tmp_path.glob("*.checkpoint")) == []


def test_smoothed_labels_are_never_learned_without_loss(coloured):
    losses = []
    for smoothing in (0, 0.9):
        recipe = Recipe("resnet56", 10, 8, 0.1, rotations=False, size=8, smoothing=smoothing)
        training = pretraining.Training(*coloured, 2, recipe, torch.device("cpu"))
        losses.append([training.epoch(number)[0] for number in range(10)][-1])
    assert losses[0] < 0.5 < losses[1]  # with 0.9, the least possible loss is 0.69


@pytest.mark.parametrize("rotations", [True, False])
def test_an_interrupted_training_continues_to_the_same_weights(coloured, tmp_path, rotations):
    recipe = Recipe("resnet56", 3, 4, 0.05, rotations=rotations)
    train(coloured, tmp_path / "whole.if2", recipe)

    def stop(done, total, text):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(coloured, tmp_path / "parts.if2", recipe, show=stop)
    assert not (tmp_path / "parts.if2").exists()
    shown = []
    train(coloured, tmp_path / "parts.if2", recipe, show=lambda *step: shown.append(step))
    assert [done for done, _, _ in shown] == [3]
    whole, parts = (modelfile.read(tmp_path / name)[0] for name in ("whole.if2", "parts.if2"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_checkpoint_of_another_training_is_refused(coloured, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(coloured, tmp_path / "b.if2", show=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(ConfigurationError, match="another training"):
        train(coloured, tmp_path / "b.if2", Recipe("resnet56", epochs=5))


def test_another_file_in_place_of_the_checkpoint_is_refused(coloured, tmp_path):
    modelfile.write(tmp_path / "b.if2.checkpoint", {"a": torch.zeros(1)}, {"config": {}})
    with pytest.raises(ConfigurationError, match="another training"):
        train(coloured, tmp_path / "b.if2")


@pytest.mark.parametrize("fault", ["cut short", "a tensor too few", "an epoch too many"])
def test_a_damaged_checkpoint_can_be_deleted(coloured, tmp_path, fault):
    path = tmp_path / "b.if2.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        train(coloured, tmp_path / "b.if2", show=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    tensors, header = modelfile.read(path)
    if fault == "a tensor too few":
        tensors.popitem()
    elif fault == "an epoch too many":
        header["epoch"] = 10**9
    modelfile.write(path, tensors, header)
    if fault == "cut short":
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match=r"is damaged\. Delete it"):
        train(coloured, tmp_path / "b.if2")


def test_the_classes_are_those_that_the_scenario_does_not_learn():
    order = parse_scenario("cifar100-60/10").class_order(3, 100)
    held = held_out_classes(100, 40, seed=3)
    assert not set(held) & set(order)
    assert len(held) == 40
    with pytest.raises(ConfigurationError, match="2 to 99"):
        held_out_classes(100, 100, 0)


def test_the_classes_of_the_pretraining_cannot_be_learned(coloured, tmp_path, pictures):
    train(coloured, tmp_path / "b.if2")
    images = load_images(f"folder:{pictures}")
    extractor = load_extractor(str(tmp_path / "b.if2"))
    assert unseen(images, extractor, wanted=1) == [1]
    data, _ = image_rows(images, extractor, [1])
    assert set(data.train_y) == set(data.test_y) == {1}
    with pytest.raises(ConfigurationError, match=r"has seen 2 classes .* at most 1"):
        unseen(images, extractor, wanted=2)


def test_a_model_is_not_a_backbone(tmp_path):
    modelfile.write(tmp_path / "model.if2", {"a": torch.zeros(1)}, {"config": {}})
    with pytest.raises(ModelFileError, match="not a backbone"):
        load_extractor(str(tmp_path / "model.if2"))


@pytest.mark.parametrize(
    "wrong", [{"architecture": "resnet19"}, {"epochs": 0}, {"batch_size": 1}, {"smoothing": 1.0}]
)
def test_a_wrong_recipe_is_refused(wrong):
    with pytest.raises(ConfigurationError):
        Recipe(**wrong)


def test_the_learning_rate_rises_and_falls():
    shares = [pretraining._rate_share(step, 100) for step in range(100)]
    assert np.argmax(shares) == 20
    assert max(shares) == 1.0
    assert shares[0] < 0.1
    assert shares[-1] < 0.01


def test_shifting_and_mirroring_keep_the_content_of_an_image():
    images = torch.zeros(64, 3, 8, 8)
    images[:, :, 3:5, 2] = 1.0
    generator = torch.Generator().manual_seed(0)
    flipped = mirror(images, generator)
    assert {tuple(image[0, 3].nonzero().flatten().tolist()) for image in flipped} == {(2,), (5,)}
    shifted = shift(images, generator)
    places = {tuple(image[0].nonzero()[0].tolist()) for image in shifted if image[0].any()}
    assert len(places) > 10
    assert all(set(image[0].unique().tolist()) <= {0.0, 1.0} for image in shifted)


def test_the_resnets_have_the_published_numbers_of_parameters(monkeypatch):
    monkeypatch.setitem(ARCHITECTURES, "resnet56", ((16, 32, 64), 9))
    sizes = {name: sum(p.numel() for p in ResNet(name).parameters()) / 1e6 for name in ARCHITECTURES}
    assert sizes == pytest.approx({"resnet18": 11.17, "resnet56": 0.85}, abs=0.01)
    assert ResNet("resnet18").eval()(torch.zeros(1, 3, 32, 32)).shape == (1, 512, 4, 4)


def test_the_preprocessing_of_a_backbone_is_that_of_its_training(coloured, tmp_path):
    train(coloured, tmp_path / "b.if2")
    extractor: Extractor = load_extractor(str(tmp_path / "b.if2"))
    Image.fromarray(coloured[0][0]).save(tmp_path / "one.png")
    normal = extractor.preprocessing(torch.from_numpy(coloured[0]))
    assert normal.mean().item() == pytest.approx(0, abs=1e-3)
    assert extractor.preprocessing.framing.size == 8


def test_cropping_scales_a_part_of_the_image_to_full_size():
    ramp = torch.linspace(0, 1, 16).expand(64, 3, 16, 16)  # brighter to the right
    found = crop(ramp.contiguous(), torch.Generator().manual_seed(0))
    assert found.shape == ramp.shape
    inner = found[:, :, 4:-4, 4:-4]
    assert (inner.diff(dim=3) > 0).all()
    assert (inner.diff(dim=3) < 1 / 15 + 1e-6).all()
    assert inner.diff(dim=3).std() > 1e-3  # by different factors


@pytest.mark.parametrize(("size", "side"), [(8, 8), (32, 32), (64, 32), (96, 32)])
def test_the_stem_reduces_large_images_to_small_maps(size, side):
    module = ResNet("resnet56", size)
    assert module.stem(torch.zeros(1, 3, size, size)).shape[2:] == (side, side)


def test_features_are_normalised_over_the_training_images(coloured, tmp_path):
    train(coloured, tmp_path / "b.if2", Recipe("resnet56", 40, 16, 0.02, rotations=False, size=8))
    extractor = load_extractor(str(tmp_path / "b.if2"))
    features = torch.from_numpy(extractor(coloured[0]))
    assert features.mean().abs() < 0.5
    assert 0.3 < features.std() < 1.5  # below 1, because pooling averages
