"""learn_images and predict_images, as a Python program calls them."""

import os

import numpy as np
import pytest
from sklearn.base import clone

from if2net import IF2Net, IF2NetClassifier, learn_images, load, predict_images
from if2net.errors import ConfigurationError, IF2NetError, InputError
from if2net.images.learning import IMAGE_SETTINGS

PIXELS = {"backbone": "pixels,size=8", "device": "cpu"}


def classifier():
    return IF2NetClassifier(**IMAGE_SETTINGS, device="cpu", random_state=0)


def learner():
    return IF2Net(**IMAGE_SETTINGS, device="cpu")


@pytest.mark.parametrize("new", [classifier, learner])
def test_pictures_are_learned_and_recognised_and_the_rest_is_left_out(new, pictures):
    (pictures / "red" / "broken.png").touch()
    (pictures / "stray.png").touch()
    model = new()
    learned = learn_images(model, pictures, **PIXELS)
    assert learned.per_class == {"blue": 4, "green": 4, "red": 4}
    assert learned.samples == 12
    assert set(learned.left_out) == {pictures / "red" / "broken.png", pictures / "stray.png"}
    predicted = predict_images(model, [pictures / "red", pictures / "blue" / "0.png"], device="cpu")
    assert [path.parent.name for path in predicted.paths] == ["red"] * 4 + ["blue"]
    assert predicted.predictions.tolist() == ["red"] * 4 + ["blue"]
    assert predicted.probabilities.shape == (5, 3)
    np.testing.assert_allclose(predicted.probabilities.sum(axis=1), 1)
    assert list(predicted.left_out) == [pictures / "red" / "broken.png"]


@pytest.mark.parametrize("new", [classifier, learner])
def test_a_model_continues_with_its_own_backbone_after_it_was_saved(new, pictures, tmp_path):
    (tmp_path / "today").mkdir()
    (pictures / "red").rename(tmp_path / "today" / "red")
    (pictures / "blue").rename(tmp_path / "today" / "blue")
    model = new()
    learn_images(model, [str(tmp_path / "today")], **PIXELS)
    model.save(tmp_path / "model.if2")
    model = (load if new is classifier else IF2Net.load)(tmp_path / "model.if2", "cpu")
    assert learn_images(model, pictures, device="cpu").per_class == {"green": 4}
    assert predict_images(model, pictures, device="cpu").predictions.tolist() == ["green"] * 4
    with pytest.raises(ConfigurationError, match="leave the backbone out"):
        learn_images(model, pictures, backbone="pixels,size=9", device="cpu")


def test_blocks_give_the_same_predictions_as_all_images_at_once(pictures, monkeypatch):
    model = classifier()
    learn_images(model, pictures, **PIXELS)
    expected = predict_images(model, pictures, device="cpu")
    monkeypatch.setattr("if2net.images.folders.BLOCK", 5)
    blocks = predict_images(model, pictures, device="cpu")
    assert blocks.paths == expected.paths
    np.testing.assert_allclose(blocks.probabilities, expected.probabilities, atol=1e-6)


def test_progress_is_shown(pictures):
    shown = []
    learn_images(classifier(), pictures, **PIXELS, show=lambda done, total, text="": shown.append((done, total)))
    assert shown[-1] == (12, 12)


def test_a_new_model_that_cannot_learn_a_folder_stays_new(pictures, tmp_path):
    model = classifier()
    for path in pictures.rglob("*.png"):
        path.write_bytes(b"no image")
    for folder in (pictures, tmp_path / "absent"):
        with pytest.raises(InputError):
            learn_images(model, folder, **PIXELS)
    assert not hasattr(model, "learner_")


@pytest.mark.parametrize("new", [classifier, learner])
def test_a_model_that_has_learned_nothing_cannot_predict(new, pictures):
    with pytest.raises(InputError, match="call learn_images first"):
        predict_images(new(), pictures, device="cpu")


def test_a_model_of_tables_refuses_pictures(pictures, digits):
    model = clone(classifier()).fit(digits[0][:50], digits[1][:50])
    for function in (learn_images, predict_images):
        with pytest.raises(IF2NetError, match="learned from tables"):
            function(model, pictures, device="cpu")


def test_a_model_that_cannot_be_used_is_refused_before_the_backbone_is_loaded(pictures, digits):
    def show(done, total, text=""):
        pytest.fail(f"it is already {text}")

    of_tables, of_pictures = learner().learn(digits[0][:50], digits[1][:50]), learner()
    learn_images(of_pictures, pictures, **PIXELS)
    with pytest.raises(InputError, match="learned from tables"):
        learn_images(of_tables, pictures, **PIXELS, show=show)
    with pytest.raises(InputError, match="learned from tables"):
        predict_images(of_tables, pictures, device="cpu", show=show)
    with pytest.raises(InputError, match="This model only predicts"):
        learn_images(of_pictures.predictor(), pictures, **PIXELS, show=show)
    for function in (learn_images, predict_images):
        with pytest.raises(
            ConfigurationError, match="learned with the backbone pixels,size=8, and innate gives other"
        ):
            function(of_pictures, pictures, backbone="innate", device="cpu", show=show)


def test_predictions_of_pictures_use_one_model_while_another_thread_learns(pictures, monkeypatch):
    net = IF2Net(encoder="linear", device="cpu")
    learn_images(net, pictures, backbone="pixels,size=8", device="cpu")
    monkeypatch.setattr("if2net.images.folders.BLOCK", 2)
    probabilities = IF2Net.probabilities

    def learning_meanwhile(model, X, **options):
        net.learn(np.zeros((2, X.shape[1])), [f"a{len(net.classes)}"] * 2)  # sorts before the others
        return probabilities(model, X, **options)

    monkeypatch.setattr(IF2Net, "probabilities", learning_meanwhile)
    predicted = predict_images(net, pictures, device="cpu")
    assert predicted.predictions.tolist() == [path.parent.name for path in predicted.paths]


def test_a_pipe_named_like_a_picture_is_left_out(pictures):
    os.mkfifo(pictures / "red" / "pipe.png")
    learned = learn_images(IF2Net(encoder="linear", device="cpu"), pictures, backbone="pixels,size=8", device="cpu")
    assert "not a regular file" in learned.left_out[pictures / "red" / "pipe.png"]


@pytest.mark.parametrize("paths", [None, b"folder", 3, [None], [b"a"], [], "absent", ["absent/1.png"], "empty", "\0"])
@pytest.mark.parametrize("function", [learn_images, predict_images])
def test_paths_that_lead_to_no_images_are_refused_and_change_nothing(
    function, paths, pictures, tmp_path, monkeypatch, unchanged
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    model = learner()
    learn_images(model, pictures, **PIXELS)
    with unchanged(model), pytest.raises(InputError):
        function(model, paths, device="cpu")


@pytest.mark.parametrize("function", [learn_images, predict_images])
@pytest.mark.parametrize("model", [None, "model.if2", IF2Net])
def test_another_object_in_place_of_the_model_is_refused(function, model, pictures):
    with pytest.raises(InputError, match="must be an IF2NetClassifier or an IF2Net"):
        function(model, pictures)


@pytest.mark.parametrize("backbone", [3, b"pixels", ["pixels"], "pixels,size=100000", "pixels,size=0"])
def test_a_backbone_that_cannot_be_used_is_refused(backbone, pictures):
    with pytest.raises(ConfigurationError):
        learn_images(learner(), pictures, backbone=backbone, device="cpu")
