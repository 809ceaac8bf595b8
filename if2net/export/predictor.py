"""Files that only predict: the encoder, β and the temperature, without the statistics."""

from __future__ import annotations

import os

from if2net.classifier import Model, learner_of


def to_predictor(model: Model, path: str | os.PathLike[str], *, int8: bool = False) -> None:
    """Write a model file that only predicts. It is much smaller: G, the largest part of a wide model, is left out.

    `if2net.load` reads it. The predictions are the same. Learning, forgetting and merging are refused.

    Parameters
    ----------
    model : IF2NetClassifier or IF2Net
        A model that has learned something.
    path : path-like
        The file, such as ``birds-small.if2``.
    int8 : bool, default=False
        Round the weights to eight bits. The file is about a quarter as large, and few predictions change
        (benchmarks/predictors.json).
    """
    learner_of(model).predictor().save(path, int8=int8)
