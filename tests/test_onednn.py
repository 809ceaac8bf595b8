"""Products and factors by oneDNN, compared with float64."""

import subprocess
import sys
import threading

import pytest
import torch

from if2net import blas, onednn

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN here")

WIDTHS = [1, onednn.STRIP, 2 * onednn.STRIP + 7]


@pytest.fixture(autouse=True, params=[1, 3], ids=["one thread", "three threads"])
def threads(request, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: request.param)


def normal(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rows", [0, 1, onednn.STRIP + 3])
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_product_is_that_of_float64(rows, columns):
    A, B = normal(rows, 30), normal(30, columns, seed=1)
    product = onednn.multiplier(B)(A)
    torch.testing.assert_close(product.double(), A.double() @ B.double(), rtol=1e-5, atol=1e-4)


def test_the_factors_of_a_product_need_not_be_contiguous():
    A, B = normal(30, 20).T, normal(50, 30, seed=1).T
    torch.testing.assert_close(onednn.multiplier(B)(A), A @ B, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("width", WIDTHS)
def test_gram_matrices_are_added_and_subtracted_in_the_lower_triangle(width):
    V = normal(onednn.TERMS + 40, width)
    G = torch.zeros(width, width)
    for part, sign in ((V, 1), (V, 1), (V[:10], -1)):
        onednn.add_gram(G, part, sign)
    expected = 2 * V.double().T @ V.double() - V[:10].double().T @ V[:10].double()
    torch.testing.assert_close(G.tril().double(), expected.tril(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_factor_is_correct_and_only_the_lower_triangle_is_read(width):
    V = normal(width + 5, width)
    matrix = V.T @ V + 50 * torch.eye(width)
    L = matrix.clone()
    L[torch.ones(width, width).triu(1).bool()] = torch.nan
    assert onednn.factorise(L)
    lower = L.tril().double()
    torch.testing.assert_close(lower @ lower.T, matrix.double(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("place", [0, -1])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(place):
    matrix = torch.eye(onednn.STRIP + 20)
    matrix[place, place] = -1
    assert not onednn.factorise(matrix)


@pytest.mark.parametrize(
    ("capability", "kernels", "expected"),
    [
        ("AVX512", ["Haswell"], True),
        ("AVX512", ["Zen"], True),
        ("AVX512", ["SkylakeX"], False),
        ("AVX512", ["Haswell", "SkylakeX"], False),
        ("AVX2", ["Haswell"], False),
    ],
)
def test_onednn_is_the_fastest_where_it_alone_uses_avx512(capability, kernels, expected, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(onednn, "openblas_kernels", lambda: kernels)
    assert onednn.is_fastest.__wrapped__() is expected


def test_the_kernels_of_openblas_are_known():
    assert onednn.openblas_kernels()


@pytest.mark.parametrize("width", [blas.WIDE - 1, blas.WIDE])
def test_wide_matrices_in_float32_take_onednn_where_it_is_the_fastest(width, monkeypatch):
    used = []
    monkeypatch.setattr(onednn, "is_fastest", lambda: True)
    monkeypatch.setattr(onednn, "add_gram", lambda *arguments: used.append("gram"))
    monkeypatch.setattr(onednn, "factorise", lambda L: used.append("factor") or True)
    blas.add_gram(torch.zeros(width, width), torch.ones(1, width), 1)
    blas.factorise(torch.eye(width))
    assert used == (["gram", "factor"] if width == blas.WIDE else [])
    blas.add_gram(torch.zeros(width, width, dtype=torch.float64), torch.ones(1, width, dtype=torch.float64), 1)
    assert len(used) < 3


def test_an_error_in_a_thread_is_raised():
    with pytest.raises(RuntimeError):
        onednn.multiplier(normal(20, 30))(normal(3 * onednn.STRIP, 21))


@pytest.fixture
def set_threads(monkeypatch):
    monkeypatch.undo()
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_the_bits_of_a_product_do_not_depend_on_the_number_of_threads(set_threads):
    V, products = normal(300, 3 * onednn.STRIP), []
    for count in (1, 2, 5):
        set_threads(count)
        G = torch.zeros(V.shape[1], V.shape[1])
        onednn.add_gram(G, V, 1)
        products.append((G.tril(), onednn.multiplier(V)(normal(1000, 300, seed=1))))
    for G, product in products:
        assert torch.equal(G, products[0][0])
        assert torch.equal(product, products[0][1])


def test_the_bits_of_a_factor_do_not_depend_on_the_number_of_strips_at_once(monkeypatch):
    V, factors = normal(300, 3 * onednn.STRIP), []
    for count in (1, 2, 5):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        L = 300 * torch.eye(V.shape[1])
        onednn.add_gram(L, V, 1)
        assert onednn.factorise(L)
        factors.append(L.tril())
    assert all(torch.equal(factor, factors[0]) for factor in factors)


def test_no_samples_add_nothing():
    G = torch.ones(30, 30)
    onednn.add_gram(G, torch.empty(0, 30), 1)
    assert bool((G == 1).all())


def test_samples_of_all_numbers_have_few_sizes_in_onednn(monkeypatch):
    shapes = set()
    linear = onednn.linear
    monkeypatch.setattr(onednn, "linear", lambda A, B: (shapes.add(A.shape), linear(A, B))[1])
    G, multiply = torch.zeros(onednn.STRIP, onednn.STRIP), onednn.multiplier(normal(20, 30))
    for rows in range(1, 600, 7):
        onednn.add_gram(G, normal(rows, onednn.STRIP), 1)
        multiply(normal(rows, 20))
    assert len(shapes) <= 8


def test_no_thread_is_left_where_starting_one_is_interrupted(monkeypatch):
    before, started, start = threading.active_count(), [], threading.Thread.start

    def interrupted(thread):
        start(thread)
        started.append(thread)
        if len(started) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        onednn.multiplier(normal(30, 20))(normal(3 * onednn.STRIP, 30))
    for thread in started:
        thread.join(timeout=10)
    assert threading.active_count() == before


def test_products_work_where_no_thread_can_be_started(monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    A, B = normal(3 * onednn.STRIP, 30), normal(30, 20, seed=1)
    torch.testing.assert_close(onednn.multiplier(B)(A), A @ B, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("when", ["thread", "atexit"])
def test_products_work_while_the_program_ends(when):
    program = f"""
import atexit, threading, time, torch
from if2net import onednn
torch.set_num_threads(2)
def work():
    time.sleep(0.2)
    print(onednn.multiplier(torch.ones(5, 300))(torch.ones(600, 5)).sum().item())
threading.Thread(target=work).start() if {when!r} == "thread" else atexit.register(work)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("900000.0", "")


def test_other_processors_take_blas(monkeypatch):
    monkeypatch.setattr(onednn, "is_fastest", lambda: False)
    A, B = normal(3, 20), normal(20, blas.WIDE, seed=1)
    monkeypatch.setattr(onednn, "multiplier", None)
    torch.testing.assert_close(blas.product(A, B), A @ B, rtol=1e-5, atol=1e-4)
