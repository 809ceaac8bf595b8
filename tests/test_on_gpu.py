"""Learning on a GPU: it never waits for a block, is deterministic, and agrees with a CPU."""

from contextlib import contextmanager

import pytest
import torch

from if2net import IF2Net
from if2net.decision.ridge import absolute_ridge, solve

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@contextmanager
def refuse_synchronisation():
    """Raise an error where the host waits for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("width", [300, 9000])
def test_the_host_does_not_wait_for_the_blocks_of_a_task(width):
    X, y = torch.randn(40_000, 20).pin_memory(), torch.arange(40_000) % 10
    net = IF2Net(width=width, device="cuda").learn(X[:200], y[:200].numpy())
    task, aside = net._task(net._stream(X), y.numpy(), net._state), net.decision.empty()
    aside.grow(10)
    with refuse_synchronisation():
        for block in task.blocks():
            aside.add(*block)
    assert aside.total.samples == 40_000
    assert 3_000 < aside.held.samples < 5_000


@pytest.mark.parametrize("width", [300, 9000])
def test_a_gpu_counts_the_same_statistics_as_a_cpu(width):
    X, y = torch.randn(2_000, 20), (torch.arange(2_000) % 10).numpy()
    on_gpu = IF2Net(width=width, device="cuda", seed=0).learn(X, y)
    on_cpu = IF2Net(width=width, device="cpu", seed=0).learn(X, y)
    assert on_gpu.decision.held.counts.tolist() == on_cpu.decision.held.counts.tolist()
    expected = dict(on_cpu.decision.held.tensors("held"))
    for name, tensor in on_gpu.decision.held.tensors("held"):
        difference = tensor.cpu() - expected[name]
        difference = difference.tril() if name == "held.G" else difference
        assert float(difference.abs().max()) < 1e-4 * float(expected[name].abs().max())


@pytest.mark.parametrize("classes", [10, 1000])
def test_learning_on_a_gpu_is_deterministic_to_the_bit(classes):
    X, y = torch.randn(40_000, 20), (torch.arange(40_000) % classes).numpy()
    first, second = (IF2Net(width=3000, device="cuda", seed=0).learn(X, y) for _ in range(2))
    assert torch.equal(first.decision.Q, second.decision.Q)
    assert torch.equal(first.decision.G.tril(), second.decision.G.tril())
    assert torch.equal(first.decision.beta, second.decision.beta)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gpu_solves_as_accurately_as_a_float64_factor(dtype):
    V = torch.relu(torch.randn(6000, 300, device="cuda") @ torch.randn(300, 5000, device="cuda"))
    G = (V.T @ V).to(dtype)
    Q, alpha = torch.randn(5000, 20, device="cuda", dtype=dtype), absolute_ridge(G, 1e-2)
    system = G.double() + alpha * torch.eye(5000, device="cuda", dtype=torch.float64)
    exact = torch.linalg.solve(system.tril() + system.tril(-1).T, Q.double())
    error = float((solve(G, Q, alpha).double() - exact).norm() / exact.norm())
    assert error < (1e-5 if dtype == torch.float32 else 1e-10)
