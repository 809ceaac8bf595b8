import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from processes import forked
from rich.console import Console

from if2net.errors import ConfigurationError, InUseError, NumericalError
from if2net.study.bench.loading import Loader
from if2net.study.bench.protocol import PROTOCOLS, accuracies
from if2net.study.bench.results import Backbone, Results, Seconds
from if2net.study.bench.runner import check_backbones, folder_name, output_folder, run_plan, run_plans
from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.bench.terminal import results_table
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS


def without_times(results):
    """The runs with all times set to zero, and without the date and the threads."""
    machine = {"if2net": "0.2.0", "device": "cpu"}
    return [replace(run, seconds=Seconds(0.0, 0.0), environment=machine) for run in results.runs]


def kill_after_task_two(step):
    if step.task == 2:
        raise KeyboardInterrupt


def features(digits, identity, pretrained_on="ImageNet"):
    """Digits as if they were features from a backbone."""
    return replace(digits, backbone={"identity": identity, "pretrained_on": pretrained_on})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_gives_a_whole_matrix_and_summary(protocol, whole_run):
    runs = [run for method in ("if2net", "none") for run in whole_run((method,), protocol).runs]
    assert len(runs) == 2 * len(PROTOCOLS[protocol])
    for run in runs:
        assert [len(row) for row in run.R] == [1, 2, 3, 4, 5]
        assert run.acc == pytest.approx(np.mean(run.R[-1]))
        assert len(run.independent) == 5
        assert run.counts.sum() == 359


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_confusion_agrees_with_the_last_row_of_R(protocol, whole_run):
    for run in whole_run(("if2net",), protocol).runs:
        right, all_samples = run.counts.diagonal().reshape(5, 2).sum(1), run.counts.sum(1).reshape(5, 2).sum(1)
        assert run.R[-1] == pytest.approx(list(right / all_samples))


def test_the_same_seed_gives_the_same_results_twice(digits, make_plan, whole_run):
    for method in ("if2net", "if2net-ewc", "none", "joint"):
        again = run_plan(make_plan((method,)), digits, None)
        assert without_times(again) == without_times(whole_run((method,), "agnostic"))


def test_another_seed_shuffles_the_classes(digits, make_plan):
    first, second = (run.class_order for run in run_plan(make_plan(("ncm",), seeds=(0, 1)), digits, None).runs)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(10))


@pytest.mark.parametrize("method", ["if2net", "if2net-ewc", "none", "joint"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_killed_run_continues_and_ends_with_the_same_numbers(
    method, protocol, digits, make_plan, whole_run, tmp_path, monkeypatch
):
    monkeypatch.setattr("if2net.study.bench.stream.BETWEEN_CHECKPOINTS", 0.0)
    plan = make_plan((method,), protocol)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, digits, tmp_path, kill_after_task_two)
    steps = []
    resumed = run_plan(plan, digits, tmp_path, steps.append)
    assert [step.task for step in steps] == [3, 4]
    assert without_times(resumed) == without_times(whole_run((method,), protocol))


def test_finished_runs_are_not_run_again_and_more_can_be_added(digits, make_plan, tmp_path):
    run_plan(make_plan(("ncm",)), digits, tmp_path)
    steps = []
    results = run_plan(make_plan(("ncm",), seeds=(0, 1)), digits, tmp_path, steps.append)
    assert {step.seed for step in steps} == {1}
    assert [run.seed for run in results.runs] == [0, 1]
    assert Results.read(tmp_path / "results.json") == results


def test_runs_that_are_added_in_another_environment_name_their_own(digits, make_plan, tmp_path, monkeypatch):
    first = {"if2net": "0.2.0", "device": "cpu", "date": "2026-01-31", "commit": "1234abcd"}
    second = {**first, "date": "2026-02-01", "commit": "5678abcd"}
    for machine, seeds in ((first, (0,)), (second, (0, 1))):
        monkeypatch.setattr("if2net.study.bench.stream.environment", lambda device, own=machine: own)
        results = run_plan(make_plan(("ncm",), seeds=seeds), digits, tmp_path)
    assert [run.environment for run in results.runs] == [first, second]
    assert Results.read(tmp_path / "results.json") == results


@pytest.mark.parametrize("other", ["protocol", "scenario", "settings"])
def test_results_of_another_plan_are_not_mixed(other, digits, make_plan, tmp_path):
    plan = make_plan()
    changes = {
        "protocol": replace(plan, protocol="aware"),
        "scenario": replace(plan, scenario=parse_scenario("digits-10/2")),
        "settings": replace(plan, settings=resolve(["if2net"], "agnostic", from_command_line(["width=70"]))),
    }
    run_plan(plan, digits, tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(ConfigurationError, match="choose another folder"):
        run_plan(changes[other], digits, tmp_path)
    assert (tmp_path / "results.json").read_bytes() == before


def test_a_broken_results_file_is_named_and_stays(digits, make_plan, tmp_path):
    (tmp_path / "results.json").write_text('{"runs": [')
    with pytest.raises(ConfigurationError, match=r"results\.json is not a results file"):
        run_plan(make_plan(), digits, tmp_path)
    assert (tmp_path / "results.json").read_text() == '{"runs": ['


def test_agnostic_accuracies_do_not_depend_on_the_cut_of_the_test_data(digits, make_plan):
    _, tasks = parse_scenario("digits-10/5").stream(digits, 0)
    method = METHODS["if2net"](64, 0, "cpu", make_plan().settings["if2net"])
    for task in tasks:
        method.learn(task.train_X, task.train_y)
    everything = np.concatenate([task.test_X for task in tasks])
    truth = np.concatenate([task.test_y for task in tasks])
    one_by_one = np.concatenate([method.predict(row[None]) for row in everything])
    assert (one_by_one == method.predict(everything)).all()
    sizes = [len(task.test_y) for task in tasks]
    by_task = accuracies(method, tasks, "agnostic", "")
    assert np.average(by_task, weights=sizes) == pytest.approx(np.mean(one_by_one == truth))


def test_parallel_streams_give_the_numbers_of_serial_ones(digits, make_plan, tmp_path, monkeypatch):
    context = forked()  # its processes start faster than new ones
    monkeypatch.setattr("multiprocessing.get_context", lambda method: context)
    plans = [(make_plan(("ncm",), seeds=(0, 1)), tmp_path / "agnostic"), (make_plan(), tmp_path / "other")]
    steps = []
    together = run_plans(plans, Loader(), jobs=2, show=steps.append)
    assert len(steps) == 15
    for (plan, folder), results in zip(plans, together, strict=True):
        assert without_times(results) == without_times(run_plan(plan, digits, None))
        assert Results.read(folder / "results.json") == results
    assert run_plans(plans, Loader(), jobs=2, show=steps.append) == together
    assert len(steps) == 15


def test_data_that_is_loaded_already_is_not_loaded_again(make_plan, tmp_path, monkeypatch):
    loader, plan = Loader(), make_plan(("ncm",), seeds=(0, 1))
    loader.load(plan.scenario)
    monkeypatch.setattr("if2net.study.bench.loading.load_rows", lambda *_, **__: pytest.fail("loaded twice"))
    (results,) = run_plans([(plan, tmp_path)], loader)
    assert len(results.runs) == 2


def test_a_run_that_cannot_be_computed_ends_no_other(make_plan, tmp_path):
    plan = make_plan(("none", "ncm"), seeds=(0, 1))
    wild = replace(plan.settings["none"], rate=1e9, steps=200)
    broken = replace(plan, settings={**plan.settings, "none": wild})
    with pytest.raises(
        NumericalError, match=r"All other runs .* kept.*\n.* none seed 0: .*diverged.*\n.* none seed 1"
    ):
        run_plans([(broken, tmp_path)], Loader())
    kept = Results.read(tmp_path / "results.json")
    assert [(run.method, run.seed) for run in kept.runs] == [("ncm", 0), ("ncm", 1)]


@pytest.mark.parametrize("letter", ["a", "é", "鳥"])
def test_a_scenario_with_a_long_path_has_a_folder_that_can_be_created(letter, tmp_path):
    scenarios = [f"folder:/{place}/{240 * letter}/all-6/3@efficientnet-lite0" for place in "xy"]
    first, second = (folder_name(scenario) for scenario in scenarios)
    assert first != second
    assert first.endswith("-all-6-3@efficientnet-lite0")
    for name in (first, second):
        (tmp_path / name).mkdir()


def test_a_name_that_is_short_enough_is_kept():
    assert folder_name(f"folder:/{200 * 'a'}/all-6/3") == f"folder:-{200 * 'a'}-all-6-3"


def test_the_configuration_is_written_only_where_something_is_run(make_plan, tmp_path):
    plan, folder = make_plan(("ncm",)), tmp_path / "some" / "folder"
    path = folder / "config.json"
    run_plans([(plan, folder)], Loader())
    assert json.loads(path.read_text()) == plan.as_dict()
    path.write_text('{"device": "another machine"}')
    run_plans([(plan, folder)], Loader())
    assert path.read_text() == '{"device": "another machine"}'
    more = replace(plan, seeds=(0, 1))
    run_plans([(more, folder)], Loader())
    assert json.loads(path.read_text()) == more.as_dict()


def test_without_a_named_folder_earlier_results_and_other_files_stay(make_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan, other = make_plan(("ncm",)), make_plan(("ncm",), seeds=(1,))
    with output_folder(plan, None) as first:
        run_plans([(plan, first)], Loader())
    (first / "notes.txt").write_text("mine")
    with output_folder(other, None) as second:
        run_plans([(other, second)], Loader())
    assert second == first.with_name(f"{first.name}-2")
    with output_folder(plan, None) as third:  # a finished plan runs anew
        assert third == first.with_name(f"{first.name}-3")
    assert [run.seed for run in Results.read(first / "results.json").runs] == [0]
    assert (first / "notes.txt").read_text() == "mine"


def test_two_runs_at_once_have_a_folder_each(make_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = make_plan(("ncm",))
    with output_folder(plan, None) as first:
        first.joinpath("config.json").write_text(json.dumps(plan.as_dict()))
        with output_folder(plan, None) as second:
            assert second == first.with_name(f"{first.name}-2")
        with pytest.raises(InUseError, match="is in use by process"), output_folder(plan, first, wait=False):
            pass
    with output_folder(plan, None) as again:  # the unfinished beginning is continued
        assert again == first


def test_a_folder_with_a_configuration_that_cannot_be_read_is_left_alone(make_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "out" / "digits-10-5"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("[" * 100_000)
    with output_folder(make_plan(("ncm",)), None) as chosen:
        assert chosen.name == "digits-10-5-2"


def test_a_refused_run_leaves_the_configuration_unchanged(make_plan, tmp_path):
    plan = make_plan(("ncm",))
    run_plans([(plan, tmp_path)], Loader())
    before = (tmp_path / "config.json").read_bytes()
    other = replace(plan, protocol="aware")
    with pytest.raises(ConfigurationError, match="choose another folder"):
        run_plans([(other, tmp_path)], Loader())
    assert (tmp_path / "config.json").read_bytes() == before


def test_every_run_records_its_backbone_and_a_table_has_none(digits, make_plan, tmp_path):
    results = run_plan(make_plan(("ncm",), seeds=(0, 1)), features(digits, "old"), tmp_path)
    assert [run.backbone for run in results.runs] == [Backbone("old", "ImageNet")] * 2
    assert Results.read(tmp_path / "results.json") == results
    assert run_plan(make_plan(("ncm",)), digits, None).runs[0].backbone is None


@pytest.mark.parametrize(
    "wanted",
    [{}, {"seeds": (0, 1)}, {"seeds": (1,)}, {"methods": ("if2net",)}],
    ids=["same", "more seeds", "other seed", "other method"],
)
def test_results_of_another_backbone_are_not_continued(wanted, digits, make_plan, tmp_path):
    run_plan(make_plan(("ncm",)), features(digits, "old"), tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(ConfigurationError, match=r"has changed .* Choose another folder, or move"):
        run_plan(make_plan(**{"methods": ("ncm",), **wanted}), features(digits, "new"), tmp_path)
    assert (tmp_path / "results.json").read_bytes() == before
    assert len(run_plan(make_plan(("ncm",), seeds=(0, 1)), features(digits, "old"), tmp_path).runs) == 2


def test_results_without_a_recorded_backbone_are_continued(digits, make_plan, tmp_path):
    run_plan(make_plan(("ncm",)), digits, tmp_path)
    assert len(run_plan(make_plan(("ncm",), seeds=(0, 1)), features(digits, "new"), tmp_path).runs) == 2


def test_where_every_seed_has_a_backbone_it_is_compared_with_that_of_the_same_seed(make_plan, make_results, make_run):
    scenario = "cifar100-60/2@held-out"
    plan = make_plan(("ncm",), seeds=(0, 1), scenario=parse_scenario(scenario))
    runs = [make_run("ncm", seed, backbone=Backbone(str(seed))) for seed in (0, 1, 2)]
    results = make_results(*runs, scenario=scenario)
    check_backbones(plan, Path("out"), results, {0: "0", 1: "1"}.get)
    with pytest.raises(ConfigurationError, match="The backbone of seed 1 has changed"):
        check_backbones(plan, Path("out"), results, {0: "0", 1: "another"}.get)


@pytest.mark.parametrize(("identity", "tasks"), [("old", [3, 4]), ("new", [0, 1, 2, 3, 4])])
def test_a_killed_run_continues_only_with_its_own_backbone(identity, tasks, digits, make_plan, tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.study.bench.stream.BETWEEN_CHECKPOINTS", 0.0)
    plan = make_plan(("ncm",))
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, features(digits, "old"), tmp_path, kill_after_task_two)
    steps = []
    run_plan(plan, features(digits, identity), tmp_path, steps.append)
    assert [step.task for step in steps] == tasks


@pytest.mark.parametrize(("pretrained_on", "printed"), [("40 classes of [birds]", True), (None, False)])
def test_the_table_names_the_data_of_the_backbone(pretrained_on, printed, make_results, make_run):
    console = Console(file=StringIO(), width=200)
    console.print(results_table(make_results(make_run(backbone=Backbone("old", pretrained_on)))))
    text = console.file.getvalue()
    assert ("The backbone was trained on 40 classes of [birds]." in text) == printed
    assert ("trained on" in text) == printed
