"""`if2net reproduce innate` on a few small pictures."""

import pytest
from command_line import if2net

from if2net.errors import ConfigurationError
from if2net.study.bench.experiments import EXPERIMENTS, Experiment, Part
from if2net.study.bench.results import Results


@pytest.fixture
def innate(monkeypatch):
    """The experiment with four classes."""
    parts = (
        Part("mnist-4/2@innate,flip=no", "agnostic", ("ncm",)),
        Part("cifar100-4/2@innate", "agnostic", ("ncm", "if2net")),
        Part("cifar100-4/4@innate", "agnostic", ("if2net",)),
        Part("cifar100-4/2@pixels", "agnostic", ("ncm",)),
    )
    monkeypatch.setitem(EXPERIMENTS, "innate", Experiment("a test", parts))


def test_the_innate_encoder_is_measured_part_by_part(innate, coloured, own_cache, tmp_path):
    out = tmp_path / "out"
    words = ("reproduce", "innate", "--runs", "1", "--data", coloured, "--device", "cpu", "--out", out)
    words += ("--jobs", "1", "--set", "if2net.width=20")
    first, rest = ["cifar100-4-4-innate"], ["mnist-4-2-innate", "cifar100-4-2-innate", "cifar100-4-2-pixels"]
    if2net(*words, *(word for name in first for word in ("--part", name)))
    assert [path.name for path in out.iterdir() if path.is_dir()] == first
    said = if2net(*words, *(word for name in rest for word in ("--part", name)))
    assert "tasks.svg" in said
    found = {name: Results.read(out / name / "results.json") for name in (*first, *rest)}
    two, four = (found[name].of("if2net")[0] for name in ("cifar100-4-2-innate", *first))
    assert two.acc == four.acc > 0.9  # one class per task changes nothing
    assert (len(two.R), len(four.R)) == (2, 4)
    table = (out / "table.md").read_text()
    assert "### innate\n\n| method |" in table
    assert "CIFAR-4/4, innate" in table  # from the first call
    assert "### pixels\n\n| method |" in table
    assert "APR 57.9 with 10 tasks" in table
    assert (out / "tasks.svg").exists()


def test_a_wrong_name_is_refused_with_the_list_too():
    with pytest.raises(ConfigurationError, match="did you mean 'innate"):
        if2net("reproduce", "innat", "--list")
    assert "innate" in if2net("reproduce", "--list")


def test_the_parts_of_a_comparison_are_listed_alone():
    lines = if2net("reproduce", "table-mnist", "--list").splitlines()
    assert [line.split()[0] for line in lines] == [part.folder for part in EXPERIMENTS["table-mnist"].parts]
    assert lines[2].endswith(" mnist-10/5, aware, 3 methods")
    assert if2net("reproduce", "table-init", "--list").startswith("table-init ")


def test_an_unknown_part_offers_the_close_ones(tmp_path):
    with pytest.raises(ConfigurationError, match="did you mean 'mnist-10-5-innate'"):
        if2net("reproduce", "innate", "--part", "mnist-10-5-inate", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
