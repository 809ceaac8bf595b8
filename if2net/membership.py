"""Counts of what has been learned, by the hash of a sample and its label: the guard of `forget`.

The statistics of a model cannot tell whether a sample is part of them. Subtracting one that is not would damage the
model without a sign. So each learned sample adds one to a place in a table that its content and label determine. A
sample whose place is empty was never learned, or has been forgotten already. The table adds and subtracts like the
statistics. It is fixed in size, so two samples can share a place: of the samples that were never learned, the share
that goes unnoticed is about 1 − exp(−learned / PLACES).
"""

from __future__ import annotations

import torch
from torch import Tensor

PLACES = 1 << 16


def no_members(device: torch.device | str = "cpu") -> Tensor:
    """Return the table of a learner that has learned nothing."""
    return torch.zeros(PLACES, dtype=torch.int32, device=device)


def add_members(table: Tensor, contents: Tensor, labels: Tensor) -> None:
    """Count samples, given the hashes of their contents and of their labels.

    >>> table = no_members()
    >>> add_members(table, torch.tensor([11, 12, 11]), torch.tensor([5, 5, 5]))
    >>> sorted(table[table > 0].tolist())
    [1, 2]
    """
    mixed = (contents ^ labels) * 0x5851F42D4C957F2D
    places = ((mixed ^ (mixed >> 29)) * 0x2545F4914F6CDD1D >> 40) & (PLACES - 1)
    table.scatter_add_(0, places, torch.ones_like(places, dtype=table.dtype))
