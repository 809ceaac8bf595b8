"""The page in a real browser: in a frame as wide as a phone or a desktop, looked at by the page around it."""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from if2net.study.report.gather import Source, sections_of
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
# Everything that sticks out of the page, except inside frames that scroll.
OVERFLOW = """[...page.querySelectorAll("body *")].filter(part => !part.closest(".scroll table, svg") &&
  part.getBoundingClientRect().right > window.innerWidth + 1).map(part => part.outerHTML.slice(0, 80))"""


@pytest.fixture
def look(tmp_path):
    """Opens a page in a frame of some width, evaluates JavaScript on it, and returns the value and the console."""

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
    return render(sections_of([Source(f"folder-{place}", results) for place, results in enumerate(found)]))


@pytest.fixture
def many(many_results):
    return render(sections_of([Source("many", many_results)]))


def test_the_console_is_read(look):
    assert look("<script>nothing()</script>", "1")[1]


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_overflows_and_the_console_is_silent(page, look, width, dark):
    found, console = look(page, f"[window.innerWidth, page.documentElement.scrollWidth, {OVERFLOW}]", width, dark)
    assert found == [width, width, []]
    assert not console


def test_a_wide_table_fits_on_a_printed_page(make_results, make_run, look):
    counts = [[100 if true == taken else 0 for taken in range(30)] for true in range(30)]
    runs = [make_run(name, order=range(100, 130), counts=counts) for name in ("if2net", "if2net-gradient, ewc")]
    printed = render(sections_of([Source("a", make_results(*runs))])).replace("@media print", "@media all")
    tables = "[...page.querySelectorAll('table')].every(table => table.getBoundingClientRect().right <= 740)"
    assert look(printed, tables, width=740)[0] is True


def test_the_colours_follow_the_readers_wish(page, look):
    inks = """[page.body, page.querySelector("svg .on path[style*=stroke]"), page.querySelector("svg text")].map(
      part => (style => part === page.body ? style.color : part.matches("text") ? style.fill : style.stroke)(
        window.getComputedStyle(part)))"""
    light, dark = (look(page, inks, dark=dark)[0] for dark in (False, True))
    assert light == ["rgb(26, 26, 26)", "rgb(0, 104, 163)", "rgb(26, 26, 26)"]
    assert dark == ["rgb(234, 234, 234)", "rgb(107, 188, 240)", "rgb(234, 234, 234)"]


def test_a_click_on_a_name_highlights_the_method_everywhere(many, look):
    script = """(() => {
      const on = () => [...new Set([...page.querySelectorAll("[data-method].on")].map(part => part.dataset.method))];
      const seen = [on()];
      page.querySelector('tbody [data-choose="7"]').click();
      seen.push(on(), page.querySelectorAll('.on[data-method="7"]').length ===
        page.querySelectorAll('[data-method="7"]').length, page.querySelector("select").value);
      const line = page.querySelector('svg [data-method="9"] path');
      line.dispatchEvent(new window.MouseEvent("click", { bubbles: true }));
      return [...seen, on()];
    })()"""
    assert look(many, script) == ([["0"], ["7"], True, "7", ["9"]], [])


def test_the_name_of_a_chosen_method_is_shown_in_every_chart(many, look):
    script = """(() => {
      page.querySelector('tbody [data-choose="12"]').click();
      return [...page.querySelectorAll('svg .on text')].map(text => window.getComputedStyle(text).opacity);
    })()"""
    assert look(many, script)[0] == ["1", "1", "1"]


def test_a_section_without_the_chosen_method_keeps_its_highlight(page, look):
    script = """(() => {
      const name = [...page.querySelectorAll("tbody button")].find(part => part.textContent.startsWith("a-method"));
      name.click();
      return [...page.querySelectorAll("section")].map(part => part.querySelector("tr.on button").textContent);
    })()"""
    assert look(page, script)[0] == ["a-method-with-quite-a-long-name (one task per batch)", "if2net"]


def test_a_click_on_a_heading_sorts_the_table_by_its_numbers(many, look):
    script = """(() => {
      const table = page.querySelector("table.summary"), heading = table.rows[0].cells[1];
      const column = place => [...table.tBodies[0].rows].map(row => row.cells[place].textContent);
      heading.querySelector("button").click();
      const rising = column(1).map(parseFloat);
      table.rows[0].cells[0].querySelector("button").click();
      return [heading.ariaSort, rising.every((x, i) => !i || rising[i - 1] <= x), column(0).slice(0, 3)];
    })()"""
    found, console = look(many, script)
    assert found == [None, True, ["if2net", "joint", "method 0"]]
    assert not console


def test_tables_are_copied_as_csv_and_as_latex(page, look):
    script = """(() => {
      const table = page.querySelectorAll("section table.summary")[1];
      return [window.csv(table).split("\\n"), window.latex(table).split("\\n")];
    })()"""
    (csv, latex), console = look(page, script)
    assert not console
    assert csv[0].startswith('"method (digits-4/2, aware)",ACC %,ACC % sd,BWT,BWT sd')
    assert csv[1].startswith("if2net,75.00,0.00,-0.1")
    assert latex[1] == "\\caption{digits-4/2, aware}"
    assert latex[4].startswith("  method & ACC \\% & BWT")
    assert "\\textbf{75.00 $\\pm$ 0.00}" in latex[6]


def test_wide_tables_show_a_hint_on_a_phone_only(many, look):
    shown = """[...page.querySelectorAll("section .hint")].map(
      part => window.getComputedStyle(part).visibility === "visible")[0]"""
    assert look(many, shown, width=360)[0] is True
    assert look(many, shown, width=1440)[0] is False


def test_without_javascript_everything_can_be_read(page, look):
    script = """[page.querySelectorAll("figure svg").length, page.querySelectorAll("svg title").length > 0,
      [...page.querySelectorAll("figure, table")].every(part => part.getBoundingClientRect().height > 0),
      [...page.querySelectorAll(".bar button, select")].some(part => part.getBoundingClientRect().height > 0)]"""
    found, _ = look(page, script, width=360, sandbox='sandbox="allow-same-origin"')
    assert found == [6, True, True, False]
