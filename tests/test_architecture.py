"""The rules of the architecture: who may import whom, and what an import must not load."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import if2net

PACKAGE = Path(if2net.__file__).parent


def test_imports_follow_the_layers_without_cycles():
    """The rules are in the file .importlinter. Import-linter turns off all loggers of its process."""
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_product_loads_nothing_of_the_study_and_leaves_the_process_alone():
    code = """
import os, signal, sys, warnings
import sklearn.base, torch  # change the environment and the filters themselves

def state():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    return dict(os.environ), handlers, list(warnings.filters), torch.get_num_threads()

before = state()
import if2net.cluster, if2net.export, if2net.tables
from if2net import IF2NetClassifier, learn_images
assert state() == before, (before, state())
print([name for name in sys.modules if name.startswith("if2net.study")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_no_file_uses_pickle():
    """Loading a pickle runs code of whoever wrote it."""
    unsafe_load = r"\btorch\.load\((?!.*weights_only=True)"
    pickling = re.compile(rf"\b(import|from) (pickle|joblib)\b|{unsafe_load}|\btorch\.save\(|allow_pickle=True")
    assert not [path for path in PACKAGE.rglob("*.py") if pickling.search(path.read_text(encoding="utf-8"))]


def test_sentences_below_the_commands_name_no_options():
    """They name parameters, which both Python and the command line have."""
    option = re.compile(r"(?<![\w(])--[a-z]")
    below = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "commands" and path.name != "cli.py"]
    named = {
        text
        for path in below
        for text in _sentences(ast.parse(path.read_text(encoding="utf-8")))
        if option.search(text.replace("`ray start --head`", ""))  # the option of another program
    }
    assert not named


def _sentences(tree):
    """Yield all texts with a space in them, except docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in docstrings
        ):
            yield node.value
