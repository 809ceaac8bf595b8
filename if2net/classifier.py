"""IF2NetClassifier: the learner by scikit-learn's conventions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor

from if2net import inputs
from if2net.config import Config
from if2net.errors import InputError
from if2net.learner import IF2Net

# Settings of the learner that scikit-learn calls otherwise or that make no sense for an estimator.
_NOT_PARAMETERS = {"seed", "representation"}


class IF2NetClassifier(ClassifierMixin, BaseEstimator):
    """A classifier to which classes can be added at any time, in seconds, without the old data.

    Parameters
    ----------
    encoder : "wide" (default), "linear", "paper" or "paper-25x4"
        "wide" suits any feature matrix. "linear" is lighter, for features from a good pre-trained network.
    width : int or None
        Nodes of the last hidden layer; more is more accurate and slower. None: by the number of features.
    rule : "analytic" (default), "gradient" or "ewc"
        The analytic rule equals training on everything at once, and can forget and merge exactly.
    ridge : float or None
        Relative to tr(G)/S. None: chosen on held-out statistics.
    holdout : float
        Share of the samples, picked by their content, that chooses the ridge and the temperature.
    dtype : "float32" (default) or "float64"
    device : "auto" (default), "cpu" or "cuda"
    random_state : int, RandomState or None
        Draws the frozen random weights. Learners that are to be merged come from one `fork`.

    The other parameters are those of `if2net.Config`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> old, new = y < 5, y >= 5
    >>> classifier = IF2NetClassifier(random_state=0, device="cpu")
    >>> classifier = classifier.partial_fit(X[old], y[old])     # today
    >>> classifier = classifier.partial_fit(X[new], y[new])     # tomorrow: five more classes
    >>> classifier.score(X, y) > 0.98
    True
    """

    def __init__(
        self,
        encoder="wide",
        width=None,
        *,
        layers=None,
        activation=None,
        standardise=None,
        tweaked=None,
        strength=None,
        solver=None,
        scale=None,
        follow=None,
        direct=None,
        rule="analytic",
        ridge=None,
        holdout=0.1,
        alpha=0.1,
        projector="exact",
        initialisation="analytic",
        initial_samples=None,
        mu=2.0**-30,
        epochs=5,
        batch_size=64,
        step=1.0,
        fisher=100.0,
        dtype="float32",
        device="auto",
        random_state=None,
    ):
        self.encoder = encoder
        self.width = width
        self.layers = layers
        self.activation = activation
        self.standardise = standardise
        self.tweaked = tweaked
        self.strength = strength
        self.solver = solver
        self.scale = scale
        self.follow = follow
        self.direct = direct
        self.rule = rule
        self.ridge = ridge
        self.holdout = holdout
        self.alpha = alpha
        self.projector = projector
        self.initialisation = initialisation
        self.initial_samples = initial_samples
        self.mu = mu
        self.epochs = epochs
        self.batch_size = batch_size
        self.step = step
        self.fisher = fisher
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    # ------------------------------------------------------------------ learning

    def fit(self, X, y=None):
        """Learn from nothing: what was learned before is dropped. X may be an iterable of (X, y) batches."""
        learner = self._new_learner()
        self._learn(learner, X, y, reset=True)
        self.learner_ = learner
        return self

    def partial_fit(self, X, y=None, classes=None):
        """Go on learning. New classes just appear; `classes` is accepted for scikit-learn's sake and not needed."""
        first = not hasattr(self, "learner_")
        learner = self._new_learner() if first else self.learner_
        self._learn(learner, X, y, reset=first)
        self.learner_ = learner
        return self

    def forget(self, X, y):
        """As if these samples had never been learned; exact."""
        check_is_fitted(self)
        self.learner_.forget(self._check(X), y)
        return self

    def fork(self):
        """A classifier with the same frozen encoder that has learned nothing yet."""
        check_is_fitted(self)
        return _wrap(self.learner_.fork(), self)

    def merge(self, other):
        """As if this classifier had also seen everything that the other one has; exact."""
        check_is_fitted(self)
        if not isinstance(other, IF2NetClassifier):
            raise InputError(f"Only another IF2NetClassifier can be merged, not a {type(other).__name__}.")
        if hasattr(other, "learner_"):
            self.learner_.merge(other.learner_)
        return self

    # ------------------------------------------------------------------ predicting

    @property
    def classes_(self):
        """All classes learned so far, sorted."""
        if not hasattr(self, "learner_"):
            raise AttributeError("classes_ appears with the first fit or partial_fit.")
        return self.learner_.classes

    def decision_function(self, X):
        """Scores, samples × classes; for two classes one column that is positive for the second."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X):
        """The class of every sample; it depends on the sample and the model alone."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Calibrated probabilities, samples × classes."""
        check_is_fitted(self)
        return self.learner_.probabilities(self._check(X)).cpu().numpy()

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all."""
        check_is_fitted(self)
        self.learner_.save(path)

    # ------------------------------------------------------------------ inside

    def _config(self) -> Config:
        settings = {name: value for name, value in self.get_params().items() if name != "random_state"}
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        return Config.of(**settings, seed=int(seed))

    def _new_learner(self) -> IF2Net:
        return IF2Net(self._config())

    def _learn(self, learner: IF2Net, X: Any, y: Any, *, reset: bool) -> None:
        before = dict(self.__dict__)
        try:
            if inputs.is_batches(X, y):
                learner.learn(X)
                self._remember_features(learner)
            elif y is None:
                raise InputError(
                    "This IF2NetClassifier estimator requires y to be passed, but the target y is None; "
                    "give labels, or an iterable of (X, y) batches as X."
                )
            else:
                samples = self._check(X, reset=reset)
                plain = isinstance(y, Tensor | list | tuple)
                labels = inputs.labels(y if plain else column_or_1d(y, warn=True), len(samples))
                learner.labels.check(labels)
                check_classification_targets(labels)
                learner.learn(samples, labels)
                names = getattr(self, "feature_names_in_", None)
                learner.feature_names = None if names is None else list(names)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _remember_features(self, learner: IF2Net) -> None:
        assert learner.encoder is not None
        self.n_features_in_ = learner.encoder.inputs
        self.__dict__.pop("feature_names_in_", None)
        if learner.feature_names is not None:
            self.feature_names_in_ = np.array(learner.feature_names, dtype=object)

    def _check(self, X: Any, *, reset: bool = False) -> Any:
        """scikit-learn's own checks and its book-keeping of feature names; tensors stay where they are."""
        if isinstance(X, Tensor):
            if reset:
                self.n_features_in_ = X.shape[-1]
                self.__dict__.pop("feature_names_in_", None)
            return X
        return validate_data(self, X, reset=reset, dtype="numeric", ensure_min_samples=1)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.learner_.scores(self._check(X)).cpu().numpy()


def load(path: str | os.PathLike[str], device: str = "auto") -> IF2NetClassifier:
    """Read a classifier from a file that `save` has written."""
    learner = IF2Net.load(path, device)
    settings = {name: value for name, value in learner.config.as_dict().items() if name not in _NOT_PARAMETERS}
    return _wrap(learner, IF2NetClassifier(**settings, random_state=learner.config.seed))


def _wrap(learner: IF2Net, like: IF2NetClassifier) -> IF2NetClassifier:
    wrapped = IF2NetClassifier(**like.get_params())
    wrapped.learner_ = learner
    wrapped._remember_features(learner)
    return wrapped
