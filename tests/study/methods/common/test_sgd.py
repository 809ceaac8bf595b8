"""Gradient descent with momentum."""

import torch

from if2net.study.methods.common.sgd import SGD


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((5, 3), (5,), (2, 5))]


def test_steps_have_the_bits_of_torch():
    ours, theirs = parameters(), parameters()
    descents = SGD(ours, 0.1, 0.9), torch.optim.SGD(theirs, lr=0.1, momentum=0.9)
    for step in range(4):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            for parameter in pair:
                generator = torch.Generator().manual_seed(step)
                has_gradient = number != step  # one that has none is left alone
                parameter.grad = torch.randn(parameter.shape, generator=generator) if has_gradient else None
        for descent in descents:
            descent.step()
        assert all(torch.equal(*pair) for pair in zip(ours, theirs, strict=True))
        descents[0].zero_grad()
        assert all(parameter.grad is None for parameter in ours)
