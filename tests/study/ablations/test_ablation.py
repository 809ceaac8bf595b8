import pickle
from dataclasses import replace

import pytest

from if2net.errors import ConfigurationError
from if2net.study.ablations import ABLATIONS, Ablation, Measurements, carry_out, write_ablation
from if2net.study.ablations.ablation import Entry, Measurement, Spread
from if2net.study.bench.loading import Loader
from if2net.study.report.charts import Line, line_chart

MEASURED = []


def counted(cell, seed, bench):
    """A cell that records its runs; one of them fails the first time."""
    MEASURED.append((cell, seed))
    if cell == "b" and MEASURED.count(("b", 0)) == 1:
        raise KeyboardInterrupt
    return [Entry(protocol, {"acc": 0.5 + 0.1 * seed}) for protocol in ("agnostic", "aware")]


@pytest.fixture
def ablation():
    MEASURED.clear()
    cells = ("a", "b", "c")
    return Ablation("counted", "a test", cells, counted, lambda results: "| table |", scenario="digits-10/5")


def killed(ablation, folder, seeds=(0,)):
    with pytest.raises(KeyboardInterrupt):
        carry_out(ablation, folder, Loader(), seeds=seeds)


def test_what_was_finished_before_it_was_killed_is_not_run_again(ablation, tmp_path):
    killed(ablation, tmp_path)
    results = carry_out(ablation, tmp_path, Loader(), seeds=[0])
    assert MEASURED == [("a", 0), ("b", 0), ("b", 0), ("c", 0)]
    assert [run.cell for run in results.runs] == ["a", "a", "b", "b", "c", "c"]


def test_more_seeds_can_be_added_later(ablation, tmp_path):
    killed(ablation, tmp_path)
    carry_out(ablation, tmp_path, Loader(), seeds=[0])
    results = carry_out(ablation, tmp_path, Loader(), seeds=[0, 1])
    assert MEASURED[4:] == [("a", 1), ("b", 1), ("c", 1)]
    assert {entry.runs for entry in results.summary} == {2}


def test_a_folder_of_another_ablation_is_refused(ablation, tmp_path):
    killed(ablation, tmp_path)
    for other in (replace(ablation, name="other"), replace(ablation, cells=("x",))):
        with pytest.raises(ConfigurationError, match="choose another folder"):
            carry_out(other, tmp_path, Loader(), seeds=[0])
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(ConfigurationError, match="choose another folder"):
        carry_out(ablation, tmp_path, Loader(), seeds=[0])


def test_a_file_that_lacks_numbers_is_refused(ablation, tmp_path):
    killed(ablation, tmp_path)
    results = carry_out(ablation, tmp_path, Loader(), seeds=[0, 1])
    lacking = replace(ablation, table=lambda results: str(results.of("a", "agnostic").numbers["bwt"]))
    with pytest.raises(ConfigurationError, match=r"results\.json lacks numbers of counted; move it away"):
        write_ablation(lacking, results, tmp_path)
    path = tmp_path / "results.json"
    path.write_text(path.read_text().replace('"acc"', '"cca"', 1))
    with pytest.raises(ConfigurationError, match="or is damaged; choose another folder, or move it away"):
        carry_out(ablation, tmp_path, Loader(), seeds=[0, 1])


def test_the_results_have_the_environment_and_the_spread_over_the_seeds(ablation, tmp_path):
    killed(ablation, tmp_path)
    results = carry_out(ablation, tmp_path, Loader(), seeds=[0, 1])
    assert {run.environment["device"] for run in results.runs} == {"cpu"}
    first = results.of("a", "agnostic")
    assert (first.runs, first.numbers["acc"].mean) == (2, pytest.approx(0.55))
    assert first.numbers["acc"].std == pytest.approx(0.1 / 2**0.5)
    assert Measurements.read(tmp_path / "results.json") == results


def test_ablation_that_are_measured_in_another_environment_name_their_own(ablation, tmp_path, monkeypatch):
    monkeypatch.setattr("if2net.study.ablations.ablation.environment", lambda device: {"commit": "1234abcd"})
    killed(ablation, tmp_path)
    monkeypatch.setattr("if2net.study.ablations.ablation.environment", lambda device: {"commit": "5678abcd"})
    results = carry_out(ablation, tmp_path, Loader(), seeds=[0])
    commits = {run.cell: run.environment["commit"] for run in results.runs}
    assert commits == {"a": "1234abcd", "b": "5678abcd", "c": "5678abcd"}
    assert Measurements.read(tmp_path / "results.json") == results


def test_progress_counts_the_cells(ablation, tmp_path):
    killed(ablation, tmp_path)
    seen = []
    carry_out(ablation, tmp_path, Loader(), seeds=[0], show=lambda *words: seen.append(words))
    assert seen == [(2, 3, "b, seed 0"), (3, 3, "c, seed 0")]


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_can_be_sent_to_another_process(name):
    assert pickle.loads(pickle.dumps(ABLATIONS[name].run)) is ABLATIONS[name].run


def test_lists_are_not_averaged():
    runs = [Measurement("a", seed, "", {"acc": 1.0}, {}, {"fits": [[1.0]]}) for seed in (0, 1)]
    (summary,) = Measurements("a test", "digits-10/5", runs).summary
    assert summary.numbers == {"acc": Spread(1.0, 0.0)}


def test_a_table_is_written_and_a_figure_if_there_is_one(ablation, tmp_path):
    empty = Measurements("counted", "digits-10/5", [])
    assert [path.name for path in write_ablation(ablation, empty, tmp_path)] == ["table.md"]
    drawn = replace(ablation, figure=lambda _: line_chart("a", "x", "y", [1, 2], [Line("b", [0, 1], [0, 0])]))
    assert [path.suffix for path in write_ablation(drawn, empty, tmp_path)][:2] == [".md", ".svg"]
    assert (tmp_path / "table.md").read_text() == "| table |\n"


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_has_its_own_name_and_cells(name):
    ablation = ABLATIONS[name]
    assert ablation.name == name
    assert len(set(ablation.cells)) == len(ablation.cells) > 0
