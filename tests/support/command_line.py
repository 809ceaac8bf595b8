"""The command `if2net` inside a test, without a process of its own."""

import json
from pathlib import Path

import jsonschema
from typer.testing import CliRunner

from if2net.cli import app

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


def if2net(*words):
    """Run a command; return its output, or raise its error."""
    return if2net_with_messages(*words)[0]


def json_answer(kind, *words):
    """Run a command with --json; return its answer, which must follow the schema of this kind in the guides."""
    return checked_answer(kind, if2net(*words, "--json"))


def checked_answer(kind, text):
    """Return an answer in JSON, which must follow the schema of this kind in the guides."""
    answer = json.loads(text)
    jsonschema.validate(answer, json.loads((GUIDES / f"{kind}.schema.json").read_text()))
    return answer


def if2net_with_messages(*words):
    """Run a command; return its output and its messages on standard error, or raise its error."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout, " ".join(done.stderr.split())
