"""The guard against samples in other units than the first data.

The encoder keeps the usual size of each column: its root mean square in the first data. Relative to it, the root mean
square of a block of samples is about 1, and 100 after a mistake such as centimetres for metres. Samples that are too
large are refused, because they would dominate the statistics and spoil the old classes.

The check depends only on the frozen encoder, so that forks, merged learners and loaded ones agree. All columns of a
block count together, except those that are zero throughout the first data: an amount that most samples lack has no
usual size if the first batch is small. Another column that is constant in the first data may vary in a later class:
it gets the usual size of the largest one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from if2net.encoder import Encoder
from if2net.errors import SuspectInputError, listed

# Samples are refused if their relative size is larger. Ordinary data stays below 25, and a hundredfold batch is above
# (benchmarks/bad_batches.json, benchmarks/study_streams.json).
TOO_LARGE = 30.0
# Samples in a block. Fewer than FEW count as if usual ones filled them up, so a single sample may be 60 times as
# large as usual: samples of heavy tails are smaller, and most samples in other units larger.
BLOCK, FEW = 4096, 4
# The encoder clips its inputs, so single large values do little harm. Where columns have different units, a value
# counts as at most MOST_CLIPPED times the usual size. With a common scale, it is MOST_PER_ROOT times the root of the
# number of columns, so that one value is never enough. Encoders from older files may not clip; there each value
# counts in full.
MOST_CLIPPED, MOST_PER_ROOT = 100.0, 50.0
# Most values of a column, and more than SOME, must not be this much larger than usual.
COLUMN_TOO_LARGE, SOME = 1000.0, 32
# A single value that is this much larger is most likely a mistake, and spoils the old classes where samples are few.
# It is not if it is no larger than usual values of another column: in a first batch of a few images, a feature may be
# nearly zero by chance.
VALUE_TOO_LARGE = 1e5


def relative_size(X: Tensor, encoder: Encoder) -> Tensor:
    """Return the root mean square of a block of samples, relative to the usual sizes of its columns."""
    if encoder.usual is None:
        return torch.ones((), device=X.device)
    return (_squares(X, encoder).sum() / max(len(X), FEW)).sqrt()


def looks_usual(X: Tensor, encoder: Encoder) -> Tensor:
    """Return, as a tensor on the device, whether no block of X is too large."""
    return torch.stack([_is_usual(block, encoder) for block in X.split(BLOCK)]).all()


def check_size(X: Tensor, encoder: Encoder, names: Sequence[str] | None = None) -> None:
    """Raise an error that names the columns if a block of X is too large."""
    for place, block in enumerate(X.split(BLOCK)):
        if not bool(_is_usual(block, encoder)):
            raise SuspectInputError(_description(block, encoder, names, place * BLOCK))


def _is_usual(X: Tensor, encoder: Encoder) -> Tensor:
    usual = relative_size(X, encoder) <= TOO_LARGE
    if encoder.usual is None or not encoder.clips:
        return usual
    far = (X.abs() > COLUMN_TOO_LARGE * encoder.usual).sum(dim=0).amax()
    largest = encoder.usual.where(encoder.usual.isfinite(), 0.0).amax()
    fits = (X.abs() <= (VALUE_TOO_LARGE * encoder.usual).clamp(min=largest)).all()
    return usual & fits & (far <= max(len(X) / 2, SOME))


def _description(X: Tensor, encoder: Encoder, names: Sequence[str] | None, before: int) -> str:
    assert encoder.usual is not None
    sizes = X.double().abs() / encoder.usual
    first = (_squares(X, encoder) > TOO_LARGE**2) | (sizes > COLUMN_TOO_LARGE).any(dim=1)
    largest, order = sizes.amax(dim=0).sort(descending=True)
    far = order[largest > TOO_LARGE].tolist()
    columns = listed(repr(names[column]) if names else column for column in far)
    return (
        f"X is far outside the data that this learner knows: in the column{'s' * (len(far) > 1)} {columns}, values "
        f"are up to {float(largest[0]):,.3g} times as large as usual, the first in sample "
        f"{before + int(first.nonzero()[0]) + 1:,}. Use the units of the first data, and remove wrong samples. If X "
        "is right, set check_inputs=False; for a classifier, set_params(check_inputs=False)."
    )


def _squares(X: Tensor, encoder: Encoder) -> Tensor:
    """Return the mean square of each sample, relative to the usual sizes of the columns that have one."""
    assert encoder.usual is not None
    sizes = X / encoder.usual  # 0 where there is no usual size
    known = encoder.usual.isfinite().sum(dtype=X.dtype)
    if encoder.clips:
        most = torch.full_like(known, MOST_CLIPPED) if encoder.has_units else MOST_PER_ROOT * known.sqrt()
        sizes = sizes.clamp(-most, most)
    return sizes.square().sum(dim=1) / known
