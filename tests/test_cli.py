"""The `if2net` command: its help, its errors and a whole run; as a process where that makes a difference."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from command_line import if2net
from processes import Command, run
from typer.main import get_command
from typer.testing import CliRunner

from if2net import __version__
from if2net.cli import EXAMPLES, KEPT, PANELS, app
from if2net.errors import ConfigurationError, IF2NetError, OutputError

PRINTS = """
import typer
from if2net.cli import app, main
@app.command()
def prints():
    typer.echo("text")
main()
"""
# A command that only prints. Those of the package import torch first, which takes seconds.
PRINTING = [sys.executable, "-c", PRINTS, "prints"]


def command_name(function):
    return function.__name__.replace("_", "-")


def learn_two_classes(folder):
    """Learn the table t.csv in a folder as the model m.if2."""
    (folder / "t.csv").write_text("x,label\n" + "1,a\n2,b\n" * 10)
    if2net("learn", folder / "m.if2", folder / "t.csv", "--set", "width=5", "--device", "cpu")


# ---------------------------------------------------------------------- help


def test_help_has_the_commands_in_groups():
    output = CliRunner().invoke(app, ["--help"]).output
    model, study = output.split("The study")
    assert "Your model" in model
    for part, commands in zip((model, study), PANELS.values(), strict=True):
        assert all(f" {command_name(command)} " in part for command in commands)


@pytest.mark.parametrize("command", [command for commands in PANELS.values() for command in commands])
def test_every_command_and_every_option_is_described(command):
    name = command_name(command)
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0
    described = get_command(app).commands[name]
    assert inspect.unwrap(described.callback) is command
    assert described.help
    for parameter in described.params:
        assert parameter.help, (name, parameter.name)


@pytest.mark.parametrize("words", [[], ["learn"], ["run"], ["innate"], ["innate", "draw"]], ids=str)
def test_flags_are_shown_without_a_type(words):
    output = CliRunner().invoke(app, [*words, "--help"]).output
    assert "--help" in output
    assert "<bool>" not in output


def test_ctrl_c_says_what_is_left_of_a_model_that_a_command_changes():
    for name in map(command_name, PANELS["Your model"]):
        if any("--no-wait" in parameter.opts for parameter in get_command(app).commands[name].params):
            assert name in KEPT


def test_every_command_can_answer_in_json_and_be_quiet():
    commands = get_command(app).commands
    every = [*(one for name, one in commands.items() if name != "innate"), *commands["innate"].commands.values()]
    for command in every:
        options = {option for parameter in command.params for option in parameter.opts}
        assert options >= {"--json", "--quiet"}, command.name


@pytest.mark.parametrize("command", dict.fromkeys([*PANELS["Your model"], *EXAMPLES]))
def test_the_example_of_a_command_fits_its_arguments(command):
    name, *words = EXAMPLES[command].split()[1:]
    assert name == command_name(command)
    get_command(app).commands[name].make_context(name, words)
    assert "Example: if2net" in CliRunner().invoke(app, [name, "--help"]).output


def test_version_is_shown():
    assert CliRunner().invoke(app, ["--version"]).output == f"if2net {__version__}\n"


def test_shells_can_complete_the_commands():
    environment = os.environ | {"_IF2NET_COMPLETE": "complete_bash", "COMP_WORDS": "if2net pre", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'if2net'; from if2net.cli import app; app()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["predict", "pretrain"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_completion_works_in_bash(tmp_path):
    (tmp_path / "if2net").write_text(f"#!{sys.executable}\nfrom if2net.cli import main\nmain()\n")
    (tmp_path / "if2net").chmod(0o755)
    shell = """
        eval "$(if2net --show-completion bash)"
        COMP_WORDS=(if2net learn m.if2 --no) COMP_CWORD=3
        _if2net_completion if2net
        printf '%s ' "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["--no-undo", "--no-wait"], done.stderr


def test_help_needs_no_torch():
    code = """
import sys, if2net.cli
try:
    if2net.cli.app(["--help"])
except SystemExit:
    assert not {"torch", "numpy", "sklearn", "pyarrow"} & set(sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_methods_and_data_sets_are_listed():
    assert "if2net-ewc" in CliRunner().invoke(app, ["methods"]).output
    assert "fashion-mnist" in CliRunner().invoke(app, ["datasets"]).output
    for words, name in (["methods"], "ewc"), (["datasets"], "digits"), (["reproduce", "--list"], "table-mnist"):
        assert name in json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
        assert CliRunner().invoke(app, [*words, "--quiet"]).output == ""


def test_the_summaries_of_comparisons_begin_in_one_column():
    summaries = json.loads(CliRunner().invoke(app, ["reproduce", "--list", "--json"]).output)
    lines = CliRunner().invoke(app, ["reproduce", "--list"]).output.splitlines()
    assert len({line.rindex(summary) for line, summary in zip(lines, summaries.values(), strict=True)}) == 1


# ---------------------------------------------------------------------- errors


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
def test_a_wrong_word_gets_a_sentence_and_writes_nothing(words, advice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, ConfigurationError)
    assert advice in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_an_error_is_one_sentence_without_a_traceback(tmp_path):
    done = run("info", "none.if2", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "Error: There is no model file at none.if2; check the path.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
# The output of predict is shorter than its buffer, so that it fails at the end.
@pytest.mark.parametrize("words", [["info", "m.if2"], ["predict", "m.if2", "t.csv"], ["--version"]], ids=" ".join)
def test_an_output_that_cannot_be_written_is_one_sentence(words, tmp_path):
    learn_two_classes(tmp_path)
    done = run(*words, folder=tmp_path, stdout="/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: A file or the output cannot be read or written (No space left on device)")
    assert done.stderr.count("\n") == 1


LEARN = ["learn", "m.if2", "t.csv", "--set", "width=5", "--device", "cpu"]
CHANGES = {
    "learn": ["learn", "m.if2", "t.csv", "--force"],
    "rename": ["rename", "m.if2", "a", "c"],
    "forget": ["forget", "m.if2", "--class", "a"],
    "undo": ["undo", "m.if2"],
    "fork": ["fork", "m.if2", "other.if2"],
    "export": ["export", "m.if2", "other.if2", "--predict-only"],
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [*CHANGES.values(), [*CHANGES["learn"], "--json"]], ids=" ".join)
def test_a_change_that_cannot_be_announced_is_a_success(words, tmp_path, monkeypatch, capfd):
    """A script that sees an error would make the change a second time."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,label\n" + "1,a\n2,b\n" * 10)
    for earlier in (LEARN, CHANGES["learn"]):
        assert CliRunner().invoke(app, earlier).exit_code == 0
    name = "other.if2" if "other.if2" in words else "m.if2"
    before = Path("m.if2").read_bytes()
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        app(words, standalone_mode=False)
    assert Path(name).read_bytes() != before
    sentence = f"Warning: {name} has been written, but the answer could not be printed (No space left on device).\n"
    assert capfd.readouterr().err.endswith(sentence)


def test_a_change_whose_reader_has_left_is_a_success(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n" + "1,a\n2,b\n" * 10)
    command = Command(*LEARN, folder=tmp_path)
    command.stdout.close()
    assert "Warning" not in command.stderr.read()
    command.process.join()
    assert (command.process.exitcode, (tmp_path / "m.if2").exists()) == (0, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_progress_that_cannot_be_written_does_not_stop_the_work(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n" + "1,a\n2,b\n" * 10)
    done = run(*LEARN, folder=tmp_path, stderr="/dev/full")
    assert (done.returncode, done.stdout.startswith("Learned 20 samples")) == (0, True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_output_drops_what_is_printed(stream):
    words = ["sh", "-c", f'"$@" {stream}>&-', "sh", *PRINTING]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_characters_that_the_output_cannot_hold_are_escaped_but_not_in_predictions(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n" + "1,鳥\n2,b\n" * 10, encoding="utf-8")
    latin = {"PYTHONIOENCODING": "latin-1"}
    learned = run(*LEARN, folder=tmp_path, environment=latin)
    assert (learned.returncode, r"New classes: b, \u9ce5" in learned.stdout) == (0, True)
    predicted = run("predict", "m.if2", "t.csv", folder=tmp_path, environment=latin)
    assert predicted.returncode == 2
    assert "Error: The encoding latin-1 of the output cannot hold '\\u9ce5'; write a file with" in predicted.stderr


@pytest.mark.parametrize(
    "words", [["run", "-m", "ncm", "--out", "[/b]"], ["innate", "draw", "--classes", "1", "--out", "[/b].png"]]
)
def test_brackets_in_a_path_are_no_markup(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[").mkdir()
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert words[-1] in result.stdout


def test_files_of_the_package_are_read_whatever_the_encoding_of_the_system():
    code = """
import warnings
from if2net.study.bench import hyperparameters, paper
warnings.simplefilter("error", EncodingWarning)
hyperparameters.space("ewc")
paper.paper_figures("table-mnist")
"""
    subprocess.run([sys.executable, "-X", "warn_default_encoding", "-c", code], check=True)


def test_a_reader_that_stops_ends_a_command_quietly():
    process = subprocess.Popen(PRINTING, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError(13, "Permission denied", "some/file"), "some/file cannot be read or written (Permission de"),
        (MemoryError(), "There is not enough memory; "),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 80 GB"), "not enough memory; "),
        (RuntimeError("CUDA out of memory. Tried to allocate 80 GiB"), "There is not enough memory; "),
        (BrokenProcessPool(), "A worker process has died"),
    ],
)
def test_a_machine_that_does_not_suffice_is_explained(error, sentence, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("if2net.modelfile.read", fail)
    result = CliRunner().invoke(app, ["info", "m.if2"])
    assert isinstance(result.exception, IF2NetError)
    assert sentence in str(result.exception)


def test_an_error_that_nobody_expects_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("if2net.modelfile.read", lambda path: [][0])
    assert isinstance(CliRunner().invoke(app, ["info", "m.if2"]).exception, IndexError)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_command_of_the_study_names_the_extra_that_is_missing(package, tmp_path):
    done = run("report", tmp_path, before=f"import sys; sys.modules[{package!r}] = None")
    assert done.returncode == 2
    assert f"`if2net report` needs {package}; install it with `pip install 'if2net[study]'`." in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_a_command_with_a_sentence_and_leaves_the_model_unchanged(tmp_path):
    """The signal comes while the model learns."""
    model, table = tmp_path / "m.if2", tmp_path / "t.csv"
    learn_two_classes(tmp_path)
    before = model.read_bytes()
    interrupt = """
import os, signal
from if2net import IF2Net
IF2Net.learn = lambda *_: os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
    done = run("learn", model, table, before=interrupt)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.endswith(f"Stopped. {KEPT['learn']}\n")
    assert model.read_bytes() == before


def test_ctrl_c_before_a_command_has_begun_is_no_traceback():
    code = """
import os, signal
from if2net import cli
cli.app = lambda: os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "Stopped.\n")


def test_ctrl_c_after_the_model_was_saved_does_not_claim_that_it_is_unchanged(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n" + "1,a\n2,b\n" * 10)
    interrupt = """
import os, signal
from if2net.commands.answer import Output
Output.answer = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
    done = run(*LEARN, folder=tmp_path, before=interrupt)
    assert done.returncode == 128 + signal.SIGINT
    assert (tmp_path / "m.if2").exists()
    assert "unchanged or, if this was the very end, has the whole change" in done.stderr


# ---------------------------------------------------------------------- a run


RUN = ["run", "-m", "if2net", "--set", "width=80", "--runs", "2", "--device", "cpu", "--out"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The output of a run, and its folder."""
    out = tmp_path_factory.mktemp("run") / "out"
    return if2net(*RUN, out), out


def test_a_run_prints_the_table_and_the_path_of_the_report(finished):
    output, out = finished
    assert "ACC %" in output
    assert str(out / "report.html") in output


def test_a_run_writes_results_report_and_the_resolved_configuration(finished):
    _, out = finished
    results = json.loads((out / "results.json").read_text())
    assert results["scenario"] == "digits-10/5"
    assert results["summary"]["if2net"]["acc_mean"] > 0.9
    assert json.loads((out / "config.json").read_text())["methods"]["if2net"]["width"] == 80
    assert (out / "report.html").read_text().lstrip().startswith("<!doctype html>")


def test_a_finished_run_is_shown_again_without_learning(finished):
    output, out = finished
    again = if2net(*RUN, out)
    assert "task 1/5" in output
    assert "task 1/5" not in again
    assert "ACC %" in again


def test_commands_of_the_study_answer_in_json(finished, tmp_path):
    out = str(finished[1])
    for words, key in (
        ([*RUN, out], "summary"),
        (["compare", out, out], "differences"),
        (["report", out, "--out", str(tmp_path / "report")], "written"),
        (["merge", out, "--out", str(tmp_path / "merged")], "written"),
    ):
        done = CliRunner().invoke(app, [*words, "--json"])
        assert key in json.loads(done.stdout), done.output


def test_tune_writes_everything_it_tried(tmp_path):
    out = tmp_path / "found.json"
    words = ["tune", "digits-10/5", "-m", "if2net", "--device", "cpu", "--out", out, "--grid"]
    if2net(*words, "width=20,100")
    assert json.loads(out.read_text())["best"] == {"acc": {"width": "100"}}
    if2net(*words, "width=20")  # replaces a file of its kind


def test_a_search_that_cannot_begin_makes_no_folder(tmp_path):
    words = ["tune", "digits-10/5", "-m", "ncm", "--grid", "standardise=wrong", "--out"]
    result = CliRunner().invoke(app, [*words, str(tmp_path / "new" / "t.json")])
    assert isinstance(result.exception, IF2NetError)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["m.if2", "results.json", "config.json", "."])
def test_tune_replaces_nothing_but_its_own_files(name, finished, tmp_path):
    for path in finished[1].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "m.if2").write_bytes(b"a model")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = CliRunner().invoke(app, ["tune", "digits-10/5", "-m", "if2net", "--out", str(tmp_path / name)])
    assert isinstance(result.exception, OutputError)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_python_m_if2net_is_the_command():
    done = subprocess.run([sys.executable, "-m", "if2net", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("if2net ")
