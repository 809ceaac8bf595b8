"""Random changes of training images, for whole batches on any device."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, pad

BORDER = 4  # the largest shift of an image, in pixels
LEAST = 0.3  # the smallest area of a crop, as a share of the image


def mirror(images: Tensor, generator: torch.Generator) -> Tensor:
    """Mirror half of the images."""
    chosen = torch.rand(len(images), generator=generator).to(images.device) < 0.5
    return torch.where(chosen[:, None, None, None], images.flip(3), images)


def shift(images: Tensor, generator: torch.Generator) -> Tensor:
    """Shift each image by a random number of pixels; the border is filled with zeros."""
    size = images.shape[2]
    offsets = torch.randint(2 * BORDER + 1, (2, len(images), 1), generator=generator).to(images.device)
    rows, columns = offsets + torch.arange(size, device=images.device)
    padded = pad(images, (BORDER,) * 4)
    number = torch.arange(len(images), device=images.device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[number, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def crop(images: Tensor, generator: torch.Generator) -> Tensor:
    """Scale a random square part of each image to full size, since objects may be near or far."""
    count = len(images)
    share = (LEAST + (1 - LEAST) * torch.rand(count, generator=generator)).sqrt()
    centre = (1 - share)[:, None] * (2 * torch.rand(count, 2, generator=generator) - 1)
    part = torch.zeros(count, 2, 3)
    part[:, 0, 0] = part[:, 1, 1] = share
    part[:, :, 2] = centre
    grid = affine_grid(part.to(images.device), list(images.shape), align_corners=False)
    return grid_sample(images, grid, align_corners=False)
