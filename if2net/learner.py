"""IF2Net: an encoder and a decision layer; the one object a user holds.

`IF2NetClassifier` is the same thing by scikit-learn's conventions. Use this one for tensors on a GPU, for the
paper's gradient rules with their progress, and for representations that differ from task to task.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import torch
from torch import Tensor

from if2net import forgetting, inputs, learning, modelfile, predicting, snapshot
from if2net.config import Config
from if2net.decision import RULES, Analytic, DecisionLayer, Report
from if2net.encoder import DenseEncoder, Tweak, encoder_config
from if2net.errors import ConfigurationError, InputError, ModelFileError
from if2net.interrupts import uninterrupted
from if2net.labels import Labels
from if2net.version import __version__


class IF2Net:
    """Learns a sequence of tasks, keeps no old data, and forgets nothing.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 5)) + np.repeat(np.arange(3), 20)[:, None] * 4
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> net = IF2Net(seed=0, device="cpu").learn(X[:40], y[:40]).learn(X[40:], y[40:])
    >>> net.classes.tolist(), float((net.predict(X) == y).mean())
    (['a', 'b', 'c'], 1.0)
    """

    def __init__(self, config: Config | None = None, **settings: Any) -> None:
        if config is not None and settings:
            raise ConfigurationError("Give either a Config or single settings, not both.")
        self.config = config or Config.of(**settings)
        self.labels = Labels()
        self.encoder: DenseEncoder | None = None
        self.decision: DecisionLayer | None = None
        self.tweaks: list[Tweak] = []  # one, or one a task where the representation is per-task
        self.tasks = 0
        self.feature_names: list[str] | None = None  # of a frame; kept for the estimator, saved with the model
        self.backbone: dict[str, str] | None = None  # of images: its `text` and `identity`, saved with the model

    # ------------------------------------------------------------------ learning

    def learn(self, X: Any, y: Any = None, report: Report | None = None) -> IF2Net:
        """Learn a task: arrays X and y, or an iterable of (X, y) batches such as a DataLoader.

        If anything is wrong with the data, the learner stays as it was. So it does after Ctrl-C, or, when that comes
        at the very end, the task has been learned as a whole: `tasks` tells.
        """
        if inputs.is_batches(X, y):
            learning.learn_batches(self, X, report)
            return self
        if y is None:
            raise InputError("Labels are missing: give y, or an iterable of (X, y) batches as X.")
        learning.learn_arrays(self, learning.stream(self, X), inputs.labels(y, len(X)), report)
        return self

    def forget(self, X: Any, y: Any) -> IF2Net:
        """As if these samples had never been learned; exact. A class without samples is gone."""
        decision = self._exact("forget")
        forgetting.forget(self, decision, learning.stream(self, X), inputs.labels(y, len(X)))
        return self

    def fork(self) -> IF2Net:
        """A learner with the same frozen encoder that has learned nothing yet; to be merged later."""
        if self.encoder is None:
            raise InputError(
                "A learner that has seen no data has no encoder to share; let it learn something before fork()."
            )
        other = IF2Net(self.config)
        other.encoder, other.feature_names, other.backbone = self.encoder, self.feature_names, self.backbone
        other.tweaks = list(self.tweaks) if self.config.representation == "first" else []
        other.new_decision()
        return other

    def merge(self, other: IF2Net) -> IF2Net:
        """As if this learner had also seen everything that the other one has; exact."""
        if other.encoder is None:
            return self
        if other is self:
            other = copy.deepcopy(self)
        theirs = other._exact("merge")
        self._check_exact("merge")
        snapshot.check_mergeable(self, other)
        new = [label for label in other.labels.known if label not in self.labels.known]
        if new:
            self.labels.check(np.array(new))
        with uninterrupted():
            if self.encoder is None:
                self.encoder, self.tweaks, self.backbone = other.encoder, list(other.tweaks), other.backbone
                self.new_decision()
            ours = self._exact("merge")
            self.labels.known += new
            ours.grow(len(self.labels))
            columns = [self.labels.known.index(label) for label in other.labels.known]
            ours.merge(theirs, torch.tensor(columns, dtype=torch.int64, device=self.config.torch_device))
            self.tasks += other.tasks
        return self

    # ------------------------------------------------------------------ predicting

    @property
    def classes(self) -> np.ndarray:
        """All classes learned so far, sorted."""
        return self.labels.sorted

    def scores(self, X: Any, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """Vβ, samples × classes (sorted): the higher, the likelier.

        `task` picks the representation of that task (aware); `transductive` solves the tweak again on X itself, so
        that a score depends on the rest of X. Without both, a score depends on its sample alone.
        """
        return predicting.scored(self, self._learned(), X, task, transductive)

    def probabilities(self, X: Any, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """softmax(scores / τ), with τ fitted on held-out statistics."""
        scores = self.scores(X, task=task, transductive=transductive)
        return torch.softmax(scores.double() / self._learned().temperature, dim=1)

    def predict(self, X: Any, *, task: int | None = None, transductive: bool = False) -> np.ndarray:
        """The class of every sample."""
        best = predicting.scored(self, self._learned(), X, task, transductive, lambda scores: scores.argmax(dim=1))
        return self.classes[best.cpu().numpy()]

    def free_share(self) -> float:
        """tr(P)/S: the share of directions that nothing learned so far uses."""
        return self._learned().free_share()

    def represent(self, X: Any, task: int | None = None) -> Tensor:
        """V, what the decision layer sees of X."""
        tensor = self.samples(X)
        return self._encoder.encode(tensor, predicting.tweak_for(self, tensor, task, False))

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, whole or not at all."""
        header = {
            "library": __version__,
            "config": self.config.as_dict(),
            "classes": self.labels.known,
            "tasks": self.tasks,
            "feature_names": self.feature_names,
            "backbone": self.backbone,
        }
        modelfile.write(path, snapshot.take(self), header)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> IF2Net:
        """Read a learner from a file that `save` has written."""
        tensors, header = modelfile.read(path)
        if header.get("kind") == "backbone":
            raise ModelFileError(f"{path} holds a backbone, not a model; it is what --backbone takes.")
        try:
            net = cls(Config.of(**{**header["config"], "device": device}))
            snapshot.put(net, tensors, header["classes"], header["tasks"])
            net.feature_names = header["feature_names"]
            net.backbone = header.get("backbone")  # files of the first models do not have it
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"{path} does not hold a whole if2net model ({error} is missing).") from error
        return net

    # ------------------------------------------------------------------ inside

    @property
    def _encoder(self) -> DenseEncoder:
        self._learned()
        assert self.encoder is not None
        return self.encoder

    def _learned(self) -> DecisionLayer:
        if self.decision is None or len(self.labels) == 0:
            raise InputError("Nothing has been learned yet; call learn or partial_fit first.")
        return self.decision

    def _exact(self, verb: str) -> Analytic:
        self._check_exact(verb)
        if not isinstance(self.decision, Analytic):
            raise InputError(f"Nothing has been learned yet, so there is nothing to {verb}.")
        return self.decision

    def _check_exact(self, verb: str) -> None:
        if self.config.rule != "analytic" or self.config.representation != "first":
            raise ConfigurationError(
                f"Only the analytic rule with one frozen representation can {verb} exactly; this learner has "
                f"rule={self.config.rule!r} and representation={self.config.representation!r}."
            )

    def samples(self, X: Any, features: int | None = None) -> Tensor:
        """X as a tensor that can be computed with, or an error that says why it cannot."""
        if self.encoder is not None:
            features = self.encoder.inputs
        tensor = inputs.samples(X, self.config.torch_dtype, self.config.torch_device, features)
        if self.encoder is not None:
            inputs.check_range(float(self.encoder.farthest(tensor)), tensor.dtype)
        return tensor

    def columns(self, labels: np.ndarray) -> Tensor:
        """The column of Q that belongs to each label."""
        return torch.from_numpy(self.labels.columns(labels)).to(self.config.torch_device)

    def new_decision(self) -> None:
        self.decision = self.empty_decision()

    def empty_decision(self) -> DecisionLayer:
        """A decision layer of this learner's kind that has seen nothing."""
        assert self.encoder is not None
        return RULES[self.config.rule](
            self.encoder.width, self.config.rule_config(), self.config.torch_dtype, self.config.torch_device
        )

    def new_encoder(self, features: int) -> DenseEncoder:
        config = encoder_config(self.config.encoder, features, **self.config.encoder_overrides())
        return DenseEncoder(config, self.config.seed)
