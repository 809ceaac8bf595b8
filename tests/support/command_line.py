"""The command `if2net` inside a test, without a process of its own."""

from typer.testing import CliRunner

from if2net.cli import app


def if2net(*words):
    """Run a command; return its output, or raise its error."""
    return if2net_with_messages(*words)[0]


def if2net_with_messages(*words):
    """Run a command; return its output and its messages on standard error, or raise its error."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout, " ".join(done.stderr.split())
