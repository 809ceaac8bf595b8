import tomllib
from importlib.resources import files

import pytest

from if2net.errors import ConfigurationError
from if2net.study.bench import hyperparameters
from if2net.study.bench.search import proposals
from if2net.study.bench.settings import resolve
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS

FILE = tomllib.loads(files("if2net.study.bench").joinpath("hyperparameters.toml").read_text())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_space_that_starts_with_possible_settings(method):
    space, fixed = hyperparameters.space(method)
    (start,) = proposals(method, space, [], fixed)
    assert resolve([method], "agnostic", [*fixed, *((method, key, value) for key, value in start.items())])


def test_a_method_without_a_space_needs_a_grid(monkeypatch):
    monkeypatch.setattr(hyperparameters, "_file", dict)
    with pytest.raises(ConfigurationError, match="no space to search for none"):
        hyperparameters.space("none")
    with pytest.raises(ConfigurationError, match=r"for ncm under the aware .* such as standardise=A,B"):
        hyperparameters.space("ncm", "aware")
    with pytest.raises(ConfigurationError, match="There is no method 'nmc'; did you mean 'ncm'"):
        hyperparameters.space("nmc", "aware")


def test_settings_of_the_user_have_priority_over_those_of_the_search(monkeypatch):
    monkeypatch.setattr(hyperparameters, "_file", lambda: {"ewc": {"best": {"mnist": {"strength": 7.0}}}})
    searched = hyperparameters.searched(["ewc", "none"], "mnist", "agnostic")
    assert resolve(["ewc", "none"], "agnostic", searched)["ewc"].strength == 7
    assert resolve(["ewc"], "agnostic", [*searched, ("ewc", "strength", "3")])["ewc"].strength == 3
    assert hyperparameters.searched(["ewc"], "mnist", "aware") == []


def test_a_method_that_diverges_with_its_best_settings_has_milder_ones(monkeypatch):
    entry = {
        "best": {"mnist": {"rate": 0.2, "epochs": 3}, "digits": {"rate": 0.2}},
        "milder": {"mnist": {"rate": 0.1}},
    }
    monkeypatch.setattr(hyperparameters, "_file", lambda: {"si": entry})
    expected = [("si", "rate", 0.1), ("si", "epochs", 3)]
    assert hyperparameters.searched(["si"], "mnist", "agnostic") == expected
    assert hyperparameters.searched(["si"], "digits", "agnostic") == [("si", "rate", 0.2)]


def test_the_features_of_an_innate_network_have_settings_of_their_own(monkeypatch):
    best = {"images": {"gamma": 1.0}, "cifar100@innate": {"gamma": 2.0}, "fashion-mnist@innate": {"gamma": 3.0}}
    monkeypatch.setattr(hyperparameters, "_file", lambda: {"acil": {"best": {"mnist": {"gamma": 4.0}, **best}}})
    expected = {
        ("cifar10", "innate"): 2.0,
        ("cifar10", "innate-adapted,flip=no"): 2.0,
        ("mnist", "innate,flip=no"): 3.0,
        ("mnist", None): 4.0,
        ("mnist", "pixels"): 1.0,
        ("cifar10", "innate-large"): 1.0,  # not searched
    }
    for (dataset, backbone), gamma in expected.items():
        found = hyperparameters.searched(["acil"], dataset, "agnostic", backbone=backbone)
        assert found == [("acil", "gamma", gamma)]


def test_a_list_from_a_settings_file_is_no_innate_encoder():
    given = [(None, "encoder", ["innate"])]
    assert hyperparameters.for_pictures(parse_scenario("mnist-10/5"), "agnostic", given) == []


def test_every_entry_is_a_method():
    assert set(FILE) <= set(METHODS)
