"""Processes that start at once: a server that has imported if2net already forks them."""

import multiprocessing
import os
import sys
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection

import pytest

IMPORTED = ["if2net.cli", "if2net.images.learning", "if2net.tables", "if2net.server.running", "pyarrow.csv"]
STREAMS = ("stdin", "stdout", "stderr")


@cache
def forked():
    """Return the context of multiprocessing whose processes have imported if2net. They have the first environment."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("needs a fork server")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def execute(code):
    """Run a program in a process that has imported if2net; it must end without an error."""
    process = forked().Process(target=exec, args=(code, {"__name__": "__main__"}))
    process.start()
    process.join()
    assert process.exitcode == 0


@dataclass
class Finished:
    """The exit status of a command, and its output."""

    returncode: int
    stdout: str
    stderr: str


class Command:
    """The command `if2net` in a process of its own, with pipes as in `subprocess.Popen`.

    Parameters
    ----------
    words : str
        The words after `if2net`.
    before : str
        Code that runs first.
    folder : path-like
        Where it runs.
    environment : dict
        Environment variables that differ from those of the tests.
    stdout, stderr : str
        The file for a stream instead of a pipe.
    """

    def __init__(self, *words, before="", folder=".", environment=(), **files):
        ends = {}
        for number, name in enumerate(STREAMS):
            reading, writing = os.pipe()
            if number == 0:
                reading, writing = writing, reading
            if name in files:
                os.close(writing)
                writing = os.open(files[name], os.O_WRONLY)
            ends[name] = Connection(writing, readable=number == 0, writable=number > 0)
            setattr(self, name, os.fdopen(reading, "r" if number else "w", encoding="utf-8"))
        environment = os.environ | dict(environment)
        code = f"{before}\nfrom if2net.cli import main\nmain()"
        arguments = (code, [str(word) for word in words], os.path.abspath(folder), environment, ends)
        self.process = forked().Process(target=_run, args=arguments)
        self.process.start()
        self.pid = self.process.pid
        for end in ends.values():
            end.close()

    def finish(self, text=""):
        """Write a text to its input, and return its status and output when it has ended."""
        with self.stdin, self.stdout, self.stderr:
            self.stdin.write(text)
            self.stdin.close()
            output, messages = self.stdout.read(), self.stderr.read()
        self.process.join()
        return Finished(self.process.exitcode, output, messages)


def run(*words, **options):
    """Run a command to its end."""
    return Command(*words, **options).finish()


def _run(code, words, folder, environment, ends):
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for number, name in enumerate(STREAMS):
        os.dup2(ends[name].fileno(), number)
        ends[name].close()
        stream = open(number, "w" if number else "r", encoding=encoding, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["if2net", *words]
    exec(code, {"__name__": "__main__"})
