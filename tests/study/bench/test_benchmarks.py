"""The benchmarks record their environment. Their measurements are not run here."""

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.parametrize(
    ("name", "measured"), [("limits", ["shares", "one_sample", "growth"]), ("imports", ["seconds"])]
)
def test_a_benchmark_records_the_environment(name, measured, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    program = importlib.import_module(name)
    for function in measured:
        monkeypatch.setattr(program, function, lambda *_: 1.0)
    monkeypatch.setattr(program, "__file__", str(tmp_path / f"{name}.py"))
    monkeypatch.setattr(sys, "argv", [name])
    program.main()
    recorded = json.loads((tmp_path / f"{name}.json").read_text())["environment"]
    assert {"if2net", "torch", "processor", "threads", "device"} <= set(recorded)


def test_ranpac_in_the_best_order_equals_the_published_recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    learning, rows = importlib.import_module("learning"), importlib.import_module("rows")
    random = torch.Generator().manual_seed(0)
    V, y = torch.relu(torch.randn(60, 100, generator=random)), torch.arange(60) % 3
    learners = [make(100, 3) for make in (learning.ranpac, rows.ranpac)]
    for learner in learners:
        learner.count(V, y)
        learner.solve(V, y)
    best, published = (learner.scores(V) for learner in learners)
    torch.testing.assert_close(best, published, rtol=1e-3, atol=1e-3)
