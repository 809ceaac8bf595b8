"""Torch's threads are let go before BLAS works, and come back."""

import ctypes
import threading
from pathlib import Path

import pytest
import torch

from if2net.decision import threads


@pytest.fixture
def fresh():
    threads._pause.cache_clear()
    yield
    threads._pause.cache_clear()


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def product():
    A = torch.arange(250_000.0).reshape(500, 500)
    return (A + 1).sum(dim=0), A @ A


def threads_of_this_process():
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.skipif(
    not Path("/proc/self/task").exists() or not hasattr(threads._pause(), "argtypes"),
    reason="torch has another OpenMP, or the system does not say what threads there are",
)
def test_the_threads_of_torch_are_gone():
    product()
    before = threads_of_this_process()
    threads.let_torch_rest()
    assert threads_of_this_process() < before


def test_torch_goes_on_as_before():
    before = product()
    for _ in range(3):
        threads.let_torch_rest()
        assert all(torch.equal(one, other) for one, other in zip(before, product(), strict=True))


def test_another_thread_may_rest_while_this_one_works():
    before = product()
    resting = threading.Thread(target=lambda: [(product(), threads.let_torch_rest()) for _ in range(5)])
    resting.start()
    during = [product() for _ in range(5)]
    resting.join()
    assert all(torch.equal(one, other) for found in during for one, other in zip(before, found, strict=True))


@pytest.mark.parametrize("missing", [OSError("no such library"), AttributeError("no such function")])
def test_without_that_library_nothing_happens(fresh, monkeypatch, missing):
    def load(name):
        raise missing

    before = product()
    monkeypatch.setattr(ctypes, "CDLL", load)
    threads.let_torch_rest()
    assert all(torch.equal(one, other) for one, other in zip(before, product(), strict=True))
