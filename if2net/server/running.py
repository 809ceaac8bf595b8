"""A service from its start to its end."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn

from if2net.errors import OutputError
from if2net.server.app import create_app
from if2net.server.connection import Connection
from if2net.server.service import Service
from if2net.server.settings import Settings

# Seconds for the requests in progress when the server stops.
LAST_SECONDS = 30


@contextmanager
def serving(path: str | os.PathLike[str], settings: Settings | None = None) -> Iterator[str]:
    """Serve a model in a thread of this process while the block runs; `if2net serve` does so in its own process.

    Parameters
    ----------
    path : path-like
        The model file. If it does not exist, the service begins with an empty model.
    settings : Settings, optional
        By default, the service listens at any free port of this machine, and nobody may change the model.

    Yields
    ------
    str
        The address, such as ``http://127.0.0.1:8000``.

    Examples
    --------
    >>> import json, tempfile, urllib.request
    >>> from if2net.server import Settings, serving
    >>> with serving(Path(tempfile.mkdtemp()) / "new.if2", Settings(port=0, rows=True)) as address:
    ...     with urllib.request.urlopen(f"{address}/v1/classes") as answer:
    ...         json.load(answer)
    {'version': 0, 'classes': []}
    """
    started = threading.Event()
    with _prepared(Path(path), settings or Settings(port=0), lambda _: started.set()) as (server, bound, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            started.wait()
            yield address
        finally:
            server.should_exit = True
            thread.join()


def run(path: Path, settings: Settings, show: Callable[[str], None]) -> None:
    """Serve a model until the process gets a signal. `show` receives the address when the server is ready."""
    # uvicorn shuts down and raises the signal again, which must not end the process before the service has stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    with _prepared(path, settings, show) as (server, bound, _):
        server.run(sockets=[bound])


@contextmanager
def _prepared(
    path: Path, settings: Settings, show: Callable[[str], None]
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    """Load the model, and yield a server that can run, with its socket and address."""
    service = Service(path, settings)
    with ExitStack() as stack:
        bound = stack.enter_context(_bound(settings))
        stack.callback(service.stop)
        service.start()
        address = _address(bound, settings)
        config = uvicorn.Config(
            create_app(service),
            http=Connection.waiting(settings.head_seconds),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        yield _Server(config, lambda: show(address)), bound, address


class _Server(uvicorn.Server):
    """A server that calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()


def _bound(settings: Settings) -> socket.socket:
    """Bind the port before the model is loaded, so that a port in use fails at once."""
    try:
        info = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(*info[:3])  # without the protocol, asyncio leaves out TCP_NODELAY: 40 ms per answer
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(info[4])
    except OSError as error:
        raise OutputError(
            f"The server cannot listen at {settings.host} port {settings.port} ({error.strerror}); choose another "
            "`host` or `port`."
        ) from error
    return bound


def _address(bound: socket.socket, settings: Settings) -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
