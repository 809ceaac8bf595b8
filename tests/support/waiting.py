"""Waiting for other threads and processes, with a limit that only a hang reaches."""

import time


def until(condition, seconds=120):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"The condition did not hold after {seconds} seconds."
        time.sleep(0.05)
