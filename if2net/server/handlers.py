"""The handlers of requests: bodies become samples and features, which are predicted or learned."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

import numpy as np
from starlette.requests import Request

from if2net.encoder.rowwise import ROWS
from if2net.errors import IF2NetError
from if2net.images.extraction import compute, workers
from if2net.images.read import Framing, decode_image
from if2net.learner import IF2Net
from if2net.server.batching import Batches
from if2net.server.bodies import FORM, Samples, check_label, parse_samples
from if2net.server.changes import MERGE, Change
from if2net.server.intake import Intake
from if2net.server.metrics import Metrics
from if2net.server.predicting import Predicted, Question, predict
from if2net.server.recent_samples import RecentSamples
from if2net.server.refusal import Refusal, refusal_of
from if2net.server.service import ChangeRequest, Published, Service

# Larger bodies are parsed in another thread, one at a time, so that they neither delay others nor fill the memory.
LARGE_BODY = 1 << 16
# Pictures per thread whose features are computed before the next request is served.
PICTURES = 8
LONGEST_KEY = 200

Result = TypeVar("Result")
Picture = tuple[str, bytes]  # the name, which is only text, and the content


class Handlers:
    """The handlers of one service, with their threads and memory. They belong to one event loop."""

    def __init__(self, service: Service) -> None:
        self.service, self.settings = service, service.settings
        self.intake = Intake(self.settings)
        self.metrics = Metrics(service)
        self.recent_samples = RecentSamples(self.settings.remember_seconds, self.settings.remember_samples)
        self._open = ExitStack()
        self._parsing = self._thread()
        self._answers: Batches[Question, Predicted] = Batches(
            self._predict, lambda question: len(question.rows), ROWS["cpu"], self._thread()
        )
        self._pictures: Batches[list[Picture], list[np.ndarray | str]] | None = None
        self._begin_pictures()

    def _begin_pictures(self) -> None:
        """Start the threads for pictures, if the model takes them. A reader may find its model after the start."""
        if self._pictures is None and self.service.extractor is not None:
            self._pool = self._open.enter_context(workers(self.service.extractor))
            self._share = PICTURES * self._pool._max_workers
            self._pictures = Batches(self._extract, len, self._share, self._thread())

    def close(self) -> None:
        self._open.close()

    def _thread(self) -> ThreadPoolExecutor:
        return self._open.enter_context(ThreadPoolExecutor(1))

    # ------------------------------------------------------------------ samples

    async def samples(self, request: Request, *, labelled: bool) -> Samples:
        """Read the samples of a request."""
        kind, published = request.headers.get("content-type", ""), self.service.published
        async with self.intake.body(request) as body:
            parse = partial(
                parse_samples, kind, body, request.query_params, self.settings, published, labelled=labelled
            )
            if len(body) <= LARGE_BODY:
                return parse()
            return await asyncio.get_running_loop().run_in_executor(self._parsing, parse)

    async def features(self, samples: Samples) -> tuple[np.ndarray, list[int], list[dict[str, str]]]:
        """Return the features of samples that can be used, their places, and the others with the reasons."""
        if samples.ids:
            return self.recent_samples.rows(samples.ids), list(range(len(samples))), []
        self._begin_pictures()
        if samples.rows is not None:
            if self._pictures is not None:
                raise Refusal(422, f"This model takes pictures; send them as {FORM}, in the field files.")
            return samples.rows.astype(self.service.published.dtype), list(range(len(samples))), []
        if self._pictures is None:
            raise Refusal(422, "This model takes rows of numbers, not pictures; send them as JSON or CSV.")
        results: list[np.ndarray | str] = []
        for start in range(0, len(samples), self._share):  # other requests are served between the parts
            results += await self._pictures(samples.pictures[start : start + self._share])
        rows = [row for row in results if not isinstance(row, str)]
        left_out = [
            {"name": name, "reason": reason}
            for (name, _), reason in zip(samples.pictures, results, strict=True)
            if isinstance(reason, str)
        ]
        if not rows:
            raise Refusal(422, f"No picture could be used: {left_out[0]['reason']}")
        kept = [place for place, row in enumerate(results) if not isinstance(row, str)]
        return np.stack(rows).astype(self.service.published.dtype), kept, left_out

    def _extract(self, requests: list[list[Picture]]) -> list[list[np.ndarray | str]]:
        """Return the features of the pictures of several requests, or the reasons why they cannot be used."""
        extractor = self.service.extractor
        assert extractor is not None

        def read(picture: Picture, framing: Framing) -> np.ndarray:
            return decode_image(picture[1], picture[0] or "The picture", framing, self.settings.pixels)

        pictures = [picture for request in requests for picture in request]
        batches = compute(pictures, extractor, self._pool, read)
        rows = iter([row for batch in batches for row in batch])
        return [[next(rows) for _ in request] for request in requests]

    # ------------------------------------------------------------------ predicting

    async def predict(self, rows: np.ndarray, unknown: float | None = None) -> tuple[Published, Predicted]:
        """Predict samples with one published model."""
        published = self.service.published
        published.learned()
        if unknown is not None:
            try:
                if not published.has_novelty:
                    published = await self.between_changes(self.service.derive_novelty)
                published.learned().check_unknown(unknown)
            except IF2NetError as error:
                raise refusal_of(error, 409) from error
        most = ROWS["cpu"]
        parts = [  # other requests are served between the parts
            await self._answers(Question(published, rows[start : start + most], unknown))
            for start in range(0, len(rows), most)
        ]
        return published, Predicted(
            np.concatenate([part.probabilities for part in parts]),
            np.concatenate([part.is_unknown for part in parts]),
        )

    def _predict(self, questions: list[Question]) -> list[Predicted | Exception]:
        self.metrics.batches.observe(sum(len(question.rows) for question in questions))
        return predict(questions)

    # ------------------------------------------------------------------ changing

    async def between_changes(self, function: Callable[[], Result]) -> Result:
        """Run a function while nothing changes: in the thread that learns, if there is one."""
        if self.settings.read_only:
            return await asyncio.to_thread(function)
        return await asyncio.wrap_future(self.service.call(function))

    async def learn_or_forget(self, request: Request, operation: str, done: str) -> dict[str, Any]:
        """Learn or forget the samples of a request."""
        key = self._key(request)
        samples = await self.samples(request, labelled=True)
        digest = _digest(operation, samples.digest)
        if (known := await self._known_answer(key, digest)) is not None:
            return known
        rows, kept, left_out = await self.features(samples)
        assert samples.labels is not None
        labels = tuple(samples.labels[place] for place in kept)
        change = Change(
            operation, labels, rows, samples.feature_names, logged=not self.service.published.takes_pixels
        )
        return await self._change(change, {done: len(rows), "left_out": left_out}, key, digest)

    async def merge(self, request: Request) -> dict[str, Any]:
        """Merge the model file that a request holds."""
        key = self._key(request)
        async with self.intake.body(request) as body:
            digest = _digest(MERGE, hashlib.sha256(body).digest())
            if (known := await self._known_answer(key, digest)) is not None:
                return known
            loop = asyncio.get_running_loop()
            other = await loop.run_in_executor(self._parsing, self._model, body)
        for label in other.labels.known:
            check_label(label, self.settings)
        change = Change(MERGE, tuple(other.labels.known), model=other, logged=False)
        return await self._change(change, {"merged": other.samples}, key, digest)

    def _model(self, body: bytes) -> IF2Net:
        other = IF2Net.from_bytes(body, "The model", self.settings.device)
        ours, theirs = self.service.backbone, other.backbone
        if (ours and ours["identity"]) != (theirs and theirs["identity"]):
            raise Refusal(409, "The two models have different backbones, so they cannot be merged.")
        return other

    async def change(self, request: Request, operation: str, labels: Sequence[Any]) -> dict[str, Any]:
        """Rename or forget a class."""
        digest = _digest(operation, repr(labels).encode())
        return await self._change(Change(operation, tuple(labels)), {}, self._key(request), digest)

    async def undo(self, request: Request) -> dict[str, Any]:
        """Take back the last change."""
        return await self._change(None, {}, self._key(request), _digest("undo", b""))

    async def _change(
        self, change: Change | None, answer: dict[str, Any], key: str | None, digest: bytes
    ) -> dict[str, Any]:
        return await asyncio.wrap_future(self.service.submit(ChangeRequest(change, answer, key, digest)))

    def _key(self, request: Request) -> str | None:
        key = request.headers.get("idempotency-key")
        if key is None and self.settings.require_keys:
            raise Refusal(400, "This server needs the header Idempotency-Key with a new random name for each change.")
        if key is not None and not 1 <= len(key) <= LONGEST_KEY:
            raise Refusal(400, f"An Idempotency-Key has 1 to {LONGEST_KEY} characters; use a random name.")
        return key

    async def _known_answer(self, key: str | None, digest: bytes) -> dict[str, Any] | None:
        return None if key is None else await asyncio.to_thread(self.service.answer_to, key, digest)


def _digest(operation: str, content: bytes) -> bytes:
    return hashlib.sha256(operation.encode() + b"\n" + content).digest()
