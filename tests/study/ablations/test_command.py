import pytest
from command_line import if2net

from if2net.errors import ConfigurationError
from if2net.study.ablations import ABLATIONS
from if2net.study.bench.experiments import EXPERIMENTS


def test_tables_and_ablations_are_listed():
    listed = [line.split()[0] for line in if2net("reproduce", "--list").splitlines()]
    assert listed == [*EXPERIMENTS, *ABLATIONS]


def test_an_ablation_is_run_and_its_files_are_named(small, monkeypatch, tmp_path):
    monkeypatch.setitem(ABLATIONS, "figure-rademacher", small("figure-rademacher", "d"))
    said = if2net("reproduce", "figure-rademacher", "--runs", "1", "--device", "cpu", "--out", tmp_path)
    assert "1/1 d, seed 0" in said
    for name in ("table.md", "figure.svg"):
        assert str(tmp_path / name) in said
        assert (tmp_path / name).exists()


def test_an_unknown_name_offers_the_close_ones():
    with pytest.raises(ConfigurationError, match="did you mean 'table-layers'"):
        if2net("reproduce", "table-layer")


def test_methods_and_settings_are_refused_where_they_mean_nothing(tmp_path):
    for words in (["-m", "ewc"], ["--part", "mnist-agnostic"], ["--set", "width=20"]):
        with pytest.raises(ConfigurationError, match="leave out -m, --part and --set"):
            if2net("reproduce", "table-init", *words, "--out", tmp_path)
    assert not list(tmp_path.iterdir())
