import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from if2net.errors import ConfigurationError, InputError
from if2net.images.extractor import load_extractor
from if2net.images.folders import (
    ImageFiles,
    ImageFolders,
    images_under,
    list_classes,
    list_images,
    outside_classes,
    unknown_under,
)


@pytest.fixture
def pixels():
    return load_extractor("pixels,size=8")


def write(folder, *names):
    """Create empty files."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_iterating_twice_gives_the_same_blocks_and_unreadable_images_are_left_out(pictures, pixels, monkeypatch):
    monkeypatch.setattr("if2net.images.folders.BLOCK", 5)
    (pictures / "red" / "broken.png").write_text("no image")
    shown = []
    labels, left_out = list_classes([pictures])
    folder = ImageFolders(labels, pixels, lambda done, total, text="": shown.append((done, total)), left_out)
    first = list(folder)
    assert list(dict.fromkeys(shown)) == [(done, 13) for done in range(14)]  # picture by picture
    shown.clear()
    second = list(folder)
    assert not shown
    assert [y.tolist() for _, y in first] == [["blue"] * 4 + ["green"], ["green"] * 3 + ["red"] * 2, ["red"] * 2]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    assert list(folder.left_out) == [pictures / "red" / "broken.png"]
    assert folder.counts() == {"blue": 4, "green": 4, "red": 4}
    assert len(folder.files.paths) == 13


def test_several_folders_may_have_a_class_in_common(pictures, pixels, tmp_path):
    (tmp_path / "more").mkdir()
    (pictures / "red").rename(tmp_path / "more" / "green")
    ((_, y),) = ImageFolders(list_classes([pictures, tmp_path / "more"])[0], pixels)
    assert sorted(y.tolist()) == ["blue"] * 4 + ["green"] * 8


def test_a_class_that_the_backbone_has_seen_is_refused(pictures, pixels):
    pixels.backbone.seen_classes = ("red",)
    with pytest.raises(ConfigurationError, match="trained on 'red'"):
        ImageFolders(list_classes([pictures])[0], pixels)


def test_folders_without_images_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, sentence in ((tmp_path, "has no sub-folders with images"), (tmp_path / "absent", "is not a folder")):
        with pytest.raises(InputError, match=sentence):
            list_classes([path])
    with pytest.raises(InputError, match="no images to predict"):
        list_images([tmp_path / "empty"])


@pytest.mark.parametrize("name", ["red", "."])
def test_the_folder_of_a_class_gets_the_advice_to_give_the_folder_above(pictures, monkeypatch, name):
    monkeypatch.chdir(pictures / "red" if name == "." else pictures)
    with pytest.raises(InputError, match=f"give the folder above, {pictures}, or .* with the sub-folder red in it"):
        list_classes([Path(name)])


def test_the_folder_of_the_reasons_is_the_callers(pictures, pixels):
    reasons = {}
    assert ImageFolders(list_classes([pictures])[0], pixels, left_out=reasons).left_out is reasons


def test_a_folder_with_training_and_test_images_is_not_learned_as_two_classes(pictures):
    (pictures / "red").rename(pictures / "train")
    list_classes([pictures])  # a class may have this name
    (pictures / "blue").rename(pictures / "val")
    with pytest.raises(InputError, match=r"give .*train"):
        list_classes([pictures])


@pytest.mark.parametrize("second", ["pictures", "pictures/red", "link", "elsewhere"])
def test_an_image_that_lies_under_two_of_the_given_folders_is_refused(pictures, tmp_path, second):
    for part in ("red/deep", "blue/deep"):
        shutil.copytree(pictures / "green", pictures / part)
    (tmp_path / "link").symlink_to(pictures)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "again").symlink_to(pictures / "green")
    with pytest.raises(InputError, match=r"lie under two of the given folders, .*pictures and .*; give each"):
        list_classes([pictures, tmp_path / second])


def test_it_is_an_error_if_no_image_can_be_used(pictures, pixels):
    for path in pictures.rglob("*.png"):
        path.write_bytes(b"no image")
    labels, _ = list_classes([pictures])
    for images in (ImageFolders(labels, pixels), ImageFiles(list(labels), pixels)):
        with pytest.raises(InputError, match="No image could be used"):
            list(images)


def test_hidden_files_are_ignored_and_links_are_followed_once(tmp_path):
    write(tmp_path / "elsewhere", "1.jpg", "deep/2.JFIF")
    write(tmp_path / "a", "0.jpg", ".thumbnails/t.jpg", ".hidden.jpg")
    for name, target in {"linked": "elsewhere", "again": "elsewhere", "up": ".", "own": "a"}.items():
        (tmp_path / "a" / name).symlink_to(tmp_path / target)
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "a")
    assert [str(path.relative_to(tmp_path)) for path in images_under(tmp_path / "a")] == [
        "a/0.jpg",
        "a/again/1.jpg",
        "a/again/deep/2.JFIF",
    ]
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert [path.name for path in images_under(tmp_path / "link")] == ["1.jpg", "0.jpg", "2.JFIF"]


def test_files_and_folders_that_belong_to_no_class_are_named(tmp_path):
    write(tmp_path, "stray.jpg", "notes.txt", "a/1.jpg", "a/2.heic", "a/deep/3", "a/Thumbs.db", "a/list.csv")
    write(tmp_path, "a/.DS_Store", "phone/1.heic", ".hidden.jpg")
    (tmp_path / "empty").mkdir()
    left_out = outside_classes(tmp_path)
    assert [path.name for path in left_out] == ["stray.jpg", "2.heic", "3", "phone"]
    assert "phone has no image of a format that can be read" in left_out[tmp_path / "phone"]
    assert [path.name for path in unknown_under(tmp_path)] == ["2.heic", "3", "1.heic"]


def test_folders_that_cannot_be_opened_are_named(tmp_path, monkeypatch):
    write(tmp_path, "a/1.jpg", "a/closed/2.jpg", "private/3.jpg")
    scan = os.scandir

    def refuse(path):
        if Path(path).name in ("closed", "private"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert {path.name: reason.split()[-2:] for path, reason in outside_classes(tmp_path).items()} == {
        name: ["(Permission", "denied)."] for name in ("closed", "private")
    }
