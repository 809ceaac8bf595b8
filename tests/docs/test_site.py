"""The site builds without a warning, needs no network, and has a page for every public name."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import if2net
from if2net import IF2Net, cluster, errors, export, server

ROOT = Path(__file__).parents[2]
# Members of IF2Net for the rest of the package, such as the cluster and the service.
INTERNAL = {"tensors", "frozen_tensors", "solved_tensors", "restore", "labels", "encoder", "tweaks", "decision"}
INTERNAL |= {"check_learns", "predicting_copy"}
PUBLIC = {
    *(f"if2net.{name}" for name in if2net.__all__ if name[0] != "_"),
    *(f"if2net.cluster.{name}" for name in cluster.__all__),
    *(f"if2net.export.{name}" for name in export.__all__),
    *(f"if2net.server.{name}" for name in server.__all__),
    *(f"if2net.IF2Net.{name}" for name in vars(IF2Net) if name[0] != "_" and name not in INTERNAL),
    *(
        f"if2net.errors.{name}"
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ValueError)
    ),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site and return the text of its pages by their path."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet, which also drops the warnings that --strict counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # without the theme's advertisement of its successor
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def test_every_public_name_has_its_place_in_the_reference(site):
    reference = "".join(page for path, page in site.items() if path.startswith("api/"))
    anchors = set(re.findall(r'id="(if2net\.\S+)"', reference))
    assert anchors >= PUBLIC - {"if2net.IF2NetError"}  # documented with the other errors


def test_pages_load_nothing_from_elsewhere(site):
    elsewhere = r"(?:https?:)?//"
    loaded = re.compile(rf"""<(?:script|img|iframe)[^>]+src=["']?{elsewhere}|<link[^>]+stylesheet[^>]+{elsewhere}""")
    assert not [path for path, page in site.items() if loaded.search(page)]


def test_the_picture_is_drawn_from_the_committed_results():
    description = importlib.util.spec_from_file_location("picture", ROOT / "docs/picture.py")
    picture = importlib.util.module_from_spec(description)
    description.loader.exec_module(picture)
    assert (ROOT / "docs/picture.svg").read_text() == picture.draw(json.loads(picture.RESULTS.read_text())["runs"])


def test_figures_of_the_results_are_part_of_the_site(site):
    assert "results/table-cifar/curves.svg" in site["image-benchmarks.html"]
