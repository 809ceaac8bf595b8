"""The benchmarks record their environment. Their measurements are not run here."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.parametrize(
    ("name", "measured"), [("limits", ["shares", "one_sample", "growth"]), ("imports", ["seconds"])]
)
def test_a_benchmark_records_the_environment(name, measured, tmp_path, monkeypatch):
    description = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    program = importlib.util.module_from_spec(description)
    description.loader.exec_module(program)
    for function in measured:
        monkeypatch.setattr(program, function, lambda *_: 1.0)
    monkeypatch.setattr(program, "__file__", str(tmp_path / f"{name}.py"))
    monkeypatch.setattr(sys, "argv", [name])
    program.main()
    recorded = json.loads((tmp_path / f"{name}.json").read_text())["environment"]
    assert {"if2net", "torch", "processor", "threads", "device"} <= set(recorded)
