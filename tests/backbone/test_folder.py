import numpy as np
import pytest

from if2net import IF2NetClassifier
from if2net.backbone import load_extractor
from if2net.backbone.folder import ImageFolder, image_features, same_extractor
from if2net.backbone.rows import load_rows
from if2net.data import parse_scenario
from if2net.errors import ConfigurationError, InputError


@pytest.fixture
def pixels():
    return load_extractor("pixels,size=8")


def test_a_folder_is_learned_and_its_images_are_recognised(photographs, pixels):
    classifier = IF2NetClassifier(random_state=0, width=50, device="cpu")
    for X, y in ImageFolder(photographs, pixels):
        classifier.partial_fit(X, y)
    found = image_features([photographs / "red", photographs / "blue" / "0.png"], pixels)
    assert classifier.predict(found.X).tolist() == ["red"] * 4 + ["blue"]


def test_going_over_it_again_gives_the_same_and_broken_images_are_named(photographs, pixels, monkeypatch):
    monkeypatch.setattr("if2net.backbone.folder.PIECE", 5)
    (photographs / "red" / "broken.png").touch()
    shown = []
    folder = ImageFolder(photographs, pixels, show=lambda done, total: shown.append((done, total)))
    first, second = list(folder), list(folder)
    assert [len(y) for _, y in first] == [5, 5, 2]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    assert list(folder.refused) == [photographs / "red" / "broken.png"]
    assert len(folder) == 13
    assert shown[2] == (13, 13)


def test_a_class_that_the_backbone_has_seen_is_refused(photographs, pixels):
    pixels.backbone.seen_classes = ("red",)
    with pytest.raises(ConfigurationError, match="trained on 'red'"):
        ImageFolder(photographs, pixels)


def test_folders_without_images_are_refused(tmp_path, pixels):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError):
            ImageFolder(path, pixels)
    with pytest.raises(InputError, match="no images to predict"):
        image_features([tmp_path / "empty"], pixels)


def test_a_model_goes_on_only_with_the_backbone_it_was_made_with(pixels):
    assert same_extractor("pixels,size=8", pixels.identity).identity == pixels.identity
    with pytest.raises(ConfigurationError, match="not the one that the model has learned with"):
        same_extractor("pixels,size=9", pixels.identity)


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
