"""Connections with limits on the time and the size of the head of a request.

uvicorn waits forever for the head of a request, and keeps all of it in memory.
"""

from __future__ import annotations

import json
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Bytes of a request that its parser may hold: the head, or the bytes after the body.
MOST_HELD = 1 << 16


class Connection(HttpToolsProtocol):
    """The connection of one client, which is closed if the head of its next request does not arrive.

    Attributes
    ----------
    seconds : float
        The time for a head to arrive. That for a body begins after it.
    """

    seconds: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._held = 0
        self._timer: TimerHandle | None = None

    @classmethod
    def waiting(cls, seconds: float) -> type[Connection]:
        """Return a class of connections that wait this long for a head: uvicorn takes a class, without arguments."""
        return type(cls.__name__, (cls,), {"seconds": seconds})

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._arrived()

    def data_received(self, data: bytes) -> None:
        self._held += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._held > MOST_HELD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too long; send fewer of them.")
        elif self.cycle is None or self.cycle.response_complete:
            self._wait()

    def on_headers_complete(self) -> None:
        self._held = 0
        self._arrived()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._held = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._held = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "This is not an HTTP request; check the client.")

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _arrived(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        body = json.dumps({"error": sentence})
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        self.transport.close()
