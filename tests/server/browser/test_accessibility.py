"""Everybody can use the page: axe-core finds nothing serious; the keyboard, fingers and small screens are enough."""

import shutil
import subprocess

import pytest

from if2net.output_folders import cache_folder, fill_folder_once

AXE = "axe-core@4.14.0"
SCREENS = {"phone": (360, 740), "desktop": (1280, 900)}
# What a finger can hit. The places of hidden fields are their labels.
TARGETS = "button, .button, select, textarea, summary, .switch, nav a, input:not([type=file], [type=checkbox])"


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core. It is not part of if2net: npm brings it into the cache."""
    npm = shutil.which("npm")
    folder = cache_folder() / AXE.replace("@", "-")

    def install(target):
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", target, AXE]
        subprocess.run(command, check=True, timeout=60, capture_output=True)

    if npm is None and not folder.exists():
        pytest.skip("npm is not installed, so axe-core is not at hand.")
    try:
        fill_folder_once(folder, install)
    except (OSError, subprocess.SubprocessError):
        pytest.skip(f"npm could not install {AXE}.")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture
def findings(axe):
    """Return what axe-core finds serious or critical in a page, each as one line."""

    def find(page):
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            f"{violation['id']}: {node['target']} {node['failureSummary']}"
            for violation in result["violations"]
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    return find


COUNTS = {"steps": [{"version": 1, "what": "4 pictures of mug", "counts": {"mug": [1, 1]}}]}


def test_axe_finds_nothing_serious(visit, taught, draw, findings):
    page = visit(taught)
    page.evaluate("counts => localStorage.setItem('if2net-counts:things', JSON.stringify(counts))", COUNTS)
    page.reload()
    page.get_by_text("Show the numbers").click()
    page.get_by_label("Choose a picture to try").set_input_files(draw("mug", 1, start=90))
    page.get_by_role("button", name="That is wrong").click()
    page.get_by_role("button", name="Rename leaf").click()
    found = {}
    for screen, (width, height) in SCREENS.items():
        for colours in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=colours)
            found[screen, colours] = findings(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Forget mug").click()
    found["confirming"] = findings(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Camera leaf").click()
    page.get_by_role("dialog").wait_for()
    found["camera"] = findings(page)
    assert found == {place: [] for place in found}


MANY = {
    "steps": [
        {"version": 1, "what": f"4 pictures of {step}", "counts": {f"a class {name}": [1, 1] for name in range(12)}}
        for step in range(12)
    ],
}


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_wider_than_the_screen(visit, taught, screen):
    page = visit(taught, size=SCREENS[screen])
    page.evaluate("counts => localStorage.setItem('if2net-counts:things', JSON.stringify(counts))", MANY)
    page.reload()
    page.get_by_text("Show the numbers").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= SCREENS[screen][0]
    panel, chart = (page.locator(place).bounding_box() for place in ("#remember .panel", "#chart"))
    assert chart["x"] + chart["width"] < panel["x"] + panel["width"]


def test_the_answer_stays_in_sight_and_covers_nothing(visit, taught, draw):
    page = visit(taught, size=(1280, 500))
    page.get_by_label("Choose a picture to try").set_input_files(draw("mug", 1, start=90))
    page.get_by_role("button", name="That is wrong").click()
    page.get_by_role("button", name="Learn it").scroll_into_view_if_needed()
    for place in ("#teach", "#remember", "#changes"):
        page.locator(place).scroll_into_view_if_needed()
        box, beside = page.locator("#try").bounding_box(), page.locator(place).bounding_box()
        assert beside["x"] + beside["width"] <= box["x"]
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 500


def test_fingers_hit_every_control(visit, taught):
    page = visit(taught, size=SCREENS["phone"])
    small = [
        (target.inner_text(), box)
        for target in page.locator(TARGETS).all()
        if (box := target.bounding_box()) and (box["height"] < 43.5 or box["width"] < 43.5)
    ]
    assert small == []


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(visit, taught):
    page = visit(taught)
    places = []
    for _ in range(40):
        page.keyboard.press("Tab")
        place = page.evaluate(
            """() => {
                const element = document.activeElement;
                const shown = element.closest(".button, .switch") ?? element;
                const outline = [element, shown].some((one) => getComputedStyle(one).outlineStyle !== "none");
                const name = element.textContent.trim() || element.id || element.type;
                return element === document.body ? null : [name, outline];
            }"""
        )
        if place is None:
            break
        places.append(place)
    names = {name for name, _ in places}
    assert {"new-name", "Add", "Rename mug", "Forget mug", "Camera mug", "unknown"} <= names
    assert [name for name, outlined in places if not outlined] == []


def test_nothing_moves_for_those_who_want_it_still(visit, taught):
    page = visit(taught)
    assert page.locator("#unknown").evaluate("e => getComputedStyle(e, '::after').transitionDuration") == "0s"
