"""The page in a real browser: in a frame as wide as a phone or a desktop, looked at by the page around it."""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from if2net.study.report.gather import Source, sections
from if2net.study.report.page import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian's package chromium)")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *(
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ),
]
# Everything that sticks out of the page, other than what scrolls inside a frame of its own.
OVERFLOW = """[...page.querySelectorAll("body *")].filter(part => !part.closest(".scroll table, svg") &&
  part.getBoundingClientRect().right > window.innerWidth + 1).map(part => part.outerHTML.slice(0, 80))"""


@pytest.fixture
def look(tmp_path):
    """Opens a page in a frame so wide, evaluates JavaScript on it, and returns that with what the console said."""

    def look(html, script, width=1440, dark=False, sandbox=""):
        around = tmp_path / "around.html"
        around.write_text(
            f"""<!doctype html><body><iframe id="frame" style="width:{width}px;height:900px;border:0" {sandbox}
            srcdoc="{escape(html)}"></iframe><script>
            frame.onload = () => {{
              const window = frame.contentWindow, page = window.document;
              document.body.dataset.found = JSON.stringify((() => {{ return {script}; }})());
            }};</script>""",
            encoding="utf-8",
        )
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1500,1000"]
        command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", around.as_uri()]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        found = re.search(r'data-found="([^"]*)"', done.stdout)
        console = [line for line in done.stderr.splitlines() if ":CONSOLE:" in line]
        return (json.loads(unescape(found[1])) if found else None), console

    return look


@pytest.fixture
def page(make_results, make_run):
    long_name = make_run("a-method-with-quite-a-long-name", variant="one task per batch")
    runs = [make_run(method, seed) for method in ("if2net", "ewc", "joint") for seed in (0, 1)]
    found = [make_results(*runs, long_name), make_results(protocol="aware")]
    return render(sections([Source(f"folder-{place}", results) for place, results in enumerate(found)]))


def test_the_console_is_read(look):
    assert look("<script>nothing()</script>", "1")[1]


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_overflows_and_the_console_is_silent(page, look, width, dark):
    found, console = look(page, f"[window.innerWidth, page.documentElement.scrollWidth, {OVERFLOW}]", width, dark)
    assert found == [width, width, []]
    assert not console


def test_a_wide_table_fits_on_a_printed_page(make_results, make_run, look):
    classes = range(30)
    confusion = [[100 if true == taken else 0 for taken in classes] for true in classes]
    runs = [make_run(name, order=range(100, 130), confusion=confusion) for name in ("if2net", "if2net-gradient, ewc")]
    printed = render(sections([Source("a", make_results(*runs))])).replace("@media print", "@media all")
    tables = "[...page.querySelectorAll('table')].map(table => table.getBoundingClientRect().right <= 740)"
    assert look(printed, tables, width=740)[0] == [True, True, True]


def test_the_colours_follow_the_readers_wish(page, look):
    ink = "window.getComputedStyle(page.body).color"
    light, dark = (look(page, ink, dark=dark)[0] for dark in (False, True))
    assert (light, dark) == ("rgb(26, 26, 26)", "rgb(234, 234, 234)")


def test_a_switch_hides_its_method_everywhere_and_shows_it_again(page, look):
    script = """(() => {
      const shown = () => ["0", "1"].map(mark => [...page.querySelectorAll(`[data-mark="${mark}"]`)]
        .filter(part => window.getComputedStyle(part).display !== "none").length);
      const boxes = page.querySelectorAll('[data-switch="1"]'), seen = [shown()];
      boxes[0].click(); seen.push(shown(), [...boxes].map(box => box.checked));
      boxes[0].click(); seen.push(shown());
      page.querySelector('[data-all=""]').click(); seen.push(shown());
      page.querySelector('[data-all="1"]').click(); seen.push(shown());
      return seen;
    })()"""
    # Three charts and a heat map in each of the two sections.
    assert look(page, script) == ([[8, 8], [8, 0], [False, False], [8, 8], [0, 0], [8, 8]], [])


def test_the_pointer_tells_a_value_inside_the_window(page, look):
    script = """(() => {
      const last = [...page.querySelectorAll("figure .v")].filter(part => part.closest("g[data-mark]")).pop();
      last.scrollIntoView();
      last.dispatchEvent(new window.PointerEvent("pointerover", { bubbles: true }));
      const tip = page.querySelector(".tip"), place = tip.getBoundingClientRect();
      return [tip.hidden, tip.textContent, place.left >= 0 && place.right <= window.innerWidth];
    })()"""
    (hidden, said, inside), console = look(page, script, width=360)
    assert (hidden, inside, console) == (False, True, [])
    assert said == "joint: 75.00 % at 1.2 kB"


def test_without_javascript_everything_is_there_but_the_switches(page, look):
    script = """[page.querySelectorAll("figure svg").length, page.querySelectorAll("figure title").length > 0,
      [...page.querySelectorAll("figure, .key label")].every(part => part.getBoundingClientRect().height > 0),
      [...page.querySelectorAll(".key input")].some(part => part.getBoundingClientRect().height > 0)]"""
    found, _ = look(page, script, width=360, sandbox='sandbox="allow-same-origin"')
    assert found == [13, True, True, False]


def test_a_thousand_tasks_and_twenty_methods_open_in_two_seconds(large_results, look):
    large = render(sections([Source("large", large_results)]))
    found, console = look(large, "[page.body.offsetHeight > 1000, window.performance.now()]", width=360)
    assert found[0]
    assert found[1] < 2000
    assert not console
