from typer.testing import CliRunner

from if2net.cli import app
from if2net.errors import ConfigurationError
from if2net.study.ablations import ABLATIONS
from if2net.study.bench.experiments import EXPERIMENTS


def invoked(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_tables_and_ablations_are_listed():
    listed = [line.split()[0] for line in invoked("--list").output.splitlines()]
    assert listed == [*EXPERIMENTS, *ABLATIONS]


def test_an_ablation_is_run_and_its_files_are_named(small, monkeypatch, tmp_path):
    monkeypatch.setitem(ABLATIONS, "figure-rademacher", small("figure-rademacher", "d"))
    result = invoked("figure-rademacher", "--runs", "1", "--device", "cpu", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "1/1 d, seed 0" in result.output
    for name in ("table.md", "figure.svg"):
        assert str(tmp_path / name) in result.output
        assert (tmp_path / name).exists()


def test_an_unknown_name_offers_the_close_ones():
    error = invoked("table-layer").exception
    assert isinstance(error, ConfigurationError)
    assert "did you mean 'table-layers'" in str(error)


def test_methods_and_settings_are_refused_where_they_mean_nothing(tmp_path):
    for words in (["-m", "ewc"], ["--part", "mnist-agnostic"], ["--set", "width=20"]):
        error = invoked("table-init", *words, "--out", str(tmp_path)).exception
        assert "leave out -m, --part and --set" in str(error)
    assert not list(tmp_path.iterdir())
