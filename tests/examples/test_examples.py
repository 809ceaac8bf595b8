"""The programs in examples/ run, one of them as a newcomer would start it."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run an example in an empty folder with a cache of its own, and return what it prints.

    A process of its own would first import torch again, which takes longer than most examples.
    """
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run_one(name, process=False):
        path = str(EXAMPLES / name)
        if process:
            done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout
        monkeypatch.setattr(sys, "argv", [path])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out

    return run_one


def test_every_example_has_a_test():
    tested = set(re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text()))
    assert tested == {path.name for path in EXAMPLES.glob("*.py")}


def test_classes_are_added_to_a_deployed_classifier(run):
    output = run("add_classes.py", process=True)
    accuracies = [float(text) for text in re.findall(r"accuracy (\d\.\d+)", output)]
    assert len(accuracies) == 5
    assert min(accuracies) > 0.95
    assert float(re.search(r"at once: ([\d.]+) %", output)[1]) > 99


def test_two_sites_are_merged_and_one_is_forgotten(run):
    output = run("merge_two_sites.py")
    merged, at_once, without = (float(text) for text in re.findall(r"accuracy (\d\.\d+)", output))
    assert merged == pytest.approx(at_once, abs=0.01)
    assert without > 0.9


def test_pictures_are_learned_and_sorted(run):
    output = run("learn_images.py")
    assert "broken.png" in output
    answers = re.findall(r"^(\w+)/\d+\.png: (\w+)$", output, re.MULTILINE)
    assert len(answers) == 15
    assert sum(folder == answer for folder, answer in answers) >= 12


def test_a_method_of_ones_own_is_compared(run):
    output = run("compare_methods.py")
    accuracy = {name: float(acc) for name, acc in re.findall(r"^(\w+) +([\d.]+) +[-+]", output, re.MULTILINE)}
    assert accuracy["if2net"] > 90
    assert accuracy["if2net"] > accuracy["slower"] + 20


def test_annotations_of_label_studio_are_learned_corrected_and_withdrawn(run):
    output = run("label_studio_backend.py")
    assert "annotation 1: gren\nannotation 2: green\n" in output
    assert output.endswith("deleted: blue, red\n")


MLFLOW = {
    "__init__": "from mlflow import models, pyfunc",
    "models": "chosen = []\nset_model = chosen.append",
    "pyfunc": """
import runpy, shutil
from pathlib import Path
from types import SimpleNamespace
from mlflow import models

class PythonModel: ...

def save_model(path, python_model, artifacts):
    Path(path).mkdir()
    shutil.copy(python_model, Path(path, "code.py"))
    for name, file in artifacts.items():
        shutil.copy(file, Path(path, name))

def load_model(path):
    runpy.run_path(str(Path(path, "code.py")))
    model = models.chosen[-1]
    context = SimpleNamespace(artifacts={"model": str(Path(path, "model"))})
    model.load_context(context)
    return SimpleNamespace(predict=lambda data: model.predict(context, data))
""",
}


def test_a_model_goes_through_mlflow(run, tmp_path, monkeypatch):
    """A stand-in for the package mlflow, which is large, saves and loads like its models from code."""
    (tmp_path / "mlflow").mkdir()
    for name, code in MLFLOW.items():
        (tmp_path / "mlflow" / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    output = run("mlflow_model.py")
    for name in [name for name in sys.modules if name.partition(".")[0] == "mlflow"]:
        del sys.modules[name]
    assert float(re.search(r"samples: ([\d.]+)", output)[1]) > 0.98


def test_requests_of_label_studio_change_nothing_where_they_are_wrong(tmp_path, monkeypatch):
    """A webhook may also tell of tasks and projects, and the path of an image may lead anywhere."""
    monkeypatch.syspath_prepend(EXAMPLES)
    from label_studio_backend import Backend

    (tmp_path / "images").mkdir()
    backend = Backend(tmp_path / "none.if2", tmp_path / "images")
    assert backend.answer("/health", {})["status"] == "UP"
    assert backend.answer("/webhook", {"action": "PROJECT_UPDATED", "project": {"id": 1}})["status"] == "UP"
    (tmp_path / "secret.png").touch()
    with pytest.raises(ValueError, match="is outside"):
        backend._path({"data": {"image": "/data/local-files/?d=../secret.png"}})
