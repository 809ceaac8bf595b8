import json
from dataclasses import replace

import numpy as np
import pytest

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench import workers
from if2net.study.bench.protocol import PROTOCOLS, accuracies
from if2net.study.bench.runner import run_plan, run_plans
from if2net.study.bench.search import search
from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_dataset, parse_scenario
from if2net.study.methods import METHODS

DIGITS = load_dataset("digits")
QUICK = ["width=60", "epochs=1", "steps=5", "hidden=16"]


def plan(methods=("if2net",), protocol="agnostic", seeds=(0,), **changes):
    names = [pair for pair in QUICK if pair.split("=")[0] in ("width", "epochs") or set(methods) & {"none", "joint"}]
    if not set(methods) & {"if2net", "if2net-ewc"}:
        names.remove("width=60")
    settings = resolve(methods, protocol, from_command_line(names))
    return replace(Plan(parse_scenario("digits-10/5"), settings, seeds, protocol), **changes)


def without_times(results):
    copy = json.loads(json.dumps(results))
    for run in copy["runs"]:
        del run["seconds"]
    for entry in copy["summary"].values():
        del entry["learn_seconds_mean"]
    return copy


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_gives_a_whole_matrix_and_summary(protocol):
    results = run_plan(plan(("if2net", "none"), protocol), DIGITS, None)
    assert len(results["runs"]) == 2 * len(PROTOCOLS[protocol])
    for run in results["runs"]:
        assert [sum(value is not None for value in row) for row in run["R"]] == [1, 2, 3, 4, 5]
        assert run["acc"] == pytest.approx(np.mean(run["R"][-1]))
        assert len(run["independent"]) == 5
    assert {"acc_mean", "acc_std", "bwt_mean", "fwt_mean"} <= set(next(iter(results["summary"].values())))


def test_the_same_seed_gives_the_same_results_twice():
    wanted = plan(("if2net", "if2net-ewc", "none", "joint"))
    assert without_times(run_plan(wanted, DIGITS, None)) == without_times(run_plan(wanted, DIGITS, None))


def test_another_seed_shuffles_the_classes():
    results = run_plan(plan(seeds=(0, 1)), DIGITS, None)
    first, second = (run["class_order"] for run in results["runs"])
    assert first != second
    assert sorted(first) == sorted(second) == list(range(10))


@pytest.mark.parametrize("method", ["if2net", "if2net-ewc", "none", "joint"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_killed_run_goes_on_and_ends_with_the_same_numbers(method, protocol, tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.study.bench.stream.BETWEEN_CHECKPOINTS", 0.0)
    wanted = plan((method,), protocol)
    whole = run_plan(wanted, DIGITS, None)

    def kill_after_task_two(step):
        if step.task == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(wanted, DIGITS, tmp_path, kill_after_task_two)
    seen = []
    resumed = run_plan(wanted, DIGITS, tmp_path, seen.append)
    assert [step.task for step in seen] == [3, 4]
    assert without_times(resumed) == without_times(whole)


def test_finished_runs_are_not_run_again_and_more_can_be_added(tmp_path):
    run_plan(plan(seeds=(0,)), DIGITS, tmp_path)
    seen = []
    results = run_plan(plan(seeds=(0, 1)), DIGITS, tmp_path, seen.append)
    assert {step.seed for step in seen} == {1}
    assert [run["seed"] for run in results["runs"]] == [0, 1]


@pytest.mark.parametrize(
    "other",
    [
        lambda: plan(protocol="aware"),
        lambda: plan(scenario=parse_scenario("digits-10/2")),
        lambda: replace(plan(), settings=resolve(["if2net"], "agnostic", from_command_line(["width=70"]))),
    ],
)
def test_results_of_other_settings_are_not_mixed(other, tmp_path):
    run_plan(plan(), DIGITS, tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(ConfigurationError, match="choose another folder"):
        run_plan(other(), DIGITS, tmp_path)
    assert (tmp_path / "results.json").read_bytes() == before


def test_a_broken_results_file_is_named_and_left_alone(tmp_path):
    (tmp_path / "results.json").write_text('{"runs": [')
    with pytest.raises(ConfigurationError, match=r"results\.json is not a results file"):
        run_plan(plan(), DIGITS, tmp_path)
    assert (tmp_path / "results.json").read_text() == '{"runs": ['


def test_agnostic_accuracies_do_not_depend_on_how_the_test_data_is_cut():
    _, tasks = parse_scenario("digits-10/5").stream(DIGITS, 0)
    settings = resolve(["if2net"], "agnostic", from_command_line(["width=60"]))["if2net"]
    method = METHODS["if2net"](64, 0, "cpu", settings)
    for task in tasks:
        method.learn(task.train_X, task.train_y)
    everything = np.concatenate([task.test_X for task in tasks])
    truth = np.concatenate([task.test_y for task in tasks])
    one_by_one = np.concatenate([method.predict(row[None]) for row in everything])
    assert (one_by_one == method.predict(everything)).all()
    sizes = [len(task.test_y) for task in tasks]
    by_task = accuracies(method, tasks, "agnostic", "")
    assert np.average(by_task, weights=sizes) == pytest.approx(np.mean(one_by_one == truth))


def test_the_search_never_sees_test_data(monkeypatch):
    poisoned = replace(DIGITS, test_X=np.full_like(DIGITS.test_X, np.nan))
    monkeypatch.setattr(workers, "dataset", lambda *_: poisoned)
    found = search(parse_scenario("digits-10/5"), None, "if2net", {"width": ["20", "200"]})
    assert found["best"]["acc"] == {"width": "200"}
    assert len(found["tried"]) == 2


def test_streams_side_by_side_give_the_numbers_of_one_after_the_other(tmp_path):
    plans = [plan(seeds=(0, 1)), plan(protocol="aware")]
    folders = [tmp_path / "agnostic", tmp_path / "aware"]
    for folder in folders:
        folder.mkdir()
    seen = []
    together = run_plans(list(zip(plans, folders, strict=True)), None, jobs=2, show=seen.append)
    assert len(seen) == 15
    for wanted, folder, found in zip(plans, folders, together, strict=True):
        assert without_times(found) == without_times(run_plan(wanted, DIGITS, None))
        assert json.loads((folder / "results.json").read_text()) == found
    assert run_plans(list(zip(plans, folders, strict=True)), None, jobs=2, show=seen.append) == together
    assert len(seen) == 15


def test_a_run_that_cannot_be_computed_ends_none_of_the_others(tmp_path):
    wanted = plan(("none", "if2net"), seeds=(0, 1))
    wild = replace(wanted.settings["none"], rate=1e9, steps=200)
    broken = replace(wanted, settings={**wanted.settings, "none": wild})
    with pytest.raises(
        NumericalError, match=r"All other runs .* kept.*\n.* none seed 0: .*diverged.*\n.* none seed 1"
    ):
        run_plans([(broken, tmp_path)], None)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert [(run["method"], run["seed"]) for run in kept["runs"]] == [("if2net", 0), ("if2net", 1)]
