"""Learning on a GPU: it never waits for a block, is deterministic, and agrees with a CPU."""

import warnings

import pytest
import torch

from if2net import IF2Net
from if2net.decision.ridge import absolute_ridge, solve

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def synchronisations(net, samples):
    """Learn a task, and count how often the host waits for the GPU."""
    X, y = torch.randn(samples, 20).pin_memory(), (torch.arange(samples) % 10).numpy()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            net.learn(X, y)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing CUDA operation" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("width", [300, 9000])
def test_the_host_does_not_wait_for_the_blocks_of_a_task(width):
    net = IF2Net(width=width, device="cuda")
    net.learn(torch.randn(200, 20), (torch.arange(200) % 10).numpy())
    few, many = (synchronisations(net, samples) for samples in (40_000, 400_000))
    assert 0 < few == many


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
    assert torch.equal(first.decision.total.Q, second.decision.total.Q)
    assert torch.equal(first.decision.total.G.tril(), second.decision.total.G.tril())
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
