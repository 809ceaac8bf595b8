import gzip
import os
import tracemalloc

import numpy as np
import pytest

from if2net.errors import ConfigurationError, InputError
from if2net.study.data import DATASETS, load_dataset
from if2net.study.data.datasets import _rows, read_idx


def idx_bytes(array):
    header = b"\x00\x00\x08" + bytes([array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def small_mnist(tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir()
    random = np.random.default_rng(0)
    for prefix, count in (("train", 30), ("t10k", 20)):
        images = random.integers(0, 256, (count, 28, 28))
        (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(images)))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx_bytes(np.arange(count) % 10))
    return tmp_path


def test_digits_need_no_download():
    data = load_dataset("digits")
    assert (len(data.train_y) + len(data.test_y), data.classes) == (1797, 10)
    assert data.train_X.min() >= 0
    assert data.train_X.max() <= 1


@pytest.mark.parametrize("where", ["parent", "itself", "environment"])
def test_idx_files_are_found_by_folder_and_by_environment(small_mnist, where, monkeypatch):
    if where == "environment":
        monkeypatch.setenv("IF2NET_DATA", str(small_mnist))
        data = load_dataset("mnist")
    else:
        data = load_dataset("mnist", small_mnist if where == "parent" else small_mnist / "mnist")
    assert data.train_X.shape == (30, 784)
    assert data.test_X.shape == (20, 784)
    assert data.train_X.max() <= 1


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ((30, 28, 28), (29,)),
        ((30, 28, 28), (30, 1)),
        ((0, 28, 28), (0,)),
        ((30, 0, 28), (30,)),
        ((30,), (30,)),
        ((), ()),
    ],
    ids=str,
)
def test_images_and_labels_that_do_not_belong_together_are_refused(small_mnist, images, labels):
    (small_mnist / "mnist" / "train-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros(images)))
    (small_mnist / "mnist" / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(labels)))
    with pytest.raises(InputError, match=r"images-idx3-ubyte and .*labels-idx1-ubyte do not belong together"):
        load_dataset("mnist", small_mnist)


def test_training_and_test_images_of_different_sizes_are_refused(small_mnist):
    (small_mnist / "mnist" / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((20, 27, 28))))
    with pytest.raises(InputError, match="differ in size"):
        load_dataset("mnist", small_mnist)


def test_the_error_for_missing_data_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("IF2NET_DATA", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(ConfigurationError, match="DIR as the data folder or set IF2NET_DATA"):
        load_dataset("mnist", tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_dataset("mnist", tmp_path / "nowhere")


def test_the_error_for_an_unknown_data_set_offers_similar_names():
    with pytest.raises(ConfigurationError, match="did you mean 'mnist'"):
        load_dataset("minst")


@pytest.mark.parametrize("content", [b"", b"\x00\x00\x08", b"hello world", idx_bytes(np.zeros((3, 4)))[:-1]])
def test_the_error_for_a_broken_idx_file_names_it(tmp_path, content):
    path = tmp_path / "broken-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(InputError, match="broken-idx3-ubyte"):
        read_idx(path)


def test_the_error_for_a_broken_gzip_file_names_it(tmp_path):
    path = tmp_path / "broken.gz"
    path.write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(InputError, match=r"broken\.gz"):
        read_idx(path)


@pytest.mark.parametrize("shape", [(2**31, 2**31), (3, 4), (3, 6), (1 << 15, 1 << 16)])
def test_an_idx_file_that_does_not_hold_what_it_announces_is_refused(tmp_path, shape):
    path = tmp_path / "bomb.gz"
    sizes = b"".join(size.to_bytes(4, "big") for size in shape)
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x02" + sizes + b"\x00" * 15))
    with pytest.raises(InputError, match=r"bomb\.gz .* header says"):
        read_idx(path)


def test_an_idx_file_that_would_fill_the_memory_is_refused_unread(tmp_path):
    path = tmp_path / "large-idx3-ubyte"
    path.write_bytes(b"\x00\x00\x08\x03" + b"".join(size.to_bytes(4, "big") for size in (400_000, 28, 28)))
    os.truncate(path, 16 + 400_000 * 28 * 28)
    tracemalloc.start()
    with pytest.raises(InputError, match="too large"):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_images_become_numbers_without_a_second_copy():
    images = np.arange(256, dtype=np.uint8).repeat(1 << 12).reshape(-1, 32, 32)
    tracemalloc.start()
    rows = _rows(images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * rows.nbytes
    assert (rows == images.reshape(len(images), -1).astype(np.float32) / np.float32(255)).all()


def test_all_data_sets_have_a_summary_and_a_licence():
    assert all(source.summary and source.licence for source in DATASETS.values())
