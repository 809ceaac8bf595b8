"""features, pretrain and run with images, as a user calls them."""

import io
import json
import shutil
from pathlib import Path

import command_line
import pytest
from coloured_images import write_images
from rich.console import Console
from typer.testing import CliRunner

from if2net.cli import KEPT, app
from if2net.commands.images import print_left_out
from if2net.errors import IF2NetError
from if2net.images.backbones.resnet import ARCHITECTURES
from if2net.study.bench.loading import Loader
from if2net.study.commands.images import prepare_rows
from if2net.study.data import parse_scenario
from if2net.study.pretraining import held_out
from if2net.study.pretraining.training import Recipe


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Four classes of ten images, and one that is broken."""
    folder = write_images(tmp_path_factory.mktemp("pictures"), ("black", "blue", "green", "red"), 10, 8, 10)
    (folder / "red" / "broken.png").write_bytes(b"no image")
    return folder


@pytest.fixture
def if2net(tmp_path, monkeypatch):
    """Return a function that runs the command in an empty folder, returns its output and raises its error."""
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IF2NET_DATA", raising=False)
    monkeypatch.setitem(ARCHITECTURES, "resnet56", ((4, 8, 8), 1))
    monkeypatch.setattr("if2net.study.report.write_report", lambda *_: None)  # other tests look at the report
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*words):
        return " ".join(command_line.if2net(*words).split())

    return call


def test_a_run_uses_the_features_of_the_cache_and_the_broken_image_is_named(if2net, pictures, tmp_path):
    for words in (
        [str(pictures), "--backbone", "pixels,size=8"],
        [f"folder:{pictures}-4/2@pixels,size=8"],
        [f"folder:{pictures}", "--backbone", "pixels,size=8"],
    ):
        output = if2net("features", *words, "--device", "cpu")
        assert "40 images have 192 features" in output
        assert "Left out (1):" in output
        assert "broken.png cannot be read" in output
    before = [path.read_bytes() for path in (tmp_path / "cache").rglob("*.sqlite")]
    if2net("run", f"folder:{pictures}-4/2", "--backbone", "pixels,size=8", "-m", "if2net", "-m", "ncm")
    assert [path.read_bytes() for path in (tmp_path / "cache").rglob("*.sqlite")] == before
    (results,) = (tmp_path / "work" / "out").rglob("results.json")
    written = json.loads(results.read_text())
    assert written["scenario"] == f"folder:{pictures}-4/2@pixels,size=8"
    assert written["summary"]["if2net"]["acc_mean"] > 0.8
    assert written["settings"]["if2net"]["encoder"] == "linear"  # as in `if2net learn`


def test_the_classes_of_a_pretrained_backbone_cannot_be_learned(if2net, pictures):
    name = f"folder:{pictures}"
    words = ["--classes", "2", "--architecture", "resnet56", "--epochs", "1", "--size", "8", "--out", "b.if2"]
    assert "epochs 1/1" in if2net("pretrain", name, *words, "--device", "cpu")
    assert "b.if2, which existed already" in if2net("pretrain", name, *words, "--device", "cpu")
    assert "20 images have" in if2net("features", f"{name}-2/1@b.if2")  # those of the other two classes
    if2net("run", f"{name}-2/1", "--backbone", "b.if2", "-m", "ncm")
    with pytest.raises(IF2NetError, match="choose at most 2 classes"):
        if2net("run", f"{name}-4/2", "--backbone", "b.if2", "-m", "ncm")


def test_a_run_does_not_continue_after_its_backbone_was_trained_again(if2net, pictures, tmp_path):
    name = f"folder:{pictures}"
    words = ["--classes", "2", "--architecture", "resnet56", "--epochs", "1", "--size", "8", "--out", "anew.if2"]
    run = ["run", f"{name}-2/1", "--backbone", "anew.if2", "-m", "ncm", "--out", "kept", "--device", "cpu"]
    if2net("pretrain", name, *words, "--device", "cpu")
    assert f"The backbone was trained on 2 classes of {name}" in if2net(*run)
    assert if2net(*run)
    before = {path: path.read_bytes() for path in (tmp_path / "work" / "kept").iterdir()}
    (tmp_path / "work" / "anew.if2").unlink()
    if2net("pretrain", name, *words, "--device", "cpu", "--seed", "5")
    with pytest.raises(IF2NetError, match=r"backbone anew\.if2 has changed since the results in kept"):
        if2net(*run, "--runs", "2")
    assert {path: path.read_bytes() for path in (tmp_path / "work" / "kept").iterdir()} == before


def test_a_run_names_at_its_end_what_was_left_out(if2net, pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "mixed")
    (tmp_path / "mixed" / "red" / "more.heic").touch()
    (tmp_path / "mixed" / "phone").mkdir()
    (tmp_path / "mixed" / "phone" / "1.heic").touch()
    output = if2net("run", f"folder:{tmp_path / 'mixed'}-4/2", "--backbone", "pixels,size=8", "-m", "ncm")
    _, after = output.split("report.html")
    assert "Left out (3):" in after
    assert "broken.png" in after
    assert "more.heic" in after
    assert "phone has no image" in after
    assert "Left out (3):" in if2net("features", f"folder:{tmp_path / 'mixed'}", "--backbone", "pixels,size=8")


@pytest.mark.parametrize(("terminal", "named"), [(True, 20), (False, 30)])
def test_a_screen_names_some_files_that_were_left_out_and_a_log_all(terminal, named):
    console = Console(file=io.StringIO(), force_terminal=terminal, stderr=True, color_system=None)
    print_left_out({Path(f"{number}.jpg"): f"{number}.jpg is broken." for number in range(30)}, console)
    output = console.file.getvalue()
    assert output.count("is broken") == named
    assert ("and 10 more; 2> FILE writes all of them" in output) == terminal


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_class_without_usable_images_is_an_error_before_anything_is_run(if2net, pictures, tmp_path, part):
    for one in ("train", "test"):
        shutil.copytree(pictures, tmp_path / "parts" / one)
    for path in (tmp_path / "parts" / part / "blue").iterdir():
        path.write_bytes(b"no image")
    with pytest.raises(IF2NetError, match=r"class 'blue' .* has no (training|test) image that can be used.*\.png"):
        if2net("run", f"folder:{tmp_path / 'parts'}-4/2", "--backbone", "pixels,size=8", "-m", "ncm")
    assert not (tmp_path / "work" / "out").exists()


def test_features_of_only_broken_images_are_an_error(if2net, tmp_path):
    (tmp_path / "broken.png").touch()
    with pytest.raises(IF2NetError, match="None of the 1 images can be used"):
        if2net("features", str(tmp_path), "--backbone", "pixels,size=8")


@pytest.mark.parametrize("command", ["run", "features"])
def test_too_many_classes_are_an_error_before_features_are_computed(if2net, pictures, tmp_path, command):
    for backbone in ("pixels,size=8", "held-out"):
        with pytest.raises(IF2NetError, match=f"has 4; write folder:{pictures}-4/4@{backbone}"):
            if2net(command, f"folder:{pictures}-6/3", "--backbone", backbone)
    assert not (tmp_path / "cache").exists()


def test_the_features_of_a_scenario_come_from_its_held_out_backbone(if2net, pictures, monkeypatch):
    recipe = Recipe("resnet56", epochs=1, batch_size=4, size=8)
    monkeypatch.setattr(held_out, "recipe_for", lambda _dataset, _seed: recipe)
    output = if2net("features", f"folder:{pictures}-2/1", "--backbone", "held-out", "--device", "cpu")
    assert "20 images have" in output


@pytest.mark.parametrize(
    ("backbone", "warned"), [("pixels,size=8", False), ("innate", False), ("efficientnet-lite0", True)]
)
def test_a_run_on_images_of_imagenet_warns_that_the_backbone_may_know_them(backbone, warned, monkeypatch):
    monkeypatch.setattr(Loader, "load", lambda *_, **__: None)
    console = Console(file=io.StringIO())
    prepare_rows(parse_scenario("stanford-dogs-100/10", backbone), Loader(), "cpu", console, [0])
    assert ("comes from ImageNet" in console.file.getvalue()) == warned


@pytest.mark.parametrize("command", ["features", "pretrain"])
def test_a_command_that_is_stopped_says_what_is_kept(pictures, monkeypatch, command):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("if2net.study.data.load_images", stop)
    options = ["--classes", "2"] if command == "pretrain" else []
    done = CliRunner().invoke(app, [command, f"folder:{pictures}", *options])
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
        # Wrong options are named before missing data.
        (["run", "mnist-10/5@innate,flips=1,flips=0"], "option flips is given twice"),
        (["run", "mnist-10/5@innate,"], "no option of a backbone ''"),
        (["run", "cub200-100/10@held-out,flips=1"], "did you mean 'flip'"),
        (["features", "mnist-10/5@innate,flips=1"], "did you mean 'flip'"),
        (["features", "mnist-10/5@inate"], "did you mean 'innate'"),
        (["pretrain", "cifar100", "--classes", "40", "--architecture", "resnet"], "did you mean 'resnet"),
        (["pretrain", "cifar100", "--classes", "40"], "cs.toronto.edu"),
    ],
)
def test_wrong_arguments_raise_an_error_and_write_nothing(if2net, words, advice, tmp_path):
    with pytest.raises(IF2NetError, match=advice):
        if2net(*words)
    assert not list((tmp_path / "work").iterdir())


def test_features_that_cannot_be_kept_are_an_error(if2net, pictures, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "file"))
    with pytest.raises(IF2NetError, match="cannot hold the features of 40 images; free some space"):
        if2net("features", str(pictures), "--backbone", "pixels,size=8")
