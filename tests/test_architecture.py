"""Calls go one way: cli → commands → ablations, report → bench → backbone → methods, data → learner → the rest."""

import ast
from pathlib import Path

import pytest

import if2net

PACKAGE = Path(if2net.__file__).parent
LAYERS = {
    "errors": 0,
    "version": 0,
    "files": 1,
    "progress": 1,
    "accelerate": 1,
    "encoder": 1,
    "decision": 1,
    "holdout": 1,
    "inputs": 1,
    "interrupts": 1,
    "labels": 1,
    "modelfile": 1,
    "config": 2,
    "snapshot": 2,
    "learning": 2,
    "forgetting": 2,
    "predicting": 2,
    "learner": 3,
    "classifier": 4,
    "tables": 5,
    "images": 5,
    "cluster": 6,
    "commands": 7,
    "study": 8,
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


def test_no_pickle_anywhere():
    assert not [path for path in FILES if "pickle" in path.read_text().replace("No pickle", "")]
