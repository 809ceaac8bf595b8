"""The errors and warnings of if2net. Each message is a full sentence that says what to do."""

from __future__ import annotations

import difflib
import errno
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# The numbers of the operating system's errors where a disk or a quota is full.
NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
# Names that an error lists. Of more, the nearest are listed.
MOST_NAMED = 20


class IF2NetError(ValueError):
    """Anything the user can correct; raised before anything has been changed."""


class InputError(IF2NetError):
    """Samples or labels that cannot be used."""


class NotNumbersError(InputError, TypeError):
    """Samples that are not numbers. scikit-learn's conventions ask for a TypeError."""


class SuspectInputError(InputError):
    """Samples or labels that are most likely a mistake; `check_inputs=False` accepts them."""


class RepeatedSamplesWarning(UserWarning):
    """Samples that had been learned before, and now count twice."""


class ModelFileError(IF2NetError):
    """A model file that is damaged or cannot be read."""


class OutputError(IF2NetError):
    """A file or folder that cannot be written."""


class InUseError(OutputError):
    """A file or folder that another process is changing."""


class ConfigurationError(IF2NetError):
    """An unknown key, method, dataset or scenario, or a value that does not fit."""


class NumericalError(IF2NetError):
    """A system of equations that cannot be solved in this precision."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning that points to the nearest caller outside this package, which is a line of the user."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def listed(names: Iterable[object]) -> str:
    """Return the first three names, and the number of the others.

    >>> listed("abcde")
    'a, b, c and 2 more'
    """
    words = [str(name) for name in names]
    return ", ".join(words[:3]) + (f" and {len(words) - 3:,} more" if len(words) > 3 else "")


def check_once(kind: str, names: Iterable[object]) -> None:
    """Raise an error if a name comes twice: one of its values would be ignored.

    >>> check_once("setting", ["width", "ridge", "width"])
    Traceback (most recent call last):
        ...
    if2net.errors.ConfigurationError: The setting width is given twice; give it once.
    """
    seen = set()
    for name in names:
        if name in seen:
            raise ConfigurationError(f"The {kind} {name} is given twice; give it once.")
        seen.add(name)


def unknown(kind: str, name: object, known: Iterable[str]) -> ConfigurationError:
    """Return the error for an unknown name, which suggests similar names, in upper or lower case.

    >>> print(unknown("method", "if2nett", ["if2net", "joint"]))
    There is no method 'if2nett'; did you mean 'if2net'? Known: if2net, joint.
    >>> print(unknown("column", "LABEL", ["label", "length"]))
    There is no column 'LABEL'; did you mean 'label'? Known: label, length.
    """
    names = sorted(known)
    lower = {one.lower(): one for one in names}
    close = [lower[one] for one in difflib.get_close_matches(str(name).lower(), lower, n=3, cutoff=0.6)]
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    if len(names) > MOST_NAMED:
        nearest = difflib.get_close_matches(str(name), names, n=MOST_NAMED, cutoff=0)
        return ConfigurationError(f"There is no {kind} {name!r}{hint} Some of {len(names):,}: {', '.join(nearest)}.")
    return ConfigurationError(f"There is no {kind} {name!r}{hint} Known: {', '.join(names)}.")


@contextmanager
def explaining_output(path: str | os.PathLike[str], numbers: tuple[int, ...] | None = None) -> Iterator[None]:
    """Turn an error of the operating system into an OutputError; with `numbers`, only errors with these numbers."""
    try:
        yield
    except OSError as error:
        if numbers is not None and error.errno not in numbers:
            raise
        if error.errno == errno.ENAMETOOLONG:
            advice = "give a shorter name"
        else:
            advice = "free some space" if error.errno in NO_SPACE else "check the permissions of its folder"
        raise OutputError(
            f"{path} cannot be written ({error.strerror}); {advice}, or choose another place."
        ) from error
