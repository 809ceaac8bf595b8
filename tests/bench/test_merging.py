import copy
import json

import pytest

from if2net.bench.merging import merge, merge_folders
from if2net.bench.results import write_json
from if2net.bench.runner import run_plan
from if2net.bench.settings import from_command_line, resolve
from if2net.bench.stream import Plan
from if2net.data import load_dataset, parse_scenario
from if2net.errors import ConfigurationError

DIGITS = load_dataset("digits")


def results(methods=("if2net", "ncm"), seeds=(0, 1), width=20):
    settings = resolve(
        methods, "agnostic", from_command_line([f"if2net.width={width}"] if "if2net" in methods else [])
    )
    return run_plan(Plan(parse_scenario("digits-10/5"), settings, seeds), DIGITS, None)


@pytest.fixture(scope="module")
def whole():
    return results()


@pytest.fixture(scope="module")
def parts():
    return [results(methods=("ncm",)), results(methods=("if2net",), seeds=(1,)), results(seeds=(0,))]


def timeless(found):
    found = copy.deepcopy(found)
    for run in found["runs"]:
        del run["seconds"]
    for entry in found["summary"].values():
        del entry["learn_seconds_mean"]
    found["summary"] = dict(sorted(found["summary"].items()))
    found["runs"].sort(key=lambda run: (run["method"], run["seed"]))
    return found


def test_parts_make_the_whole(whole, parts):
    assert timeless(merge(parts)) == timeless(whole)
    assert timeless(merge(parts[::-1])) == timeless(whole)


def test_folders_of_folders_are_merged_by_name(whole, parts, tmp_path):
    for place, part in enumerate(parts):
        folder = tmp_path / f"part{place}" / "digits-agnostic"
        folder.mkdir(parents=True)
        write_json(folder / "results.json", part)
    (written,) = merge_folders([tmp_path / f"part{place}" for place in range(3)], tmp_path / "whole")
    assert written == tmp_path / "whole" / "digits-agnostic" / "results.json"
    assert timeless(json.loads(written.read_text())) == timeless(whole)


def test_other_settings_are_not_mixed(parts):
    with pytest.raises(ConfigurationError, match="different settings of if2net"):
        merge([*parts, results(seeds=(2,), width=30)])


@pytest.mark.parametrize("key", ["scenario", "protocol"])
def test_other_scenarios_and_protocols_are_not_mixed(parts, key):
    with pytest.raises(ConfigurationError, match=f"choose parts of the same {key}"):
        merge([parts[0], {**parts[1], key: "another"}])


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds no results\.json"):
        merge_folders([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()
