"""A cache that nobody else uses."""

import pytest


@pytest.fixture(autouse=True)
def always_an_own_cache(own_cache):
    """For every test here."""
