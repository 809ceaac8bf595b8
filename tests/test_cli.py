import json
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "from if2net.cli import main; main()"]


def if2net(*words, cwd=None):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    done = if2net("run", "-m", "if2net", "--set", "width=80", "--runs", "2", "--out", str(folder / "out"))
    assert done.returncode == 0, done.stderr
    return done, folder / "out"


def test_a_run_prints_the_table_and_where_the_report_is(finished):
    done, out = finished
    assert "ACC %" in done.stdout
    assert str(out / "report.html") in done.stdout


def test_a_run_writes_results_report_and_the_resolved_configuration(finished):
    _, out = finished
    results = json.loads((out / "results.json").read_text())
    assert results["scenario"] == "digits-10/5"
    assert results["summary"]["if2net"]["acc_mean"] > 0.9
    assert json.loads((out / "config.json").read_text())["methods"]["if2net"]["width"] == 80
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_a_finished_run_is_shown_again_without_learning(finished):
    done, out = finished
    again = if2net("run", "-m", "if2net", "--set", "width=80", "--runs", "2", "--out", str(out))
    assert "task 1/5" in done.stdout
    assert "task 1/5" not in again.stdout
    assert "ACC %" in again.stdout


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["run", "digit-10/5"], "did you mean 'digits'"),
        (["run", "-m", "if2nett"], "did you mean 'if2net'"),
        (["run", "--protocol", "awar"], "did you mean 'aware'"),
        (["run", "--set", "widht=3"], "did you mean 'width'"),
        (["run", "--device", "cdua"], "did you mean 'cuda'"),
        (["run", "mnist-10/5", "--data", "nowhere"], "does not exist"),
    ],
)
def test_wrong_words_get_a_sentence_and_no_traceback(words, advice, tmp_path):
    done = if2net(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert advice in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_help_needs_no_torch():
    code = """
import sys, if2net.cli
try:
    if2net.cli.app(["--help"])
except SystemExit:
    assert "torch" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_methods_and_datasets_are_listed():
    assert "if2net-ewc" in if2net("methods").stdout
    assert "fashion-mnist" in if2net("datasets").stdout


def test_tune_writes_everything_it_tried(tmp_path):
    out = tmp_path / "found.json"
    done = if2net("tune", "digits-10/5", "-m", "if2net", "--grid", "width=20,100", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["best"] == {"acc": {"width": "100"}}
