"""Numbers of two backbones never stand in one table, and what a backbone has seen is said beside its numbers."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from if2net import modelfile
from if2net.errors import ConfigurationError
from if2net.study.bench.backbones import check
from if2net.study.bench.display import results_table
from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan, checkpoint_path
from if2net.study.data import load_dataset, parse_scenario

DIGITS = load_dataset("digits")


def plan(seeds=(0,), methods=("ncm",)):
    return Plan(parse_scenario("digits-10/5"), resolve(methods, "agnostic", []), seeds)


def features(identity, pretrained_on="ImageNet"):
    return replace(DIGITS, backbone={"identity": identity, "pretrained_on": pretrained_on})


def test_every_run_says_its_backbone_and_a_table_has_none(tmp_path):
    run_plan(plan((0, 1)), features("old"), tmp_path)
    runs = json.loads((tmp_path / "results.json").read_text())["runs"]
    assert [run["backbone"] for run in runs] == [{"identity": "old", "pretrained_on": "ImageNet"}] * 2
    assert "backbone" not in run_plan(plan(), DIGITS, None)["runs"][0]


@pytest.mark.parametrize(
    "wanted", [plan(), plan((0, 1)), plan((1,)), plan(methods=("slda",))], ids=["same", "more", "other", "method"]
)
def test_results_of_another_backbone_are_not_gone_on_with(wanted, tmp_path):
    run_plan(plan(), features("old"), tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(ConfigurationError, match=r"no longer the one .* another folder with --out, or move"):
        run_plan(wanted, features("new"), tmp_path)
    assert (tmp_path / "results.json").read_bytes() == before
    assert len(run_plan(plan((0, 1)), features("old"), tmp_path)["runs"]) == 2


def test_results_that_do_not_say_their_backbone_are_gone_on_with(tmp_path):
    run_plan(plan(), DIGITS, tmp_path)
    assert len(run_plan(plan((0, 1)), features("new"), tmp_path)["runs"]) == 2


def test_where_every_seed_has_a_backbone_of_its_own_they_are_held_against_the_same_seed():
    wanted = replace(plan((0, 1)), scenario=parse_scenario("cifar100-60/10@held-out"))
    runs = [{"seed": seed, "backbone": {"identity": str(seed)}} for seed in (0, 1, 2)]
    check(wanted, Path("out"), runs, {0: "0", 1: "1"}.get)
    with pytest.raises(ConfigurationError, match="The backbone of seed 1 is no longer the one"):
        check(wanted, Path("out"), runs, {0: "0", 1: "another"}.get)


@pytest.mark.parametrize(("identity", "tasks"), [("old", [3, 4]), ("new", [0, 1, 2, 3, 4]), (None, [3, 4])])
def test_a_killed_run_goes_on_only_with_its_own_backbone(identity, tasks, tmp_path, monkeypatch):
    """One that was killed before checkpoints had the backbone is gone on with, as it always was."""
    monkeypatch.setattr("if2net.study.bench.stream.BETWEEN_CHECKPOINTS", 0.0)

    def kill_after_task_two(step):
        if step.task == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan(), features("old"), tmp_path, kill_after_task_two)
    if identity is None:
        path = checkpoint_path(tmp_path, "ncm", 0)
        tensors, header = modelfile.read(path)
        del header["backbone"]
        modelfile.write(path, tensors, header)
    seen = []
    run_plan(plan(), features(identity or "new"), tmp_path, seen.append)
    assert [step.task for step in seen] == tasks


@pytest.mark.parametrize(("pretrained_on", "said"), [("40 classes of [birds]", True), (None, False)])
def test_the_table_says_what_the_backbone_was_trained_on(pretrained_on, said):
    shown = StringIO()
    results = run_plan(plan(), features("old", pretrained_on), None)
    Console(file=shown, width=200).print(results_table(results))
    assert ("The backbone was trained on 40 classes of [birds]." in shown.getvalue()) == said
    assert ("trained on" in shown.getvalue()) == said
