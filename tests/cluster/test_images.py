"""Images on a local Ray: workers turn them into features, and learn what one machine learns."""

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from if2net import IF2Net, cluster
from if2net.cli import app
from if2net.cluster import learning
from if2net.cluster.backbones import text_of
from if2net.cluster.images import framed
from if2net.cluster.worker import fingerprint_of
from if2net.errors import ConfigurationError, IF2NetError, InputError
from if2net.images.backbones.base import Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.extraction import extract
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.folders import ImageFolders
from if2net.images.read import Framing, read_image

ray = pytest.importorskip("ray")

PIXELS = "pixels,size=8"
CLASSES = ("blue", "green", "red")
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three classes of four images of different sizes, told apart by their colour."""
    folder = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(0)
    for place, name in enumerate(CLASSES):
        (folder / name).mkdir()
        for number in range(4):
            pixels = random.integers(0, 100, (20 + number, 30, 3), dtype=np.uint8)
            pixels[:, :, 2 - place] += 150
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def broken(folder):
    path = folder / "green" / "broken.png"
    path.write_bytes(b"no image")
    yield path
    path.unlink()


@pytest.fixture
def extractor():
    """A user's own network, which no name stands for."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(4, 6, 3, 2))
    return Extractor(Network("own", module.eval(), Preprocessing(Framing(32, 28), (127.0,) * 3, (128.0,) * 3)))


@pytest.fixture
def seeing(new_learner):
    """A model that has learned through a backbone."""
    net = new_learner(encoder="linear", width=None).learn(torch.eye(192)[:4], ["blue", "red"] * 2)
    net.backbone = {"text": PIXELS, "identity": load_extractor(PIXELS).identity}
    return net


def assert_same(found, expected, X):
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.tasks == expected.tasks
    assert found.decision.counts.sum() == expected.decision.counts.sum()
    assert found.backbone == expected.backbone
    # Sums in another order differ in the last bits of float32, see the test of them in test_cluster.py.
    np.testing.assert_allclose(found.scores(X), expected.scores(X), atol=1e-4)


def test_a_folder_is_learned_as_without_a_cluster_and_broken_images_are_named(folder, broken, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "BLOCK", 4)  # so that both workers have something to do
    models = [tmp_path / "plain.if2", tmp_path / "cluster.if2"]
    for model, words in zip(models, [[], ["--cluster", "auto", "--workers", "2"]], strict=True):
        command = ["learn", str(model), str(folder), "--backbone", PIXELS, "--device", "cpu", *words]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert "Learned 12 samples" in done.stdout
        assert "Left out (1):" in " ".join(done.stderr.split())
        assert "broken.png cannot be read" in " ".join(done.stderr.split())
    expected, found = (IF2Net.load(model, "cpu") for model in models)
    images = [path for path in sorted(folder.rglob("*.png")) if path != broken]
    assert_same(found, expected, extract(images, load_extractor(PIXELS)).X)


def test_images_in_memory_are_learned_with_a_backbone_that_is_sent_to_the_workers(folder, extractor):
    settings = {"encoder": "linear", "device": "cpu"}
    expected = IF2Net(**settings).learn(ImageFolders([folder], extractor))
    expected.backbone = {"text": "own", "identity": extractor.identity}
    images = ray.data.read_images(str(folder), include_paths=True, mode="RGB", override_num_blocks=3)
    found = cluster.learn(IF2Net(**settings), images, backbone=extractor, workers=1)
    assert_same(found, expected, extract(sorted(folder.rglob("*.png")), extractor).X)


def test_what_has_no_image_that_can_be_read_leaves_a_model_as_it_was(broken, seeing, unchanged, new_learner):
    paths = ray.data.from_items([{"path": str(broken), "label": "green"}])
    with unchanged(seeing), pytest.raises(InputError, match=r"No image could be used: .*broken.png cannot be read"):
        cluster.learn(seeing, paths, workers=1)
    with pytest.raises(InputError, match=r"None of the first images could be used: .*broken.png cannot be read"):
        cluster.learn(new_learner(), paths, backbone=PIXELS)


WRONG = {
    "no labels": ([{"image": 0}], None, "no labels beside the column 'image'"),
    "the images as labels": ([{"image": 0, "label": 1}], "image", "no labels beside the column 'image'"),
    "no images": ([{"pixels": 0, "label": 1}], None, "column 'image' of pixels or 'path' of image files"),
    "no such label": ([{"image": 0, "kind": 1}], "kid", "did you mean 'kind'"),
    "a label is missing": ([{"path": "a.png", "label": None}], None, "every sample needs a label"),
    "another kind of label": ([{"path": "a.png", "label": 1}], None, "use one kind for all classes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_dataset_that_cannot_be_learned_from_is_refused_in_a_sentence(name, seeing, unchanged):
    rows, label, sentence = WRONG[name]
    with unchanged(seeing), pytest.raises(IF2NetError, match=sentence):
        cluster.learn(seeing, ray.data.from_items(rows), label)


def test_a_file_that_a_machine_does_not_find_is_no_image_to_leave_out(new_learner, tmp_path):
    paths = ray.data.from_items([{"path": str(tmp_path / "1.png"), "label": "owl"}])
    with pytest.raises(InputError, match="every machine must find the images under the same paths"):
        cluster.learn(new_learner(), paths, backbone=PIXELS)


def test_another_backbone_is_refused_and_so_is_one_for_a_model_of_tables(seeing, extractor, new_learner):
    paths = ray.data.from_items([{"path": "1.png", "label": "owl"}])
    for other in ("pixels,size=9", extractor):
        with pytest.raises(ConfigurationError, match="learned with"):
            cluster.learn(seeing, paths, backbone=other)
    table = new_learner().learn(torch.eye(4), [0, 1, 0, 1])
    for some in (PIXELS, extractor):
        with pytest.raises(IF2NetError, match="learn a new model"):
            cluster.learn(table, paths, backbone=some)


def test_images_without_a_backbone_are_told_to_take_one(folder, new_learner):
    for included in (False, True):
        images = ray.data.read_images(str(folder), include_paths=included)
        with pytest.raises(InputError, match="say which backbone"):
            cluster.learn(new_learner(), images)


def test_a_class_that_the_backbone_has_seen_is_refused(folder, extractor, new_learner):
    extractor.backbone.seen_classes = ("green",)
    images = ray.data.read_images(str(folder), include_paths=True)
    with pytest.raises(ConfigurationError, match="own was trained on 'green'"):
        cluster.learn(new_learner(), images, backbone=extractor)


def test_an_image_in_memory_is_framed_as_its_file(folder):
    path, framing = folder / "red" / "3.png", Framing(10, 8)
    pixels = np.asarray(Image.open(path))
    np.testing.assert_array_equal(framed(pixels, framing), read_image(path, framing))
    with pytest.raises(InputError, match="height × width × 3 bytes"):
        framed(pixels.astype(np.float32), framing)


def test_an_extractor_says_its_options():
    for text in ("pixels", "pixels,flip=yes,size=8"):
        assert text_of(load_extractor(text)) == text


def test_blocks_of_images_of_different_sizes_differ_in_a_single_byte():
    images = np.empty(2, dtype=object)
    images[:] = [np.zeros((40, 40, 3), np.uint8), np.zeros((50, 40, 3), np.uint8)]
    before = fingerprint_of({"image": images})
    assert fingerprint_of({"image": images.copy()}) == before
    images[1][25, 20, 1] = 1
    assert fingerprint_of({"image": images}) != before
