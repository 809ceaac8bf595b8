"""features, pretrain and runs on images, as a user calls them."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from if2net.backbone.resnet import ARCHITECTURES
from if2net.cli import app
from if2net.errors import IF2NetError


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Four classes of ten images, and one that is broken."""
    folder = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(0)
    for place, name in enumerate(["black", "blue", "green", "red"]):
        (folder / name).mkdir()
        for number in range(10):
            pixels = random.integers(0, 100, (20, 24, 3), dtype=np.uint8)
            pixels[:, :, place - 1] += 150 * (place > 0)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    (folder / "red" / "broken.png").write_bytes(b"no image")
    return folder


@pytest.fixture
def if2net(tmp_path, monkeypatch):
    """Calls the command in an empty folder; gives what it prints, and raises what it raises."""
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IF2NET_DATA", raising=False)
    monkeypatch.setitem(ARCHITECTURES, "resnet56", ((4, 8, 8), 1))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*words):
        done = CliRunner().invoke(app, list(words))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    return call


def test_features_then_a_run_on_them_with_the_broken_image_named(if2net, photographs, tmp_path):
    filled = if2net("features", str(photographs), "--backbone", "pixels,size=8", "--device", "cpu")
    assert if2net("features", f"folder:{photographs}-4/2@pixels,size=8", "--device", "cpu") == filled
    assert if2net("features", f"folder:{photographs}", "--backbone", "pixels,size=8") == filled
    assert "40 images have 192 features" in filled
    assert "1 of 41 images were left out" in filled
    assert "broken.png cannot be read" in filled
    rows = list((tmp_path / "cache").rglob("*.rows.npy"))
    if2net("run", f"folder:{photographs}-4/2", "--backbone", "pixels,size=8", "-m", "if2net", "-m", "ncm")
    assert list((tmp_path / "cache").rglob("*.rows.npy")) == rows
    (results,) = (tmp_path / "work" / "out").rglob("results.json")
    found = json.loads(results.read_text())
    assert found["scenario"] == f"folder:{photographs}-4/2@pixels,size=8"
    assert found["summary"]["if2net"]["acc_mean"] > 0.8


def test_a_backbone_is_pretrained_and_its_classes_are_not_learned(if2net, photographs):
    name = f"folder:{photographs}"
    words = ["--classes", "2", "--architecture", "resnet56", "--epochs", "1", "--size", "8", "--out", "b.if2"]
    assert "epochs 1/1" in if2net("pretrain", name, *words, "--device", "cpu")
    assert "20 images have" in if2net("features", f"{name}-2/1@b.if2")  # those of the other two classes
    if2net("run", f"{name}-2/1", "--backbone", "b.if2", "-m", "ncm")
    with pytest.raises(IF2NetError, match="choose at most 2 classes"):
        if2net("run", f"{name}-4/2", "--backbone", "b.if2", "-m", "ncm")


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["features", "cub"], "DATASET-CLASSES/TASKS"),
        (["features", "cub200"], "vision.caltech.edu"),
        (["features", "digits-10/5"], "needs no features"),
        (["run", "digits-10/5", "--backbone", "pixels"], "needs no backbone"),
        (["pretrain", "cifar100", "--classes", "40", "--architecture", "resnet"], "did you mean 'resnet"),
        (["pretrain", "cifar100", "--classes", "40"], "cs.toronto.edu"),
    ],
)
def test_wrong_words_get_a_sentence_and_leave_nothing(if2net, words, advice, tmp_path):
    with pytest.raises(IF2NetError, match=advice):
        if2net(*words)
    assert not list((tmp_path / "work").iterdir())
