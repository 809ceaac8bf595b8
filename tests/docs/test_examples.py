"""The examples of the README and of the site run: python blocks in one namespace per page, sh blocks as commands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from if2net.cli import app

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
TEXTS = {path.relative_to(ROOT): path.read_text() for path in FILES}
PAGES = [path for path, text in TEXTS.items() if BLOCK.search(text)]
MUST_RUN = {"README.md", "docs/start.md", "docs/algorithm.md", "docs/metrics.md"}
GUIDES = ("tables", "images", "deployed", "model-files", "where-models-go", "comparing", "unknown", "serving")
MUST_RUN |= {f"docs/guides/{guide}.md" for guide in GUIDES}


def test_pages_with_examples_keep_them():
    assert {str(page) for page in PAGES} >= MUST_RUN


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    namespace = {"__name__": page.stem}
    for kind, code in BLOCK.findall(TEXTS[page]):
        if kind == "python":
            exec(compile(code, str(page), "exec"), namespace)
            continue
        for line in code.splitlines():
            command, *words = shlex.split(line, comments=True)
            assert command == "if2net"
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, result.output
