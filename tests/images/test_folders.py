import numpy as np
import pytest

from if2net import IF2NetClassifier
from if2net.errors import ConfigurationError, InputError
from if2net.images.extractor import load_extractor
from if2net.images.folders import ImageFolders, images_to_predict
from if2net.study.bench.rows import load_rows
from if2net.study.data import parse_scenario


@pytest.fixture
def pixels():
    return load_extractor("pixels,size=8")


def test_folders_are_learned_and_their_images_are_recognised(photographs, pixels):
    classifier = IF2NetClassifier(random_state=0, width=50, device="cpu").partial_fit(
        ImageFolders([photographs], pixels)
    )
    ((paths, X),) = images_to_predict([photographs / "red", photographs / "blue" / "0.png"], pixels)
    assert [path.parent.name for path in paths] == ["red"] * 4 + ["blue"]
    assert classifier.predict(X).tolist() == ["red"] * 4 + ["blue"]


def test_going_over_it_again_gives_the_same_and_broken_images_are_named(photographs, pixels, monkeypatch):
    monkeypatch.setattr("if2net.images.folders.PIECE", 5)
    (photographs / "red" / "broken.png").touch()
    shown = []
    folder = ImageFolders([photographs], pixels, show=lambda done, total, text="": shown.append((done, total)))
    first, second = list(folder), list(folder)
    assert [y.tolist() for _, y in first] == [["blue"] * 4 + ["green"], ["green"] * 3 + ["red"] * 2, ["red"] * 2]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    assert list(folder.files.refused) == [photographs / "red" / "broken.png"]
    assert len(folder.files) == 13
    assert shown == [(5, 13), (10, 13), (13, 13)]  # the second time there is nothing to compute


def test_several_folders_may_have_a_class_in_common(photographs, pixels, tmp_path):
    (tmp_path / "more").mkdir()
    (photographs / "red").rename(tmp_path / "more" / "green")
    ((_, y),) = ImageFolders([photographs, tmp_path / "more"], pixels)
    assert sorted(y.tolist()) == ["blue"] * 4 + ["green"] * 8


def test_a_class_that_the_backbone_has_seen_is_refused(photographs, pixels):
    pixels.backbone.seen_classes = ("red",)
    with pytest.raises(ConfigurationError, match="trained on 'red'"):
        ImageFolders([photographs], pixels)


def test_folders_without_images_are_refused(tmp_path, pixels):
    (tmp_path / "empty").mkdir()
    for path, sentence in ((tmp_path, "has no sub-folders with images"), (tmp_path / "absent", "is no folder")):
        with pytest.raises(InputError, match=sentence):
            ImageFolders([path], pixels)
    with pytest.raises(InputError, match="no images to predict"):
        images_to_predict([tmp_path / "empty"], pixels)


def test_a_folder_with_parts_for_training_and_testing_is_not_taken_for_two_classes(photographs, pixels):
    (photographs / "red").rename(photographs / "train")
    ImageFolders([photographs], pixels)  # a class may be called so
    (photographs / "blue").rename(photographs / "val")
    with pytest.raises(InputError, match=r"give .*train"):
        ImageFolders([photographs], pixels)


def test_images_none_of_which_can_be_used_are_an_error(photographs, pixels):
    for path in photographs.rglob("*.png"):
        path.write_bytes(b"no image")
    for images in (ImageFolders([photographs], pixels), images_to_predict([photographs], pixels)):
        with pytest.raises(InputError, match="No image could be used"):
            list(images)


def test_a_scenario_of_images_becomes_rows(photographs):
    (photographs / "red" / "broken.png").touch()
    scenario = parse_scenario(f"folder:{photographs}-3/3@pixels,size=8")
    data, refused = load_rows(scenario, device="cpu")
    assert data.train_X.shape[1] == 192
    assert len(data.train_y) + len(data.test_y) == 12
    assert [path.name for path in refused] == ["broken.png"]
    red = data.test_X[data.test_y == 2].reshape(-1, 8, 8, 3)
    assert data.classes == 3
    assert len(red)
