"""IF2NetClassifier: the learner with scikit-learn's conventions."""

from __future__ import annotations

import copy
import json
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor

from if2net import inputs, pictures
from if2net.config import Config
from if2net.errors import ConfigurationError, InputError, unknown
from if2net.interrupts import uninterrupted
from if2net.learner import IF2Net
from if2net.sparse_rows import is_sparse

# Settings that are parameters of the classifier by their own names.
_PARAMETERS = ("encoder", "width", "ridge", "class_weight", "check_inputs", "dtype", "device")
# The other settings, which `config` takes.
_FURTHER = tuple(field.name for field in fields(Config) if field.name not in (*_PARAMETERS, "seed"))
# Fits of one classifier wait for each other. scikit-learn allows no attribute for this before the first fit.
_fits: weakref.WeakKeyDictionary[IF2NetClassifier, threading.RLock] = weakref.WeakKeyDictionary()
_fits_lock = threading.Lock()


class IF2NetClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """A classifier to which classes can be added at any time, in seconds, without the old data.

    Parameters
    ----------
    encoder : {"auto", "innate", "innate-large", "wide", "linear", "paper", "paper-25x4"}, default="auto"
        The frozen encoder. "auto" is "innate" for pictures and "wide" for everything else. "innate" is a network for
        small pictures that was trained on drawings; "innate-large" is more accurate, and slow without a GPU. "wide"
        suits any feature matrix. "linear" is lighter, for features from a good pre-trained network. The paper's
        layers need the task at test time to be accurate.
    width : int, default=None
        Nodes of the last hidden layer; more are more accurate and slower. None: by the number of features. For
        pictures, random nodes beside the features of the network; 0 is none.
    ridge : float, default=None
        The regularisation, relative to tr(G)/S. None: chosen on held-out samples.
    class_weight : dict or "balanced", default=None
        The weight of the samples of each class; classes that are not in the dict have weight 1. "balanced": all
        classes weigh the same. It assumes that all classes spread alike around their means. `set_params` changes it
        for a learned model, too.
    check_inputs : bool, default=True
        Whether samples far larger than the first data are refused, and samples that were learned before lead to a
        warning. `set_params` changes it for a learned model, too.
    dtype : {"float32", "float64"}, default="float32"
        The precision of the statistics.
    device : str, default="auto"
        "cpu", "cuda" or "auto", which is a GPU where there is one.
    config : dict, default=None
        Further settings of `Config` by name: ``{"image_shape": (28, 28)}`` for pictures in flat rows,
        ``{"holdout": 0.2}`` for the share of held-out samples, on which ridge and temperature are chosen,
        ``{"rule": "gradient"}`` for the paper's rule, which cannot forget and merge exactly.
    random_state : int, RandomState or None, default=None
        Draws the frozen random weights. Classifiers that will be merged come from one `fork`.

    Attributes
    ----------
    classes_ : ndarray
        The classes learned so far, sorted.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X was a data frame.
    learner_ : IF2Net
        The learner behind the classifier.

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
        encoder: str = "auto",
        width: int | None = None,
        *,
        ridge: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        check_inputs: bool = True,
        dtype: str = "float32",
        device: str = "auto",
        config: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.encoder = encoder
        self.width = width
        self.ridge = ridge
        self.class_weight = class_weight
        self.check_inputs = check_inputs
        self.dtype = dtype
        self.device = device
        self.config = config
        self.random_state = random_state

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> IF2NetClassifier:
        """Learn from the beginning; everything learned before is dropped.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), pictures, or an iterable of (X, y) batches
            Pictures are arrays of N×H×W or N×H×W×C, or tensors of N×C×H×W. Sparse matrices become dense block by
            block.
        y : array-like of shape (n_samples,)
            Labels; omitted where X is an iterable of batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A sample of weight 2 counts as two equal ones, and one of weight 0 is left out. Batches have
            them as a third part: (X, y, sample_weight). The gradient rules take whole numbers only.

        Returns
        -------
        IF2NetClassifier
            This classifier.
        """
        with _lock_of(self):
            return self._learn(None, X, y, sample_weight)

    def set_params(self, **params: Any) -> IF2NetClassifier:
        """Set parameters; most take effect with `fit`.

        `class_weight` and `check_inputs` take effect at once, also for a learned model. If a name or one of these
        values is wrong, nothing changes.
        """
        BaseEstimator.set_params(copy.copy(self), **params)  # scikit-learn sets some before it finds a wrong name
        with uninterrupted():
            if hasattr(self, "learner_"):
                _set_at_once(self.learner_, params)
            return super().set_params(**params)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> IF2NetClassifier:
        """Learn more. New classes are added; if anything is wrong with the data, nothing changes.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : ignored
            Present for scikit-learn's API: the classes need not be known in advance.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        IF2NetClassifier
            This classifier.
        """
        with _lock_of(self):
            return self._learn(getattr(self, "learner_", None), X, y, sample_weight)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> IF2NetClassifier:
        """Remove samples, as if they had never been learned; exact.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that they were learned with.

        Returns
        -------
        IF2NetClassifier
            This classifier.
        """
        check_is_fitted(self)
        self.learner_.forget(self._validated(X), y, sample_weight)
        return self

    def forget_class(self, name: Any) -> IF2NetClassifier:
        """Remove a class without giving its samples.

        Its name, its number of samples, their mean and its column of β are removed.

        The scatter of its samples around their mean stays in the statistics, as part of the scatter of all samples.
        To leave no trace of them but the frozen encoder, give the samples to `forget`.

        Parameters
        ----------
        name : label
            One of `classes_`.

        Returns
        -------
        IF2NetClassifier
            This classifier.
        """
        check_is_fitted(self)
        self.learner_.forget_class(name)
        return self

    def rename(self, old: Any, new: Any = None) -> IF2NetClassifier:
        """Give classes other names. Nothing else changes: more samples can be learned, and old ones forgotten.

        Parameters
        ----------
        old : label or mapping
            A class, or a mapping from classes to their new names. All classes have labels of one kind, so a mapping
            of all of them is needed to replace numbers by text.
        new : label
            Its new name. Omitted where `old` is a mapping.

        Returns
        -------
        IF2NetClassifier
            This classifier.

        Examples
        --------
        >>> classifier = IF2NetClassifier(width=50, device="cpu").fit([[0.0], [1.0], [9.0]], [0, 0, 1])
        >>> classifier.rename({0: "low", 1: "high"}).predict([[8.0]]).tolist()
        ['high']
        """
        check_is_fitted(self)
        self.learner_.rename(old, new)
        if isinstance(self.class_weight, Mapping):
            self.class_weight = self.learner_.config.class_weights()
        return self

    def fork(self) -> IF2NetClassifier:
        """Return a classifier with the same frozen encoder that has learned nothing, to be merged later."""
        check_is_fitted(self)
        return _wrap(self.learner_.fork(), self)

    def merge(self, other: IF2NetClassifier) -> IF2NetClassifier:
        """Add everything that another classifier has learned, as if this one had seen it; exact.

        Parameters
        ----------
        other : IF2NetClassifier
            A classifier with the same encoder: made by `fork`, or loaded from a file of this classifier.

        Returns
        -------
        IF2NetClassifier
            This classifier.
        """
        check_is_fitted(self)
        if not isinstance(other, IF2NetClassifier):
            raise InputError(f"Only another IF2NetClassifier can be merged, not a {type(other).__name__}.")
        if hasattr(other, "learner_"):
            self.learner_.merge(other.learner_)
        return self

    # ------------------------------------------------------------------ predicting

    @property
    def classes_(self) -> np.ndarray:
        """The classes learned so far, sorted."""
        if not hasattr(self, "learner_"):
            raise AttributeError("classes_ exists after the first fit or partial_fit.")
        return self.learner_.classes

    def predict(self, X: Any, unknown: float | None = None) -> np.ndarray:
        """Return the class of each sample. It depends on the sample and the model alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        unknown : float, default=None
            Reject samples that seem to be of none of the classes: about this share of the samples of known classes
            and, as far as possible, all others. Their prediction is None, in an array of dtype object.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.learner_.predict(self._validated(X), unknown=unknown)

    def novelty(self, X: Any) -> np.ndarray:
        """Return how unlike everything learned each sample is; higher for samples of unknown classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.learner_.novelty(self._validated(X)).cpu().numpy()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.learner_.probabilities(self._validated(X)).cpu().numpy()

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of calibrated probabilities, which are finite where these are rounded to zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.learner_.log_probabilities(self._validated(X)).cpu().numpy()

    def transform(self, X: Any) -> np.ndarray:
        """Return the features V of the frozen encoder, to which the output layer is linear.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, width)
            `get_feature_names_out` has the names of the columns.
        """
        check_is_fitted(self)
        return self.learner_.represent(self._validated(X)).cpu().numpy()

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes, positive values mean the second one.
        """
        check_is_fitted(self)
        scores = self.learner_.scores(self._validated(X)).cpu().numpy()
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all."""
        check_is_fitted(self)
        self.learner_.save(path)

    # ------------------------------------------------------------------ inside

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # features have the precision of the model
        return tags

    @property
    def _n_features_out(self) -> int:
        assert self.learner_.encoder is not None
        return self.learner_.encoder.width

    def _config(self) -> Config:
        parameters = {name: getattr(self, name) for name in _PARAMETERS}
        if not isinstance(self.config, Mapping | None) or not all(type(name) is str for name in self.config or ()):
            raise ConfigurationError(
                f"config takes a dict of settings such as {{'activation': 'tanh'}}, not {self.config!r}."
            )
        parameters["class_weight"] = _class_weight_text(self.class_weight)
        further = dict(self.config or {})
        if isinstance(further.get("image_shape"), tuple | list):
            further["image_shape"] = "x".join(str(side) for side in further["image_shape"])
        if twice := sorted(further.keys() & {*parameters, "seed"}):
            raise ConfigurationError(
                f"{twice[0]!r} is a parameter of its own ({'random_state' if twice[0] == 'seed' else twice[0]}); "
                "do not give it in config."
            )
        for name in further:
            if name not in _FURTHER:
                raise unknown("setting", name, _FURTHER)
        if further.get("representation", "first") != "first":
            raise ConfigurationError("A classifier predicts without a task; for representations per task use IF2Net.")
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        return Config.of(**parameters, **further, seed=int(seed))

    def _learn(self, before: IF2Net | None, X: Any, y: Any, sample_weight: Any) -> IF2NetClassifier:
        """Learn with the learner from before, or with a new one for None."""
        learner, reset = before or IF2Net(self._config()), before is None
        after = copy.copy(self)  # until everything is learned, other threads use the classifier as it was
        if inputs.is_batches(X, y):
            learner.learn(after._named_batches(X, reset=reset), sample_weight=sample_weight)
            if reset:
                names = getattr(after, "feature_names_in_", None)
                learner.feature_names = None if names is None else list(names)
                after._remember_features(learner)
        elif y is None:
            raise InputError(
                "This IF2NetClassifier estimator requires y to be passed, but the target y is None; "
                "give labels, or an iterable of (X, y) batches as X."
            )
        else:
            samples = after._validated(X, reset=reset)
            targets = _targets(y, samples.shape[0] if is_sparse(samples) else len(samples))
            learner.learn(samples, targets, sample_weight=sample_weight)
            names = getattr(after, "feature_names_in_", None)
            learner.feature_names = None if names is None else list(names)
        if reset:
            after.learner_ = learner
            self.__dict__ = after.__dict__
        return self

    def _remember_features(self, learner: IF2Net) -> None:
        assert learner.encoder is not None
        self.n_features_in_ = learner.encoder.inputs
        self.__dict__.pop("feature_names_in_", None)
        if learner.feature_names is not None:
            self.feature_names_in_ = np.array(learner.feature_names, dtype=object)

    def _named_batches(self, batches: Iterable[Any], *, reset: bool) -> Iterable[Any]:
        """Return batches, and check the feature names of frames. With `reset`, those of the first batch are taken."""
        is_first = reset
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)

        def checked(batch: Any) -> Any:
            nonlocal is_first
            if isinstance(batch, tuple | list) and batch and hasattr(batch[0], "columns"):
                inputs.check_frame(batch[0])
                validate_data(self, batch[0], reset=is_first, skip_check_array=True)
            is_first = False
            return batch

        if isinstance(batches, Iterator):  # it gives its batches only once, and the learner must see that
            return map(checked, batches)
        return inputs.Repeatable(lambda: map(checked, batches))

    def _validated(self, X: Any, *, reset: bool = False) -> Any:
        """Apply scikit-learn's checks of shape and feature names. The learner checks the values."""
        rows, shape = pictures.as_rows(X)
        if not reset:
            pictures.check_same_shape(X, shape, self.learner_.config.shape)
        if isinstance(rows, Tensor):  # stays on its device
            if reset:
                self.n_features_in_ = rows.shape[-1]
                self.__dict__.pop("feature_names_in_", None)
            return X
        rows = inputs.checked(rows)
        inputs.check_frame(rows)
        try:
            rows = validate_data(self, rows, reset=reset, accept_sparse="csr", ensure_all_finite=False)
        except (ValueError, TypeError, OverflowError):
            if not is_sparse(rows):  # raise an error that says what to do, if X holds no numbers or nested lists
                inputs.numbers(rows)
                inputs.check_dimensions(rows)
            raise
        return rows if shape is None else rows.reshape(-1, *shape)


# The models that functions of other modules accept.
Model = IF2NetClassifier | IF2Net


def _lock_of(classifier: IF2NetClassifier) -> threading.RLock:
    with _fits_lock:
        return _fits.setdefault(classifier, threading.RLock())


def load(path: str | os.PathLike[str], device: str = "auto") -> IF2NetClassifier:
    """Read a classifier from a file that `save` has written.

    Parameters
    ----------
    path : path-like
        The model file.
    device : str, default="auto"
        "cpu", "cuda" or "auto".

    Returns
    -------
    IF2NetClassifier
    """
    learner = IF2Net.load(path, device)
    settings, defaults = learner.config.as_dict(), Config()
    further = {name: settings[name] for name in _FURTHER if settings[name] != getattr(defaults, name)}
    parameters = {name: settings[name] for name in _PARAMETERS} | {"class_weight": learner.config.class_weights()}
    return _wrap(learner, IF2NetClassifier(**parameters, config=further or None, random_state=learner.config.seed))


def learner_of(model: Model) -> IF2Net:
    """Return the learner inside a model; an empty one for a classifier that has learned nothing."""
    if isinstance(model, IF2Net):
        return model
    if not isinstance(model, IF2NetClassifier):
        raise InputError(f"The model must be an IF2NetClassifier or an IF2Net, not {type(model).__name__}.")
    return getattr(model, "learner_", None) or IF2Net()


def _set_at_once(learner: IF2Net, params: Mapping[str, Any]) -> None:
    """Set the parameters that take effect without `fit`, all of them or, after an error, none."""
    check_inputs = params.get("check_inputs", learner.check_inputs)
    replace(learner.config, check_inputs=check_inputs)  # raises an error unless it is True or False
    if "class_weight" in params:
        learner.weigh_classes(_class_weight_text(params["class_weight"]))
    learner.check_inputs = check_inputs


def _class_weight_text(class_weight: Any) -> Any:
    """Return a dict of weights as the text that `Config` takes, and anything else as it is."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    return json.dumps(list(class_weight.items()), default=_plain)


def _plain(value: Any) -> Any:
    """Return NumPy's values as Python's, and others as lists, which `Config` refuses as classes and as weights."""
    return value.item() if getattr(value, "ndim", None) == 0 else [repr(value)]


def _targets(y: Any, count: int) -> np.ndarray:
    if not isinstance(y, Tensor | list | tuple):
        inputs.check_present(y, "y")
        y = np.asarray(y)  # pandas' own integers and truth values would become floats
        if y.dtype.kind != "c":  # complex numbers are refused below, like dates
            y = column_or_1d(y, warn=True)
    labels = inputs.labels(y, count)
    floats = [label for label in labels.tolist() if isinstance(label, float)]
    if floats:
        check_classification_targets(np.array(floats))  # refuses a continuous target
    return labels


def _wrap(learner: IF2Net, like: IF2NetClassifier) -> IF2NetClassifier:
    classifier = IF2NetClassifier(**like.get_params())
    classifier.learner_ = learner
    classifier._remember_features(learner)
    return classifier
