"""Samples and labels as users give them, turned into tensors and arrays, or an error that says what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np
import torch
from torch import Tensor

from if2net.errors import InputError, NotNumbersError, listed
from if2net.sparse_rows import COMPLEX, SparseRows, check_dense, is_sparse

# Inputs beyond this power of the largest number are refused: 10¹⁵ standard deviations in float32.
LARGEST_EXPONENT = 0.4
# The weights that a sample may have, beside zero. The squares of features with larger ones could overflow in G.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-12, 1e6
# Where a weight repeats a sample, it does so at most this many times.
MOST_REPEATED = 100
# Their subclasses are dates with a time of day, and those of pandas.
DATES = (date, timedelta, np.datetime64, np.timedelta64)


def matrix(X: Any, features: int | None = None) -> Tensor | SparseRows:
    """Return X as a matrix of shape (samples, features), on its own device and in its own precision."""
    rows = _as_matrix(X)
    check_dimensions(rows, least=2)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InputError(f"X is empty (shape {tuple(rows.shape)}); give at least one sample and one feature.")
    if features is not None and rows.shape[1] != features:
        raise InputError(
            f"X has {rows.shape[1]} features, but this learner has learned from {features}; "
            "give the same features in the same order, or start a new learner."
        )
    return rows


def check_dimensions(X: Any, least: int = 0) -> None:
    """Raise an error if X has more than two dimensions, or fewer than `least`."""
    dimensions = len(getattr(X, "shape", ()))
    if least <= dimensions <= 2:
        return
    hint = " Reshape a single sample with X.reshape(1, -1)." if dimensions == 1 else ""
    raise InputError(
        f"X must have two dimensions, samples × features, but it has {dimensions}.{hint} "
        "Give pictures as one array of N×H×W or N×H×W×C, such as np.array(X)."
    )


def tensor(X: Tensor | SparseRows, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """Return a matrix as a finite tensor on the device."""
    dense = X.dense() if isinstance(X, SparseRows) else X
    converted = dense.to(device=device, dtype=dtype)
    if not bool(finite(converted)):
        finite_before = not dense.is_floating_point() or bool(finite(dense))
        reason = f"a value too large for {dtype}" if finite_before else "NaN or infinity"
        raise InputError(
            f"X contains {reason}; remove or fill in these values (for example with "
            "sklearn.impute.SimpleImputer) before learning or predicting."
        )
    return converted


def numbers(X: Any) -> np.ndarray:
    """Return X as an array of numbers."""
    X = checked(X)
    with _explaining(X):
        array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if array is not X:
        check_no_dates(array)  # frames of other libraries than pandas
    if np.iscomplexobj(array):
        raise InputError(COMPLEX)
    with _explaining(X):
        return array if array.dtype.kind in "biuf" else array.astype(np.float64)


def checked(X: Any) -> Any:
    """Return X, as an array if it is a list; raise an error if it has masked values, dates or durations."""
    check_present(X, "X")
    if isinstance(X, list | tuple):
        with _explaining(X):
            X = np.asarray(X)
    check_no_dates(X)
    return X


@contextmanager
def _explaining(X: Any) -> Iterator[None]:
    """Turn errors of NumPy and torch into a sentence, which names the column of a frame that holds no numbers."""
    try:
        yield
    except (ValueError, TypeError) as error:
        name = next((name for name, values in _columns(X) if not _is_numeric(values)), None)
        place = "it" if name is None else f"the column {name!r}"
        raise NotNumbersError(
            f"X must hold numbers, in rows of one length, but {place} holds text or objects ({error}); "
            "encode such columns first (for example with sklearn.preprocessing.OneHotEncoder)."
        ) from error
    except OverflowError as error:
        raise InputError(
            "X has a whole number beyond the range of float64; remove it, or scale its column."
        ) from error
    except RuntimeError as error:  # of tensors in lists, such as those that record gradients
        raise InputError(f"X has tensors that NumPy cannot read ({error}); call detach() on them.") from error


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns of a frame or of an array of objects that may hold more than numbers: names and values.

    The name of a column of an array is its number, from 0.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        yield from enumerate(X.T)
    elif hasattr(X, "iloc") and hasattr(X, "columns"):
        kinds = [getattr(kind, "kind", "O") for kind in X.dtypes]
        yield from ((X.columns[place], X.iloc[:, place]) for place, kind in enumerate(kinds) if kind not in "biufc")


def _is_numeric(values: Any) -> bool:
    try:
        np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def check_present(values: Any, name: str) -> None:
    """Raise an error if an array, or one in a list, has masked values: NumPy would give those behind the mask."""
    arrays = values if isinstance(values, list | tuple) else (values,)
    if any(isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array) for array in arrays):
        raise InputError(f"{name} has masked values; fill them in, or leave these samples out.")


def check_no_dates(X: Any) -> None:
    """Raise an error if an array or a frame holds dates or durations, which NumPy would turn into numbers."""
    dates = [name for name, values in _columns(X) if _has_dates(values)]
    if dates or _has_dates(X):
        place = f" in the column{'s' * (len(dates) > 1)} {listed(map(repr, dates))}" if dates else ""
        raise InputError(
            f"X has dates or durations{place}; turn them into numbers first, such as days since the first date."
        )


def _has_dates(values: Any) -> bool:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind == "O":
        return any(issubclass(one, DATES) for one in set(map(type, np.asarray(values).flat)))
    return kind in ("m", "M")


def check_frame(X: Any) -> None:
    """Raise an error if X is a frame that scikit-learn's checks refuse with an error of another package."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return
    if len(X.columns) == 0:
        raise InputError("X has no columns; give at least one feature.")
    if twice := [name for name, count in Counter(X.columns).items() if count > 1]:
        raise InputError(f"X has more than one column {twice[0]!r}; give each column a name of its own.")
    kinds = list(X.dtypes)
    if all(hasattr(kind, "fill_value") for kind in kinds) and any(kind.fill_value != 0 for kind in kinds):
        raise InputError(
            "X is a sparse frame with a fill value other than 0; give X.sparse.to_dense(), or use the fill value 0."
        )


def finite(X: Tensor) -> Tensor:
    """Return whether all of X is finite, as a tensor on its device."""
    # Only the minimum and maximum are checked: one pass, no copy.
    lowest, highest = torch.aminmax(X)
    return torch.isfinite(lowest) & torch.isfinite(highest)


def largest(dtype: torch.dtype) -> float:
    """Return the largest standardised value that is accepted: the squares of larger ones would overflow in G."""
    return float(torch.finfo(dtype).max ** LARGEST_EXPONENT)


def check_range(farthest: float, dtype: torch.dtype) -> None:
    """Raise an error where a standardised value is too large."""
    if farthest > largest(dtype):
        raise InputError(
            "X contains values too far from the first data that was learned; remove them, use dtype='float64', "
            "or start a new learner."
        )


def labels(y: Any, count: int) -> np.ndarray:
    """Return y as a one-dimensional array of `count` labels."""
    check_present(y, "y")
    if isinstance(y, Tensor):
        check_dense(y, "y")
        y = y.detach().cpu().numpy()
    # Otherwise numpy turns numbers among text into text, and True among numbers into 1.
    mixed = isinstance(y, list | tuple) and any(type(label) is not type(y[0]) for label in y)
    try:
        array = np.array(y, dtype=object) if mixed else np.asarray(y)
    except ValueError as error:
        raise InputError("y must have one label per sample, but some have several or none.") from error
    except RuntimeError as error:  # of tensors in lists
        raise InputError(f"y has tensors that NumPy cannot read ({error}); call detach() on them.") from error
    if array.dtype.kind == "U" and not isinstance(y, np.ndarray):
        texts = np.array(y, dtype=object)
        if any(isinstance(text, str) and text.endswith("\0") for text in texts.flat):
            array = texts  # NumPy's own text would lose the NUL character, which is refused in a label later
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"y must have one label per sample, in one dimension, but its shape is {array.shape}.")
    if len(array) != count:
        raise InputError(f"X has {count} samples but y has {len(array)} labels; give one label for each sample.")
    missing = array.dtype.kind == "f" and np.isnan(array).any()
    if missing or (array.dtype == object and any(map(_is_missing, array))):
        raise InputError("y contains NaN or None; every sample needs a label.")
    return array


def weights(sample_weight: Any, count: int) -> np.ndarray | None:
    """Return the weights of `count` samples in float64, or None where all of them are 1.

    >>> weights([0, 2.5], 2)
    array([0. , 2.5])
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Tensor):
        check_dense(sample_weight, "sample_weight")
        sample_weight = sample_weight.detach().cpu().numpy()
    try:
        array = np.asarray(sample_weight)
        if array.dtype.kind == "c":  # NumPy would only warn, and use the real parts
            raise TypeError("these are complex")
        array = array.astype(np.float64)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise InputError(f"sample_weight must hold real numbers, one per sample ({error}).") from error
    if array.ndim == 0:
        array = np.full(count, array)
    if array.shape != (count,):
        raise InputError(f"X has {count} samples, but sample_weight has the shape {array.shape}; give one for each.")
    positive = array[array > 0]
    if not ((array >= 0) & np.isfinite(array)).all():
        raise InputError(
            "sample_weight contains NaN, infinity or negative numbers; give finite weights of 0 or more."
        )
    if not len(positive):
        raise InputError("All of sample_weight is zero, so there is nothing to learn; give a positive weight.")
    if positive.min() < LEAST_WEIGHT or positive.max() > LARGEST_WEIGHT:
        raise InputError(
            f"sample_weight ranges from {positive.min():.3g} to {positive.max():.3g}; give 0 or weights from "
            f"{LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g}, for example by dividing by their mean."
        )
    return None if (array == 1).all() else array


def repeated(weights: np.ndarray) -> np.ndarray:
    """Return the places of samples, each repeated by its weight.

    >>> repeated(np.array([2.0, 0.0, 1.0]))
    array([0, 0, 2])
    """
    if (weights != np.floor(weights)).any() or weights.max() > MOST_REPEATED:
        raise InputError(
            "The gradient rules and the paper's tweak learn samples one by one, so sample_weight must hold whole "
            f"numbers from 0 to {MOST_REPEATED}; round it, or use rule='analytic' and another encoder."
        )
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # NA of pandas
        return True
    except ValueError:  # an array, which is refused as a label later
        return False


def is_batches(X: Any, y: Any) -> bool:
    """Return whether X is an iterable of (X, y) batches, such as a DataLoader, rather than samples."""
    if y is not None or not isinstance(X, Iterable):
        return False
    return not (isinstance(X, np.ndarray | Tensor | str) or hasattr(X, "to_numpy") or is_sparse(X))


class Repeatable:
    """An iterable that starts anew each time, from a function that starts it."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        return self.start()


def batches(iterable: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the (X, y) or (X, y, weights) batches of an iterable, with None for weights that are missing."""
    empty = True
    for batch in iterable:
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            raise InputError(
                "Without y, X must be an iterable of (X, y) batches, such as a DataLoader; "
                f"it gave a {type(batch).__name__} instead. Give the labels as y."
            )
        empty = False
        yield batch[0], batch[1], batch[2] if len(batch) == 3 else None
    if empty:
        raise InputError("The iterable of batches is empty; give at least one batch.")


def _as_matrix(X: Any) -> Tensor | SparseRows:
    if is_sparse(X):
        return SparseRows(X)
    if isinstance(X, Tensor):
        check_dense(X)
        if X.is_complex():
            raise InputError(COMPLEX)
        return X.detach()
    array = numbers(X)
    if array.dtype.itemsize > 8 or (array.dtype.kind == "u" and array.dtype.itemsize > 1):
        array = array.astype(np.float64)  # torch has no arithmetic for these types
    # Copied where torch cannot share the memory safely: read-only arrays and foreign byte orders.
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))
