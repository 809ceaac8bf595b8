"""Calls go one way: cli → commands → ablations, report → bench → backbone → methods, data → learner → the rest."""

import ast
from pathlib import Path

import pytest

import if2net

PACKAGE = Path(if2net.__file__).parent
LAYERS = {
    "errors": 0,
    "version": 0,
    "encoder": 1,
    "decision": 1,
    "content": 1,
    "inputs": 1,
    "interrupts": 1,
    "labels": 1,
    "modelfile": 1,
    "products": 1,
    "streamed": 1,
    "config": 2,
    "snapshot": 2,
    "learning": 2,
    "forgetting": 2,
    "predicting": 2,
    "learner": 3,
    "estimator": 4,
    "methods": 4,
    "data": 4,
    "backbone": 5,
    "bench": 6,
    "cluster": 6,
    "report": 7,
    "ablations": 7,
    "commands": 8,
    "cli": 9,
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("if2net"):
            inside = node.module.split(".")[1:]
            yield from [inside[0]] if inside else [alias.name for alias in node.names]


def only_for_types(path, name):
    """These know the learner by its type alone."""
    return path.name in ("snapshot.py", "learning.py", "forgetting.py", "predicting.py") and name == "learner"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards(path):
    own = part_of(path)
    upwards = [
        name
        for name in imported_parts(path)
        if name != own and not only_for_types(path, name) and LAYERS[name] > LAYERS[own]
    ]
    assert not upwards


@pytest.mark.parametrize("part", ["encoder", "decision"])
def test_the_two_algorithms_do_not_know_of_each_other(part):
    other = {"encoder": "decision", "decision": "encoder"}[part]
    for path in (PACKAGE / part).glob("*.py"):
        assert other not in imported_parts(path)


def test_every_file_can_be_read_in_one_sitting():
    long = {path.name: lines for path in FILES if (lines := len(path.read_text().splitlines())) > 260}
    assert not long


def test_what_is_in_methods_is_short():
    long = [path.name for path in (PACKAGE / "methods").glob("*.py") if len(path.read_text().splitlines()) >= 150]
    assert not long


def test_no_pickle_anywhere():
    assert not [path for path in FILES if "pickle" in path.read_text().replace("No pickle", "")]
