import pytest

from if2net.study.bench.experiments import TABLES, Part
from if2net.study.bench.reproduce import plans
from if2net.study.bench.runner import run_plans
from if2net.study.bench.settings import from_command_line
from if2net.study.report import paper_tables
from if2net.study.report.comparison import gathered
from if2net.study.report.paper_tables import across, after_each_task, beside_the_paper, margins, summary


def rows(table):
    """First cell → the others."""
    found = {}
    for line in table.splitlines():
        if line.startswith("| "):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[name] = cells
    return found


@pytest.fixture
def printed(monkeypatch):
    """What the paper prints, for the length of a test."""

    def say(figures):
        monkeypatch.setattr(paper_tables, "paper_figures", lambda _: figures)

    return say


def test_the_papers_row_stands_under_ours_and_the_last_task_has_its_spread(compared):
    (section,) = gathered([compared("cifar100-6/3@held-out")])
    table = rows(after_each_task(section, {"if2net": {"curve": [84.71, 74.58, 56.98]}}))
    assert list(table) == ["method", "none", "joint", "gem", "il2m", "ncm", "if2net", "*if2net, paper*"]
    assert table["method"] == ["exemplars", "1", "2", "3"]
    assert table["*if2net, paper*"] == ["", "84.71", "74.58", "56.98"]
    assert table["none"] == ["0", "90.00", "**75.00**", "31.00 ± 1.00"]


def test_the_best_is_bold_and_joint_is_no_competitor(compared):
    (section,) = gathered([compared("cifar100-6/3@held-out", ["gem", "if2net", "joint"])])
    table = rows(after_each_task(section, {}))
    assert table["if2net"][1] == "**91.00**"
    assert table["if2net"][3] == "**36.00 ± 1.00**"
    assert table["joint"] == ["1,980", "92.00", "75.00", "41.00 ± 1.00"]
    assert rows(summary(section))["if2net"][0] == "**36.00 ± 1.00**"


def test_the_summary_has_the_three_metrics_and_the_costs(compared):
    (section,) = gathered([compared("cifar100-6/3@held-out", seeds=[0])])
    table = rows(summary(section))
    assert table["method"] == ["ACC %", "BWT", "FWT", "learning s", "state", "exemplars"]
    assert table["gem"] == ["40.00", "-0.4600", "-0.3000", "1.0", "1.2 kB", "1,980"]


def test_what_was_not_run_is_an_empty_cell_and_the_papers_columns_have_its_dataset_in_their_heads(compared, printed):
    printed({"ImageNet-Subset-6/3": {"gem": {"acc": 46.23, "acc_std": 1.45}}, "ImageNet-Subset-6/6": {}})
    found = gathered(
        [compared("tiny-imagenet-6/3@held-out"), compared("tiny-imagenet-6/2@held-out", ["if2net", "none"])]
    )
    table = rows(across(found, "table-imagenet-subset"))
    assert table["method"] == [
        "exemplars",
        "Tiny-ImageNet-6/3",
        "Tiny-ImageNet-6/2",
        "paper: ImageNet-Subset-6/3",
    ]
    assert table["gem"] == ["yes", "41.00 ± 1.00", "", "46.23 ± 1.45"]
    assert table["ncm"] == ["no", "51.00 ± 1.00", "", ""]
    assert table["joint"][0] == "all data"
    assert list(table)[1:3] == ["none", "joint"]


def test_a_margin_in_words_stands_beside_ours(compared):
    found = gathered([compared("stanford-dogs-6/3@held-out"), compared("stanford-dogs-6/2@held-out", ["if2net"])])
    said = margins("figure-dogs", found)
    assert "+2.29 points of ACC over il2m" in said
    assert said.endswith("Here: +10.00 in Stanford Dogs-6/3.")
    assert margins("figure-dogs", found[1:]).endswith("Here: not run.")


def test_the_first_table_has_ours_beside_the_papers_under_every_protocol(tmp_path, monkeypatch, printed):
    protocols = ("agnostic", "transductive")
    monkeypatch.setitem(
        TABLES, "tiny", ("a test", lambda: [Part("digits-10/5", protocol, ("if2net",)) for protocol in protocols])
    )
    printed({"digits": {"if2net": {"acc": 12.34, "bwt": -0.5}}, "mnist": {}})
    given = from_command_line(["width=30"])
    wanted = plans("tiny", tmp_path, methods=[], seeds=(0,), device="cpu", given=given)
    text = beside_the_paper("tiny", gathered(run_plans(wanted, None)))
    lines = [line for line in text.splitlines() if line.startswith("| if2net")]
    assert [line.split(" | ")[1] for line in lines] == [
        "agnostic",
        "transductive, one task per batch",
        "transductive, tasks mixed",
    ]
    assert all(" | 12.34 | " in line and " | -0.500 | " in line for line in lines)
    assert "### digits-10/5" in text
    assert "mnist" not in text
