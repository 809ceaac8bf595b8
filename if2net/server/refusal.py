"""Refused requests: an HTTP status, and a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping

from if2net.errors import IF2NetError, OutputError


class Refusal(Exception):
    """The answer to a request that cannot be served. Nothing has changed."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, dict(headers or {})


def refusal_of(error: Exception, status: int = 422) -> Refusal:
    """Return an error of if2net as a refusal: 507 if the disk is the cause, otherwise this status."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, OutputError) or isinstance(error.__cause__, OutputError):
        return Refusal(507, str(error))
    if isinstance(error, IF2NetError):
        return Refusal(status, str(error))
    raise error
