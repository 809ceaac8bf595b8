"""Draw docs/page-desktop.png and docs/page-phone.png: the page of a service that has learned drawings.

Needs chromium and the extra `dev`: python docs/screenshots.py
"""

import io
import runpy
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
TOOLS = runpy.run_path(str(DOCS.parent / "tests" / "server" / "browser" / "conftest.py"))
# Name, width, height, scale, colours, and the part of the page that is shown.
SHOTS = (("desktop", 1280, 940, 1, "light", "body"), ("phone", 360, 740, 2, "dark", "#try"))
KINDS = ("mug", "leaf", "key", "shell")
COUNT = 10


def files(kind, start, count):
    """Drawings as the file field of a page takes them."""
    numbers = range(start, start + count)
    return [{"name": f"{n}.png", "mimeType": "image/png", "buffer": TOOLS["drawing"](kind, n, 160)} for n in numbers]


def teach(page, start):
    for kind in KINDS:
        card = page.get_by_role("article", name=kind, exact=True)
        if not card.count():
            page.get_by_label("New class").fill(kind)
            page.keyboard.press("Enter")
        card.get_by_label("Choose").set_input_files(files(kind, start, COUNT))
        page.locator("#announcer").get_by_text(f"of {kind} learned").wait_for()


def save(picture, path):
    """Save with 256 colours, which is a third of the size."""
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(256).save(path, optimize=True)


def main():
    executable = next(filter(None, map(TOOLS["shutil"].which, TOOLS["BROWSERS"])), None)
    if executable is None:
        sys.exit("Install chromium first.")
    with (
        tempfile.TemporaryDirectory() as folder,
        TOOLS["served"](Path(folder) / "things.if2") as service,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=executable, args=TOOLS["FLAGS"])
        for place, (name, width, height, scale, colours, part) in enumerate(SHOTS):
            screen = {"width": width, "height": height}
            page = browser.new_page(
                viewport=screen, device_scale_factor=scale, color_scheme=colours, reduced_motion="reduce"
            )
            page.goto(f"{service.url}/#token={TOOLS['TOKEN']}")
            page.locator("main:not([inert])").wait_for()
            teach(page, 100 * place)
            page.get_by_label("Choose a picture to try").set_input_files(files("mug", 77, 1))
            page.locator("#answer").wait_for()
            page.wait_for_timeout(2000)  # the chart asks for its pictures
            page.evaluate("document.activeElement.blur()")
            page.locator(part).evaluate("element => element.scrollIntoView()")
            save(page.screenshot(), DOCS / f"page-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
