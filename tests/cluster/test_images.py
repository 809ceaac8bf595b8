"""Images on a local Ray: the workers compute features, and the result equals that of one machine."""

import numpy as np
import pytest
import torch
from coloured_images import write_images
from typer.testing import CliRunner

from if2net import IF2Net, cluster
from if2net.cli import app
from if2net.cluster import learning
from if2net.cluster.pool import fingerprint_of
from if2net.errors import ConfigurationError, IF2NetError, InputError
from if2net.images.extraction import extract
from if2net.images.extractor import load_extractor
from if2net.images.folders import ImageFolders, list_classes

ray = pytest.importorskip("ray")

PIXELS = "pixels,size=8"
CLASSES = ("blue", "green", "red")
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three classes with four images each, of different sizes; the classes differ in colour."""
    return write_images(tmp_path_factory.mktemp("pictures"), CLASSES, 4, 20, 30, growth=1)


@pytest.fixture
def broken(folder):
    path = folder / "green" / "broken.png"
    path.write_bytes(b"no image")
    yield path
    path.unlink()


@pytest.fixture
def image_model(new_learner):
    """A model that has learned images."""
    net = new_learner(encoder="linear", width=None).learn(torch.eye(192)[:4], ["blue", "red"] * 2)
    net.backbone = {"text": PIXELS, "identity": load_extractor(PIXELS).identity}
    return net


def assert_same(net, expected, X):
    assert net.classes.tolist() == expected.classes.tolist()
    assert net.tasks == expected.tasks
    assert net.decision.total.counts.sum() == expected.decision.total.counts.sum()
    assert net.backbone == expected.backbone
    # Sums in another order differ in the last bits of float32, see test_learning.py.
    np.testing.assert_allclose(net.scores(X), expected.scores(X), atol=1e-4)


def test_a_folder_is_learned_as_on_one_machine_and_broken_images_are_named(folder, broken, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "IMAGES_PER_BLOCK", 4)  # so that both workers count images
    models = [tmp_path / "plain.if2", tmp_path / "cluster.if2"]
    for model, words in zip(models, [[], ["--cluster", "auto", "--workers", "2"]], strict=True):
        command = ["learn", str(model), str(folder), "--backbone", PIXELS, "--device", "cpu", *words]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert "Learned 12 samples" in done.stdout
        assert "Left out (1):" in " ".join(done.stderr.split())
        assert "broken.png cannot be read" in " ".join(done.stderr.split())
    expected, net = (IF2Net.load(model, "cpu") for model in models)
    images = [path for path in sorted(folder.rglob("*.png")) if path != broken]
    assert_same(net, expected, extract(images, load_extractor(PIXELS)).X)


def test_images_in_memory_are_learned_with_an_extractor_that_is_sent_to_the_workers(folder, extractor):
    settings = {"encoder": "linear", "device": "cpu"}
    expected = IF2Net(**settings).learn(ImageFolders(list_classes([folder])[0], extractor))
    expected.backbone = {"text": "small", "identity": extractor.identity}
    images = ray.data.read_images(str(folder), include_paths=True, mode="RGB", override_num_blocks=3)
    net = cluster.learn(IF2Net(**settings), images, backbone=extractor, workers=1)
    assert_same(net, expected, extract(sorted(folder.rglob("*.png")), extractor).X)


def test_a_dataset_without_a_readable_image_changes_nothing(broken, image_model, unchanged, new_learner):
    paths = ray.data.from_items([{"path": str(broken), "label": "green"}])
    with (
        unchanged(image_model),
        pytest.raises(InputError, match=r"No image could be used: .*broken.png cannot be read"),
    ):
        cluster.learn(image_model, paths, workers=1)
    with pytest.raises(InputError, match=r"None of the first images could be used: .*broken.png cannot be read"):
        cluster.learn(new_learner(), paths, backbone=PIXELS)


WRONG = {
    "no labels": ([{"image": 0}], None, "no labels besides the column 'image'"),
    "the images as labels": ([{"image": 0, "label": 1}], "image", "no labels besides the column 'image'"),
    "no images": ([{"pixels": 0, "label": 1}], None, "column 'image' of pixels or 'path' of image files"),
    "no such label": ([{"image": 0, "kind": 1}], "kid", "did you mean 'kind'"),
    "a label is missing": ([{"path": "a.png", "label": None}], None, "every sample needs a label"),
    "another kind of label": ([{"path": "a.png", "label": 1}], None, "use one kind for all classes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_dataset_that_cannot_be_learned_is_refused(name, image_model, unchanged):
    rows, label, sentence = WRONG[name]
    with unchanged(image_model), pytest.raises(IF2NetError, match=sentence):
        cluster.learn(image_model, ray.data.from_items(rows), label)


def test_a_missing_file_is_an_error_and_is_not_left_out(new_learner, tmp_path):
    paths = ray.data.from_items([{"path": str(tmp_path / "1.png"), "label": "owl"}])
    with pytest.raises(InputError, match="every machine must find the images under the same paths"):
        cluster.learn(new_learner(), paths, backbone=PIXELS)


def test_another_backbone_is_refused_and_so_is_any_for_a_model_of_tables(image_model, extractor, new_learner):
    paths = ray.data.from_items([{"path": "1.png", "label": "owl"}])
    for other in ("pixels,size=9", extractor):
        with pytest.raises(ConfigurationError, match="learned with"):
            cluster.learn(image_model, paths, backbone=other)
    table = new_learner().learn(torch.eye(4), [0, 1, 0, 1])
    for backbone in (PIXELS, extractor):
        with pytest.raises(IF2NetError, match="learn a new model"):
            cluster.learn(table, paths, backbone=backbone)


def test_images_without_a_backbone_are_refused(folder, new_learner):
    for included in (False, True):
        images = ray.data.read_images(str(folder), include_paths=included)
        with pytest.raises(InputError, match="set `backbone`"):
            cluster.learn(new_learner(), images)


def test_a_class_that_the_backbone_was_trained_on_is_refused(folder, extractor, new_learner):
    extractor.backbone.seen_classes = ("green",)
    images = ray.data.read_images(str(folder), include_paths=True)
    with pytest.raises(ConfigurationError, match="small was trained on 'green'"):
        cluster.learn(new_learner(), images, backbone=extractor)


def test_a_single_byte_of_an_image_changes_the_fingerprint_of_a_block():
    images = np.empty(2, dtype=object)
    images[:] = [np.zeros((40, 40, 3), np.uint8), np.zeros((50, 40, 3), np.uint8)]
    before = fingerprint_of({"image": images})
    assert fingerprint_of({"image": images.copy()}) == before
    images[1][25, 20, 1] = 1
    assert fingerprint_of({"image": images}) != before
