"""A cache of its own for each test, and a record of the images that are read."""

import pytest

from if2net.images import read


@pytest.fixture(autouse=True)
def always_an_own_cache(own_cache):
    """Use it in all tests of this folder."""


@pytest.fixture
def images_read(monkeypatch):
    """The paths of the images that are read from files, in order."""
    paths = []
    original = read._opened
    monkeypatch.setattr(read, "_opened", lambda file, path: paths.append(path) or original(file, path))
    return paths
