import copy
import json

import pytest

from if2net.errors import ConfigurationError
from if2net.study.bench.merging import merge, merge_folders
from if2net.study.bench.results import write_json
from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_dataset, parse_scenario

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


def with_backbone(part, identity, scenario="cub200-100/10@resnet56"):
    runs = [{**run, "backbone": {"identity": identity, "pretrained_on": None}} for run in part["runs"]]
    return {**part, "scenario": scenario, "runs": runs}


def test_other_backbones_are_not_mixed(parts):
    same = merge([with_backbone(parts[1], "one"), with_backbone(parts[2], "one")])
    assert len(same["runs"]) == 3
    with pytest.raises(ConfigurationError, match="made with different backbones"):
        merge([with_backbone(parts[1], "one"), with_backbone(parts[2], "other")])


def test_where_every_seed_has_a_backbone_only_those_of_one_seed_must_be_the_same(parts):
    held_out = "cifar100-60/10@held-out"
    seed_one, seed_zero = (with_backbone(part, name, held_out) for part, name in zip(parts[1:], "ab", strict=True))
    assert len(merge([seed_one, seed_zero])["runs"]) == 3
    with pytest.raises(ConfigurationError, match="made with different backbones"):
        merge([seed_one, with_backbone(parts[0], "c", held_out)])


def test_runs_that_do_not_say_their_backbone_are_merged(parts):
    older = {**parts[1], "scenario": "cub200-100/10@resnet56"}
    assert len(merge([older, with_backbone(parts[2], "one")])["runs"]) == 3


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds no results\.json"):
        merge_folders([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()
