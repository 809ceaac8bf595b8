"""Every table and every figure with data of the paper has its command, its committed result and its page."""

import json
from pathlib import Path

import pytest

from if2net.study.ablations import ABLATIONS
from if2net.study.bench.reproduce import TABLES

ROOT = Path(__file__).parents[2]
# By the label in the paper: the name that `if2net reproduce` has for it.
TABLES_OF_THE_PAPER = {
    "Table_MNIST_FMNIST": "table-mnist",
    "Table_CIFAR": "table-cifar",
    "Table_ImangeNet": "table-imagenet-subset",
    "Table_Param_Initialization": "table-init",
    "Table_Node_blocks": "table-blocks",
    "Table_orthogonaqlized_layers": "table-layers",
}
FIGURES_OF_THE_PAPER = {
    "Visualization": "figure-tsne",
    "Fig_CUB": "figure-cub",
    "Fig_StanfordDogs": "figure-dogs",
    "CIFAR_20": "figure-cifar",
    "Fig_Rademacher_complexity": "figure-rademacher",
}
PAPER = TABLES_OF_THE_PAPER | FIGURES_OF_THE_PAPER


def has_a_command(name):
    return name in TABLES or name in ABLATIONS


def has_a_result(name):
    """Of a comparison: every method in every part, with five seeds."""
    folder = ROOT / "results" / name
    if name in ABLATIONS:
        return any(folder.rglob("results.json"))
    return all(set(part.methods) <= methods_in(folder / part.folder) for part in TABLES[name][1]())


def methods_in(folder):
    file = folder / "results.json"
    seeds = {}
    for run in json.loads(file.read_text())["runs"] if file.exists() else []:
        seeds.setdefault(run["method"], set()).add(run["seed"])
    return {method for method, found in seeds.items() if len(found) >= 5}


def has_a_place_in_the_docs(name):
    return any(f"if2net reproduce {name}" in page.read_text() for page in (ROOT / "docs").glob("*.md"))


def test_the_paper_has_six_tables_and_five_figures_with_data():
    assert (len(TABLES_OF_THE_PAPER), len(FIGURES_OF_THE_PAPER)) == (6, 5)
    assert len(set(PAPER.values())) == 11


@pytest.mark.parametrize("name", sorted(set(PAPER.values())))
def test_it_can_be_run_was_run_and_is_written_about(name):
    assert has_a_command(name)
    assert has_a_result(name)
    assert has_a_place_in_the_docs(name)


def test_what_can_be_reproduced_is_listed_or_ours():
    ours = {name for name in ABLATIONS if name.startswith("ablation-")}
    assert {*TABLES, *ABLATIONS} - ours <= set(PAPER.values())
