"""What only a GPU can show; skipped where there is none."""

from contextlib import contextmanager

import pytest
import torch

from if2net import IF2Net, learning

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
    samples, columns, aside = learning.stream(net, X), y.cuda(), net.empty_decision()
    aside.grow(10)
    with nothing_waits_for_the_gpu():
        for block in learning.blocks(net, samples, columns):
            aside.add(*learning.counted(net, *block))
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
