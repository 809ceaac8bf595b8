"""Random changes to training images that leave their class as it is; on whole batches, on any device."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

BORDER = 4  # pixels that an image is moved by at most


def mirrored(images: Tensor, generator: torch.Generator) -> Tensor:
    """Half of them, left and right exchanged."""
    mirror = torch.rand(len(images), generator=generator).to(images.device) < 0.5
    return torch.where(mirror[:, None, None, None], images.flip(3), images)


def moved(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each by its own number of pixels; black comes in from outside."""
    size = images.shape[2]
    offsets = torch.randint(2 * BORDER + 1, (2, len(images), 1), generator=generator).to(images.device)
    rows, columns = offsets + torch.arange(size, device=images.device)
    padded = pad(images, (BORDER,) * 4)
    number = torch.arange(len(images), device=images.device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[number, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
