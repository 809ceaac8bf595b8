"""A service from its start to its end."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from if2net.errors import OutputError
from if2net.server.app import create_app
from if2net.server.service import Service
from if2net.server.settings import Settings

# Seconds for requests that are being answered when the server is told to stop.
LAST_SECONDS = 30


def run(path: Path, settings: Settings, show: Callable[[str], None]) -> None:
    """Serve a model until the process is told to stop. `show` receives the address when requests are answered."""
    service = Service(path, settings)
    # uvicorn ends in good order, and then raises the signal again, which must not end the process before the service.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    with contextlib.closing(_bound(settings)) as bound:
        try:
            service.start()
            config = uvicorn.Config(
                create_app(service),
                http="httptools",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_graceful_shutdown=LAST_SECONDS,
            )
            server = _Server(config, lambda: show(_address(bound, settings)))
            server.run(sockets=[bound])
        finally:
            service.stop()


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()


def _bound(settings: Settings) -> socket.socket:
    """Take the port before the model is loaded, so that a port in use is noticed at once."""
    try:
        info = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(info[0], info[1])
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(info[4])
    except OSError as error:
        raise OutputError(
            f"The server cannot listen at {settings.host} port {settings.port} ({error.strerror}); choose another "
            "--host or --port."
        ) from error
    return bound


def _address(bound: socket.socket, settings: Settings) -> str:
    port = bound.getsockname()[1]
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
