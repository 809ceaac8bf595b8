import json
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from if2net.errors import ConfigurationError
from if2net.study.bench import hyperparameters
from if2net.study.bench.search import SEARCH_SEED
from if2net.study.bench.settings import resolve
from if2net.study.methods import METHODS

FILE = tomllib.loads(files("if2net.study.bench").joinpath("hyperparameters.toml").read_text())
RESULTS = Path(__file__).parents[3] / "results"
FOUND = [(method, key) for method, entry in FILE.items() for key in entry.get("found", {})]


def as_text(settings):
    return {name: str(value) for name, value in settings.items()}


@pytest.mark.parametrize("method", FILE)
def test_every_grid_is_of_settings_that_the_method_has(method):
    for key, values in hyperparameters.grid(method).items():
        for value in values:
            assert resolve([method], "agnostic", [(method, key, value)])[method]


# Ours were searched on their own, but for images.
OURS = [(method, key) for method, key in FOUND if method.startswith("if2net") and key != "images"]


@pytest.mark.parametrize(("method", "key"), sorted(set(FOUND) - set(OURS)))
def test_what_was_found_is_what_a_committed_search_found_best(method, key):
    search = json.loads((RESULTS / "search" / f"{key}-{method}.json").read_text())
    assert search["seed"] == SEARCH_SEED
    assert as_text(FILE[method]["found"][key]) == search["best"]["acc"]


@pytest.mark.parametrize(("method", "key"), OURS)
def test_what_was_found_for_ours_is_what_a_committed_search_found_best(method, key):
    """The agnostic protocol has a search for each encoder; the better of them counts."""
    folder, rule = RESULTS / "searched" / "tune", method.removeprefix("if2net").strip("-") or "analytic"
    protocol = "" if key.endswith(("aware", "transductive")) else "-agnostic"
    searches = [json.loads(path.read_text()) for path in folder.glob(f"{key}{protocol}-{rule}-*.json")]
    variant = next(iter(searches[0]["best"]))
    search = max(searches, key=lambda found: max(entry.get(variant, 0) for entry in found["tried"]))
    fixed = {name: value for _, name, value in search["fixed"] if name != "rule"}
    assert as_text(FILE[method]["found"][key]) == fixed | search["best"][variant]


def test_a_method_without_a_grid_needs_one():
    with pytest.raises(ConfigurationError, match="no grid for none to search"):
        hyperparameters.grid("none")


def test_what_was_found_comes_before_what_a_user_gives(monkeypatch):
    monkeypatch.setattr(hyperparameters, "_file", lambda: {"ewc": {"found": {"mnist": {"strength": 7.0}}}})
    found = hyperparameters.found(["ewc", "none"], "mnist", "agnostic")
    assert resolve(["ewc", "none"], "agnostic", found)["ewc"].strength == 7
    assert resolve(["ewc"], "agnostic", [*found, ("ewc", "strength", "3")])["ewc"].strength == 3
    assert hyperparameters.found(["ewc"], "mnist", "aware") == []


def test_all_names_are_methods():
    assert set(FILE) <= set(METHODS)
