"""Progress is a bar on a terminal, and a line now and then in a log."""

import io

import pytest
from rich.console import Console

from if2net import progress as module
from if2net.progress import counting, progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def log():
    return Console(file=io.StringIO(), width=200)


def test_a_log_gets_the_first_step_a_line_after_each_pause_and_the_last_step(clock):
    console = log()
    with progress("features", console) as show:
        for done in range(1, 101):
            clock[0] += 1
            show(done, 100, "loss 0.5" if done == 100 else "")
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "features 1/100"
    assert lines[-1] == "features 100/100 loss 0.5"
    assert len(lines) == 1 + 99 // module.PAUSE + 1


def test_work_without_a_total_is_counted(clock):
    console = log()
    with progress("samples", console) as show:
        show(4096, None)
        show(8192, None)
    assert console.file.getvalue() == "samples 4,096\n"


@pytest.mark.parametrize("total", [3, None])
def test_a_terminal_gets_a_bar_that_disappears(total):
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    with progress("features", console) as show:
        show(2, total, "going well")
    output = console.file.getvalue()
    assert f"2/{total or '?'}" in output
    assert "going well" in output
    assert output.endswith("\x1b[2K")


def test_an_error_ends_the_bar_and_is_raised():
    console = Console(file=io.StringIO(), force_terminal=True)
    with pytest.raises(KeyboardInterrupt), progress("features", console):
        raise KeyboardInterrupt
    assert console.file.getvalue().endswith("\x1b[2K")


def test_steps_are_added_up():
    shown = []
    count = counting(lambda done, total: shown.append((done, total)), 5)
    count(2)
    count(3)
    assert shown == [(2, 5), (5, 5)]
