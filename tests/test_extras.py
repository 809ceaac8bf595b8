"""Optional packages: a missing one is named together with the command that installs it."""

import sys

import pytest

from if2net.errors import ConfigurationError
from if2net.extras import require


def test_an_installed_module_is_returned():
    assert require("json.decoder", "tables", "This needs json").__name__ == "json.decoder"


def test_a_missing_package_is_an_error_that_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "json.decoder", None)
    with pytest.raises(ConfigurationError, match=r"^This needs json; run .*if2net\[tables\]'`\.$"):
        require("json.decoder", "tables", "This needs json")
