"""What only a GPU can show; skipped where there is none."""

from contextlib import contextmanager

import pytest
import torch

from if2net import IF2Net
from if2net.decision.ridge import absolute_ridge, solve

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@contextmanager
def nothing_waits_for_the_gpu():
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("width", [300, 9000])
def test_no_block_of_a_task_is_waited_for(width):
    X, y = torch.randn(40_000, 20).pin_memory(), torch.arange(40_000) % 10
    net = IF2Net(width=width, device="cuda").learn(X[:200], y[:200].numpy())
    task, aside = net._task(net._stream(X), y.numpy(), net._state), net.decision.empty()
    aside.grow(10)
    with nothing_waits_for_the_gpu():
        for block in task.blocks():
            aside.add(*block)
    assert aside.total.samples == 40_000
    assert 3_000 < aside.held.samples < 5_000


@pytest.mark.parametrize("width", [300, 9000])
def test_a_gpu_counts_what_a_cpu_counts(width):
    X, y = torch.randn(2_000, 20), (torch.arange(2_000) % 10).numpy()
    there = IF2Net(width=width, device="cuda", seed=0).learn(X, y)
    here = IF2Net(width=width, device="cpu", seed=0).learn(X, y)
    assert there.decision.held.counts.tolist() == here.decision.held.counts.tolist()
    for ours, theirs in zip(there.decision.held.tensors("held"), here.decision.held.tensors("held"), strict=True):
        difference = ours[1].cpu().tril() - theirs[1].tril() if ours[0] == "held.G" else ours[1].cpu() - theirs[1]
        assert float(difference.abs().max()) < 1e-4 * float(theirs[1].abs().max())


@pytest.mark.parametrize("classes", [10, 1000])
def test_a_gpu_learns_the_same_bits_each_time(classes):
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
    right = torch.linalg.solve(system.tril() + system.tril(-1).T, Q.double())
    error = float((solve(G, Q, alpha).double() - right).norm() / right.norm())
    assert error < (1e-5 if dtype == torch.float32 else 1e-10)
