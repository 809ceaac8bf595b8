"""Counts of the learned samples, by the hash of a sample and its label: a guard for `forget` and `learn`.

The statistics of a model do not show whether a sample is part of them, and subtracting one that is not would silently
damage the model. So each learned sample adds one to a place in a table, which its content and its label determine. A
sample whose place is empty was never learned, or has been forgotten already. The table adds and subtracts like the
statistics. Its size is fixed, so two samples can share a place: of the samples that were never learned, a share of
about 1 − exp(−learned / PLACES) goes unnoticed. A file holds the places that are not empty.

The table of an older file has fewer places. Tables are added with as many places as the smaller one has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from if2net.errors import ModelFileError
from if2net.tensor_specs import TensorSpec, TensorSpecs

PLACES = 1 << 20
# In files of earlier versions.
FORMER_PLACES = 1 << 16
# Samples count as repeated if there are at least FEWEST, if this share of them is known, and if that is this many
# standard deviations more than chance explains.
REPEATED, DEVIATIONS, FEWEST = 0.95, 6, 10


def no_members(device: torch.device | str = "cpu") -> Tensor:
    """Return the table of a learner that has learned nothing."""
    return torch.zeros(PLACES, dtype=torch.int32, device=device)


def add_members(table: Tensor, contents: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
    """Count samples, given the hashes of their contents and of their labels, and their weights.

    A sample with another weight than 1 has another place: it can only be forgotten with the weight that it has.

    >>> table = no_members()
    >>> add_members(table, torch.tensor([11, 12, 11]), torch.tensor([5, 5, 5]))
    >>> sorted(table[table > 0].tolist())
    [1, 2]
    """
    if weights is not None:
        bits = weights.double().view(torch.int64) * 0x2545F4914F6CDD1D
        labels = labels ^ torch.where(weights == 1, 0, bits ^ (bits >> 32))
    mixed = (contents ^ labels) * 0x5851F42D4C957F2D
    places = ((mixed ^ (mixed >> 29)) * 0x2545F4914F6CDD1D >> 40) & (len(table) - 1)
    table.scatter_add_(0, places, torch.ones_like(places, dtype=table.dtype))


def alike(table: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tables with as many places as the smaller one has.

    >>> [len(table) for table in alike(no_members(), torch.zeros(FORMER_PLACES, dtype=torch.int32))]
    [65536, 65536]
    """
    places = min(len(table), len(other))
    return _folded(table, places), _folded(other, places)


def _folded(table: Tensor, places: int) -> Tensor:
    return table if len(table) == places else table.view(-1, places).sum(dim=0, dtype=table.dtype)


def can_add(table: Tensor, other: Tensor) -> bool:
    """Return whether the sum of two tables has no place with more samples than fit."""
    table, other = alike(table.long(), other.long())
    return int(table.max()) + int(other.max()) <= torch.iinfo(torch.int32).max


def members_tensors(table: Tensor) -> dict[str, Tensor]:
    """Return the tensors of a file: the places that are not empty, and their counts."""
    if len(table) == FORMER_PLACES:
        return {"members": table}
    places = table.nonzero().flatten()
    return {"members.places": places.int(), "members.counts": table[places]}


def members_specs(tensors: Mapping[str, Tensor]) -> TensorSpecs:
    """Return the shapes and bounds of these tensors."""
    if "members" in tensors:
        return {"members": TensorSpec((FORMER_PLACES,), torch.int32, least=0)}
    some = min(tensors["members.places"].numel(), PLACES) if "members.places" in tensors else 0
    return {
        "members.places": TensorSpec((some,), torch.int32, least=0, most=PLACES - 1),
        "members.counts": TensorSpec((some,), torch.int32, least=1),
    }


def restored_members(tensors: Mapping[str, Tensor]) -> Tensor:
    """Return the table from the tensors of a file, which fit `members_specs`."""
    if "members" in tensors:
        return tensors["members"]
    table, places = no_members(), tensors["members.places"].long()
    if not bool((places.diff() > 0).all()):
        raise ModelFileError("The places of its samples are not in order.")
    table[places] = tensors["members.counts"]
    return table


def are_repeated(table: Tensor, new: Tensor) -> bool:
    """Return whether nearly all samples in the table `new` are in the other one, and chance does not explain it.

    In a table that is nearly full, chance explains it. Data in which equal samples are common is never reported.

    >>> once, other = no_members(), no_members()
    >>> add_members(once, torch.arange(1000), torch.zeros(1000, dtype=torch.int64))
    >>> add_members(other, torch.arange(1000, 2000), torch.zeros(1000, dtype=torch.int64))
    >>> are_repeated(once, once), are_repeated(once, other)
    (True, False)
    """
    if int(new.sum()) < FEWEST or not (_mostly_different(new) and _mostly_different(table)):
        return False
    asked, chance = new > 0, float((table > 0).double().mean())
    count, known = int(asked.sum()), int((table[asked] > 0).sum())
    surprise = known - count * chance
    return known >= REPEATED * count and surprise > 0 and surprise**2 > DEVIATIONS**2 * count * chance * (1 - chance)


def _mostly_different(table: Tensor) -> bool:
    """Return whether the counted samples take at least half of the places that different ones would take."""
    return int((table > 0).sum()) >= -len(table) / 2 * math.expm1(-int(table.sum()) / len(table))
