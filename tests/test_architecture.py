"""The rules of the architecture: who may import whom, and what an import must not load."""

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


def test_the_product_loads_nothing_of_the_study():
    code = """
import sys, if2net.cluster, if2net.tables
from if2net import IF2NetClassifier
print([name for name in sys.modules if name.startswith("if2net.study")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_uses_pickle():
    """Loading a pickle runs code of whoever wrote it."""
    unsafe_load = r"\btorch\.load\((?!.*weights_only=True)"
    pickling = re.compile(rf"\b(import|from) (pickle|joblib)\b|{unsafe_load}|\btorch\.save\(|allow_pickle=True")
    assert not [path for path in PACKAGE.rglob("*.py") if pickling.search(path.read_text(encoding="utf-8"))]
