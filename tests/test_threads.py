"""A small computation takes one thread, and no other thread of the program notices."""

import threading
import time
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from if2net import IF2NetClassifier, blas
from if2net.threads import WORTH, beside, enough_for


@pytest.fixture(autouse=True)
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("operations", "loops", "threads"), [(0, 1, 1), (3 * WORTH, 1, 3), (9 * WORTH, 3, 3)])
def test_a_thread_more_is_used_where_it_is_worth_it(operations, loops, threads):
    with enough_for(operations, loops):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 4


def test_no_more_threads_are_used_than_torch_has():
    with enough_for(100 * WORTH):
        assert torch.get_num_threads() == 4


def test_a_limit_is_never_raised_within_another():
    with enough_for(0), enough_for(100 * WORTH):
        assert torch.get_num_threads() == 1


def test_the_limit_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), enough_for(0):
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 4


def ticks_of_other_threads():
    """Return the processor time of the threads of this process, without that of this one."""
    own, total = threading.get_native_id(), 0
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != own:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux has these files")
def test_the_limit_holds_for_products_after_the_number_of_threads_was_set():
    """The fixture sets it, after which MKL does not ask OpenMP."""
    A = torch.rand(800, 800)
    A @ A
    before = ticks_of_other_threads()
    with enough_for(0):
        for _ in range(40):
            A @ A
    assert ticks_of_other_threads() - before <= 2
    for _ in range(40):
        A @ A
    assert ticks_of_other_threads() - before > 2


def test_other_threads_keep_theirs():
    seen = []
    with enough_for(0):
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
    assert seen == [4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_eigenvectors_are_computed_by_one_thread(monkeypatch, dtype):
    seen, eigh = [], torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda A: (seen.append(torch.get_num_threads()), eigh(A))[1])
    A = blas.gram(torch.randn(50, 30, dtype=dtype, generator=torch.Generator().manual_seed(0)))
    values, vectors = blas.eigen(A)
    assert seen == [1]
    A = A.tril() + A.tril(-1).T
    torch.testing.assert_close(vectors * values @ vectors.T, A, rtol=1e-4, atol=1e-4)


class Products(TorchDispatchMode):
    """Notes the number of threads of each product and factorisation."""

    def __init__(self):
        super().__init__()
        self.threads = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket.__name__ in HEAVY:
            self.threads.add(torch.get_num_threads())
        return function(*args, **(kwargs or {}))


HEAVY = ("mm", "addmm", "addmm_", "bmm", "mkldnn_linear", "linalg_cholesky_ex", "linalg_solve_triangular")
CALLS = {
    "fit": lambda classifier, X, y: classifier.fit(X, y),
    "partial_fit": lambda classifier, X, y: classifier.partial_fit(X + 1, y),
    "predict": lambda classifier, X, y: classifier.predict(X),
    "predict_proba": lambda classifier, X, y: classifier.predict_proba(X),
    "novelty": lambda classifier, X, y: classifier.novelty(X),
    "forget": lambda classifier, X, y: classifier.forget(X[:5], y[:5]),
}


def learned(width):
    X = torch.rand(600, 100, generator=torch.Generator().manual_seed(0)).numpy()
    y = [n % 3 for n in range(600)]
    return IF2NetClassifier(device="cpu", width=width).fit(X, y), X, y


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_small_model_takes_one_thread(call):
    model = learned(width=1000)
    with Products() as products:
        call(*model)
    assert products.threads == {1}


def test_a_wide_model_takes_several():
    model = learned(width=3000)
    with Products() as products:
        CALLS["fit"](*model)
        CALLS["predict"](*model)
    assert 4 in products.threads


def test_work_runs_in_another_thread_during_a_block():
    with beside(threading.get_ident) as result:
        assert result() != threading.get_ident()


def test_an_error_of_the_work_is_raised_where_its_result_is_used():
    with beside(lambda: 1 / 0) as result:
        pass
    with pytest.raises(ZeroDivisionError):
        result()


def test_the_work_has_ended_after_an_error_in_the_block():
    ended = threading.Event()

    def work():
        time.sleep(0.1)
        ended.set()

    with pytest.raises(ZeroDivisionError), beside(work):
        1 / 0  # noqa: B018
    assert ended.is_set()


def test_the_work_has_one_thread():
    with beside(torch.get_num_threads) as result:
        pass
    assert result() == 1


def refuse(thread):
    raise RuntimeError("can't start new thread")


def start_and_interrupt(thread, start=threading.Thread.start):
    start(thread)
    raise KeyboardInterrupt


def test_no_thread_is_left_where_starting_it_is_interrupted(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), beside(lambda: time.sleep(0.1)):
        pass
    assert threading.active_count() == before


@pytest.mark.parametrize("reason", ["one thread", "no further thread"])
def test_the_work_waits_for_the_question_where_there_is_no_other_thread(reason, monkeypatch):
    if reason == "one thread":
        torch.set_num_threads(1)
    else:
        monkeypatch.setattr(threading.Thread, "start", refuse)
    done = []
    with beside(lambda: done.append(threading.get_ident())) as result:
        assert not done
    result()
    assert done == [threading.get_ident()]
