"""A browser without a window, a running service, and pictures to teach it."""

import io
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from PIL import Image, ImageDraw

from if2net.server import Settings, serving

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # A camera that shows a test picture, and nobody who has to allow it.
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
)
TOKEN = "a-token-for-writing"
# Milliseconds until something must be visible. A busy machine needs many when the first picture is learned.
PATIENCE = 30_000
COLOURS = {"mug": (190, 60, 50), "leaf": (60, 140, 70), "key": (70, 90, 170), "shell": (225, 190, 60)}


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed.")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("No browser that starts is installed: chromium or google-chrome.")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open the page of a service in a window of its own. Errors of its programs fail the test."""
    contexts, errors = [], []

    def open_page(service, token=TOKEN, size=(1280, 900), colours="light"):
        shape = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=shape, color_scheme=colours, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if "Content Security" in line.text else None)
        page.goto(service.url + (f"/#token={token}" if token else ""))
        page.locator("main:not([inert])").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


@contextmanager
def served(path, **settings):
    """A service in a thread of this process: its address, and the classes that it knows."""
    with serving(path, Settings(port=0, write_token=TOKEN, **settings)) as address:

        def classes():
            known = httpx.get(f"{address}/v1/classes").json()["classes"]
            return {entry["name"]: entry["samples"] for entry in known}

        yield SimpleNamespace(url=address, classes=classes)


@pytest.fixture
def serve():
    """Serve models; each service ends with the test."""
    with ExitStack() as stack:
        yield lambda path, **settings: stack.enter_context(served(path, **settings))


@pytest.fixture
def service(serve, tmp_path):
    """A service whose model has learned nothing."""
    return serve(tmp_path / "things.if2")


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A service that knows mugs and leaves, for tests that only look."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with served(tmp_path_factory.mktemp("taught") / "things.if2") as service:
        for kind in ("mug", "leaf"):
            pictures = [("files", (f"{number}.png", drawing(kind, number))) for number in range(6)]
            form = {"files": pictures, "data": {"label": kind}, "headers": headers, "timeout": 60}
            answer = httpx.post(f"{service.url}/v1/learn", **form)  # the first one loads the encoder
            answer.raise_for_status()
        yield service


def drawing(kind, number, size=64):
    """A simple picture of one kind, as the bytes of a PNG file. Each number has another place, size and shade."""
    random = np.random.default_rng([number, *kind.encode()])
    image = Image.new("RGB", (size, size), tuple(random.integers(205, 245, 3).tolist()))
    draw = ImageDraw.Draw(image)
    x, y = (random.integers(-6, 6, 2) + size // 2).tolist()
    extent = int(random.integers(size // 5, size // 3))
    colour = tuple(np.clip(np.array(COLOURS[kind]) + random.integers(-20, 20, 3), 0, 255).tolist())
    if kind == "mug":
        draw.rectangle((x - extent, y - extent, x + extent // 2, y + extent), fill=colour)
        draw.arc((x, y - extent // 2, x + extent, y + extent // 2), -90, 90, fill=colour, width=size // 16)
    elif kind == "leaf":
        draw.ellipse((x - extent // 2, y - extent, x + extent // 2, y + extent), fill=colour)
    elif kind == "key":
        draw.ellipse((x - extent, y - extent // 2, x, y + extent // 2), outline=colour, width=size // 14)
        draw.line((x, y, x + extent, y), fill=colour, width=size // 14)
    else:
        draw.pieslice((x - extent, y - extent, x + extent, y + extent), 180, 360, fill=colour)
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()


@pytest.fixture
def draw():
    """Make files for a file field of the page: `draw("mug", 10)` or `draw("mug", 1, start=10)`."""

    def files(kind, count, start=0, size=64):
        return [
            {"name": f"{kind}-{number}.png", "mimeType": "image/png", "buffer": drawing(kind, number, size)}
            for number in range(start, start + count)
        ]

    return files
