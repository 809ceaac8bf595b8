"""learn, predict and info with images, as a user calls them."""

import csv
import json
import os
import shutil

import numpy as np
import pytest
from command_line import if2net, if2net_with_messages
from PIL import Image
from typer.testing import CliRunner

from if2net import IF2Net, load
from if2net.cli import app
from if2net.errors import IF2NetError
from if2net.images.extractor import Extractor

PIXELS = ["--backbone", "pixels,size=8", "--device", "cpu"]
COLOURS = {"black": (0, 0, 0), "blue": (0, 0, 150), "green": (0, 150, 0), "red": (150, 0, 0)}
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes for today, two for tomorrow, five images each, one broken; images to predict; a table."""
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        day = "today" if name in ("black", "blue") else "tomorrow"
        (folder / day / name).mkdir(parents=True)
        (folder / "unseen").mkdir(exist_ok=True)
        for number in range(6):
            pixels = random.integers(0, 100, (20, 24, 3), dtype=np.uint8) + np.array(colour, dtype=np.uint8)
            path = folder / "unseen" / f"{name}.png" if number == 5 else folder / day / name / f"{number}.png"
            Image.fromarray(pixels).save(path)
    (folder / "tomorrow" / "red" / "broken.png").write_bytes(b"no image")
    (folder / "table.csv").write_text("x,label\n1,a\n2,b\n3,a\n4,b\n")
    (folder / "empty" / "class").mkdir(parents=True)
    return folder


@pytest.fixture
def model(folder, tmp_path):
    """A model that has learned today's classes."""
    if2net("learn", tmp_path / "birds.if2", folder / "today", *PIXELS)
    return tmp_path / "birds.if2"


def test_a_file_name_that_is_no_valid_text_is_written_as_it_is(model, folder, tmp_path):
    folder = shutil.copytree(folder / "today", tmp_path / "today")
    name = os.fsdecode(b"caf\xe9.png")
    (folder / "blue" / "0.png").rename(folder / "black" / name)  # a wrong label
    (folder / "blue" / name).write_bytes(b"no image")
    if2net("predict", model, folder / "black" / name, "--out", tmp_path / "p.csv")
    assert b"/black/caf\xe9.png,blue," in (tmp_path / "p.csv").read_bytes()
    done = CliRunner().invoke(app, ["predict", str(model), str(folder / "black" / name)])
    assert done.stdout_bytes == (tmp_path / "p.csv").read_bytes()
    if2net("evaluate", model, folder, "--html", tmp_path / "page.html")
    assert "caf?.png</small>" in (tmp_path / "page.html").read_text()
    answer = json.loads(if2net("evaluate", model, folder, "--json"))
    assert name in answer["left_out"][0]


def test_two_classes_today_and_two_tomorrow_are_all_recognised(model, folder):
    output, messages = if2net_with_messages("learn", model, folder / "tomorrow")
    assert "Learned 10 samples" in output
    assert "New classes: green, red" in output
    assert "has 4 classes from 20 samples" in output
    assert "Left out (1):" in messages
    assert "broken.png cannot be read" in messages
    rows = list(csv.DictReader(if2net("predict", model, folder / "unseen").splitlines()))
    assert {row["file"]: row["prediction"] for row in rows} == {
        str(folder / "unseen" / f"{name}.png"): name for name in COLOURS
    }


@pytest.mark.parametrize(("size", "told"), [(48, True), (49, False)])
def test_the_backbone_for_small_pictures_is_named_if_all_images_are_small(tmp_path, size, told):
    for name, colour in COLOURS.items():
        (tmp_path / "today" / name).mkdir(parents=True)
        Image.new("RGB", (20, 20), colour).save(tmp_path / "today" / name / "0.png")
    Image.new("RGB", (20, size), "red").save(tmp_path / "today" / "red" / "1.png")
    (tmp_path / "today" / "red" / "broken.png").write_bytes(b"no image")
    arguments = ["learn", tmp_path / "birds.if2", tmp_path / "today", "--device", "cpu"]
    assert ("--backbone innate" in if2net_with_messages(*arguments)[1]) == told
    assert "--backbone innate" not in if2net_with_messages(*arguments, "--force")[1]


def test_a_class_whose_images_have_an_unknown_format_is_named(folder, tmp_path):
    shutil.copytree(folder / "today", tmp_path / "mixed")
    (tmp_path / "mixed" / "phone").mkdir()
    (tmp_path / "mixed" / "phone" / "1.heic").write_bytes(b"from a phone")
    (tmp_path / "mixed" / "nothing").mkdir()
    output, messages = if2net_with_messages("learn", tmp_path / "m.if2", tmp_path / "mixed", *PIXELS)
    assert "Learned 10 samples" in output
    assert "Left out (1):" in messages
    assert "phone has no image of a format that can be read (.jpg, " in messages


def test_files_that_belong_to_no_class_are_named_at_the_end(folder, tmp_path):
    shutil.copytree(folder / "today", tmp_path / "mixed")
    (tmp_path / "mixed" / "blue" / "6.heic").write_bytes(b"from a phone")
    (tmp_path / "mixed" / "blue" / ".thumbnails").mkdir()
    shutil.copy(folder / "unseen" / "blue.png", tmp_path / "mixed" / "blue" / ".thumbnails")
    shutil.copy(folder / "unseen" / "red.png", tmp_path / "mixed" / "stray.png")
    output, messages = if2net_with_messages("learn", tmp_path / "m.if2", tmp_path / "mixed", *PIXELS)
    assert "Learned 10 samples" in output
    assert "Left out (2):" in messages
    assert "stray.png is not inside the folder of a class" in messages
    assert "6.heic has no suffix of an image format" in messages
    output, messages = if2net_with_messages("predict", tmp_path / "m.if2", tmp_path / "mixed")
    assert len(output.splitlines()) == 12
    assert "Left out (1):" in messages


def test_images_are_predicted_although_other_files_are_not_images(model, folder, tmp_path):
    for name in ("IMG.HEIC", "notes.txt"):
        (tmp_path / name).write_text("no image")
    output, messages = if2net_with_messages(
        "predict", model, folder / "unseen" / "blue.png", tmp_path / "IMG.HEIC", tmp_path / "notes.txt"
    )
    assert output.splitlines()[1].startswith(f"{folder / 'unseen' / 'blue.png'},blue,")
    assert "Left out (2):" in messages
    assert "IMG.HEIC" in messages
    assert "notes.txt" in messages


def test_linked_folders_are_predicted(model, folder, tmp_path):
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "linked").symlink_to(folder / "unseen")
    output = if2net("predict", model, tmp_path / "outer")
    assert len(output.splitlines()) == 1 + len(COLOURS)


def test_two_folders_in_turn_give_the_same_model_as_both_at_once(model, folder, tmp_path):
    if2net("learn", model, folder / "tomorrow")
    if2net("learn", tmp_path / "once.if2", folder / "today", folder / "tomorrow", *PIXELS)
    (one, other) = (load(path) for path in (model, tmp_path / "once.if2"))
    assert one.classes_.tolist() == other.classes_.tolist() == sorted(COLOURS)
    assert one.learner_.decision.total.counts.tolist() == other.learner_.decision.total.counts.tolist() == [5] * 4


def test_the_features_of_an_image_are_computed_once(model, folder, tmp_path):
    before = [path.read_bytes() for path in (tmp_path / "cache").rglob("*.sqlite")]
    if2net("learn", model, folder / "today", "--force")
    if2net("predict", model, folder / "today")
    assert [path.read_bytes() for path in (tmp_path / "cache").rglob("*.sqlite")] == before


def test_probabilities_are_written_to_a_file_and_broken_images_are_named(model, folder, tmp_path):
    broken = folder / "tomorrow" / "red" / "broken.png"
    words = [folder / "unseen" / "blue.png", broken, "--proba", "--out", tmp_path / "out.csv"]
    _, messages = if2net_with_messages("predict", model, *words)
    _, (file, prediction, probability, *chances) = csv.reader((tmp_path / "out.csv").read_text().splitlines())
    assert (file, prediction) == (str(folder / "unseen" / "blue.png"), "blue")
    assert sum(map(float, chances)) == pytest.approx(1, abs=1e-5)
    assert probability == max(chances)
    assert "Left out (1):" in messages


def test_info_names_the_backbone(model):
    assert "backbone  pixels,size=8 (" in if2net("info", model)


@pytest.mark.parametrize(
    ("backbone", "line"),
    [
        ("pixels,size=8", None),
        ("pixels,beside=innate", None),
        ("efficientnet-lite0,pool=2", "licence   Apache-2.0 (weights of the backbone)"),
        ("pixels,beside=efficientnet-lite0", "licence   Apache-2.0 (weights of the backbone)"),
        ("pixels,beside=efficientnet-lite0,beside=innate", None),
        ("timm:resnet18", "licence   that of their publisher (weights of the backbone)"),
    ],
)
def test_info_names_the_licence_of_the_weights(backbone, line, model):
    net = IF2Net.load(model)
    net.backbone = {**net.backbone, "text": backbone}
    net.save(model)
    output = if2net("info", model).splitlines()
    assert [one for one in output if one.startswith("licence")] == ([line] if line else [])


def test_a_new_model_for_images_is_linear_unless_another_encoder_is_set(model, folder, tmp_path):
    words = ["--set", "encoder=wide", "--set", "width=20"]
    if2net("learn", tmp_path / "wide.if2", folder / "today", *PIXELS, *words)
    assert [load(path).encoder for path in (model, tmp_path / "wide.if2")] == ["linear", "wide"]


def test_a_new_model_with_the_small_innate_network_has_a_wide_layer(folder, tmp_path):
    for name, words in {"wide": [], "linear": ["--set", "encoder=linear"]}.items():
        path = tmp_path / f"{name}.if2"
        if2net("learn", path, folder / "today", "--backbone", "innate", *words)
        assert load(path).encoder == name
    assert load(tmp_path / "wide.if2").learner_.encoder.width == 8193


WRONG = {
    "empty folder": (["empty"], "has no sub-folders with images"),
    "no sub-folders": (["unseen"], "holds images, but no sub-folders"),
    "no folder": (["unseen/red.png"], "is not a folder"),
    "absent": (["tomorow"], "There is no file or folder"),
    "table": (["table.csv"], "learned from images, through the backbone pixels,size=8"),
    "both": (["tomorrow", "table.csv"], "either tables or images"),
    "other backbone": (["tomorrow", "--backbone", "pixels,size=9"], "leave the backbone out"),
    "held-out": (["tomorrow", "--backbone", "held-out"], "belongs to scenarios"),
    "label": (["tomorrow", "--label", "x"], "--label is for tables"),
    "workers": (["tomorrow", "--workers", "2"], "--workers needs --cluster"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_samples_raise_an_error_and_leave_the_model_as_it_was(name, model, folder, monkeypatch):
    words, sentence = WRONG[name]
    before = model.read_bytes()
    monkeypatch.chdir(folder)
    with pytest.raises(IF2NetError, match=sentence):
        if2net("learn", model, *words)
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["empty"], "no images to predict"),
        (["tomorrow/red/broken.png"], "No image could be used"),
        (["table.csv"], "learned from images"),
        (["unseen", "--label", "x"], "--label is for tables"),
        (["unseen", "--backbone", "pixels,size=9"], "leave the backbone out"),
    ],
)
def test_unpredictable_samples_raise_an_error_and_write_no_file(
    words, sentence, model, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(folder)
    with pytest.raises(IF2NetError, match=sentence):
        if2net("predict", model, *words, "--out", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_model_of_tables_refuses_images(folder, tmp_path):
    model = tmp_path / "table.if2"
    if2net("learn", model, folder / "table.csv", "--set", "width=20", "--device", "cpu")
    before = model.read_bytes()
    for words in (["learn", model, folder / "today"], ["predict", model, folder / "unseen"]):
        with pytest.raises(IF2NetError, match="learned from tables"):
            if2net(*words)
    with pytest.raises(IF2NetError, match="--backbone is for images"):
        if2net("learn", model, folder / "table.csv", "--backbone", "pixels")
    assert model.read_bytes() == before


def test_images_of_none_of_the_classes_have_an_empty_prediction(tmp_path):
    random = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(50):
            pixels = random.integers(0, 100, (8, 8, 3), dtype=np.uint8) + np.array(colour, dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "images" / name / f"{number}.png")
    (tmp_path / "images" / "red").rename(tmp_path / "red")
    if2net("learn", tmp_path / "model.if2", tmp_path / "images", *PIXELS, "--set", "holdout=0.3")
    rows = {}
    for folder in ("images", "red"):
        output = if2net("predict", tmp_path / "model.if2", tmp_path / folder, "--unknown", "0.05")
        rows[folder] = [row["prediction"] for row in csv.DictReader(output.splitlines())]
    assert rows["images"].count("") < 0.2 * len(rows["images"])
    assert rows["red"].count("") > 0.8 * len(rows["red"])


def test_a_model_of_few_images_says_that_it_knows_no_limit_before_it_reads_images(model, folder, monkeypatch):
    monkeypatch.setattr(Extractor, "__call__", None)  # computing features would fail
    result = CliRunner().invoke(app, ["predict", str(model), str(folder / "unseen"), "--unknown", "0.05"])
    assert isinstance(result.exception, IF2NetError)
    assert "must be held out" in str(result.exception)
    assert result.stdout == ""


def test_ctrl_c_keeps_the_features_that_are_finished(folder, tmp_path, monkeypatch):
    seen, compute = [], Extractor.__call__

    def interrupted(extractor, pixels):
        seen.append(len(pixels))
        if len(seen) == 2 and not (tmp_path / "again").exists():
            raise KeyboardInterrupt
        return compute(extractor, pixels)

    monkeypatch.setattr(Extractor, "__call__", interrupted)
    monkeypatch.setattr("if2net.images.extraction._threads", lambda extractor: 1)
    words = ["learn", tmp_path / "birds.if2", folder / "today", *PIXELS]
    stopped = CliRunner().invoke(app, [str(word) for word in words])
    assert (stopped.exit_code, "Finished features of images are kept" in stopped.stderr) == (130, True)
    assert not (tmp_path / "birds.if2").exists()
    (tmp_path / "again").touch()
    seen.clear()
    if2net(*words)
    assert len(seen) <= 2  # of the three batches of ten images; the last one may have begun before the interrupt
