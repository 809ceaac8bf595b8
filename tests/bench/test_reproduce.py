import pytest

from if2net.bench import reproduce
from if2net.bench.reproduce import markdown, paper_figures, plans
from if2net.bench.runner import run_plans
from if2net.bench.settings import from_command_line
from if2net.bench.tables import Part
from if2net.errors import ConfigurationError
from if2net.methods import METHODS

PEERS = {"ncm", "slda", "fecam", "ranpac", "acil", "if2net-gradient"}


def planned(out, methods=(), name="table-mnist"):
    return plans(name, out, methods=list(methods), seeds=(0, 1), device="cpu", given=[])


def test_the_first_table_has_all_methods_agnostic_and_ours_under_every_protocol(tmp_path):
    found = {folder.name: plan for plan, folder in planned(tmp_path)}
    assert len(found) == 8
    for dataset in ("mnist", "fashion-mnist"):
        assert list(found[f"{dataset}-agnostic"].settings) == list(METHODS)
        for protocol in ("aware", "transductive"):
            assert all(name.startswith("if2net") for name in found[f"{dataset}-{protocol}"].settings)
        scopes = {settings.scope for settings in found[f"{dataset}-agnostic-current"].settings.values()}
        assert scopes == {"current"}
    assert (tmp_path / "mnist-agnostic" / "config.json").exists()


def test_a_part_of_a_table_can_be_run_on_its_own(tmp_path):
    assert {folder.name for _, folder in planned(tmp_path, ["gem"])} == {"mnist-agnostic", "fashion-mnist-agnostic"}


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no table 'table-mnits'; did you mean 'table-mnist'"):
        planned(tmp_path, name="table-mnits")
    with pytest.raises(ConfigurationError, match=r"no method 'ewcc'; did you mean 'ewc'"):
        planned(tmp_path, ["ewcc"])


def test_the_paper_has_a_figure_for_every_method_but_the_peers():
    for figures in paper_figures("table-mnist").values():
        assert set(figures) == set(METHODS) - PEERS


def test_ours_stand_beside_the_papers(tmp_path, monkeypatch):
    monkeypatch.setitem(
        reproduce.TABLES,
        "tiny",
        ("a test", lambda: [Part("digits-10/5", protocol, ("if2net",)) for protocol in ("agnostic", "transductive")]),
    )
    monkeypatch.setattr(
        reproduce, "paper_figures", lambda name: {"digits": {"if2net": {"acc": 12.34, "bwt": -0.5}}, "mnist": {}}
    )
    given = from_command_line(["width=30"])
    wanted = plans("tiny", tmp_path, methods=[], seeds=(0,), device="cpu", given=given)
    text = markdown("tiny", run_plans(wanted, None))
    lines = [line for line in text.splitlines() if line.startswith("| if2net")]
    assert [line.split(" | ")[1] for line in lines] == [
        "agnostic",
        "transductive, one task per batch",
        "transductive, tasks mixed",
    ]
    assert all(" | 12.34 | " in line and " | -0.500 |  | " not in line for line in lines)
    assert "### digits-10/5" in text
    assert "mnist" not in text
