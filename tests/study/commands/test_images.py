"""features, pretrain and runs on images, as a user calls them."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

from if2net.cli import KEPT, app
from if2net.errors import IF2NetError
from if2net.images.backbones.resnet import ARCHITECTURES
from if2net.study.commands.images import load_shown, summarise
from if2net.study.data import parse_scenario
from if2net.study.pretraining import held_out
from if2net.study.pretraining.training import Recipe


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
    assert "b.if2, which was there already" in if2net("pretrain", name, *words, "--device", "cpu")
    assert "20 images have" in if2net("features", f"{name}-2/1@b.if2")  # those of the other two classes
    if2net("run", f"{name}-2/1", "--backbone", "b.if2", "-m", "ncm")
    with pytest.raises(IF2NetError, match="choose at most 2 classes"):
        if2net("run", f"{name}-4/2", "--backbone", "b.if2", "-m", "ncm")


def test_a_run_does_not_go_on_when_its_backbone_has_been_trained_anew(if2net, photographs, tmp_path):
    name = f"folder:{photographs}"
    words = ["--classes", "2", "--architecture", "resnet56", "--epochs", "1", "--size", "8", "--out", "anew.if2"]
    run = ["run", f"{name}-2/1", "--backbone", "anew.if2", "-m", "ncm", "--out", "kept", "--device", "cpu"]
    if2net("pretrain", name, *words, "--device", "cpu")
    assert f"The backbone was trained on 2 classes of {name}" in if2net(*run)
    assert if2net(*run)
    before = {path: path.read_bytes() for path in (tmp_path / "work" / "kept").iterdir()}
    (tmp_path / "work" / "anew.if2").unlink()
    if2net("pretrain", name, *words, "--device", "cpu", "--seed", "5")
    with pytest.raises(IF2NetError, match=r"backbone anew\.if2 is no longer the one that the results in kept"):
        if2net(*run, "--runs", "2")
    assert {path: path.read_bytes() for path in (tmp_path / "work" / "kept").iterdir()} == before


def test_a_run_names_what_was_left_out_and_passed_over_at_the_end(if2net, photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "mixed")
    (tmp_path / "mixed" / "red" / "more.heic").touch()
    (tmp_path / "mixed" / "phone").mkdir()
    (tmp_path / "mixed" / "phone" / "1.heic").touch()
    said = if2net("run", f"folder:{tmp_path / 'mixed'}-4/2", "--backbone", "pixels,size=8", "-m", "ncm")
    _, after = said.split("report.html")
    assert "1 of 41 images were left out" in after
    assert "Passed over (2):" in after
    assert "more.heic" in after
    assert "phone has no image" in after
    assert "Passed over (2):" in if2net("features", f"folder:{tmp_path / 'mixed'}", "--backbone", "pixels,size=8")


@pytest.mark.parametrize(("terminal", "named"), [(True, 20), (False, 30)])
def test_all_that_was_left_out_can_be_seen(terminal, named):
    console = Console(file=io.StringIO(), force_terminal=terminal, stderr=True, color_system=None)
    summarise({Path(f"{number}.jpg"): f"{number}.jpg is broken." for number in range(30)}, 40, console)
    said = console.file.getvalue()
    assert said.count("is broken") == named
    assert ("and 10 more; with 2> FILE all are named there" in said) == terminal


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_class_that_has_lost_all_its_images_is_named_before_anything_is_run(if2net, photographs, tmp_path, part):
    for one in ("train", "test"):
        shutil.copytree(photographs, tmp_path / "parts" / one)
    for path in (tmp_path / "parts" / part / "blue").iterdir():
        path.write_bytes(b"no image")
    with pytest.raises(IF2NetError, match=r"class 'blue' .* has no (training|test) image that can be used.*\.png"):
        if2net("run", f"folder:{tmp_path / 'parts'}-4/2", "--backbone", "pixels,size=8", "-m", "ncm")
    assert not (tmp_path / "work" / "out").exists()


def test_features_of_broken_images_alone_are_an_error(if2net, tmp_path):
    (tmp_path / "broken.png").touch()
    with pytest.raises(IF2NetError, match="None of the 1 images can be used"):
        if2net("features", str(tmp_path), "--backbone", "pixels,size=8")


@pytest.mark.parametrize("command", ["run", "features"])
def test_too_many_classes_are_found_before_features_are_computed(if2net, photographs, tmp_path, command):
    for backbone in ("pixels,size=8", "held-out"):
        with pytest.raises(IF2NetError, match=f"has 4; write folder:{photographs}-4/4@{backbone}"):
            if2net(command, f"folder:{photographs}-6/3", "--backbone", backbone)
    assert not (tmp_path / "cache").exists()


def test_a_scenario_has_its_features_from_the_backbone_that_was_held_out(if2net, photographs, monkeypatch):
    recipe = Recipe("resnet56", epochs=1, batch_size=4, size=8)
    monkeypatch.setattr(held_out, "recipe_for", lambda _dataset, _seed: recipe)
    said = if2net("features", f"folder:{photographs}-2/1", "--backbone", "held-out", "--device", "cpu")
    assert "20 images have" in said


@pytest.mark.parametrize(("backbone", "said"), [("pixels,size=8", False), ("efficientnet-lite0", True)])
def test_of_images_from_imagenet_it_is_said_that_a_backbone_may_know_them(backbone, said, monkeypatch):
    monkeypatch.setattr("if2net.study.commands.images._load_shown", lambda *_: None)
    console = Console(file=io.StringIO())
    load_shown(parse_scenario("stanford-dogs-100/10", backbone), None, "cpu", console, [0])
    assert ("comes from ImageNet" in console.file.getvalue()) == said


@pytest.mark.parametrize("command", ["features", "pretrain"])
def test_a_command_that_is_stopped_says_what_is_kept(photographs, monkeypatch, command):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("if2net.study.data.load_images", stop)
    options = ["--classes", "2"] if command == "pretrain" else []
    done = CliRunner().invoke(app, [command, f"folder:{photographs}", *options])
    assert done.exit_code == 130
    assert done.stderr == f"Stopped. {KEPT[command]}\n"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["features", "cub"], "DATASET-CLASSES/TASKS"),
        (["features", "cub20"], "did you mean 'cub200'.* Nor is there a folder cub20"),
        (["features", "digits"], "needs no features"),
        (["features", "cub200", "--backbone", "held-out"], "vision.caltech.edu"),
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
