"""Reading bodies, within limits on their size and on the time to arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from if2net.server.refusal import Refusal
from if2net.server.settings import Settings

# Digits of a length in a header. Python refuses to read some thousands of them.
MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Return the length in a header; None if the text is not a length.

    >>> whole_number("98"), whole_number("-1")
    (98, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


class Intake:
    """The bodies that are in memory now. Requests that would exceed the limits are refused while they arrive."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._bytes = 0

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body of a request. It counts towards the limit until the block ends."""
        content = bytearray()
        try:
            try:
                async with asyncio.timeout(self.settings.body_seconds):
                    async for part in request.stream():
                        content += part
                        self._bytes += len(part)
                        self._check(len(content))
            except TimeoutError as error:
                raise Refusal(408, "The body took too long to arrive; send it again, or in parts.") from error
            except ClientDisconnect as error:
                raise Refusal(400, "The body is cut short; send it again.") from error
            yield bytes(content)
        finally:
            self._bytes -= len(content)

    def check_length(self, length: str | None) -> None:
        """Refuse a body that is too long according to its header, before any of it is read."""
        if length is not None and (size := whole_number(length)) is not None:
            self._check(size)

    def _check(self, length: int) -> None:
        most = self.settings.body_bytes
        if length > most:
            raise Refusal(413, f"The body is larger than {most / 2**20:,.0f} MB; send the samples in parts.")
        if self._bytes > self.settings.bodies_bytes:
            raise Refusal(503, "Too much data arrives at once; try again in a moment.", {"Retry-After": "1"})
