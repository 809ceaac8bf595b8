import pickle
from dataclasses import replace

import pytest

from if2net.errors import ConfigurationError
from if2net.study.ablations import ABLATIONS, carry_out
from if2net.study.ablations.cells import Ablation, summary
from if2net.study.ablations.output import write

MEASURED = []


def counted(cell, seed, bench):
    """A cell that says when it is run; one of them fails the first time."""
    MEASURED.append((cell, seed))
    if cell == "b" and MEASURED.count(("b", 0)) == 1:
        raise KeyboardInterrupt
    return [{"protocol": protocol, "acc": 0.5 + 0.1 * seed} for protocol in ("agnostic", "aware")]


@pytest.fixture
def ablation():
    MEASURED.clear()
    return Ablation("counted", "a test", "digits-10/5", ("a", "b", "c"), counted, lambda results: "| table |")


def killed(ablation, folder, seeds=(0,)):
    with pytest.raises(KeyboardInterrupt):
        carry_out(ablation, folder, seeds=seeds)


def test_what_was_finished_before_it_was_killed_is_not_run_again(ablation, tmp_path):
    killed(ablation, tmp_path)
    results = carry_out(ablation, tmp_path, seeds=[0])
    assert MEASURED == [("a", 0), ("b", 0), ("b", 0), ("c", 0)]
    assert [run["cell"] for run in results["runs"]] == ["a", "a", "b", "b", "c", "c"]


def test_more_seeds_can_be_added_later(ablation, tmp_path):
    killed(ablation, tmp_path)
    carry_out(ablation, tmp_path, seeds=[0])
    results = carry_out(ablation, tmp_path, seeds=[0, 1])
    assert MEASURED[4:] == [("a", 1), ("b", 1), ("c", 1)]
    assert {entry["runs"] for entry in results["summary"]} == {2}


def test_a_folder_of_another_ablation_is_refused(ablation, tmp_path):
    killed(ablation, tmp_path)
    for other in (replace(ablation, name="other"), replace(ablation, cells=("x",))):
        with pytest.raises(ConfigurationError, match="choose another folder with --out"):
            carry_out(other, tmp_path, seeds=[0])
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(ConfigurationError, match="choose another folder with --out"):
        carry_out(ablation, tmp_path, seeds=[0])


def test_the_results_say_where_they_were_made_and_how_far_the_seeds_are_apart(ablation, tmp_path):
    killed(ablation, tmp_path)
    results = carry_out(ablation, tmp_path, seeds=[0, 1])
    assert results["environment"]["device"] == "cpu"
    assert results["summary"][0] == {
        "cell": "a",
        "protocol": "agnostic",
        "runs": 2,
        "acc": {"mean": pytest.approx(0.55), "std": pytest.approx(0.1 / 2**0.5)},
    }


def test_progress_counts_the_cells(ablation, tmp_path):
    killed(ablation, tmp_path)
    seen = []
    carry_out(ablation, tmp_path, seeds=[0], show=lambda *words: seen.append(words))
    assert seen == [(2, 3, "b, seed 0"), (3, 3, "c, seed 0")]


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_can_be_sent_to_another_process(name):
    assert pickle.loads(pickle.dumps(ABLATIONS[name].run)) is ABLATIONS[name].run


def test_lists_and_words_are_not_averaged():
    runs = [{"cell": "a", "seed": seed, "acc": 1.0, "fits": [[1.0]], "note": "x"} for seed in (0, 1)]
    assert summary(runs) == [{"cell": "a", "protocol": "", "runs": 2, "acc": {"mean": 1.0, "std": 0.0}}]


def test_a_table_is_written_and_a_figure_where_there_is_one(ablation, tmp_path):
    assert [path.name for path in write(ablation, {}, tmp_path)] == ["table.md"]
    drawn = replace(ablation, figure=lambda results: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    assert [path.suffix for path in write(drawn, {}, tmp_path)][:2] == [".md", ".svg"]
    assert (tmp_path / "table.md").read_text() == "| table |\n"


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_has_its_own_name_and_cells(name):
    ablation = ABLATIONS[name]
    assert ablation.name == name
    assert len(set(ablation.cells)) == len(ablation.cells) > 0
