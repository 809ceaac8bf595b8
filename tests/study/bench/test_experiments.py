import re
from pathlib import Path

import pytest

from if2net.config import Config
from if2net.errors import ConfigurationError
from if2net.study.bench.experiments import COMPARED, plans
from if2net.study.bench.paper import paper_figures
from if2net.study.methods import METHODS

PEERS = {"ncm", "slda", "fecam", "ranpac", "acil", "if2net-gradient"}


def planned(out, methods=(), name="table-mnist"):
    return plans(name, out, methods=list(methods), runs=2, device="cpu", given=[])


def test_the_first_table_has_all_methods_agnostic_and_ours_under_every_protocol(tmp_path):
    by_folder = {folder.name: plan for plan, folder in planned(tmp_path)}
    assert len(by_folder) == 8
    for dataset in ("mnist", "fashion-mnist"):
        assert list(by_folder[f"{dataset}-agnostic"].settings) == list(METHODS)
        for protocol in ("aware", "transductive"):
            assert all(name.startswith("if2net") for name in by_folder[f"{dataset}-{protocol}"].settings)
        scopes = {settings.scope for settings in by_folder[f"{dataset}-agnostic-current"].settings.values()}
        assert scopes == {"current"}
    assert not list(tmp_path.iterdir())


def test_a_part_of_a_table_can_be_run_on_its_own(tmp_path):
    assert {folder.name for _, folder in planned(tmp_path, ["gem"])} == {"mnist-agnostic", "fashion-mnist-agnostic"}


def test_the_innate_encoders_are_measured_on_streams_of_up_to_a_hundred_tasks(tmp_path):
    by_folder = {folder.name: plan for plan, folder in planned(tmp_path, name="innate")}
    assert len(by_folder) == 16
    for encoder in ("innate", "innate-large"):
        for tasks in (10, 20, 50, 100):
            plan = by_folder[f"cifar100-100-{tasks}-{encoder}"]
            assert (plan.scenario.classes, plan.scenario.tasks) == (100, tasks)
            assert plan.settings["if2net"] == Config(encoder=encoder)
            assert ("acil" in plan.settings) == (tasks == 10)
    flips = {name: "flip=no" in str(plan.scenario.backbone) for name, plan in by_folder.items()}
    assert [name for name, without in flips.items() if without] == ["mnist-10-5-innate", "mnist-10-5-innate-large"]
    assert by_folder["cifar10-10-5-pixels"].settings["if2net"].encoder == "wide"


def test_predictions_that_know_the_task_are_measured_in_more_orders(tmp_path):
    found = plans("table-mnist", tmp_path, methods=[], device="cpu", given=[])
    assert {folder.name: len(plan.seeds) for plan, folder in found if folder.name.startswith("mnist")} == {
        "mnist-agnostic": 5,
        "mnist-agnostic-current": 5,
        "mnist-aware": 30,
        "mnist-transductive": 30,
    }


def test_a_part_can_be_chosen_by_its_folder(tmp_path):
    chosen = ["cifar10-10-5-innate", "cifar10-10-5-pixels"]
    found = plans("innate", tmp_path, methods=[], runs=1, device="cpu", given=[], folders=chosen)
    assert [folder.name for _, folder in found] == chosen


def test_methods_that_are_not_in_the_table_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"table-cifar compares none of fecam; choose from none, joint"):
        planned(tmp_path, ["fecam"], "table-cifar")


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no experiment 'table-mnits'; did you mean 'table-mnist'"):
        planned(tmp_path, name="table-mnits")
    with pytest.raises(ConfigurationError, match=r"no method 'ewcc'; did you mean 'ewc'"):
        planned(tmp_path, ["ewcc"])


def test_the_paper_has_a_figure_for_every_method_but_the_peers():
    for figures in paper_figures("table-mnist").values():
        assert set(figures) == set(METHODS) - PEERS


MARGINS = {"figure-cub": "absolute margin of 5.48", "figure-dogs": "2.29\\% lower than ours"}


@pytest.fixture(scope="module")
def source():
    path = Path(__file__).parents[4] / "shared" / "paper" / "if2net.tex"
    if not path.exists():
        pytest.skip("the source of the paper is missing")
    return path.read_text()


def rows_of(source, label):
    """Method → numbers of a table in the paper's source, by our names."""
    table = source.split(rf"\label{{{label}}}")[1].split(r"\end{table}")[0]
    rows = [
        line.split("&") for line in table.splitlines() if re.match(r"\s*(Ours|[A-Z0-9-]+[A-Za-z]+)\s*&\D*\d", line)
    ]
    names = {"ours": "if2net"}
    return {
        names.get(name.strip().lower(), name.strip().lower()): [
            float(number) for number in re.findall(r"\d+\.\d+", " ".join(cells))
        ]
        for name, *cells in rows
    }


def test_the_curves_of_cifar_are_those_of_the_paper(source):
    printed = paper_figures("table-cifar")["CIFAR-60/10"]
    assert {method: figures["curve"] for method, figures in printed.items()} == rows_of(source, "Table_CIFAR")
    assert set(printed) == {*COMPARED, "if2net"}


def test_the_figures_of_imagenet_subset_are_those_of_the_paper(source):
    sequences = paper_figures("table-imagenet-subset")
    assert list(sequences) == [f"ImageNet-Subset-100/{tasks}" for tasks in (10, 25, 50)]
    printed = {}
    for figures in sequences.values():
        for method, row in figures.items():
            printed.setdefault(method, []).extend([row["acc"], row["acc_std"]])
    assert printed == rows_of(source, "Table_ImangeNet")


@pytest.mark.parametrize("name", MARGINS)
def test_the_margins_are_those_that_the_paper_states_in_words(name, source):
    (figures,) = paper_figures(name).values()
    assert figures["margin"]["over"] == "il2m"
    assert str(figures["margin"]["points"]) in MARGINS[name]
    assert MARGINS[name] in source
