"""Small pictures in the files of known data sets."""

import numpy as np
import pytest

from if2net.images.read import write_image


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


@pytest.fixture
def coloured(pictures):
    """Also pictures of four colours, with noise, in the folders of CIFAR-100."""
    random = np.random.default_rng(0)
    for label, colour in {"blue": (0, 0, 200), "green": (0, 200, 0), "red": (200, 0, 0), "white": (200,) * 3}.items():
        for part, count in (("train", 6), ("test", 3)):
            folder = pictures / "cifar100" / part / label
            folder.mkdir(parents=True)
            for number in range(count):
                noise = random.integers(0, 50, (32, 32, 3))
                write_image(folder / f"{number}.png", (noise + colour).astype(np.uint8))
    return pictures
