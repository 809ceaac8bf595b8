"""Ctrl-C takes effect at the end of a change, and only where the signal is Python's own."""

import os
import signal
import threading

import pytest

from if2net.interrupts import uninterrupted


@pytest.fixture(autouse=True)
def install():
    """Install Python's own handler of SIGINT, or another one, until the end of the test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_takes_effect_at_the_end_of_the_block():
    steps, stop = [], threading.Event()
    other = threading.Thread(target=stop.wait)  # a signal may arrive in any thread
    other.start()

    def update():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            steps.extend(range(1000))

    with pytest.raises(KeyboardInterrupt):
        update()
    stop.set()
    other.join()
    assert len(steps) == 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nested_blocks_are_interrupted_at_the_end_of_the_outer_one():
    steps = []

    def update():
        with uninterrupted():
            with uninterrupted():
                os.kill(os.getpid(), signal.SIGINT)
            steps.append("outer")

    with pytest.raises(KeyboardInterrupt):
        update()
    assert steps == ["outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_is_left_alone(install):
    received = []

    def handler(number, frame):
        received.append(number)

    install(handler)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is handler
        signal.raise_signal(signal.SIGINT)
        assert received == [signal.SIGINT]  # at once
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_signal_that_the_program_ignores_stays_ignored(install):
    install(signal.SIG_IGN)
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_the_handler_is_left_alone_in_other_threads():
    handlers = []

    def update():
        with uninterrupted():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=update)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
