import importlib.util
import re
from pathlib import Path

import pytest

from if2net.study.ablations import ABLATIONS

RESULTS = Path(__file__).parents[2] / "results"
DESCRIPTION = importlib.util.spec_from_file_location("ablations_page", RESULTS / "ablations.py")
PAGE = importlib.util.module_from_spec(DESCRIPTION)
DESCRIPTION.loader.exec_module(PAGE)


def test_the_page_is_made_from_the_committed_results():
    text = PAGE.PAGE.read_text()
    assert PAGE.with_tables(text) == text


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_is_complete_and_has_its_table_on_the_page(name):
    ablation, results, text = ABLATIONS[name], PAGE.results_of(name), PAGE.PAGE.read_text()
    assert {run["cell"] for run in results["runs"]} == set(ablation.cells)
    assert len({entry["runs"] for entry in results["summary"]}) == 1
    table = ablation.table(results)
    assert f"{PAGE.marks(name)[0]}\n{table}\n{PAGE.marks(name)[1]}" in text
    assert (RESULTS / name / "table.md").read_text() == table + "\n"


@pytest.mark.parametrize("name", [name for name, ablation in ABLATIONS.items() if ablation.figure])
def test_every_figure_is_drawn_from_the_committed_results_and_light(name):
    assert (RESULTS / name / "figure.svg").read_text() == ABLATIONS[name].figure(PAGE.results_of(name))
    assert 10_000 < (RESULTS / name / "figure.png").stat().st_size < 300_000
    assert f"](../results/{name}/figure.svg)" in PAGE.PAGE.read_text()


def test_figures_in_the_text_stand_in_a_table_of_the_page():
    tables, prose = [], []
    for line in PAGE.PAGE.read_text().splitlines():
        (tables if line.startswith("|") else prose).append(line)
    quoted = set(re.findall(r"\d+\.\d{2,}", "\n".join(prose)))
    printed = set(re.findall(r"\d+\.\d{2,}", "\n".join(tables)))
    assert len(quoted) > 20
    assert quoted <= printed
