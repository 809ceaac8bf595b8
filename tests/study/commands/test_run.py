"""`if2net run` on pictures: IF2Net sees them through the innate encoder, and the command says so."""

import numpy as np
import pytest
from command_line import if2net

from if2net.study.bench.results import Results


@pytest.fixture
def pictures(tmp_path):
    """Forty random pictures of four classes in the files of MNIST."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    for prefix, count in (("train", 40), ("t10k", 8)):
        images, labels = random.integers(0, 256, (count, 28, 28)), np.arange(count) % 4
        for name, values in ((f"{prefix}-images-idx3-ubyte", images), (f"{prefix}-labels-idx1-ubyte", labels)):
            shape = b"".join(side.to_bytes(4, "big") for side in values.shape)
            head = bytes([0, 0, 8, values.ndim]) + shape
            (folder / name).write_bytes(head + values.astype(np.uint8).tobytes())
    return folder.parent


def test_pictures_are_seen_through_the_innate_encoder_unless_another_is_chosen(pictures, tmp_path):
    words = ("run", "mnist-4/2", "-m", "if2net", "-m", "ncm", "--data", pictures)
    said = if2net(*words, "--set", "if2net.width=0", "--out", tmp_path / "innate")
    assert "through the innate encoder" in said
    settings = Results.read(tmp_path / "innate" / "results.json").settings["if2net"]
    assert (settings["encoder"], settings["image_shape"]) == ("innate", "28x28")
    said = if2net(*words, "--set", "if2net.encoder=wide", "--set", "if2net.width=50", "--out", tmp_path / "wide")
    assert "innate" not in said
    assert Results.read(tmp_path / "wide" / "results.json").settings["if2net"]["encoder"] == "wide"
