"""IF2Net: an encoder and a decision layer, with the data that goes through them.

Read it from top to bottom. Learning validates its input once (`Batch`), encodes it block by block, counts the blocks,
and replaces the learner's `State` in one assignment. Predicting works on an immutable `Solution` of that state.
`IF2NetClassifier` wraps this class in scikit-learn's conventions.
"""

from __future__ import annotations

import copy
import math
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from if2net import guards, inputs, modelfile, os_fork, pictures, rounding, tensor_specs, threads
from if2net.config import Config, resolve_device
from if2net.decision import PREDICTS_ONLY, RULES, Block, DecisionLayer, Fixed, Report, Task, fixed_tensors
from if2net.decision.novelty import Novelty
from if2net.encoder import INNATE, PRESETS, DenseEncoder, Encoder, InnateConfig, InnateEncoder, Tweak, encoder_config
from if2net.encoder.innate.encoder import NODES_OF_OLDER_FILES
from if2net.encoder.rowwise import ROWS, RowwiseFactor, rowwise
from if2net.errors import ConfigurationError, IF2NetError, InputError, ModelFileError, RepeatedSamplesWarning, warn
from if2net.holdout import content_hashes, held_out
from if2net.interrupts import uninterrupted
from if2net.labels import Labels
from if2net.membership import (
    FEWEST,
    add_members,
    alike,
    are_repeated,
    can_add,
    members_specs,
    members_tensors,
    no_members,
    restored_members,
)
from if2net.samples import Samples, Streamed, also_checked, block_rows, finish_checks, worth_streaming
from if2net.sparse_rows import SparseRows
from if2net.tensor_specs import TensorSpec
from if2net.torch_modes import check_precision, default_modes, in_default_modes
from if2net.version import __version__

# Samples per block when a tweak is solved.
TWEAK_BLOCK = 4096
# Samples encoded and counted at a time, so that the features of all samples never exist at once. With smaller blocks,
# torch and OpenBLAS alternate more often, and the threads of each spin while the other computes. Larger blocks take
# more memory.
COUNTING_BLOCK = {"cpu": 2048, "cuda": 16_384}
# An encoder starts from at most this many of the first samples: more would not change the spread of a feature.
STARTING_SAMPLES = 65_536
# For this, at most this many numbers of sparse samples become dense.
STARTING_NUMBERS = 1 << 26
# Loops over which the operations of a block are spread when it is counted or predicted, and those of a solution.
LOOPS_OF_COUNTING, LOOPS_OF_PREDICTING, LOOPS_OF_SOLVING = 30, 8, 60
# Tasks with an empty tweak that a file may have: they take memory, but no space in the file.
MOST_TASKS = 1_000_000

REPEATED = (
    "Nearly all of these samples were learned before with the same labels; learning them again counts them twice. "
    "Leave them out, or take them out again with `forget`."
)


@dataclass(frozen=True)
class State:
    """Everything that a learner has learned. Each change replaces it as a whole."""

    labels: Labels = field(default_factory=Labels)
    encoder: Encoder | None = None
    tweaks: tuple[Tweak, ...] = ()  # one, or one per task
    decision: DecisionLayer | None = None
    tasks: int = 0
    members: Tensor = field(default_factory=no_members)  # counts of the learned samples, see `membership.py`
    identity: str | None = None  # of the learner, from its first samples on
    merged: frozenset[str] = frozenset()  # the identities of the learners whose samples it has
    solution: Solution | None = None  # None until something is predicted

    @property
    def identities(self) -> frozenset[str]:
        return self.merged if self.identity is None else self.merged | {self.identity}


@dataclass(frozen=True)
class Solution:
    """The solved model. It is immutable, so other threads can predict with it while the learner learns."""

    classes: np.ndarray  # sorted
    times_beta: RowwiseFactor  # V ↦ Vβ, with the columns in the order of `classes`
    temperature: float | None = None  # fitted when probabilities are first asked for
    novelty: Novelty | None = None  # derived when it is first asked for


@dataclass(frozen=True)
class Batch:
    """Samples to learn or to forget, without those of weight zero.

    Shapes, numbers of labels and weights are checked. A tensor is on the device, and its values are checked, too:
    they are finite, and in the range of the encoder if there is one. Streamed values are checked on their way to the
    device, and `finish_checks` raises the error. The kind of the labels is checked when they become columns, and the
    units when the batch is learned.
    """

    X: Samples
    y: np.ndarray
    weights: Tensor | None  # None where all of them are 1
    config: Config  # the settings of the learner, with an encoder for these samples


class IF2Net:
    """A learner of a sequence of tasks that keeps no old data and forgets nothing.

    Use it instead of `IF2NetClassifier` for tensors on a GPU, for the progress of the paper's gradient rules, and
    for representations that differ from task to task.

    Any number of threads may predict while one learns: a prediction uses the model before or after a change, never
    one in between. Learning, forgetting, merging and saving wait for each other.

    Parameters
    ----------
    config : Config, optional
        All settings at once.
    **settings
        Single settings of `Config`, such as ``width=5000``.

    Attributes
    ----------
    classes : ndarray
        The classes learned so far, sorted.
    tasks : int
        Calls of `learn`, including those of merged learners.
    check_inputs : bool
        Whether samples far larger than the first data are refused, and repeated ones lead to a warning. Can be set.
    feature_names : list of str or None
        Names of the columns, where the samples came from a table or a data frame.
    backbone : dict or None
        The `text` and `identity` of the backbone, where the samples came from pictures.
    log : dict or None
        The `id` of the log of `if2net serve`, and the `position` of the last change in it that is part of the model.

    Examples
    --------
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
        os_fork.use_one_thread_in_a_child()
        self.config = config or Config.of(**settings)
        self.feature_names: list[str] | None = None
        self.backbone: dict[str, str] | None = None
        self.log: dict[str, Any] | None = None
        self._state = State()
        self._lock = threading.RLock()
        os_fork.delay_while_changing(self)

    # ------------------------------------------------------------------ the model

    @property
    def classes(self) -> np.ndarray:
        """The classes learned so far, sorted."""
        return self.labels.sorted

    @property
    def tasks(self) -> int:
        """The number of tasks learned."""
        return self._state.tasks

    @property
    def samples(self) -> int:
        """The number of samples learned and not forgotten."""
        return 0 if self.decision is None else self.decision.total.samples

    @property
    def predicts_only(self) -> bool:
        """Whether it has no statistics, so that it cannot learn, forget or merge."""
        return self.decision is not None and not self.decision.learns

    @property
    def check_inputs(self) -> bool:
        """Whether samples far larger than the first data are refused, and repeated ones lead to a warning."""
        return self.config.check_inputs

    @check_inputs.setter
    def check_inputs(self, value: bool) -> None:
        self.config = replace(self.config, check_inputs=value)

    @property
    def labels(self) -> Labels:
        """The classes in the order of their columns."""
        return self._state.labels

    @property
    def encoder(self) -> Encoder | None:
        """The frozen encoder; None before the first data."""
        return self._state.encoder

    @property
    def tweaks(self) -> tuple[Tweak, ...]:
        """The tweak of the encoder, or one per task."""
        return self._state.tweaks

    @property
    def decision(self) -> DecisionLayer | None:
        """The decision layer with its statistics; None before the first data."""
        return self._state.decision

    @property
    def _device(self) -> torch.device:
        return self.config.torch_device

    # ------------------------------------------------------------------ learning

    def learn(self, X: Any, y: Any = None, report: Report | None = None, *, sample_weight: Any = None) -> IF2Net:
        """Learn a task.

        If the data cannot be used, the learner is unchanged. After Ctrl-C it is unchanged, or it has learned the
        whole task; `tasks` shows which.

        Parameters
        ----------
        X : array, tensor or data frame of shape (samples, features), or an iterable of (X, y) batches
            Batches, such as those of a DataLoader, are learned one after the other where the rule allows it. A batch
            may have weights as a third part. X may be a sparse matrix of SciPy.
        y : array of shape (samples,)
            Labels; new classes are added. Omitted where X is an iterable of batches.
        report : callable, optional
            Receives the progress of a gradient rule: task, epoch, loss and tr(P)/S.
        sample_weight : array of shape (samples,), optional
            Weights. A sample of weight 2 counts as two equal ones, and one of weight 0 is left out. The gradient
            rules and the paper's tweak take whole numbers only.

        Returns
        -------
        IF2Net
            This learner.
        """
        with self._lock:
            self.check_learns()
            if inputs.is_batches(X, y):
                if sample_weight is not None:
                    raise InputError("Batches have their own weights: give (X, y, sample_weight) batches as X.")
                self._learn_batches(X, report)
            elif y is None:
                raise InputError("Labels are missing: give y, or an iterable of (X, y) batches as X.")
            else:
                self._learn_batch(self._batch(X, y, sample_weight), report)
        return self

    def check_learns(self) -> None:
        """Raise an error if this learner only predicts, and cannot learn, forget or merge."""
        if self.predicts_only:
            raise InputError(PREDICTS_ONLY)

    def _batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        """Return the samples, labels and weights of a user as a batch, or raise an error that says what is wrong."""
        check_precision(self._device)
        rows, config = self._rows(X, self.config)
        labels = inputs.labels(y, len(rows))
        some, weights = self._weighed(sample_weight, len(rows))
        if isinstance(some, np.ndarray):
            rows, labels = rows[torch.from_numpy(some)], labels[some]
        return Batch(self._samples(rows), labels, weights, config)

    def _rows(self, X: Any, config: Config, features: int | None = None) -> tuple[Tensor | SparseRows, Config]:
        """Return X as a matrix, with pictures as rows, and the settings. The first samples decide on the encoder."""
        rows, shape = pictures.as_rows(X)
        if self.encoder is None:
            config = config.for_samples(shape)
        pictures.check_same_shape(X, shape, config.shape)
        return inputs.matrix(rows, features if self.encoder is None else self.encoder.inputs), config

    def _weighed(self, sample_weight: Any, count: int) -> tuple[np.ndarray | slice, Tensor | None]:
        """Return the places of the samples to learn, and their weights, or None where all of them are 1.

        Statistics take any weights. The gradient rules and the tweak take samples one by one, so these are repeated.
        """
        weights = inputs.weights(sample_weight, count)
        if weights is None:
            return slice(None), None
        if not RULES[self.config.rule].exact or self._has_tweak:
            return inputs.repeated(weights), None
        some = np.flatnonzero(weights)
        return some, None if (weights[some] == 1).all() else torch.from_numpy(weights[some]).to(self._device)

    @property
    def _has_tweak(self) -> bool:
        name = "wide" if self.config.encoder == "auto" else self.config.encoder
        return name in PRESETS and encoder_config(name, 1, **self.config.encoder_overrides()).tweaked

    def _samples(self, rows: Tensor | SparseRows) -> Samples:
        """Return a matrix as samples that are finite and fit the encoder, if there is one.

        Sparse rows, and on a GPU long data, are read block by block, and `finish_checks` comes after the last block.
        """
        os_fork.use_one_thread_in_a_child()
        X: Samples
        if worth_streaming(rows, self._device):
            X = Streamed(rows, self.config.torch_dtype, self._device, inputs.finite, self._tensor)
        else:
            X = self._tensor(rows)
        return X if self.encoder is None else also_checked(X, self.encoder.fits, self.encoder.check)

    def _tensor(self, rows: Tensor | SparseRows) -> Tensor:
        return inputs.tensor(rows, self.config.torch_dtype, self._device)

    @in_default_modes
    def _learn_batch(self, batch: Batch, report: Report | None) -> None:
        """Learn a batch as a task. The rule calls `commit` when everything is counted; until then nothing changes."""
        before = self._state
        X, encoder = batch.X, before.encoder
        if encoder is None:
            encoder, X = self._started_encoder(batch)
        after = replace(
            before,
            labels=before.labels.extended(batch.y),
            encoder=encoder,
            tasks=before.tasks + 1,
            identity=before.identity or uuid.uuid4().hex,
        )
        self.config.check_class_weight(after.labels.known)
        if self.check_inputs:
            check_size = partial(guards.check_size, encoder=encoder, names=self.feature_names)
            X = also_checked(X, partial(guards.looks_usual, encoder=encoder), check_size)
        if not before.tweaks or self.config.representation == "per-task":
            if encoder.config.tweaked:  # otherwise the tweak is empty and reads no samples
                finish_checks(X)
            after = replace(after, tweaks=(*before.tweaks, encoder.tweak(X.split(block_rows(X, TWEAK_BLOCK)))))

        task, members = self._task(replace(batch, X=X), after, after.labels.columns(batch.y))

        def commit(decision: DecisionLayer) -> None:
            with uninterrupted():
                if before.encoder is None:
                    chosen = {name: getattr(batch.config, name) for name in ("encoder", "image_shape", "width")}
                    self.config = replace(self.config, **chosen)
                self._replace(after, decision=decision, members=before.members + members.cpu())

        with _threads_for_counting(encoder, len(X)):
            (before.decision or self._empty_decision(encoder)).learn(task, commit, report)
        if len(X) >= FEWEST:
            self._warn_if_repeated(before.members)

    @in_default_modes
    def _started_encoder(self, batch: Batch) -> tuple[Encoder, Samples]:
        """Return a new encoder, frozen with the scale of the batch, and the samples, checked by it."""
        X, weights, config = batch.X, batch.weights, batch.config
        if config.shape is not None:
            pictures.check_shape(X.shape[1], config.shape)
        encoder = self._new_encoder(config, X.shape[1])
        some = slice(None, None, math.ceil(len(X) / block_rows(X, STARTING_SAMPLES, STARTING_NUMBERS)))
        first = self._tensor(X.source[some]) if isinstance(X, Streamed) else X[some]
        with _threads_for_counting(encoder, len(first), X.shape[1]):
            encoder.start(first, None if weights is None else weights[some])
        return encoder, also_checked(X, encoder.fits, encoder.check)

    def _new_encoder(self, config: Config, features: int) -> Encoder:
        if config.shape is not None:
            return InnateEncoder(InnateConfig.of(config.encoder, config.shape, config.flips, config.width))
        return DenseEncoder(encoder_config(config.encoder, features, **config.encoder_overrides()), config.seed)

    def _task(self, batch: Batch, state: State, label_columns: np.ndarray) -> tuple[Task, Tensor]:
        """Return a batch, with the column of each label, as a task for the decision layer.

        The second value is the table of its members, which is complete after each iteration over the blocks.
        """
        X, weights = batch.X, batch.weights
        encoder, columns = state.encoder, torch.from_numpy(label_columns).to(self._device)
        assert encoder is not None
        prepare = encoder.counting if RULES[self.config.rule].exact else encoder.encoding
        encode = prepare(state.tweaks[-1] if state.tweaks else [])
        size, share = block_rows(X, COUNTING_BLOCK[X.device.type]), self.config.holdout
        members = torch.zeros_like(state.members, device=self._device)
        label_hashes = torch.from_numpy(state.labels.hashes).to(self._device)
        # Hashing everything first is faster than between products, which leave the cache to BLAS.
        hashes = content_hashes(X).split(size) if isinstance(X, Tensor) else None

        def blocks() -> Iterator[Block]:
            members.zero_()
            for place, (block, its_columns) in enumerate(zip(X.split(size), columns.split(size), strict=True)):
                block_hashes = content_hashes(block) if hashes is None else hashes[place]
                its_weights = None if weights is None else weights[place * size :][:size]
                add_members(members, block_hashes, label_hashes[its_columns], its_weights)
                yield encode(block), its_columns, held_out(block_hashes, share), its_weights

        return Task(len(X), len(state.labels), blocks, lambda: finish_checks(X), isinstance(X, Tensor)), members

    @in_default_modes
    def _empty_decision(self, encoder: Encoder) -> DecisionLayer:
        rule = RULES[self.config.rule]
        return rule(encoder.width, self.config.rule_config(), self.config.torch_dtype, self._device)

    def _replace(self, state: State, *, decision: DecisionLayer, **changes: Any) -> None:
        """Replace the state in one assignment by one with these changes and no solution yet."""
        after = replace(state, decision=decision, solution=None, **changes)
        decision.class_hashes = partial(getattr, after.labels, "hashes")
        weights = self.config.class_weights()
        decision.class_weight = (
            [weights.get(label, 1.0) for label in after.labels.known] if isinstance(weights, dict) else weights
        )
        self._state = after

    def _warn_if_repeated(self, before: Tensor) -> None:
        """Warn if nearly all samples that were added to these members were among them."""
        if self.check_inputs:
            now, before = alike(self._state.members, before)
            if are_repeated(before, now - before):
                warn(REPEATED, RepeatedSamplesWarning)

    def _learn_batches(self, batches: Iterable[Any], report: Report | None) -> None:
        """Learn batches in another learner, and merge it when all of them have been learned."""
        if not self._can_stream(batches):
            self._learn_batch(self._gathered(batches), report)
            return
        aside = self.fork() if self.encoder is not None else IF2Net(self.config)
        # `aside` has no samples. It has the classes and members of this learner, against which new ones are checked.
        aside._state = replace(aside._state, labels=self.labels, members=self._state.members)
        if not aside.tweaks and iter(batches) is not batches:
            aside._start_from_batches(batches)
        for X, y, weights in inputs.batches(batches):
            aside._learn_batch(aside._batch(X, y, weights), report)
        members = aside._state.members - self._state.members
        aside._state = replace(aside._state, tasks=1, identity=None, members=members)
        self._merge(aside)

    def _can_stream(self, batches: Iterable[Any]) -> bool:
        """Return whether each batch can be learned by itself.

        The gradient rules need the whole task. Solving a tweak needs several passes, which a generator cannot give.
        """
        if not RULES[self.config.rule].exact or self.config.representation == "per-task":
            return False
        return bool(self.tweaks) or not self._has_tweak or iter(batches) is not batches

    def _gathered(self, batches: Iterable[Any]) -> Batch:
        """Return all batches as one, with their weights, or with the samples repeated by them."""
        tensors: list[Tensor] = []
        labels: list[np.ndarray] = []
        weights: list[Tensor] = []
        config, known = self.config, self.labels
        for X, y, sample_weight in inputs.batches(batches):
            rows, config = self._rows(X, config, tensors[0].shape[1] if tensors else None)
            tensor = self._tensor(rows)
            if self.encoder is not None:
                self.encoder.check(tensor)
            some, left = self._weighed(sample_weight, len(tensor))
            tensors.append(tensor[some].clone())  # the iterable may use the memory of a batch again
            labels.append(inputs.labels(y, len(tensor))[some].copy())
            weights.append(tensor.new_ones(len(labels[-1]), dtype=torch.float64) if left is None else left)
            known = known.extended(labels[-1])  # refuses labels of different kinds
        joined = torch.cat(weights)
        return Batch(torch.cat(tensors), np.concatenate(labels), None if (joined == 1).all() else joined, config)

    def _start_from_batches(self, batches: Iterable[Any]) -> None:
        """Start the encoder and solve its tweak, with one pass over the batches per layer."""
        first = self._batch(*next(inputs.batches(batches)))
        encoder, _ = self._started_encoder(first)

        def samples() -> Iterator[Tensor]:
            for X, _, weights in inputs.batches(batches):
                tensor = self._tensor(self._rows(X, first.config, encoder.inputs)[0])
                encoder.check(tensor)
                yield tensor[self._weighed(weights, len(tensor))[0]]

        with default_modes():
            tweak = encoder.tweak(inputs.Repeatable(samples))
        self.config = first.config
        self._state = replace(self._state, encoder=encoder, tweaks=(tweak,), decision=self._empty_decision(encoder))

    # ------------------------------------------------------------------ predicting

    def scores(self, X: Any, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """Return the scores Vβ, samples × classes (sorted). The highest is the prediction.

        Parameters
        ----------
        X : array, tensor or data frame of shape (samples, features)
        task : int, optional
            Use the representation of that task (the aware protocol).
        transductive : bool
            Solve the tweak again on X, so that a score depends on the other samples of X. Without it and without
            `task`, a score depends on its sample alone.
        """
        return self._by_blocks(X, task, transductive, self._solution().times_beta)

    @in_default_modes
    def _solution(self, *, temperature: bool = False) -> Solution:
        """Return the solution of the current state. It is derived once per state, when it is first needed."""
        solution = self._state.solution
        if solution is None or (temperature and solution.temperature is None):
            with self._lock:
                decision, labels, solution = self._learned(), self.labels, self._state.solution
                with _threads_for_solving(decision):
                    if solution is None:
                        beta = decision.beta[:, labels.sorted_columns].to(self.config.torch_dtype)
                        solution = Solution(labels.sorted, RowwiseFactor(beta))
                    if temperature and solution.temperature is None:
                        solution = replace(solution, temperature=decision.temperature)
                self._state = replace(self._state, solution=solution)
        return solution

    def _learned(self, otherwise: str = "call learn or partial_fit first") -> DecisionLayer:
        os_fork.use_one_thread_in_a_child()
        if self.decision is None or len(self.labels) == 0:
            raise InputError(f"Nothing has been learned yet; {otherwise}.")
        self.decision.total.check_whole()
        return self.decision

    @in_default_modes
    def _by_blocks(
        self, X: Any, task: int | None, transductive: bool, function: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return function(V), computed block by block; `function` maps each row by itself."""
        assert self.encoder is not None
        samples = self._samples(self._rows(X, self.config)[0])
        encode = self.encoder.encoding(self._tweak_for(samples, task, transductive))
        with self._threads_for_predicting():
            result = rowwise(lambda block: function(encode(block)), samples)
        finish_checks(samples)
        return result

    def _threads_for_predicting(self) -> AbstractContextManager[None]:
        """The number of samples has no influence: it must not change the bits of a prediction."""
        assert self.encoder is not None
        inputs, config = self.encoder.inputs, self.encoder.config
        for_one = config.operations(inputs) + 2 * config.width(inputs) * len(self.labels)
        return threads.enough_for(ROWS["cpu"] * for_one, LOOPS_OF_PREDICTING)

    def _tweak_for(self, X: Samples, task: int | None, transductive: bool) -> Tweak:
        """Return the tweak of this learner, of one task, or one solved on X."""
        if transductive:
            finish_checks(X)
            assert self.encoder is not None
            return self.encoder.tweak(X.split(block_rows(X, TWEAK_BLOCK)))
        if self.config.representation == "first":
            return self.tweaks[0]
        if task is None:
            raise InputError(
                "With one representation per task a prediction depends on the task: give task=, or "
                "transductive=True, or learn with representation='first'."
            )
        if not 0 <= task < len(self.tweaks):
            raise InputError(f"There is no task {task}: {len(self.tweaks)} have been learned, counted from 0.")
        return self.tweaks[task]

    def probabilities(self, X: Any, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """Return softmax(scores / τ), samples × classes (sorted), with τ fitted on held-out statistics."""
        return self._calibrated(X, task, transductive, partial(torch.softmax, dim=1))

    def log_probabilities(self, X: Any, *, task: int | None = None, transductive: bool = False) -> Tensor:
        """Return the logarithms of `probabilities`, which are finite where these are rounded to zero."""
        return self._calibrated(X, task, transductive, partial(torch.log_softmax, dim=1))

    def _calibrated(self, X: Any, task: int | None, transductive: bool, finish: Callable[[Tensor], Tensor]) -> Tensor:
        """Return finish(scores / τ), computed block by block."""
        solution = self._solution(temperature=True)
        assert solution.temperature is not None
        times_beta, temperature = solution.times_beta, solution.temperature
        return self._by_blocks(X, task, transductive, lambda V: finish(times_beta(V).double() / temperature))

    def predict(
        self, X: Any, *, task: int | None = None, transductive: bool = False, unknown: float | None = None
    ) -> np.ndarray:
        """Return the class of each sample.

        Parameters
        ----------
        X : array, tensor or data frame of shape (samples, features)
        task, transductive
            As for `scores`.
        unknown : float, optional
            Reject samples that seem to be of none of the classes: about this share of the samples of known classes
            and, as far as possible, all others. Their prediction is None, in an array of dtype object.
        """
        if unknown is None:
            solution = self._solution()
            best = self._by_blocks(X, task, transductive, lambda V: solution.times_beta(V).argmax(dim=1))
            return solution.classes[best.cpu().numpy()]
        self.check_unknown(unknown)
        solution, novelty = self._with_novelty()
        limit = novelty.limit(unknown)

        def decide(V: Tensor) -> Tensor:
            scores = solution.times_beta(V)
            return torch.where(novelty(V, scores) > limit, -1, scores.argmax(dim=1))

        best = self._by_blocks(X, task, transductive, decide)
        return np.array([*solution.classes.tolist(), None], dtype=object)[best.cpu().numpy()]

    def check_unknown(self, share: float) -> None:
        """Raise an error if ``predict(X, unknown=share)`` cannot reject this share of known samples."""
        if not (isinstance(share, float | np.floating) and 0 < share < 1):
            raise ConfigurationError(f"unknown is a share of samples between 0 and 1, such as 0.05, not {share!r}.")
        self._with_novelty()[1].limit(share)

    @in_default_modes
    def _with_novelty(self) -> tuple[Solution, Novelty]:
        """Return the solution of the current state, with its novelty."""
        solution = self._solution()
        if solution.novelty is None:
            with self._lock:
                self._check_exact("tell known from unknown samples")
                solution = self._solution()
                decision = self._learned()
                with _threads_for_solving(decision):
                    solution = replace(solution, novelty=solution.novelty or decision.novelty(RowwiseFactor))
                self._state = replace(self._state, solution=solution)
        assert solution.novelty is not None
        return solution, solution.novelty

    def _check_exact(self, verb: str) -> None:
        self.check_learns()
        if not RULES[self.config.rule].exact or self.config.representation != "first":
            raise ConfigurationError(
                f"Only the analytic rule with one frozen representation can {verb}; this learner has "
                f"rule={self.config.rule!r} and representation={self.config.representation!r}."
            )

    def novelty(self, X: Any) -> Tensor:
        """Return how much each sample differs from everything learned; higher for samples of unknown classes.

        It rises when the score of the winner falls, and with unusual distances to the class means. Only the analytic
        rule with one frozen representation has it.
        """
        solution, novelty = self._with_novelty()
        return self._by_blocks(X, None, False, lambda V: novelty(V, solution.times_beta(V)))

    def represent(self, X: Any, task: int | None = None) -> Tensor:
        """Return V, the input of the decision layer."""
        self._learned()
        return self._by_blocks(X, task, False, lambda V: V)

    @in_default_modes
    def free_share(self) -> float:
        """Return tr(P)/S, the share of directions that nothing learned so far uses."""
        with self._lock:
            return self._learned().free_share()

    def solve(self, *, novelty: bool = False) -> IF2Net:
        """Derive the output weights and the temperature now, and not at the first prediction; `save` stores them.

        Parameters
        ----------
        novelty : bool, default=False
            Prepare `novelty` and ``predict(unknown=...)``, too. Files do not contain the result.
        """
        self._solution(temperature=True)
        if novelty:
            self._with_novelty()
        return self

    @in_default_modes
    def predictor(self, device: str | None = None) -> IF2Net:
        """Return a learner that only predicts: with the encoder, β and the temperature, without the statistics.

        Its file is much smaller. It cannot learn, forget or merge.

        Parameters
        ----------
        device : str, optional
            Where it predicts. The default is the device of this learner.
        """
        with self._lock:
            decision, dtype = self._learned(), self.config.torch_dtype
            other = IF2Net(replace(self.config, device=device or self.config.device))
            tensors = self.frozen_tensors() | dict(fixed_tensors(decision, dtype))
            other.restore(tensors, self.labels, self.tasks, predicts_only=True)
            other.feature_names, other.backbone = self.feature_names, self.backbone
        return other

    # ------------------------------------------------------------------ renaming, forgetting and merging

    def rename(self, old: Any, new: Any = None) -> IF2Net:
        """Give classes other names. Nothing else changes: more samples can be learned, and old ones forgotten.

        Parameters
        ----------
        old, new
            As for `IF2NetClassifier.rename`.

        Returns
        -------
        IF2Net
            This learner.
        """
        with self._lock:
            before, labels = self.labels, self.labels.rename(old if isinstance(old, Mapping) else {old: new})
            decision = self._learned("there is nothing to rename")
            config = self.config.renamed(dict(zip(before.known, labels.known, strict=True)))
            with uninterrupted():
                self.config = config
                self._replace(self._state, decision=decision, labels=labels)
        return self

    @in_default_modes
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> IF2Net:
        """Remove samples, as if they had never been learned; exact. A class without samples is removed.

        Parameters
        ----------
        X, y
            Samples that were learned, with their labels.
        sample_weight : array of shape (samples,), optional
            The weights that they were learned with.

        Returns
        -------
        IF2Net
            This learner.
        """
        with self._lock:
            self._check_exact("forget exactly")
            before, decision = self._state, self._learned("there is nothing to forget")
            batch = self._batch(X, y, sample_weight)
            finish_checks(batch.X)
            columns = before.labels.columns(batch.y)
            self._check_learned(decision, columns)
            task, members = self._task(batch, before, columns)

            def check_members() -> None:
                count = len(batch.y)
                unknown = int((members.cpu() - before.members).clamp(min=0).sum())
                if unknown:
                    raise InputError(
                        f"At least {unknown} of these {count} samples were never learned with these labels and "
                        "weights, or have been forgotten already. Give only samples that are still learned; nothing "
                        "has changed."
                    )

            def commit(decision: DecisionLayer, left: list[int]) -> None:
                self._keep(left, decision, before.labels.keep(left), before.members - members.cpu())

            assert before.encoder is not None
            with _threads_for_counting(before.encoder, len(batch.y)):
                decision.forget(replace(task, check=check_members), commit)
        return self

    def _check_learned(self, decision: DecisionLayer, columns: np.ndarray) -> None:
        asked, learned = np.bincount(columns, minlength=len(self.labels)), decision.total.counts.cpu().numpy()
        for column in np.flatnonzero(asked > learned):
            raise InputError(
                f"Class {self.labels.known[column]!r} has {learned[column]} learned samples, fewer than the "
                f"{asked[column]} to forget; only samples that were learned can be forgotten."
            )

    def _keep(self, columns: list[int], decision: DecisionLayer, labels: Labels, members: Tensor) -> None:
        """Replace the state by one with these classes. Without any, no samples are left."""
        rest = replace(self._state, labels=labels, members=members)
        if not columns:
            rest = replace(rest, members=no_members(), identity=None, merged=frozenset())
        self._replace(rest, decision=decision)

    @in_default_modes
    def forget_class(self, name: Any) -> IF2Net:
        """Remove a class without its samples. Their scatter stays, as `IF2NetClassifier.forget_class` explains.

        Parameters
        ----------
        name : label
            One of `classes`.

        Returns
        -------
        IF2Net
            This learner.
        """
        with self._lock:
            self._check_exact("forget")
            before, decision = self._state, self._learned("there is nothing to forget")
            column = int(before.labels.columns(np.array([name], dtype=object))[0])

            def commit(decision: DecisionLayer, left: list[int]) -> None:
                self._keep(left, decision, before.labels.keep(left, retire=[column]), before.members)

            decision.forget_class(column, commit)
        return self

    @in_default_modes
    def weigh_classes(self, class_weight: str | None) -> IF2Net:
        """Set `class_weight` of `Config` for a learned model. Only the solution changes, not the statistics."""
        with self._lock:
            self.check_learns()
            config = replace(self.config, class_weight=class_weight)
            config.check_class_weight(self.labels.known)
            with uninterrupted():
                self.config = config
                if self.decision is not None:
                    decision = copy.copy(self.decision)
                    decision.grow(len(self.labels))  # drops the solution for the former weights
                    self._replace(self._state, decision=decision)
        return self

    @in_default_modes
    def fork(self) -> IF2Net:
        """Return a learner with the same frozen encoder that has learned nothing, to be merged later."""
        if self.encoder is None:
            raise InputError("A learner without an encoder cannot be forked; let it learn something first.")
        self.check_learns()
        other = IF2Net(self.config)
        other.feature_names, other.backbone = self.feature_names, self.backbone
        tweaks = self.tweaks if self.config.representation == "first" else ()
        other._state = State(
            self.labels.fork(), encoder=self.encoder, tweaks=tweaks, decision=self._empty_decision(self.encoder)
        )
        return other

    def merge(self, other: IF2Net) -> IF2Net:
        """Add everything that another learner has learned, as if this one had seen it; exact.

        Parameters
        ----------
        other : IF2Net
            A learner with the same encoder and other samples, made by `fork`. It can be merged once: a second time,
            its samples would count twice.

        Returns
        -------
        IF2Net
            This learner.
        """
        before = self._state.members
        self._merge(other)
        self._warn_if_repeated(before)
        return self

    @in_default_modes
    def _merge(self, other: IF2Net) -> None:
        if other.encoder is None:
            return
        first, second = sorted((self, other), key=id)  # two merges in opposite directions must not block each other
        with first._lock, second._lock:
            self._check_exact("merge exactly")
            other._check_exact("merge exactly")
            theirs = other._state
            assert theirs.encoder is not None
            assert theirs.decision is not None
            self._check_mergeable(other)
            labels, columns = self.labels.joined(theirs.labels)
            self.config.check_class_weight(labels.known)
            decision = self.decision or self._empty_decision(theirs.encoder)
            members, others = alike(self._state.members, theirs.members)
            with uninterrupted():
                decision.merge(theirs.decision, torch.from_numpy(columns).to(self._device), len(labels))
                self.config = self._with_encoder_of(other)
                self.feature_names = self.feature_names or other.feature_names
                self.backbone = self.backbone or other.backbone
                self._replace(
                    self._state,
                    labels=labels,
                    encoder=self.encoder or theirs.encoder,
                    tweaks=self.tweaks or theirs.tweaks,
                    decision=decision,
                    tasks=self.tasks + theirs.tasks,
                    members=members + others,
                    identity=self._state.identity or uuid.uuid4().hex,
                    merged=self._state.merged | theirs.identities,
                )

    def _check_mergeable(self, other: IF2Net) -> None:
        """Raise an error unless both have the same representation, or this learner is new and would have it."""
        assert other.encoder is not None
        theirs = other.frozen_tensors()
        ours = self.frozen_tensors() if self.encoder is not None else theirs
        encoder = self.encoder or self._encoder_for_samples_of(other)
        same = encoder is not None and encoder.config == other.encoder.config and ours.keys() == theirs.keys()
        different = [name for name in ours if not (same and _equal(ours[name], theirs[name]))]
        if different == ["encoder.full"]:
            ends = " and ".join(f"0 to {float(part['encoder.full']):g}" for part in (ours, theirs))
            raise InputError(
                f"The first pictures of these two learners decided on different ranges of values, {ends}, so their "
                "statistics cannot be added; learn one of them again, with first pictures of the full range."
            )
        if "encoder.resized" in different and {*different} <= {"encoder.resized", "encoder.full"}:
            older = "The learner to merge" if ours["encoder.resized"] else "The learner to merge into"
            raise InputError(
                f"{older} comes from a file of an earlier version, which did not resize pictures of this size, so "
                "their statistics cannot be added; learn its pictures again with this version."
            )
        if different and isinstance(encoder, InnateEncoder) and isinstance(other.encoder, InnateEncoder):
            nodes, others = encoder.config.nodes, other.encoder.config.nodes
            if nodes != others and replace(encoder.config, nodes=others) == other.encoder.config:
                raise InputError(
                    f"The learner to merge has {others:,} random nodes, and the one to merge into {nodes:,}, so "
                    "their statistics cannot be added; learn the pictures of one of them again with the width of the "
                    "other."
                )
        if different:
            raise InputError(
                "These two learners have different encoders, so their statistics cannot be added; only learners "
                "made by `fork` from one learner, or loaded from its file, can be merged."
            )
        if other is self or self._state.identities & other._state.identities:
            raise InputError(
                "These two learners have samples in common, which would count twice: one has been merged into the "
                "other before, or both come from the same file or copy. Fork one of them, let the fork learn the new "
                "samples, and merge it once."
            )
        if (self.config.holdout, self.config.dtype) != (other.config.holdout, other.config.dtype):
            raise InputError("These two learners differ in holdout or dtype, so they cannot be merged exactly.")
        assert other.decision is not None
        has_room = self.decision is None or self.decision.total.have_room_for(other.decision.total)
        if not has_room or not can_add(self._state.members, other._state.members):
            raise InputError(
                "Together, these two learners have more samples or larger values than a model can hold, so they "
                "cannot be merged."
            )

    def _encoder_for_samples_of(self, other: IF2Net) -> Encoder | None:
        """Return the encoder of this new learner for the other one's samples; None if its settings do not suit."""
        assert other.encoder is not None
        try:
            config = self._with_encoder_of(other)
        except ConfigurationError:  # its settings do not suit that encoder
            return None
        if (config.encoder in INNATE) != (other.config.encoder in INNATE):
            return None
        return self._new_encoder(config, other.encoder.inputs)

    def _with_encoder_of(self, other: IF2Net) -> Config:
        """Return the settings, with those of the other learner's encoder that this one has not chosen."""
        if self.encoder is not None:
            return self.config
        ours, theirs = self.config, other.config
        encoder = theirs.encoder if ours.encoder == "auto" else ours.encoder
        names = [name for name in ("image_shape", "flips", "width") if getattr(ours, name) is None]
        return replace(ours, encoder=encoder, **{name: getattr(theirs, name) for name in names})

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str], *, int8: bool = False, keep_old: bool = False) -> None:
        """Write the learner to a file, whole or not at all. The learner stays exactly as it is.

        Parameters
        ----------
        path : path-like
            The model file.
        int8 : bool, default=False
            Round the weights to eight bits; only for a learner that only predicts, see `predictor`.
        keep_old : bool, default=False
            Keep the file that is replaced as a hidden file beside the new one, for `if2net undo`.
        """
        if int8 and not self.predicts_only:
            raise ConfigurationError("Only a learner that only predicts can be rounded; call predictor() first.")
        with self._lock:
            tensors = self.tensors() | self.solved_tensors()
            if int8:
                tensors = rounding.rounded(tensors)
            header = {
                "predicts_only": self.predicts_only,  # first, so that the beginning of a file shows its kind
                "library": __version__,
                "config": self.config.as_dict(),
                "classes": list(self.labels.known),
                "renamed": list(self.labels.renamed.items()),
                "retired": sorted(self.labels.retired),
                "tasks": self.tasks,
                "identity": self._state.identity,
                "merged": sorted(self._state.merged),
                "feature_names": self.feature_names,
                "backbone": self.backbone,
                "log": self.log,
            }
            modelfile.write(path, tensors, header, keep_old)

    @in_default_modes
    def tensors(self) -> dict[str, Tensor]:
        """Return the encoder and the statistics, by name. Checkpoints and workers of a cluster use it."""
        frozen = self.frozen_tensors()
        assert self.decision is not None
        members = members_tensors(self._state.members) if self.decision.exact else {}
        return frozen | dict(self.decision.tensors()) | members

    def frozen_tensors(self) -> dict[str, Tensor]:
        """Return the tensors that are fixed by the first data, by name: the encoder and the tweaks."""
        if self.encoder is None:
            raise InputError("Nothing has been learned yet, so there is nothing to save.")
        tensors = dict(self.encoder.tensors())
        for task, tweak in enumerate(self.tweaks):
            tensors |= {f"tweak.{task}.{layer}": weights for layer, weights in enumerate(tweak)}
        return tensors

    def solved_tensors(self) -> dict[str, Tensor]:
        """Return the values derived from the statistics, by name. A loaded model need not solve for them again."""
        return dict(self.decision.solved_tensors()) if self.decision is not None else {}

    @classmethod
    @in_default_modes
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> IF2Net:
        """Read a learner from a file that `save` has written."""
        resolve_device(device)
        return cls._read(*modelfile.read(path), path, device)

    @classmethod
    @in_default_modes
    def from_bytes(cls, content: bytes, name: str, device: str = "auto") -> IF2Net:
        """Read a learner from the content of such a file. Errors refer to it by `name`."""
        resolve_device(device)
        return cls._read(*modelfile.read_bytes(content, name), name, device)

    @classmethod
    def _read(
        cls, tensors: dict[str, Tensor], header: dict[str, Any], path: str | os.PathLike[str], device: str
    ) -> IF2Net:
        if header.get("kind") == "backbone":
            raise ModelFileError(f"{path} holds a backbone, not a model; give it as the backbone of a new model.")
        if header.get("kind") == "innate":
            raise ModelFileError(f"{path} holds an innate encoder, not a model; give the file of a model.")
        try:
            _check_header(header)
            net = cls(_with_nodes(Config.of(**{**header["config"], "device": device})))
            labels = Labels.restored(header["classes"], header["renamed"], header["retired"])
            only = header["predicts_only"]
            net.restore(rounding.exact(tensors) if only else tensors, labels, header["tasks"], only)
            net._state = replace(net._state, identity=header["identity"], merged=frozenset(header["merged"]))
            net.feature_names, net.backbone = header["feature_names"], header["backbone"]
            net.log = header.get("log")
            assert net.encoder is not None
            if net.feature_names is not None and len(set(net.feature_names)) != net.encoder.inputs:
                raise ModelFileError("Its header does not name each feature.")
        except IF2NetError as error:
            raise ModelFileError(f"{path} does not hold a whole if2net model. {error} Use a backup copy.") from error
        return net

    @in_default_modes
    def restore(self, tensors: dict[str, Tensor], labels: Labels, tasks: int, predicts_only: bool = False) -> None:
        """Take over the state of another learner of the same configuration from its `tensors`.

        They are checked first, so that a file cannot ask for more memory than its own tensors take.
        """
        dtype, self.config = self.config.torch_dtype, self.config.for_samples(None)
        shape = self.config.shape
        features = math.prod(shape) if shape else tensors.get("encoder.mean", torch.empty(0)).numel()
        if features == 0:
            raise ModelFileError("The tensor encoder.mean is missing or empty.")
        encoder = self._new_encoder(self.config, features)
        layers = encoder.config.layer_shapes(features) if encoder.config.tweaked else []
        count = tasks if self.config.representation == "per-task" else 1
        if not 0 <= count <= (len(tensors) if layers else MOST_TASKS):
            raise ModelFileError(f"It does not hold the representations of {tasks:,} tasks.")
        width, rule = encoder.config.width(features), Fixed if predicts_only else RULES[self.config.rule]
        specs = encoder.config.tensor_specs(features, dtype)
        specs |= {
            f"tweak.{n}.{layer}": TensorSpec(shape, dtype) for n in range(count) for layer, shape in enumerate(layers)
        }
        specs |= rule.tensor_specs(width, len(labels), self.config.rule_config(), dtype)
        if rule.exact:
            specs |= members_specs(tensors)
        tensor_specs.check(tensors, specs)

        on_device = {name: tensor.to(self._device) for name, tensor in tensors.items() if not name.endswith(".G")}
        encoder.restore(on_device)
        tweaks = tuple([on_device[f"tweak.{task}.{layer}"] for layer in range(len(layers))] for task in range(count))
        decision = rule(width, self.config.rule_config(), dtype, self._device)
        decision.restore({**tensors, **on_device})
        members = restored_members(tensors) if rule.exact else no_members()
        total = decision.total
        if (decision.learns and encoder.config.bias and not total.fit_ones()) or (
            rule.exact and int(members.sum()) != total.samples + total.nameless
        ):
            raise ModelFileError("The numbers of its samples do not fit the rest.")
        self._replace(State(labels, encoder, tweaks, tasks=tasks, members=members), decision=decision)

    # ------------------------------------------------------------------ copies

    def predicting_copy(self) -> IF2Net:
        """Return a copy that predicts with the present state, whatever is learned later.

        It shares all tensors with this learner, so it must not learn.
        """
        with self._lock:
            return self._of(vars(self.solve()))

    def _of(self, state: dict[str, Any]) -> IF2Net:
        """Return a learner with this state and a lock of its own."""
        other = type(self).__new__(type(self))
        other.__setstate__(state)
        return other

    @in_default_modes
    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # copied here, because another thread may change tensors in place later
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.encoder is not None:
            self.config = _with_nodes(self.config)  # in a pickle of an earlier version
        self._lock = threading.RLock()
        os_fork.delay_while_changing(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> IF2Net:
        return self._of(self.__getstate__())


def _threads_for_counting(encoder: Encoder, samples: int, inputs: int | None = None) -> AbstractContextManager[None]:
    """`inputs` is needed for an encoder that has not been started."""
    inputs = encoder.inputs if inputs is None else inputs
    for_one = encoder.config.operations(inputs) + encoder.config.width(inputs) ** 2
    return threads.enough_for(min(samples, COUNTING_BLOCK["cpu"]) * for_one, LOOPS_OF_COUNTING)


def _threads_for_solving(decision: DecisionLayer) -> AbstractContextManager[None]:
    return threads.enough_for(decision.width**3, LOOPS_OF_SOLVING)


def _with_nodes(config: Config) -> Config:
    """Return the settings of a learned model, with the number of random nodes, which older files do not name."""
    if config.encoder not in INNATE or config.width is not None:
        return config
    return replace(config, width=NODES_OF_OLDER_FILES[INNATE[config.encoder]])


def _equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b.to(a.device))


def _check_header(header: dict[str, Any]) -> None:
    """Raise an error unless the fields of the header of a model have the right types."""
    names, backbone, renamed = header.get("feature_names", 0), header.get("backbone", 0), header.get("renamed")
    log = header.get("log")  # older files have none
    right = {
        "predicts_only": isinstance(header.get("predicts_only"), bool),
        "library": isinstance(header.get("library"), str),
        "config": isinstance(header.get("config"), dict),
        "classes": isinstance(header.get("classes"), list),
        "renamed": isinstance(renamed, list)
        and all(isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is int for pair in renamed),
        "retired": isinstance(header.get("retired"), list)
        and all(type(number) is int for number in header["retired"]),
        "tasks": type(header.get("tasks")) is int and header["tasks"] >= 0,
        "identity": isinstance(header.get("identity", 0), str | None),
        "merged": isinstance(header.get("merged"), list) and all(isinstance(name, str) for name in header["merged"]),
        "feature_names": names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names)),
        "backbone": backbone is None
        or (isinstance(backbone, dict) and all(isinstance(backbone.get(key), str) for key in ("text", "identity"))),
        "log": log is None
        or (isinstance(log, dict) and isinstance(log.get("id"), str) and type(log.get("position")) is int),
    }
    for key, is_right in right.items():
        if not is_right:
            raise ModelFileError(f"The field {key!r} of its header is missing or wrong.")
