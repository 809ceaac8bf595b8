"""Services in this process, and in processes of their own that can be killed."""

import contextlib
import socket
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from processes import forked
from starlette.testclient import TestClient

from if2net.learner import IF2Net
from if2net.server.app import create_app
from if2net.server.service import Service
from if2net.server.settings import Settings

WRITE = {"Authorization": "Bearer write"}
COMMAND = """
import os
output = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(output, 1)
os.dup2(output, 2)
os.environ["IF2NET_WRITE_TOKEN"] = "write"
from if2net.cli import app
app({words!r})
"""


def _three_classes(count=60, seed=0, features=5):
    """Return samples of three classes that are far apart, and their labels."""
    random = np.random.default_rng(seed)
    y = np.array(["ant", "bee", "cat"])[np.arange(count) % 3]
    X = random.normal(size=(count, features)) + 4 * (np.arange(count) % 3)[:, None]
    return X.astype(np.float32), y


@pytest.fixture(scope="session")
def three_classes():
    return _three_classes


@contextlib.contextmanager
def _served(path, **settings):
    """Serve a model in this process, and give a client that may write."""
    service = Service(path, Settings(**{"rows": True, "device": "cpu", "write_token": "write", **settings}))
    service.start()
    try:
        with TestClient(create_app(service), base_url="http://localhost", headers=WRITE) as client:
            client.service = service
            yield client
    finally:
        service.stop()


@pytest.fixture(scope="session")
def served():
    return _served


@pytest.fixture
def model(tmp_path):
    """A small model of three classes in a file."""
    path = tmp_path / "model.if2"
    IF2Net(width=60, device="cpu", dtype="float64").learn(*_three_classes()).save(path)
    return path


@pytest.fixture
def client(model):
    with _served(model) as client:
        yield client


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """A client for tests that change nothing; they share it."""
    path = tmp_path_factory.mktemp("steady") / "model.if2"
    IF2Net(width=60, device="cpu").learn(*_three_classes()).save(path)
    with _served(path, read_token="read", allowed_hosts=("birds.example",)) as client:
        yield client


class Process:
    """A service in a process of its own. It can be killed and started again at the same port."""

    def __init__(self, path, *words):
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            self.port = bound.getsockname()[1]
        self.words = ["serve", str(path), "--port", str(self.port), "--device", "cpu"]
        self.words += ["--requests-per-second", "0", *map(str, words)]
        self.log = Path(path).with_suffix(".txt")
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=WRITE, timeout=60)

    def start(self):
        code = COMMAND.format(log=str(self.log), words=self.words)
        self.process = forked().Process(target=exec, args=(code,))
        self.process.start()
        return self

    def wait(self):
        """Wait until it answers."""
        while True:
            assert self.process.is_alive(), self.log.read_text()
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/v2/health/ready").status_code == 200:
                    return self
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.join()

    def stop(self):
        self.process.terminate()
        self.process.join(60)
        return self.process.exitcode


@pytest.fixture
def process():
    """Start a service in a process of its own; it is killed at the end."""
    running = []

    def start(path, *words):
        running.append(Process(path, *words).start().wait())
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.client.close()
