import shlex
from dataclasses import asdict
from itertools import pairwise

import pytest

from if2net.study.bench import hyperparameters
from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.data import parse_scenario
from if2net.study.report.rerun import commands


def settings(method, protocol, pairs):
    given = hyperparameters.searched([method], "digits", protocol) + from_command_line(pairs)
    return asdict(resolve([method], protocol, given)[method])


def options(command, name):
    words = shlex.split(command)
    return [value for key, value in pairwise(words) if key == name]


@pytest.mark.parametrize("protocol", ["agnostic", "aware"])
@pytest.mark.parametrize("pairs", [[], ["width=70", "rule=gradient"], ["ridge=0.5", "direct=false"]])
def test_the_command_gives_the_settings_of_the_results(protocol, pairs, make_results, make_run):
    wanted = settings("if2net", protocol, pairs)
    runs = [make_run(seed=seed) for seed in (3, 4)]
    found = make_results(*runs, scenario="digits-4/2", protocol=protocol, settings={"if2net": wanted})
    (command,) = commands(found)
    assert command.startswith("if2net run digits-4/2 -m if2net")
    assert settings("if2net", protocol, options(command, "--set")) == wanted
    assert options(command, "--protocol") == ([] if protocol == "agnostic" else [protocol])
    assert (options(command, "--seed"), options(command, "--runs")) == (["3"], ["2"])


@pytest.mark.parametrize("pairs", [[], ["width=20"], ["encoder=wide"], ["encoder=innate-large"], ["layers=50"]])
def test_on_pictures_the_command_gives_the_settings_of_the_results(pairs, make_results, make_run):
    scenario = parse_scenario("mnist-4/2")

    def as_run(pairs):
        given = from_command_line(pairs)
        searched = hyperparameters.searched(["if2net"], scenario.dataset, "agnostic")
        best = hyperparameters.for_pictures(scenario, "agnostic", given) or searched
        return asdict(resolve(["if2net"], "agnostic", best + given)["if2net"])

    (command,) = commands(make_results(make_run(), scenario=scenario.name, settings={"if2net": as_run(pairs)}))
    assert as_run(options(command, "--set")) == as_run(pairs)


def test_seeds_with_a_gap_take_two_commands(make_results, make_run):
    found = make_results(make_run(seed=0), make_run(seed=5))
    assert [options(command, "--seed") for command in commands(found)] == [["0"], ["5"]]


def test_unknown_methods_and_datasets_are_no_error(make_results, make_run):
    found = make_results(make_run("gone"), scenario="lost-4/2", settings={"gone": {"width": 3}})
    assert commands(found) == ["if2net run lost-4/2 -m gone --seed 0 --runs 1"]
