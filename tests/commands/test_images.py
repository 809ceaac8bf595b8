"""learn, predict and info on images, as a user calls them."""

import csv
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from if2net import load
from if2net.cli import app
from if2net.errors import IF2NetError

PIXELS = ["--backbone", "pixels,size=8", "--device", "cpu"]
COLOURS = {"black": (0, 0, 0), "blue": (0, 0, 150), "green": (0, 150, 0), "red": (150, 0, 0)}
pytestmark = pytest.mark.usefixtures("own_cache")


def if2net(*words):
    """What the command prints and what it complains of; what it raises is raised."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout, " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes for today, two for tomorrow, five images each, one broken; unseen ones; a table."""
    folder = tmp_path_factory.mktemp("photographs")
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


def test_two_classes_today_two_tomorrow_and_all_are_recognised(model, folder):
    said, complained = if2net("learn", model, folder / "tomorrow")
    assert "Learned 10 samples" in said
    assert "New classes: green, red" in said
    assert "knows 4 classes from 20 samples" in said
    assert "1 of 11 images were left out" in complained
    assert "broken.png cannot be read" in complained
    rows = list(csv.DictReader(if2net("predict", model, folder / "unseen")[0].splitlines()))
    assert {row["file"]: row["prediction"] for row in rows} == {
        str(folder / "unseen" / f"{name}.png"): name for name in COLOURS
    }


def test_a_class_whose_images_are_of_another_kind_is_named(folder, tmp_path):
    shutil.copytree(folder / "today", tmp_path / "mixed")
    (tmp_path / "mixed" / "phone").mkdir()
    (tmp_path / "mixed" / "phone" / "1.heic").write_bytes(b"from a phone")
    (tmp_path / "mixed" / "nothing").mkdir()
    said, complained = if2net("learn", tmp_path / "m.if2", tmp_path / "mixed", *PIXELS)
    assert "Learned 10 samples" in said
    assert "1 of 3 folders were left out" in complained
    assert "phone has no image of a kind that can be read (.jpg, " in complained
    assert "images were left out" not in complained
    assert "nothing has no image" not in said + complained


def test_what_was_passed_over_is_named_at_the_end(folder, tmp_path):
    shutil.copytree(folder / "today", tmp_path / "mixed")
    (tmp_path / "mixed" / "blue" / "6.heic").write_bytes(b"from a phone")
    (tmp_path / "mixed" / "blue" / ".thumbnails").mkdir()
    shutil.copy(folder / "unseen" / "blue.png", tmp_path / "mixed" / "blue" / ".thumbnails")
    shutil.copy(folder / "unseen" / "red.png", tmp_path / "mixed" / "stray.png")
    said, complained = if2net("learn", tmp_path / "m.if2", tmp_path / "mixed", *PIXELS)
    assert "Learned 10 samples" in said
    assert "Passed over (2):" in complained
    assert "stray.png lies in no class's folder" in complained
    assert "6.heic has no ending of an image" in complained
    found, complained = if2net("predict", tmp_path / "m.if2", tmp_path / "mixed")
    assert len(found.splitlines()) == 12
    assert "Passed over (1):" in complained


def test_files_that_are_no_images_do_not_keep_the_others_from_being_predicted(model, folder, tmp_path):
    for name in ("IMG.HEIC", "notes.txt"):
        (tmp_path / name).write_text("no image")
    found, complained = if2net(
        "predict", model, folder / "unseen" / "blue.png", tmp_path / "IMG.HEIC", tmp_path / "notes.txt"
    )
    assert found.splitlines()[1:] == [f"{folder / 'unseen' / 'blue.png'},blue"]
    assert "2 of 3 images were left out" in complained
    assert "IMG.HEIC" in complained
    assert "notes.txt" in complained


def test_folders_that_are_links_are_predicted(model, folder, tmp_path):
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "linked").symlink_to(folder / "unseen")
    found, _ = if2net("predict", model, tmp_path / "outer")
    assert len(found.splitlines()) == 1 + len(COLOURS)


def test_days_one_after_the_other_give_what_both_at_once_give(model, folder, tmp_path):
    if2net("learn", model, folder / "tomorrow")
    if2net("learn", tmp_path / "once.if2", folder / "today", folder / "tomorrow", *PIXELS)
    (one, other) = (load(path) for path in (model, tmp_path / "once.if2"))
    assert one.classes_.tolist() == other.classes_.tolist() == sorted(COLOURS)
    assert one.learner_.decision.counts.tolist() == other.learner_.decision.counts.tolist() == [5] * 4


def test_every_image_has_its_features_computed_once(model, folder, tmp_path):
    before = sorted((tmp_path / "cache").rglob("*.rows.npy"))
    if2net("learn", model, folder / "today")
    if2net("predict", model, folder / "today")
    assert sorted((tmp_path / "cache").rglob("*.rows.npy")) == before


def test_probabilities_of_images_go_into_a_file_and_broken_images_are_named(model, folder, tmp_path):
    broken = folder / "tomorrow" / "red" / "broken.png"
    words = [folder / "unseen" / "blue.png", broken, "--proba", "--out", tmp_path / "out.csv"]
    _, complained = if2net("predict", model, *words)
    _, (file, prediction, *chances) = csv.reader((tmp_path / "out.csv").read_text().splitlines())
    assert (file, prediction) == (str(folder / "unseen" / "blue.png"), "blue")
    assert sum(map(float, chances)) == pytest.approx(1, abs=1e-5)
    assert "1 of 2 images were left out" in complained


def test_info_names_the_backbone(model):
    assert "backbone pixels,size=8 (" in if2net("info", model)[0]


def test_a_new_model_for_images_is_linear_unless_it_is_asked_for_another(model, folder, tmp_path):
    words = ["--set", "encoder=wide", "--set", "width=20"]
    if2net("learn", tmp_path / "wide.if2", folder / "today", *PIXELS, *words)
    assert [load(path).encoder for path in (model, tmp_path / "wide.if2")] == ["linear", "wide"]


WRONG = {
    "empty folder": (["empty"], "has no sub-folders with images"),
    "no sub-folders": (["unseen"], "has no sub-folders with images"),
    "no folder": (["unseen/red.png"], "is no folder"),
    "absent": (["tomorow"], "There is no file or folder"),
    "table": (["table.csv"], "learned from images, through the backbone pixels,size=8"),
    "both": (["tomorrow", "table.csv"], "not both at once"),
    "other backbone": (["tomorrow", "--backbone", "pixels,size=9"], "leave --backbone out"),
    "held-out": (["tomorrow", "--backbone", "held-out"], "belongs to scenarios"),
    "label": (["tomorrow", "--label", "x"], "--label is for tables"),
    "workers": (["tomorrow", "--workers", "2"], "--workers is for a cluster"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_samples_get_a_sentence_and_leave_the_model_as_it_was(name, model, folder, monkeypatch):
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
        (["unseen", "--backbone", "pixels,size=9"], "leave --backbone out"),
    ],
)
def test_what_cannot_be_predicted_gets_a_sentence_and_no_file(words, sentence, model, folder, tmp_path, monkeypatch):
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
