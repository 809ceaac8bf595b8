"""The routes of the service. Each reads its request, calls the handlers, and answers."""

from __future__ import annotations

import asyncio
import json
import logging
import mimetypes
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated, Any, BinaryIO

from fastapi import FastAPI, Path, Query
from fastapi.exceptions import RequestValidationError
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from if2net.errors import IF2NetError
from if2net.server import schemas, v2
from if2net.server.access import Gate
from if2net.server.bodies import check_label, parse_json
from if2net.server.changes import FORGET, FORGET_CLASS, LEARN, RENAME
from if2net.server.handlers import Handlers
from if2net.server.refusal import Refusal, refusal_of
from if2net.server.service import NOTHING_LEARNED, Published, Service
from if2net.version import __version__

# The page may use its own files, the camera and this server, and nothing else.
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SENTENCES = {
    404: "There is nothing at this address; /openapi.json lists all addresses.",
    405: "This address does not take this method; /openapi.json lists all methods.",
}
ERRORS: dict[int | str, dict[str, Any]] = {"default": {"model": schemas.Failure}}
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
PIECE = 1 << 20

logger = logging.getLogger("if2net.server")


class Json(JSONResponse):
    """JSON in ASCII: a class may have the name of a folder, with bytes that are not valid text."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class _Label(PathConvertor):
    """Any text in an address. Starlette's `path` ends at a line break, which a label may have."""

    regex = "(?s:.*)"


register_url_convertor("label", _Label())


def create_app(service: Service) -> ASGIApp:
    """Return the web application of a service that has been started."""
    handlers = Handlers(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        handlers.close()

    app = FastAPI(
        title="if2net",
        version=__version__,
        description="A model that keeps learning new classes. Errors are sentences that say what to do.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=ERRORS,
    )
    for kind in (Refusal, IF2NetError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _answer_error)
    _add_model(app, handlers)
    _add_classes(app, handlers)
    _add_inference(app, handlers)
    _add_page(app)
    _describe_tokens(app)
    return Door(app, handlers, Gate(service.settings))


# ---------------------------------------------------------------------- the model


def _add_model(app: FastAPI, handlers: Handlers) -> None:
    service = handlers.service

    @app.get("/v1/model/info", responses={200: {"model": schemas.Information}})
    async def information() -> Response:
        """The classes of the model, and facts about it."""
        published = service.published
        can_undo = await asyncio.to_thread(lambda: service.can_undo)
        facts = {
            "name": service.name,
            "version": published.version,
            "classes": _classes(published),
            "samples": published.samples,
            "features": published.features,
            "takes": "rows" if service.extractor is None else "pictures",
            "backbone": service.backbone and service.backbone["text"],
            "feature_names": published.feature_names,
            "read_only": service.settings.read_only,
            "can_undo": can_undo,
            "learned": published.net is not None,
        }
        return Json(facts)

    @app.get("/v1/model", response_class=Response, responses={200: {"content": {"application/octet-stream": {}}}})
    async def download() -> Response:
        """The model file, with everything learned so far."""
        file, version = await handlers.between_changes(service.open_file)
        name = re.sub(r"[^A-Za-z0-9._-]", "_", service.name)
        headers = {"Content-Disposition": f'attachment; filename="{name}.if2"', "X-Model-Version": str(version)}
        return StreamingResponse(_pieces(file), media_type="application/octet-stream", headers=headers)

    @app.post("/v1/predict", responses={200: {"model": schemas.Predictions}}, openapi_extra=schemas.TO_PREDICT)
    async def predict(request: Request) -> Response:
        """The classes of rows or pictures, with their probabilities.

        With `unknown`, about this share of known samples and, as far as possible, all unknown ones have no label.
        """
        samples = await handlers.samples(request, labelled=False)
        rows, kept, left_out = await handlers.features(samples)
        published, predicted = await handlers.predict(rows, samples.unknown)
        predictions = predicted.best(list(published.classes), samples.top)
        for prediction, name in zip(predictions, handlers.recent_samples.add(rows), strict=True):
            prediction["id"] = name
        if samples.pictures:
            for prediction, place in zip(predictions, kept, strict=True):
                prediction["name"] = samples.pictures[place][0]
        return Json({"version": published.version, "predictions": predictions, "left_out": left_out})

    @app.post("/v1/learn", responses={200: {"model": schemas.Learned}}, openapi_extra=schemas.LABELLED)
    async def learn(request: Request) -> Response:
        """Learn samples with their labels. The answer comes when they would survive a power cut."""
        return Json(await handlers.learn_or_forget(request, LEARN, "learned"))

    @app.post("/v1/forget", responses={200: {"model": schemas.Forgotten}}, openapi_extra=schemas.LABELLED)
    async def forget(request: Request) -> Response:
        """Forget samples that were learned, exactly."""
        return Json(await handlers.learn_or_forget(request, FORGET, "forgotten"))

    @app.post("/v1/merge", responses={200: {"model": schemas.Changed}}, openapi_extra=schemas.MODEL_FILE)
    async def merge(request: Request) -> Response:
        """Merge a model file, which must come from a fork of this model."""
        return Json(await handlers.merge(request))

    @app.post("/v1/undo", responses={200: {"model": schemas.Undone}})
    async def undo(request: Request) -> Response:
        """Take back the last change that was not taken back."""
        return Json(await handlers.undo(request))

    @app.get("/v1/changes", responses={200: {"model": list[schemas.LoggedChange]}})
    async def changes(limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
        """The latest changes, the last one first."""
        latest, undone = await asyncio.to_thread(service.changes, limit)
        return Json(
            [
                {
                    "version": entry.position,
                    "operation": entry.operation if entry.undoes is None else "undo",
                    "labels": entry.labels,
                    "samples": entry.samples,
                    "time": entry.time,
                    "undoes": entry.undoes,
                    "undone": entry.position in undone,
                }
                for entry in latest
            ]
        )

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Numbers for Prometheus."""
        return Response(handlers.metrics.page(), media_type="text/plain; version=0.0.4")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


def _classes(published: Published) -> list[dict[str, Any]]:
    known = () if published.net is None else published.net.labels.known
    columns = {label: column for column, label in enumerate(known)}
    return [
        {"name": label, "samples": samples, "column": columns[label]} for label, samples in published.classes.items()
    ]


# ---------------------------------------------------------------------- classes


def _add_classes(app: FastAPI, handlers: Handlers) -> None:
    service = handlers.service

    @app.get("/v1/classes", responses={200: {"model": schemas.Classes}})
    async def classes() -> Response:
        """The classes, with their numbers of samples."""
        published = service.published
        return Json({"version": published.version, "classes": _classes(published)})

    changed: dict[int | str, dict[str, Any]] = {200: {"model": schemas.Changed}}

    @app.patch("/v1/classes/{name:label}", responses=changed, openapi_extra=schemas.NEW_NAME)
    async def rename(request: Request, name: Annotated[str, Path()]) -> Response:
        """Give a class another name."""
        async with handlers.intake.body(request) as body:
            value = parse_json(body)
        if not isinstance(value, dict) or value.keys() != {"name"}:
            raise Refusal(422, 'The body must be an object with the new name, such as {"name": "barn owl"}.')
        check_label(value["name"], service.settings)
        return Json(await handlers.change(request, RENAME, [name, value["name"]]))

    @app.delete("/v1/classes/{name:label}", responses=changed)
    async def forget_class(request: Request, name: Annotated[str, Path()]) -> Response:
        """Forget a class without its samples: all but the scatter of its samples around their mean."""
        return Json(await handlers.change(request, FORGET_CLASS, [name]))


# ---------------------------------------------------------------------- the Open Inference Protocol


def _add_inference(app: FastAPI, handlers: Handlers) -> None:
    service = handlers.service

    def check(name: str) -> None:
        if name != service.name:
            raise Refusal(404, "There is no such model here; its name is in /v1/model/info.")

    @app.get("/v2")
    async def server() -> Response:
        """The server, in the Open Inference Protocol."""
        return Json(v2.SERVER)

    @app.get("/v2/health/live")
    async def live() -> Response:
        """Whether the server runs."""
        return Json({"live": True})

    @app.get("/v2/health/ready")
    async def ready() -> Response:
        """Whether the server answers, also with a model that has learned nothing yet."""
        return Json({"ready": True})

    @app.get("/v2/models/{name}")
    async def model(name: str) -> Response:
        """The inputs and outputs of the model."""
        check(name)
        return Json(v2.describe(name, service.published))

    @app.get("/v2/models/{name}/ready")
    async def model_ready(name: str) -> Response:
        """Whether the model can predict."""
        check(name)
        if service.published.net is None:
            raise Refusal(503, NOTHING_LEARNED)
        return Json({"name": name, "ready": True})

    @app.post("/v2/models/{name}/infer", openapi_extra=schemas.INFERENCE)
    async def infer(request: Request, name: str) -> Response:
        """Labels and probabilities of rows; for a model of pictures, of the features of its backbone."""
        check(name)
        async with handlers.intake.body(request) as body:
            inference = v2.parse(body, request.headers.get(v2.JSON_LENGTH))
        if len(inference.rows) > service.settings.samples:
            raise Refusal(413, f"Send at most {service.settings.samples:,} samples at a time.")
        published, predicted = await handlers.predict(inference.rows.astype(service.published.dtype))
        content, headers = v2.respond(name, published, inference, predicted.probabilities)
        return Response(content, headers=headers)


# ---------------------------------------------------------------------- the page


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page. They are read once, so that no request names a file."""
    folder = files("if2net.server") / "page"
    contents = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}

    def response(name: str) -> Response:
        if name not in contents:
            raise Refusal(404, SENTENCES[404])
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(contents[name], media_type="text/javascript" if name.endswith(".js") else kind)

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return response("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        return response(name)


# ---------------------------------------------------------------------- errors


async def _answer_error(request: Request, error: Exception) -> Response:
    refusal = _refusal(error)
    return Json({"error": refusal.sentence}, refusal.status, refusal.headers)


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, HTTPException):
        sentence = SENTENCES.get(error.status_code, "The request cannot be answered; check its address and its body.")
        return Refusal(error.status_code, sentence, error.headers)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Refusal(422, f"The value of {first['loc'][-1]} is wrong: {first['msg']}.")
    if isinstance(error, Refusal | IF2NetError):
        return refusal_of(error)
    return Refusal(500, "An internal error occurred; the server's log has the details.")


def _describe_tokens(app: FastAPI) -> None:
    """Add the tokens to the OpenAPI document, which is built when it is first asked for."""
    build = app.openapi

    def described() -> dict[str, Any]:
        document = build()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document

    app.openapi = described  # type: ignore[method-assign]


# ---------------------------------------------------------------------- every request


class Door:
    """Passes every request through the gate, counts it, and logs one line about it.

    The line has the method, the route, the status and the time, and nothing of the content.
    """

    def __init__(self, app: FastAPI, handlers: Handlers, gate: Gate) -> None:
        self.app, self.handlers, self.gate = app, handlers, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self.gate.check(scope["method"], scope["path"], headers, (scope.get("client") or ("",))[0])
            self.handlers.intake.check_length(headers.get("content-length"))
            await self.app(scope, receive, answer)
        except Refusal as error:
            await Json({"error": error.sentence}, error.status, error.headers)(scope, receive, answer)
        finally:
            route, method = self._route(scope), scope["method"]
            method = method if method in METHODS else "other"  # a client can send any word
            seconds = time.perf_counter() - start
            self.handlers.metrics.requests.labels(method, route, status).inc()
            self.handlers.metrics.seconds.labels(route).observe(seconds)
            logger.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)

    def _route(self, scope: Scope) -> str:
        """Return the route of a request, also of one that was refused before the routes."""
        matching = (route for route in self.app.routes if route.matches(scope)[0] is Match.FULL)
        route = scope.get("route") or next(matching, None)
        return getattr(route, "path", "other")
