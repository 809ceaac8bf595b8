import pytest

from if2net.study.ablations import ABLATIONS, table_init
from if2net.study.ablations.ablation import Summary
from if2net.study.ablations.readings import LABELS
from if2net.study.ablations.table_layers import PeakMemory, memory_of
from if2net.study.bench.paper import paper_figures


def rows_of(table):
    """The cells of each row, without headings and rules."""
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return lines[1:]


def test_the_settings_follow_from_the_row():
    assert table_init.settings_of("random, 0.002")["initialisation"] == "random"
    analytic = table_init.settings_of("analytic 2.5k, 0.0002")
    assert (analytic["initialisation"], analytic["initial_samples"]) == ("analytic", 2500)
    assert table_init.settings_of("random, 0.02")["step"] > analytic["step"]
    assert table_init.settings_of(table_init.PAPER_MU)["mu"] == 2.0**-30 != analytic["mu"]


def test_more_epochs_lower_the_loss_of_task_1(carried_out):
    losses = {}
    for run in carried_out("table-init", "random, 0.02; 1", "random, 0.02; 10").runs:
        losses[run.cell] = run.numbers["loss"]
    assert losses["random, 0.02; 10"] < losses["random, 0.02; 1"]


def test_an_analytic_start_has_less_loss_after_one_epoch_than_a_random_one(carried_out):
    runs = carried_out("table-init", "random, 0.02; 1", "analytic 1k, 0.002; 1").runs
    losses = {run.cell: run.numbers["loss"] for run in runs}
    assert losses["analytic 1k, 0.002; 1"] < losses["random, 0.02; 1"]


def test_every_pair_of_blocks_makes_100_nodes():
    pairs = [tuple(map(int, cell.split("x"))) for cell in ABLATIONS["table-blocks"].cells]
    assert len(pairs) == 6
    assert {n * s for n, s in pairs} == {100}


def test_blocks_are_measured_under_every_protocol_beside_the_papers(carried_out):
    results = carried_out("table-blocks", "10x10")
    rows = rows_of(ABLATIONS["table-blocks"].table(results))
    assert [row[2] for row in rows] == LABELS
    assert all(row[4] == "94.76 ± 0.27" for row in rows)
    acc = {run.protocol: run.numbers["acc"] for run in results.runs}
    assert acc["aware"] > acc["agnostic"]


@pytest.mark.parametrize(
    ("name", "cell", "figures"),
    [
        ("table-blocks", "100x1", ["11.18 ± 7.66", "0.0002 ± 0.0012", "-0.4751 ± 0.0821"]),
        ("table-layers", "d", ["90.90 ± 2.01", "-0.0292 ± 0.0217", "-0.0758 ± 0.0528"]),
    ],
)
def test_the_papers_figures_have_the_digits_of_the_paper(name, cell, figures):
    assert Summary(cell, "", 1, {}).beside(paper_figures(name)[cell])[1::2] == figures


def test_the_papers_losses_have_the_digits_of_the_paper():
    assert table_init._printed("random, 0.002", 5) == ("4.4575", "78.43", "65.53")


def test_layers_have_the_papers_figures_and_their_memory(carried_out):
    results = carried_out("table-layers", "a", "b", "e")
    rows = rows_of(ABLATIONS["table-layers"].table(results))
    assert [row[1] for row in rows] == ["any", *LABELS, *LABELS]
    assert [row[0][:3] for row in rows] == ["(a)"] + 4 * ["(b)"] + 4 * ["(e)"]
    assert {row[9] for row in rows} == {"11,635", "5,281", "829"}
    assert all(run.numbers["memory"] > run.numbers["kept"] / 2 > 0 for run in results.runs)


def test_peak_memory_counts_tensors_that_exist_at_the_same_time(bench):
    import torch

    with PeakMemory() as memory:
        for _ in range(3):
            first = torch.ones(1000, dtype=torch.float64)
            del first
    assert memory.peak == 8000


def test_more_samples_in_the_last_task_need_more_memory(bench):
    from if2net.config import Config
    from if2net.study.methods.if2net import IF2NetGradient

    def peak(tasks):
        settings = Config.of(width=50, rule="gradient", epochs=1)
        return memory_of(IF2NetGradient(bench.inputs, 0, bench.device, settings), tasks)["memory"]

    tasks = bench.stream(0)[:2]
    few = [tasks[0], type(tasks[1])(1, tasks[1].classes, tasks[1].train_X[:50], tasks[1].train_y[:50], None, None)]
    assert peak(tasks) > peak(few)


@pytest.mark.parametrize("name", ["table-init", "table-blocks", "table-layers"])
def test_the_papers_figures_are_those_of_the_cells(name):
    cells = {cell.partition(";")[0] for cell in ABLATIONS[name].cells}
    assert set(paper_figures(name)) <= cells
