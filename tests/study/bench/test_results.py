import json
import math
import os
import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench.environment import _commit, environment
from if2net.study.bench.results import (
    Backbone,
    Results,
    merge_folders,
    pack,
    result_files,
    unpack,
    write_json,
)


def test_results_are_read_as_they_were_written(make_results, make_run, tmp_path):
    counts = pack(np.array([[8, 2, 0, 0], [0, 10, 0, 0], [0, 5, 4, 1], [0, 0, 0, 70_000]]))
    full = make_run(seed=1, confusion=counts, backbone=Backbone("1f", "ImageNet"))
    results = make_results(make_run(), full, settings={"if2net": {"width": 60, "ridge": None}})
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results


def test_the_file_has_the_documented_keys(make_results, make_run, tmp_path):
    make_results(make_run(), make_run(seed=1)).write(tmp_path / "results.json")
    written = json.loads((tmp_path / "results.json").read_text())
    lists = {"environments", "class_orders", "backbones"}
    assert set(written) == {"scenario", "protocol", *lists, "settings", "runs", "summary"}
    documented = {"method", "seed", "R", "independent", "acc", "bwt", "fwt", "seconds"}
    assert documented | {"state_bytes", "exemplars", "parameters"} <= set(written["runs"][0])
    assert written["runs"][0]["R"][0] == [0.9]
    assert written["summary"]["if2net"]["acc_mean"] == pytest.approx((0.65 + 0.7) / 2)
    assert {"acc_std", "bwt_mean"} <= set(written["summary"]["if2net"])


def test_every_run_names_its_environment_and_each_is_written_once(make_results, make_run, tmp_path):
    machines = [{"if2net": "0.2.0", "device": device} for device in ("cpu", "NVIDIA H200")]
    runs = [make_run(name, seed, environment=machines[seed % 2]) for name in ("if2net", "ncm") for seed in range(4)]
    results = make_results(*runs)
    results.write(tmp_path / "results.json")
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["environments"] == machines
    assert [run["environment"] for run in written["runs"]] == [0, 1] * 4
    assert Results.read(tmp_path / "results.json") == results
    assert [run.device for run in results.of("ncm")] == ["cpu", "NVIDIA H200"] * 2


def test_the_only_environment_is_not_numbered(make_results, make_run, tmp_path):
    results = make_results(make_run(), make_run(seed=1))
    results.write(tmp_path / "results.json")
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["environments"] == results.environments == [results.runs[0].environment]
    assert "environment" not in written["runs"][0]
    assert Results.read(tmp_path / "results.json") == results


def test_the_summary_has_mean_and_standard_deviation_over_the_seeds(make_results, make_run):
    summary = make_results(make_run(), make_run(seed=1), make_run("ncm")).summary
    assert set(summary) == {"if2net", "ncm"}
    assert summary["if2net"]["runs"] == 2
    assert summary["if2net"]["acc_std"] == pytest.approx(0.05 / 2**0.5)
    assert summary["ncm"]["acc_std"] == 0.0


def test_variants_are_methods_of_their_own(make_results, make_run):
    results = make_results(make_run(variant="one task per batch"), make_run(variant="tasks mixed"))
    assert results.methods() == ["if2net (one task per batch)", "if2net (tasks mixed)"]
    assert [run.variant for run in results.of("if2net (tasks mixed)")] == ["tasks mixed"]


def test_counts_survive_packing():
    counts = np.random.default_rng(0).integers(0, 1_000_000, (30, 30))
    assert (unpack(pack(counts), 30) == counts).all()


def changed(key, value):
    """A change of one field of the first run."""

    def change(content):
        content["runs"][0][key] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (changed("seed", "x"), r"'runs\.0\.seed' should be a valid integer, but is 'x'"),
        (lambda content: content["runs"][0].pop("method"), r"'runs\.0\.method' is missing"),
        (changed("R", [[0.5, 0.5], [0.5, 0.5]]), r"run of if2net with seed 0, R must have .*, but row 1 has 2\. Run"),
        (changed("R", [[0.5], [0.5]]), r"one accuracy in row 1, two in row 2 and so on, but row 2 has 1\. Run"),
        (changed("R", [[0.5]]), "R and 'independent' must have one entry per task, but they have 1 and 2"),
        (changed("R", [[0.5, None], [0.5, 0.5]]), r"it is of an older version, with null in R"),
        (
            lambda content: content.update(class_orders=[[1, 1, 2, 3]]),
            "run of if2net with seed 0, 'class_order' has a class twice",
        ),
        (
            lambda content: content.update(class_orders=[[-1, 1, 2, 3]]),
            r"'runs\.0\.class_order\.0' should be greater than or equal to 0",
        ),
        (lambda content: content.pop("class_orders"), "it has no list 'class_orders'"),
        (
            changed("class_order", [0, 1, 2, 3]),
            r"'runs\.0\.class_order' should be the index of one of 1 class_orders",
        ),
        (changed("parameters", 10**400), r"'runs\.0\.parameters' should be less than"),
        (changed("seed", 10**400), r"'runs\.0\.seed' should be less than"),
        (lambda content: content["runs"].append(content["runs"][0]), "the run of if2net with seed 0 is there twice"),
        (changed("R", [[1.5], [0.5, 0.5]]), r"'runs\.0\.R\.0\.0' should be less than or equal to 1"),
        (lambda content: content.update(scenario="digits-4/4"), r"R of if2net, seed 0, must have 4 rows"),
        (changed("independent", [0.5]), "R and 'independent' must have one entry per task, but they have 2 and 1"),
        (changed("confusion", "~~"), "'confusion' does not hold counts of 4 × 4 classes"),
        (changed("confusion", pack(np.eye(3, dtype=int))), "'confusion' does not hold counts of 4 × 4 classes"),
        (changed("seconds", {"learn": "long"}), r"'runs\.0\.seconds\.learn' should be a valid number"),
        (lambda content: content.update(protocol="psychic"), "protocol 'psychic' is none of agnostic"),
        (
            lambda content: content.update(scenario="digits"),
            "a scenario is written DATASET-CLASSES/TASKS, not 'digits'",
        ),
        (lambda content: content.update(scenario="digits-0/0", runs=[]), "not 'digits-0/0'"),
        (lambda content: content["environments"][0].pop("device"), "environment must name 'device'"),
        (lambda content: content.pop("environments"), "it has no list 'environments'"),
        (lambda content: content.update(environments=[7]), r"'runs\.0\.environment' should be .*, but is 7"),
        (lambda content: content["environments"].clear(), r"index of one of 0 environments.*, but is missing\. Run"),
        (
            lambda content: content["environments"].append({}),
            r"index of one of 2 environments.*, but is missing\. Run",
        ),
        (changed("environment", 1), r"'runs\.0\.environment' .* index of one of 1 environments.*, but is 1\. Run"),
        (changed("environment", -1), r"'runs\.0\.environment' should be the index .*, but is -1\. Run"),
        (changed("environment", 0.0), r"'runs\.0\.environment' should be the index .*, but is 0\.0\. Run"),
        (changed("environment", None), r"'runs\.0\.environment' should be the index .*, but is missing\. Run"),
        (changed("environment", {"device": "cpu"}), r"'runs\.0\.environment' should be the index .*'cpu'"),
        (lambda content: content.update(settings={"if2net": 3}), r"'settings\.if2net' should be an object"),
        (lambda content: content.update(runs={}), "'runs' should be a valid array"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name_and_the_field(change, complaint, make_results, tmp_path):
    path = tmp_path / "results.json"
    make_results().write(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigurationError, match=rf"results\.json is not a results file.*{complaint}"):
        Results.read(path)


@pytest.mark.parametrize("content", [b'{"runs": [', b"", b"[]", b"\xff\xfe\x00", b"[" * 100_000, b'{"a": NaN}'])
def test_a_foreign_file_is_refused(content, tmp_path):
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"results\.json is not a results file"):
        Results.read(tmp_path / "results.json")


@pytest.mark.parametrize("content", ["[]", "3", "null", '"runs"'])
def test_a_file_without_an_object_is_refused_in_a_sentence(content, tmp_path):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r": the content should be an object, but is .*\. Run it again"):
        Results.read(tmp_path / "results.json")


def test_classes_beyond_those_of_the_scenario_are_read(make_results, make_run, tmp_path):
    results = make_results(make_run(class_order=[99, 0, 57, 3]))
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results


def test_a_missing_file_and_an_ablation_are_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"results\.json cannot be read"):
        Results.read(tmp_path / "results.json")
    (tmp_path / "results.json").write_text('{"ablation": "table-init", "runs": []}')
    with pytest.raises(ConfigurationError, match=r"belongs to the ablation table-init\. .* see table\.md"):
        Results.read(tmp_path / "results.json")


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "results.json")
    with pytest.raises(ConfigurationError, match="not a regular file"):
        Results.read(tmp_path / "results.json")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused_and_the_old_file_stays(number, tmp_path):
    path = tmp_path / "results.json"
    write_json(path, {"acc": 0.5})
    before = path.read_bytes()
    with pytest.raises(NumericalError, match=r"results\.json was not written.*without test samples"):
        write_json(path, {"runs": [{"R": [[number]]}]})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "asked", "name"),
    [
        ("processor\t: 0\nmodel name\t: Some Core: 9\nmodel name\t: Another\n", "", "Some Core: 9"),
        ("processor\t: 0\n", "arm", "arm"),
        (None, "", "not known"),
    ],
    ids=["in the file", "asked for", "nowhere"],
)
def test_the_environment_names_the_processor(content, asked, name, monkeypatch):
    def read(_path):
        if content is None:
            raise FileNotFoundError
        return content

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(platform, "processor", lambda: asked)
    assert environment("cpu")["processor"] == name


@pytest.fixture
def _commit_is_not_known_yet(monkeypatch):
    monkeypatch.delenv("IF2NET_COMMIT", raising=False)
    _commit.cache_clear()
    yield
    _commit.cache_clear()


@pytest.mark.usefixtures("_commit_is_not_known_yet")
def test_without_a_checkout_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.study.bench.environment.__file__", str(tmp_path / "1/2/3/environment.py"))
    assert environment("cpu")["commit"] is None


@pytest.mark.usefixtures("_commit_is_not_known_yet")
def test_the_environment_variable_names_the_commit_also_in_a_checkout(monkeypatch):
    monkeypatch.setenv("IF2NET_COMMIT", "1234abcd")
    assert environment("cpu")["commit"] == "1234abcd"


@pytest.mark.usefixtures("_commit_is_not_known_yet")
def test_the_environment_has_the_date_and_in_a_checkout_the_commit():
    facts = environment("cpu")
    assert len(facts["date"]) == len("2026-01-31")
    if (Path(__file__).parents[3] / ".git").exists():
        assert len(facts["commit"].removesuffix("-dirty")) == 40


@pytest.mark.usefixtures("_commit_is_not_known_yet")
@pytest.mark.parametrize(("changed", "dirty"), [("results.json", False), ("code.py", True)])
def test_only_changed_code_makes_a_commit_dirty(changed, dirty, tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
    for name in ("results.json", "code.py"):
        (tmp_path / name).write_text("1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / changed).write_text("2")
    monkeypatch.setattr("if2net.study.bench.environment.__file__", str(tmp_path / "1/2/3/environment.py"))
    assert environment("cpu")["commit"].endswith("-dirty") == dirty


@pytest.fixture
def parts(make_results, make_run):
    """Three overlapping parts of the same results."""
    settings = {"if2net": {"width": 20}, "ncm": {}}
    return [
        make_results(make_run("ncm"), make_run("ncm", 1), settings={"ncm": {}}),
        make_results(make_run(seed=1), settings={"if2net": {"width": 20}}),
        make_results(make_run(), make_run("ncm"), settings=settings),
    ]


def test_parts_make_the_whole_in_any_order(parts):
    whole = [("if2net", 0), ("if2net", 1), ("ncm", 0), ("ncm", 1)]
    for order in (parts, parts[::-1]):
        merged = Results.merged(order)
        assert sorted((run.method, run.seed) for run in merged.runs) == whole
        assert merged.settings == {"if2net": {"width": 20}, "ncm": {}}
    assert Results.merged(parts).runs == Results.merged(parts[::-1]).runs


def test_folders_of_folders_are_merged_by_name(parts, tmp_path):
    for place, part in enumerate(parts):
        folder = tmp_path / f"part{place}" / "digits-agnostic"
        folder.mkdir(parents=True)
        part.write(folder / "results.json")
    (written,) = merge_folders([tmp_path / f"part{place}" for place in range(3)], tmp_path / "whole")
    assert written == tmp_path / "whole" / "digits-agnostic" / "results.json"
    assert Results.read(written) == Results.merged(parts)


def test_merging_loses_no_run_that_the_folder_holds_already(parts, tmp_path):
    for name, part in zip(("a", "b", "out"), parts, strict=True):
        (tmp_path / name).mkdir()
        part.write(tmp_path / name / "results.json")
    before = (tmp_path / "out" / "results.json").read_bytes()
    with pytest.raises(ConfigurationError, match=r"runs that the parts lack; give .*out as one of the parts"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert (tmp_path / "out" / "results.json").read_bytes() == before
    for _ in range(2):
        merge_folders([tmp_path / name for name in ("a", "b", "out")], tmp_path / "out")
    assert Results.read(tmp_path / "out" / "results.json") == Results.merged(parts)


def on(machine, part):
    """The same results, made on another machine."""
    return replace(part, runs=[replace(run, environment=machine) for run in part.runs])


def test_merged_runs_keep_their_environments(parts, tmp_path):
    machines = [{"if2net": "0.2.0", "device": device} for device in ("cpu", "NVIDIA H200", "NVIDIA A100")]
    parts = [on(machine, part) for machine, part in zip(machines, parts, strict=True)]
    merged = Results.merged(parts)
    assert {(run.method, run.seed): run.device for run in merged.runs} == {
        ("ncm", 0): "cpu",  # the last part has this run, too
        ("ncm", 1): "cpu",
        ("if2net", 1): "NVIDIA H200",
        ("if2net", 0): "NVIDIA A100",
    }
    merged.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == merged
    assert Results.merged([merged, merged]) == Results.merged([merged, *parts]) == merged
    assert merged.summary == Results.merged([on(machines[0], part) for part in parts]).summary


def test_other_settings_are_not_merged(parts, make_results, make_run):
    with pytest.raises(ConfigurationError, match="different settings of if2net"):
        Results.merged([*parts, make_results(make_run(seed=2), settings={"if2net": {"width": 30}})])


@pytest.mark.parametrize(("key", "other"), [("scenario", "digits-6/2"), ("protocol", "aware")])
def test_other_scenarios_and_protocols_are_not_merged(parts, key, other):
    with pytest.raises(ConfigurationError, match=f"choose parts of the same {key}"):
        Results.merged([parts[0], replace(parts[1], **{key: other})])


def with_backbone(part, identity, scenario="cub200-100/2@resnet56"):
    return replace(part, scenario=scenario, runs=[replace(run, backbone=Backbone(identity)) for run in part.runs])


def test_other_backbones_are_not_merged(parts):
    assert len(Results.merged([with_backbone(parts[1], "one"), with_backbone(parts[2], "one")]).runs) == 3
    with pytest.raises(ConfigurationError, match="have different backbones"):
        Results.merged([with_backbone(parts[1], "one"), with_backbone(parts[2], "other")])


def test_where_every_seed_has_a_backbone_only_those_of_one_seed_must_be_the_same(parts):
    held_out = "cifar100-60/2@held-out"
    seed_one, seed_zero = (with_backbone(part, name, held_out) for part, name in zip(parts[1:], "ab", strict=True))
    assert len(Results.merged([seed_one, seed_zero]).runs) == 3
    with pytest.raises(ConfigurationError, match="have different backbones"):
        Results.merged([seed_one, with_backbone(parts[0], "c", held_out)])


def test_runs_without_a_recorded_backbone_are_merged(parts):
    other = replace(parts[1], scenario="cub200-100/2@resnet56")
    assert len(Results.merged([other, with_backbone(parts[2], "one")]).runs) == 3


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds no results\.json"):
        result_files(tmp_path)
    with pytest.raises(ConfigurationError, match=r"holds no results\.json"):
        merge_folders([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()
