"""The pages of docs/ run as they are written: python blocks in one namespace, sh blocks as commands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from if2net.cli import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [path for path in sorted(DOCS.glob("*.md")) if BLOCK.search(path.read_text())]
MUST_RUN = {"engineer.md", "researcher.md", "algorithm.md", "metrics.md"}


def test_the_tutorials_and_the_pages_of_equations_have_examples():
    assert {page.name for page in PAGES} >= MUST_RUN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    namespace = {"__name__": page.stem}
    for kind, code in BLOCK.findall(page.read_text()):
        if kind == "python":
            exec(compile(code, page.name, "exec"), namespace)
            continue
        for line in code.splitlines():
            command, *words = shlex.split(line, comments=True)
            assert command == "if2net"
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, result.output
