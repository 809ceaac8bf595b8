"""All tests here use a cache of their own."""

import pytest


@pytest.fixture(autouse=True)
def always_an_own_cache(own_cache):
    """Use it in all tests of this folder."""
