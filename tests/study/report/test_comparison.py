from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from if2net.cli import app
from if2net.study.bench.experiments import TABLES, Part
from if2net.study.bench.results import write_json
from if2net.study.data import parse_scenario
from if2net.study.report import comparison
from if2net.study.report.comparison import FORMS, gathered, introduction, read, write

IMAGES = [name for name, form in FORMS.items() if form.figures]
METHODS = {"none", "joint", "gem", "il2m", "ncm", "if2net"}


@pytest.fixture
def of(compared):
    """Results for every scenario of a comparison."""

    def make(name, **changes):
        return [compared(part.scenario, **changes) for part in TABLES[name][1]()]

    return make


def words(path):
    return [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_every_comparison_has_its_form():
    assert list(FORMS) == list(TABLES)
    assert IMAGES == ["table-cifar", "figure-cifar", "table-imagenet-subset", "figure-cub", "figure-dogs"]


@pytest.mark.parametrize("name", IMAGES)
def test_a_table_and_a_figure_with_every_method_and_the_protocol_in_its_title(name, of, tmp_path):
    files = write(name, of(name), tmp_path)
    assert files[0] == tmp_path / "table.md"
    table = files[0].read_text()
    assert "Agnostic protocol, mean ± standard deviation over 3 seeds." in table
    assert "| learning s | state | exemplars |" in table
    (figure,) = [path for path in files if path.suffix == ".svg"]
    said = words(figure)
    assert "agnostic protocol" in said[0]
    assert {word.split()[0] for word in said} >= METHODS
    assert any("joint" in word and "all data" in word for word in said)
    assert any("keeps exemplars" in word for word in said)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("missing", ["methods", "seeds", "scenarios"])
def test_what_is_there_so_far_is_shown(name, missing, of, tmp_path):
    changes = {"methods": {"methods": ["gem", "if2net"]}, "seeds": {"seeds": [0]}}.get(missing, {})
    results = of(name, **changes)
    if missing == "scenarios":
        results[1:] = [{**entry, "runs": [], "summary": {}} for entry in results[1:]]
    for path in write(name, results, tmp_path):
        if path.suffix == ".svg":
            assert any("if2net" in word for word in words(path))
    assert "| if2net |" in (tmp_path / "table.md").read_text()


def test_one_seed_has_no_spread_and_several_counts_are_said(compared):
    first, second = compared("cifar100-60/10@held-out"), compared("cifar100-60/20@held-out", seeds=[0])
    assert introduction(gathered([second])) == "Agnostic protocol."
    assert introduction(gathered([first, second])).endswith("over 1 to 3 seeds.")


def test_nobody_can_take_one_imagenet_for_the_other(of):
    table = FORMS["table-imagenet-subset"].table("table-imagenet-subset", gathered(of("table-imagenet-subset")))
    assert "**Tiny-ImageNet is not ImageNet-Subset**" in table
    assert "| Tiny-ImageNet-100/50 | paper: ImageNet-Subset-100/10 |" in table


def test_where_methods_ran_on_several_devices_the_table_says_so(compared):
    mixed, alike = compared("cub200-100/5@held-out"), compared("cub200-100/10@held-out")
    for run in mixed["runs"]:
        run["device"] = "cpu" if run["method"] == "if2net" else "NVIDIA H200"
    table = FORMS["figure-cub"].table("figure-cub", gathered([mixed, alike]))
    first, second = table.split("### ")[1:]
    assert "cannot be compared: if2net ran on cpu, the others ran on NVIDIA H200." in first
    assert "cannot be compared" not in second


def test_the_table_says_what_a_backbone_was_trained_on(compared):
    seen, silent = compared("cub200-100/10@efficientnet-lite0"), compared("cub200-100/5@held-out")
    for run in seen["runs"]:
        run["backbone"] = {"identity": "1f", "pretrained_on": "ImageNet"}
    table = FORMS["figure-cub"].table("figure-cub", gathered([silent, seen]))
    assert table.count("The backbone was trained on ImageNet.") == 1


def test_results_are_read_in_the_order_of_the_comparison(compared, tmp_path):
    for part in TABLES["figure-cub"][1]():
        results = compared(part.scenario, tasks=parse_scenario(part.scenario).tasks)
        if "/10@held-out" not in part.scenario:
            (tmp_path / part.folder).mkdir()
            write_json(tmp_path / part.folder / "results.json", results)
    assert [entry["scenario"] for entry in read("figure-cub", tmp_path)] == [
        "cub200-100/5@held-out",
        "cub200-100/20@held-out",
        "cub200-100/10@efficientnet-lite0",
    ]


def test_the_command_writes_them_and_says_where(monkeypatch, tmp_path):
    parts = [Part("digits-10/5", "agnostic", ("ncm", "if2net"))]
    monkeypatch.setitem(TABLES, "figure-cifar", ("a test", lambda: parts))
    result = CliRunner().invoke(app, ["reproduce", "figure-cifar", "--runs", "2", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for name in ("table.md", "curves.svg"):
        assert str(tmp_path / name) in result.output
        assert (tmp_path / name).exists()


def test_pictures_are_light(of, tmp_path):
    pytest.importorskip("vl_convert", reason="the extra `figures` is not installed")
    pictures = [path for path in write("figure-cub", of("figure-cub"), tmp_path) if path.suffix == ".png"]
    assert [path.name for path in pictures] == ["bars.png"]
    header = pictures[0].read_bytes()[:24]
    assert abs(int.from_bytes(header[16:20], "big") - comparison.PIXELS) <= 1
    assert pictures[0].stat().st_size < 150_000
