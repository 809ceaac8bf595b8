"""Predictions of waiting requests, computed together. An answer depends on its samples and the model alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from if2net.errors import IF2NetError
from if2net.server.refusal import refusal_of
from if2net.server.service import Published


@dataclass(frozen=True)
class Question:
    """Samples to predict with one published model."""

    published: Published
    rows: np.ndarray
    unknown: float | None = None


@dataclass(frozen=True)
class Predicted:
    """The probabilities of the classes for each sample, and whether it seems to be of none of them."""

    probabilities: np.ndarray
    is_unknown: np.ndarray

    def best(self, labels: Sequence[Any], top: int) -> list[dict[str, Any]]:
        """Return the prediction of each sample, in the form of the answer."""
        order = (-self.probabilities).argsort(axis=1, kind="stable")[:, :top]
        values = np.take_along_axis(self.probabilities, order, axis=1).round(6).tolist()
        predictions = []
        for columns, row, none in zip(order.tolist(), values, self.is_unknown.tolist(), strict=True):
            ranking = [
                {"label": labels[column], "probability": value} for column, value in zip(columns, row, strict=True)
            ]
            label = None if none else ranking[0]["label"]
            predictions.append({"label": label, "probability": row[0], "unknown": none, "top": ranking})
        return predictions


def predict(questions: list[Question]) -> list[Predicted | Exception]:
    """Answer questions together: those that have the same model, number of features and share of unknown samples."""
    answers: dict[int, Predicted | Exception] = {}
    groups: dict[tuple[int, int, float | None], list[int]] = {}
    for place, question in enumerate(questions):
        kind = id(question.published), question.rows.shape[1], question.unknown
        groups.setdefault(kind, []).append(place)
    for places in groups.values():
        group = [questions[place] for place in places]
        try:
            answers |= zip(places, _together(group), strict=True)
        except IF2NetError:  # one of them has samples that cannot be used
            answers |= {place: _alone(questions[place]) for place in places}
    return [answers[place] for place in range(len(questions))]


def _together(group: list[Question]) -> list[Predicted]:
    published, unknown = group[0].published, group[0].unknown
    net = published.learned()
    rows = np.concatenate([question.rows for question in group])
    probabilities = net.probabilities(rows).cpu().numpy()
    if unknown is None:
        rejected = np.zeros(len(rows), bool)
    else:
        rejected = np.array([label is None for label in net.predict(rows, unknown=unknown)])
    ends = np.cumsum([len(question.rows) for question in group])[:-1]
    parts = zip(np.split(probabilities, ends), np.split(rejected, ends), strict=True)
    return [Predicted(*part) for part in parts]


def _alone(question: Question) -> Predicted | Exception:
    try:
        return _together([question])[0]
    except IF2NetError as error:
        return refusal_of(error)
