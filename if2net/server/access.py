"""Access to the service: hosts, origins, tokens, and the number of requests of a client."""

from __future__ import annotations

import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from if2net.server.refusal import Refusal
from if2net.server.settings import Settings

# Addresses that need no token: the page holds no data, and proxies check the health.
OPEN = ("/", "/openapi.json", "/v2", "/v2/health/live", "/v2/health/ready")
# Clients whose requests are counted. Beyond that, the client whose last request is oldest is dropped.
MOST_CLIENTS = 10_000
# A client may send the requests of this many seconds at once.
BURST = 2.0


class Gate:
    """Accepts or refuses each request before its body is read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.hosts = {"localhost", settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}
        self.needs_read_token = settings.read_token is not None or not (settings.is_loopback or settings.public_read)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, method: str, path: str, headers: Headers, client: str) -> None:
        """Raise a refusal unless the request may go on."""
        self._check_rate(client)
        self._check_host(headers.get("host", ""))
        if path in OPEN or path.startswith("/page/"):
            return
        if _only_reads(method, path):
            if self.needs_read_token:
                self._check_token(headers, self.settings.read_token, self.settings.write_token)
            return
        self._check_origin(headers)
        self._check_token(headers, self.settings.write_token)

    def _check_host(self, host: str) -> None:
        """Refuse names of other servers: another site can point its own name to the address of this machine."""
        name = _name_in(host)
        if name not in self.hosts and not _is_address(name):
            raise Refusal(
                403, "The server is not known under this name; add it (--allowed-host; in Python, `allowed_hosts`)."
            )

    def _check_origin(self, headers: Headers) -> None:
        """Refuse changes that a browser sends for a page of another server."""
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != headers.get("host", "").lower():
            raise Refusal(403, "Changes from pages of other servers are refused; use the page of this server.")

    def _check_token(self, headers: Headers, *tokens: str | None) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given:
            raise Refusal(
                401,
                "This needs a token; send it in the header Authorization, after the word Bearer.",
                {"WWW-Authenticate": "Bearer"},
            )
        matches = [hmac.compare_digest(given.strip().encode(), token.encode()) for token in tokens if token]
        if not any(matches):
            raise Refusal(403, "The token is wrong, or it does not allow this; use the one that the server shows.")

    def _check_rate(self, client: str) -> None:
        """Refuse requests beyond the rate of a client. A token bucket allows short bursts."""
        rate, now = self.settings.requests_per_second, time.monotonic()
        if rate <= 0:
            return
        left, last = self._clients.pop(client, (rate * BURST, now))
        left = min(rate * BURST, left + (now - last) * rate)
        self._clients[client] = (max(left - 1, 0.0), now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        if left < 1:
            seconds = math.ceil((1 - left) / rate)
            raise Refusal(429, "Too many requests; wait a moment.", {"Retry-After": str(seconds)})


def _only_reads(method: str, path: str) -> bool:
    if method in ("GET", "HEAD"):
        return True
    is_inference = path.startswith("/v2/models/") and path.endswith("/infer")
    return method == "POST" and (path == "/v1/predict" or is_inference)


def _name_in(host: str) -> str:
    """Return the name in the header Host, in lower case and without a port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
