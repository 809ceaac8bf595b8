"""Changes of a model, as requests ask for them and as the log stores them."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from if2net.errors import InputError, RepeatedSamplesWarning
from if2net.learner import IF2Net

LEARN, FORGET, RENAME, FORGET_CLASS, MERGE, RESTORE = "learn", "forget", "rename", "forget-class", "merge", "restore"
INVERSE = {LEARN: FORGET, FORGET: LEARN, RENAME: RENAME}


@dataclass(frozen=True)
class Change:
    """One change of a model.

    Attributes
    ----------
    operation : str
        learn or forget samples; rename or forget-class; merge another model; restore a class that was forgotten.
    labels : tuple
        One per sample. Of a rename the old and the new name, of forget-class the name.
    features : ndarray or None
        The samples, in the precision of the model.
    feature_names : tuple of str or None
        The names of the columns, which a new model remembers.
    model : IF2Net or None
        The model to merge. It is not logged.
    undoes : int or None
        The position of the change that this one takes back.
    logged : bool
        Whether its entry in the log is enough to repeat it. Otherwise two snapshots of the model contain it before
        it is acknowledged.
    """

    operation: str
    labels: tuple[Any, ...] = ()
    features: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    model: IF2Net | None = None
    undoes: int | None = None
    logged: bool = True

    @property
    def samples(self) -> int:
        return 0 if self.features is None else len(self.features)

    def apply(self, net: IF2Net) -> list[str]:
        """Make the change, or raise an error and change nothing. Return sentences that the user should read."""
        with warnings.catch_warnings(record=True) as notices:
            warnings.simplefilter("always")
            if self.operation == LEARN:
                new = net.encoder is None
                net.learn(self.features, list(self.labels))
                if new and self.feature_names is not None:
                    net.feature_names = list(self.feature_names)
            elif self.operation == FORGET:
                net.forget(self.features, list(self.labels))
            elif self.operation == RENAME:
                net.rename(*self.labels)
            elif self.operation == FORGET_CLASS:
                net.forget_class(*self.labels)
            elif self.operation == MERGE and self.model is not None:
                net.merge(self.model)
            else:
                raise InputError(f"The log does not have the content of the operation {self.operation!r}.")
        # Warnings of other threads may be among them.
        return [str(notice.message) for notice in notices if issubclass(notice.category, RepeatedSamplesWarning)]

    def inverse(self, position: int) -> Change | None:
        """Return the change that takes back this one, at `position`; None if it cannot be taken back."""
        if self.operation not in INVERSE or not self.logged:
            return None
        labels = self.labels[::-1] if self.operation == RENAME else self.labels
        return replace(self, operation=INVERSE[self.operation], labels=labels, undoes=position, feature_names=None)

    def content(self) -> tuple[str, bytes | None]:
        """Return the change for the log: as JSON, and the bytes of the features."""
        facts: dict[str, Any] = {"labels": self.labels, "feature_names": self.feature_names}
        if self.features is None or not self.logged:
            return json.dumps(facts), None
        facts["dtype"] = str(self.features.dtype)
        return json.dumps(facts), np.ascontiguousarray(self.features).tobytes()

    @classmethod
    def of_content(
        cls, operation: str, samples: int, undoes: int | None, logged: bool, text: str, features: bytes | None
    ) -> Change:
        """Return the change with this content in the log."""
        facts, rows = json.loads(text), None
        if features is not None:
            rows = np.frombuffer(features, facts["dtype"]).reshape(samples, -1)
        names = facts["feature_names"]
        return cls(
            operation, tuple(facts["labels"]), rows, None if names is None else tuple(names), None, undoes, logged
        )
