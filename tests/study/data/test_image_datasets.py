import sys
from collections import Counter
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from if2net.errors import ConfigurationError, InputError
from if2net.images.folders import class_folders
from if2net.study.bench.loading import load_rows
from if2net.study.data import IMAGE_DATASETS, is_image_dataset, load_images, parse_scenario
from if2net.study.data.image_files import split
from if2net.study.data.unpacked import RECORD


def write(folder, *names):
    """Create empty files; loading a data set does not open its images."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def numbered(folder, classes, count, pattern="{label}/{number}.jpg"):
    write(folder, *(pattern.format(label=label, number=number) for label in classes for number in range(count)))


@pytest.fixture(autouse=True)
def no_hub(monkeypatch, tmp_path):
    monkeypatch.delenv("IF2NET_DATA", raising=False)
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("if2net.study.data.hub.is_installed", lambda: False)


@pytest.mark.parametrize("testing", ["test", "val"])
def test_folders_of_training_and_test_images_are_read(tmp_path, testing):
    for part, count in (("train", 5), (testing, 2)):
        numbered(tmp_path / "cifar100" / part, ["ant", "bee"], count)
    data = load_images("cifar100", tmp_path)
    assert data.classes == ("ant", "bee")
    assert (len(data.train.paths), len(data.test.paths)) == (10, 4)
    assert [path.parent.name for path in data.test.paths] == ["ant", "ant", "bee", "bee"]
    assert data.test.labels.tolist() == [0, 0, 1, 1]


def test_a_table_of_pixels_is_written_as_images_once(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    (tmp_path / "mnist").mkdir()
    written = {}
    for part, prefix, count in (("train", "train", 24), ("test", "t10k", 12)):
        pictures, labels = random.integers(0, 256, (count, 28, 28)), random.permutation(np.arange(count) % 12)
        for name, values in (("images-idx3-ubyte", pictures), ("labels-idx1-ubyte", labels)):
            head = bytes([0, 0, 8, values.ndim]) + b"".join(side.to_bytes(4, "big") for side in values.shape)
            (tmp_path / "mnist" / f"{prefix}-{name}").write_bytes(head + values.astype(np.uint8).tobytes())
        written[part] = pictures, labels
    data = load_images("mnist", tmp_path)
    for part, (pictures, labels) in written.items():
        files = getattr(data, part)
        places = [int(path.stem) for path in files.paths]
        assert files.labels.tolist() == labels[places].tolist()
        assert sorted(places) == list(range(len(labels)))
        for path, place in zip(files.paths, places, strict=True):
            assert (np.asarray(Image.open(path)) == pictures[place][..., None]).all()
    monkeypatch.setattr("if2net.study.data.unpacked.write_image", lambda *_: pytest.fail("written again"))
    assert load_images("mnist", tmp_path).train.paths == data.train.paths


def test_cub_keeps_its_official_split(tmp_path):
    root = tmp_path / "cub200" / "CUB_200_2011"
    names = ["001.Albatross/a.jpg", "001.Albatross/b.jpg", "002.Tern/c.jpg", "002.Tern/d.jpg"]
    write(root / "images", *names)
    (root / "images.txt").write_text("".join(f"{i} {name}\n" for i, name in enumerate(names, 1)))
    (root / "train_test_split.txt").write_text("1 1\n2 0\n3 0\n4 1\n")
    data = load_images("cub200", tmp_path)
    assert [path.name for path in data.train.paths] == ["a.jpg", "d.jpg"]
    assert [path.name for path in data.test.paths] == ["b.jpg", "c.jpg"]
    assert data.test.labels.tolist() == [0, 1]


def test_stanford_dogs_has_a_fixed_split_with_100_training_images_per_class(tmp_path):
    numbered(tmp_path / "stanford-dogs" / "Images", ["n01-Husky", "n02-Pug"], 130)
    data, again = (load_images("stanford-dogs", tmp_path) for _ in range(2))
    assert Counter(data.train.labels.tolist()) == {0: 100, 1: 100}
    assert Counter(data.test.labels.tolist()) == {0: 30, 1: 30}
    assert data.train.paths == again.train.paths
    assert not set(data.train.paths) & set(data.test.paths)


def test_tiny_imagenet_is_tested_on_its_annotated_part(tmp_path):
    root = tmp_path / "tiny-imagenet" / "tiny-imagenet-200"
    numbered(root / "train", ["n1", "n2"], 3, "{label}/images/{label}_{number}.JPEG")
    write(root / "val" / "images", "val_0.JPEG", "val_1.JPEG")
    (root / "val" / "val_annotations.txt").write_text("val_0.JPEG\tn2\t0\t0\t1\t1\nval_1.JPEG\tn1\t0\t0\t1\t1\n")
    data = load_images("tiny-imagenet", tmp_path)
    assert [path.name for path in data.test.paths] == ["val_1.JPEG", "val_0.JPEG"]
    assert len(data.train.paths) == 6


def test_caltech_omits_the_background_class(tmp_path):
    numbered(tmp_path / "caltech101" / "101_ObjectCategories", ["ant", "bee", "BACKGROUND_Google"], 40)
    data = load_images("caltech101", tmp_path)
    assert data.classes == ("ant", "bee")
    assert Counter(data.train.labels.tolist()) == {0: 30, 1: 30}


def test_imagenet100_has_the_listed_classes(tmp_path):
    for part in ("train", "val"):
        numbered(tmp_path / "imagenet100" / part, ["n1", "n2", "n3"], 2)
    chosen = tmp_path / "imagenet100" / "classes.txt"
    chosen.write_text("n3 tench\nn1\n")
    assert load_images("imagenet100", tmp_path).classes == ("n1", "n3")
    chosen.write_text("n9\n")
    with pytest.raises(InputError, match="no folder n9"):
        load_images("imagenet100", tmp_path)


def test_a_users_own_folder_gets_a_fixed_split(tmp_path):
    numbered(tmp_path / "mine", ["a", "b"], 10)
    write(tmp_path / "mine", "a/notes.txt", "a/.hidden.jpg", ".git/x.jpg")
    data = load_images(f"folder:{tmp_path / 'mine'}")
    assert data.classes == ("a", "b")
    assert Counter(data.train.labels.tolist()) == {0: 8, 1: 8}
    assert Counter(data.test.labels.tolist()) == {0: 2, 1: 2}


def test_a_users_own_folder_names_what_belongs_to_no_class(tmp_path):
    for part in ("train", "test"):
        write(tmp_path / part, "a/1.jpg", "b/1.jpg", f"b/{part}.heic", "phone/1.heic")
    left_out = load_images(f"folder:{tmp_path}").left_out
    assert [path.name for path in left_out] == ["train.heic", "phone", "test.heic", "phone"]
    assert "phone has no image of a format that can be read" in left_out[tmp_path / "train" / "phone"]


def test_a_scenario_of_images_becomes_rows(pictures):
    (pictures / "red" / "broken.png").touch()
    (pictures / "stray.png").touch()
    scenario = parse_scenario(f"folder:{pictures}-3/3@pixels,size=8")
    data, left_out = load_rows(scenario, device="cpu")
    assert data.train_X.shape[1] == 192
    assert len(data.train_y) + len(data.test_y) == 12
    assert {path.name for path in left_out} == {"broken.png", "stray.png"}
    assert data.classes == 3
    assert set(data.test_y) == {0, 1, 2}


def cifar_binary(folder, count, classes=2):
    """Write records of `count` images; the first is red in its upper half."""
    records = np.zeros((count, RECORD), np.uint8)
    records[:, 0] = 19  # coarse classes are not used
    records[:, 1] = np.arange(count) % classes
    records[0, 2 : 2 + 512] = 255
    return records.tofile(folder)


def test_the_binary_version_of_cifar_is_unpacked_once(tmp_path, monkeypatch):
    root = tmp_path / "cifar100" / "cifar-100-binary"
    root.mkdir(parents=True)
    for file, count in (("train.bin", 6), ("test.bin", 4)):
        cifar_binary(root / file, count)
    (root / "fine_label_names.txt").write_text("apple\nbee\n")
    data = load_images("cifar100", tmp_path)
    assert data.classes == ("apple", "bee")
    assert (data.train.labels.tolist(), data.test.labels.tolist()) == ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1])
    pixels = np.asarray(Image.open(data.train.paths[0]))
    assert (pixels[:16] == [255, 0, 0]).all()
    assert not pixels[16:].any()
    monkeypatch.setattr("if2net.study.data.unpacked.write_image", lambda *_: pytest.fail("unpacked again"))
    assert load_images("cifar100", tmp_path).train.paths == data.train.paths


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("cub200", {"images.txt": b"1\n", "train_test_split.txt": b"1 1\n"}),
        ("cub200", {"images.txt": b"1 a/b.jpg\n2 a/c.jpg\n", "train_test_split.txt": b"1 1\n"}),
        ("cub200", {"images.txt": b"1 caf\xe9/b.jpg\n", "train_test_split.txt": b"1 1\n"}),
        ("tiny-imagenet", {"val/val_annotations.txt": b"no tab\n"}),
        ("imagenet100", {"classes.txt": b"\xe9\n", "train/a/b.jpg": b"", "val/a/b.jpg": b""}),
        ("cifar100", {"train.bin": b"", "test.bin": b"", "fine_label_names.txt": b"../apple bee"}),
        ("cifar100", {"train.bin": b"", "test.bin": b"", "fine_label_names.txt": b"apple apple"}),
        ("cifar100", {"train.bin": b"", "test.bin": b"", "fine_label_names.txt": b"caf\xe9"}),
    ],
)
def test_a_damaged_list_is_refused(tmp_path, name, files):
    for file, content in files.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"unpack .* again"):
        load_images(name, tmp_path)


@pytest.mark.parametrize("wrong", ["cut short", "more classes"])
def test_a_damaged_binary_version_is_refused_and_leaves_nothing(tmp_path, wrong):
    root = tmp_path / "cifar100"
    root.mkdir()
    for file in ("train.bin", "test.bin"):
        cifar_binary(root / file, 4, classes=3 if wrong == "more classes" else 2)
    (root / "fine_label_names.txt").write_text("apple\nbee\n")
    if wrong == "cut short":
        (root / "test.bin").write_bytes((root / "test.bin").read_bytes()[:-1])
    with pytest.raises(InputError, match="unpack the archive again"):
        load_images("cifar100", tmp_path)
    assert not list((tmp_path / "cache").rglob("*.png"))


@pytest.mark.parametrize("name", IMAGE_DATASETS)
def test_the_error_for_missing_images_says_how_to_get_them_and_names_the_licence(name, tmp_path):
    source = IMAGE_DATASETS[name]
    with pytest.raises(ConfigurationError) as raised:
        load_images(name, tmp_path)
    for part in (source.page, f"DIR/{name}", "IF2NET_DATA=DIR", source.licence):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "no sub-folders with images"),
        (["a/1.jpg", "b/1.jpg", "b/2.jpg"], "'a' lacks"),
        (["1.jpg"], "no sub-folders"),
        (["a/1.jpg", "a/2.jpg"], "only one class, 'a'"),
    ],
)
def test_a_folder_without_classes_or_enough_images_is_refused(tmp_path, files, message):
    write(tmp_path, *files)
    with pytest.raises(InputError, match=message):
        load_images(f"folder:{tmp_path}")


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_images(f"folder:{tmp_path / 'nowhere'}")


def test_a_split_gives_every_class_test_images(tmp_path):
    numbered(tmp_path, ["a", "b"], 3)
    data = split("x", class_folders(tmp_path), training=100)
    assert Counter(data.test.labels.tolist()) == {0: 1, 1: 1}


class FakeHub(ModuleType):
    """A stand-in for the Hugging Face library."""

    class Image:
        def __init__(self, decode=True):
            pass

    class ClassLabel:
        def __init__(self, names):
            self.names, self.num_classes = names, len(names)

    class Rows(list):
        features = None

        def cast_column(self, _column, _kind):
            return self

    testing = ("valid",)
    labels = (0, 1, 0, 1)
    names = ("cat", "dog/wolf")

    def load_dataset(self, name):
        if name == "owner/none":
            raise ConnectionError("no internet")
        features = {
            "img": self.Image(),
            "coarse": self.ClassLabel(["x"]),
            "fine": self.ClassLabel(self.names),
        }
        splits = {}
        for part in ("train", *self.testing):
            labels = [-1] * 4 if part == "test" else self.labels
            rows = [{"img": {"bytes": b"%d" % i, "path": None}, "coarse": 0, "fine": labels[i]} for i in range(4)]
            splits[part] = self.Rows(rows)
            splits[part].features = features
        return splits


@pytest.fixture
def fake_hub(monkeypatch):
    module = FakeHub("datasets")
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_data_set_of_the_hub_is_downloaded_once(fake_hub, monkeypatch):
    data = load_images("hub:owner/pets")
    assert data.classes == ("cat", "dog_wolf")
    assert [path.read_bytes() for path in data.test.paths] == [b"0", b"2", b"1", b"3"]
    monkeypatch.setattr(fake_hub, "load_dataset", lambda _: pytest.fail("downloaded again"))
    assert load_images("hub:owner/pets").train.paths == data.train.paths


def test_the_names_of_classes_do_not_lead_out_of_the_folder(fake_hub):
    fake_hub.names = ("..", "../../cat")
    assert load_images("hub:owner/wild").classes == ("_", "__.._cat")


def test_images_whose_class_is_not_published_are_not_used(fake_hub):
    fake_hub.testing, fake_hub.labels = ("test", "validation"), (0, 1, -1, 1)
    data = load_images("hub:owner/secret")
    assert [path.read_bytes() for path in data.test.paths] == [b"0", b"1", b"3"]
    assert data.test.labels.tolist() == data.train.labels.tolist() == [0, 1, 1]


def test_a_failed_download_is_an_error_with_the_reason_and_leaves_nothing(fake_hub, tmp_path):
    with pytest.raises(ConfigurationError, match="no internet"):
        load_images("hub:owner/none")
    assert not [path for path in (tmp_path / "cache").rglob("*") if "none" in path.name]


def test_scenarios_of_images_name_their_backbone():
    assert parse_scenario("cub200-100/10").backbone == "efficientnet-lite0"
    assert parse_scenario("cub200-100/10@pixels").backbone == "pixels"
    assert parse_scenario("cub200-100/10@pixels", "timm:vit").backbone == "timm:vit"
    other = parse_scenario("folder:/a-b/c-10/5@x.if2,pool=2")
    assert (other.dataset, other.classes, other.backbone) == ("folder:/a-b/c", 10, "x.if2,pool=2")
    assert parse_scenario(other.name) == other
    assert parse_scenario("mnist-10/5").backbone is None
    assert parse_scenario("mnist-10/5@innate").name == "mnist-10/5@innate"
    with pytest.raises(ConfigurationError, match="needs no backbone"):
        parse_scenario("digits-10/5", "pixels")


def test_classes_without_samples_are_not_drawn():
    y = np.repeat([1, 3, 5, 7], 3)
    data = SimpleNamespace(train_X=np.zeros((12, 2)), train_y=y, test_X=np.zeros((12, 2)), test_y=y, classes=8)
    order, tasks = parse_scenario("cifar100-4/2").stream(data, seed=0)
    assert sorted(order) == [1, 3, 5, 7]
    assert [len(task.train_y) for task in tasks] == [6, 6]


def test_names_of_image_data_sets_are_recognised():
    assert [is_image_dataset(name) for name in ("cub200", "folder:x", "hub:a/b", "digits")] == [
        True,
        True,
        True,
        False,
    ]
