"""A lock that another process holds."""

import subprocess
import sys
from contextlib import contextmanager

HOLD = """
import sys
from if2net.locks import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path):
    """Another process that holds the lock until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
