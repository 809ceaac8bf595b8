from xml.etree import ElementTree

import pytest
from command_line import if2net
from PIL import Image

from if2net.study.bench.experiments import EXPERIMENTS, OWN, Experiment, Part
from if2net.study.report import paper_tables
from if2net.study.report.paper_tables import (
    FORMS,
    across,
    after_each_task,
    beside_the_paper,
    gathered,
    introduction,
    margins,
    read,
    summary,
    write,
)

IMAGES = [name for name, form in FORMS.items() if form.figures and name not in OWN]


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
    """Replaces the paper's figures for one test."""

    def say(figures):
        monkeypatch.setattr(paper_tables, "paper_figures", lambda _: figures)

    return say


def test_the_papers_row_stands_under_ours_and_the_last_task_has_its_spread(compared):
    (section,) = gathered([compared("cifar100-6/3@held-out")])
    table = rows(after_each_task(section, {"if2net": {"curve": [84.71, 74.58, 56.98]}}))
    assert list(table) == ["method", "none", "joint", "gem", "il2m", "ncm", "if2net", "*if2net, paper*"]
    assert table["method"] == ["exemplars", "1", "2", "3"]
    assert table["*if2net, paper*"] == ["", "84.71", "74.58", "56.98"]
    assert table["none"] == ["0", "90.00", "75.00", "31.00 ± 1.00"]  # a bound does not compete


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


def test_a_missing_run_is_an_empty_cell_and_the_papers_columns_name_its_dataset(compared, printed):
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


def test_the_papers_margin_stands_beside_ours(compared):
    found = gathered([compared("stanford-dogs-6/3@held-out"), compared("stanford-dogs-6/2@held-out", ["if2net"])])
    text = margins("figure-dogs", found)
    assert "+2.29 points of ACC over IL2M" in text
    assert text.endswith("Here: +10.00 in Stanford Dogs-6/3.")
    assert margins("figure-dogs", found[1:]).endswith("Here: not run.")


def test_the_first_table_has_ours_beside_the_papers_under_every_protocol(make_results, make_run, printed):
    printed({"digits": {"if2net": {"acc": 12.34, "bwt": -0.5}}, "mnist": {}})
    variants = ("one task per batch", "tasks mixed")
    results = [
        make_results(make_run()),
        make_results(*(make_run(variant=variant) for variant in variants), protocol="transductive"),
        make_results(make_run("ewc"), settings={"ewc": {"scope": "current"}}),
    ]
    text = beside_the_paper("table-mnist", gathered(results))
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith(("| if2net", "| ewc"))]
    assert [line[1] for line in lines] == [
        "agnostic",
        "agnostic, loss over the current task's classes",
        "transductive, one task per batch",
        "transductive, tasks mixed",
    ]
    ours = [line for line in lines if line[0] == "| if2net"]
    assert all((line[3], line[5]) == ("12.34", "-0.500") for line in ours)
    assert "### digits-4/2" in text
    assert "mnist" not in text


@pytest.fixture
def of(compared):
    """Results for every scenario of a comparison."""

    def make(name, **changes):
        return [compared(part.scenario, **changes) for part in EXPERIMENTS[name].parts]

    return make


def words(path):
    return [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_every_comparison_has_its_form():
    assert list(FORMS) == list(EXPERIMENTS)
    assert IMAGES == ["table-cifar", "figure-cifar", "table-imagenet-subset", "figure-cub", "figure-dogs"]


@pytest.mark.parametrize("name", IMAGES)
def test_a_figure_names_every_method_and_the_protocol(name, of, tmp_path):
    files = write(name, of(name), tmp_path)
    assert files[0] == tmp_path / "table.md"
    table = files[0].read_text()
    assert "Agnostic protocol, mean ± standard deviation over 3 seeds." in table
    assert "| learning s | state | exemplars |" in table
    (figure,) = [path for path in files if path.suffix == ".svg"]
    texts = words(figure)
    assert any("agnostic protocol" in text for text in texts)
    assert {text.split()[0] for text in texts} >= {"none", "joint", "gem", "il2m", "ncm", "if2net"}
    assert any("joint" in text and "all data" in text for text in texts)
    assert any("keeps exemplars" in text for text in texts)
    (picture,) = [path for path in files if path.suffix == ".png"]
    assert abs(Image.open(picture).width - paper_tables.PIXELS) <= 1
    assert picture.stat().st_size < 150_000


@pytest.mark.parametrize("name", ["table-cifar", "table-imagenet-subset", "figure-dogs"])  # the others look alike
@pytest.mark.parametrize("missing", ["methods", "seeds", "scenarios"])
def test_unfinished_comparisons_show_their_finished_runs(name, missing, of, make_results, tmp_path):
    changes = {"methods": {"methods": ["gem", "if2net"]}, "seeds": {"seeds": [0]}}.get(missing, {})
    results = of(name, **changes)
    if missing == "scenarios":
        del results[1:]
    for path in write(name, results, tmp_path):
        if path.suffix == ".svg":
            assert any("if2net" in text for text in words(path))
    assert "| if2net |" in (tmp_path / "table.md").read_text()


def test_the_introduction_counts_the_seeds(compared):
    first, second = compared("cifar100-60/10@held-out"), compared("cifar100-60/20@held-out", seeds=[0])
    assert introduction(gathered([second])) == "Agnostic protocol."
    assert introduction(gathered([first, second])).endswith("over 1 to 3 seeds.")


def test_the_table_says_that_tiny_imagenet_is_not_imagenet_subset(of):
    table = FORMS["table-imagenet-subset"].table("table-imagenet-subset", gathered(of("table-imagenet-subset")))
    assert "**Tiny-ImageNet is not ImageNet-Subset**" in table
    assert "| Tiny-ImageNet-100/50 | paper: ImageNet-Subset-100/10 |" in table


def test_the_table_names_the_devices_where_methods_ran_on_several(compared):
    def device(method):
        return {"device": "cpu" if method == "if2net" else "NVIDIA H200"}

    found = gathered([compared("cub200-100/5@held-out", change=device), compared("cub200-100/10@held-out")])
    first, second = FORMS["figure-cub"].table("figure-cub", found).split("### ")[1:]
    assert "cannot be compared: if2net ran on cpu, the others ran on NVIDIA H200." in first
    assert "cannot be compared" not in second


def test_the_table_names_the_data_that_a_backbone_was_trained_on(compared):
    def backbone(method):
        return {"backbone": {"identity": "1f", "pretrained_on": "ImageNet"}}

    seen = compared("cub200-100/10@efficientnet-lite0", change=backbone)
    table = FORMS["figure-cub"].table("figure-cub", gathered([compared("cub200-100/5@held-out"), seen]))
    assert table.count("The backbone was trained on ImageNet.") == 1


def test_the_innate_encoders_have_a_table_each_and_a_figure_by_the_number_of_tasks(of, tmp_path):
    files = write("innate", of("innate"), tmp_path)
    table = files[0].read_text()
    parts = table.split("\n### ")
    assert [part.splitlines()[0] for part in parts[1:4]] == ["innate", "innate-large", "pixels"]
    assert "CIFAR-100/100, innate-large" in rows(parts[2])["method"]
    assert "| CIFAR-100/10, pixels |" in parts[3].splitlines()[2]
    texts = words(tmp_path / "tasks.svg")
    assert {"if2net, innate", "if2net, innate-large", "APR, as published", "10", "100"} <= set(texts)


def test_a_figure_without_runs_on_cifar_has_the_published_lines(compared, tmp_path):
    write("innate", [compared("mnist-10/5@innate")], tmp_path)
    texts = words(tmp_path / "tasks.svg")
    assert "CIRCLE, as published" in texts
    assert not any("if2net" in text for text in texts)


def test_results_are_read_in_the_order_of_the_comparison(of, tmp_path):
    for part, results in zip(EXPERIMENTS["figure-cub"].parts, of("figure-cub"), strict=True):
        if "/10@held-out" not in part.scenario:
            (tmp_path / part.folder).mkdir()
            results.write(tmp_path / part.folder / "results.json")
    assert [entry.scenario for entry in read("figure-cub", tmp_path)] == [
        "cub200-100/5@held-out",
        "cub200-100/20@held-out",
        "cub200-100/10@efficientnet-lite0",
    ]


def test_the_command_writes_the_files_and_names_them(monkeypatch, tmp_path):
    parts = (Part("digits-10/5", "agnostic", ("ncm", "if2net")),)
    monkeypatch.setitem(EXPERIMENTS, "figure-cifar", Experiment("a test", parts))
    said = if2net("reproduce", "figure-cifar", "--runs", "2", "--out", tmp_path)
    for name in ("table.md", "curves.svg", "curves.png"):
        assert str(tmp_path / name) in said
        assert (tmp_path / name).exists()
