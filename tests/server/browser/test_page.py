"""The page in a real browser: teaching, trying, taking back, and what it says when something goes wrong."""

import re

import numpy as np
import pandas as pd
import pytest

from if2net import IF2NetClassifier, load

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed.").expect


def card(page, name):
    return page.get_by_role("article", name=name, exact=True)


def add_class(page, name):
    page.get_by_label("New class").fill(name)
    page.keyboard.press("Enter")


def teach(page, name, files):
    """Add files to the card of a class, which may be new, and wait until they are learned."""
    if not card(page, name).count():
        add_class(page, name)
    card(page, name).get_by_label("Choose").set_input_files(files)
    expect(card(page, name).locator(".waiting")).to_have_count(0)
    expect(card(page, name).get_by_role("progressbar")).to_be_hidden()


def try_out(page, files):
    """Try a picture and return the answer."""
    name = files[0]["name"].encode()  # the chart asks, too, but for pictures without a name
    with page.expect_response(lambda answer: answer.ok and name in (answer.request.post_data_buffer or b"")):
        page.get_by_label("Choose a picture to try").set_input_files(files)
    expect(page.locator("#try-panel")).not_to_have_attribute("aria-busy", "true")
    return page.locator("#verdict").text_content()


def forget(page, name):
    card(page, name).get_by_role("button", name=f"Forget {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(card(page, name)).to_have_count(0)


def strip(page, name):
    return page.locator("#chart li").filter(has=page.locator(".strip-name").get_by_text(name, exact=True))


def test_old_classes_hold_while_new_ones_come_and_go(visit, service, draw):
    page = visit(service)
    expect(page.get_by_text("Name a class.")).to_be_visible()
    teach(page, "mug", draw("mug", 10))
    teach(page, "leaf", draw("leaf", 10))
    assert service.classes() == {"leaf": 8, "mug": 8}  # every fifth is set aside
    assert try_out(page, draw("mug", 1, start=50)) == "mug"

    teach(page, "key", draw("key", 10))
    assert try_out(page, draw("mug", 1, start=51)) == "mug"
    assert try_out(page, draw("leaf", 1, start=51)) == "leaf"
    assert try_out(page, draw("key", 1, start=51)) == "key"
    for name in ("All", "mug", "leaf", "key"):
        expect(strip(page, name)).to_contain_text(re.compile(r"100\s%"))

    page.get_by_text("Show the numbers").click()  # the chart as a table
    expect(page.get_by_role("columnheader")).to_have_text(["Step", "All", "mug", "leaf", "key"])
    last = page.get_by_role("table").get_by_role("row").last
    expect(last.get_by_role("cell")).to_have_text(["6 of 6", "2 of 2", "2 of 2", "2 of 2"])

    forget(page, "key")
    assert try_out(page, draw("mug", 1, start=52)) == "mug"
    assert service.classes() == {"leaf": 8, "mug": 8}

    page.reload()
    expect(card(page, "mug")).to_contain_text("8 pictures learned")
    expect(card(page, "leaf")).to_contain_text("8 pictures learned")
    expect(card(page, "key")).to_have_count(0)
    expect(strip(page, "mug")).to_contain_text(re.compile(r"100\s%"))
    expect(page.locator("#chart-hint")).to_contain_text("are gone since it was loaded again")
    assert try_out(page, draw("leaf", 1, start=52)) == "leaf"


def test_pictures_that_are_set_aside_are_never_sent_to_learn(visit, service, draw):
    page = visit(service)
    sent = []
    page.on("request", lambda request: sent.append(request) if request.url.endswith("/v1/learn") else None)
    files = draw("mug", 5)
    teach(page, "mug", files)
    teach(page, "mug", files)  # the same files again: the fifth is set aside already
    assert len(sent) == 2
    assert all(request.post_data_buffer.count(b'name="files"') == 4 for request in sent)
    assert not any(files[4]["buffer"] in request.post_data_buffer for request in sent)


def test_large_pictures_are_scaled_down_before_they_are_sent(visit, service, draw):
    page = visit(service)
    with page.expect_request("**/v1/learn") as request:
        teach(page, "mug", draw("mug", 1, size=2400))
    assert len(request.value.post_data_buffer) < 200_000
    assert service.classes() == {"mug": 1}


def test_the_last_step_is_taken_back(visit, service, draw):
    page = visit(service)
    teach(page, "mug", draw("mug", 4))
    teach(page, "leaf", draw("leaf", 4))
    teach(page, "mug", draw("mug", 3, start=10))
    page.get_by_role("button", name="Undo").click()
    expect(card(page, "mug")).to_contain_text("4 pictures learned")
    assert service.classes() == {"leaf": 4, "mug": 4}
    expect(page.locator("#change-list s").first).to_be_visible()


def test_the_list_of_changes_names_what_was_taken_back(visit, service, draw):
    page = visit(service)
    teach(page, "mug", draw("mug", 3))
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#change-list li").first).to_contain_text("taken back: 3 pictures of mug learned")


def test_a_class_has_the_same_colour_in_all_browsers(visit, service, draw):
    first = visit(service)
    for number, name in enumerate(("mug", "leaf", "key")):
        teach(first, name, draw(name, 2, start=number))
    second = visit(service)
    colours = []
    for name in ("key", "leaf", "mug"):
        article = card(first, name).locator("..")
        colours.append(article.get_attribute("class"))
        expect(card(second, name).locator("..")).to_have_class(colours[-1])
    assert len(set(colours)) == 3


def test_a_class_is_renamed_in_place(visit, service, draw):
    page = visit(service)
    teach(page, "mug", draw("mug", 5))
    teach(page, "leaf", draw("leaf", 5))
    card(page, "mug").get_by_role("button", name="Rename mug").press("Enter")
    page.keyboard.type("cup & saucer")  # the old name is selected
    page.keyboard.press("Enter")
    expect(card(page, "cup & saucer")).to_contain_text("4 pictures learned")
    assert set(service.classes()) == {"cup & saucer", "leaf"}
    assert try_out(page, draw("mug", 1, start=50)) == "cup & saucer"
    expect(strip(page, "cup & saucer")).to_contain_text(re.compile(r"100\s%"))

    card(page, "leaf").get_by_role("button", name="Rename leaf").click()
    page.keyboard.type("tree")
    page.keyboard.press("Escape")
    expect(card(page, "leaf")).to_be_visible()
    assert set(service.classes()) == {"cup & saucer", "leaf"}


def test_forgetting_asks_first(visit, taught):
    page = visit(taught)
    card(page, "mug").get_by_role("button", name="Forget mug").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(card(page, "mug")).to_be_visible()
    assert set(taught.classes()) == {"leaf", "mug"}


def test_a_wrong_token_is_asked_for_and_nothing_is_learned_without_it(visit, service, draw):
    page = visit(service, token="wrong")
    dialog = page.get_by_role("dialog", name="The token")
    if not dialog.is_visible():  # reading is open on the machine itself, so the first change asks
        add_class(page, "mug")
        card(page, "mug").get_by_label("Choose").set_input_files(draw("mug", 2))
    expect(dialog).to_be_visible()
    assert service.classes() == {}
    dialog.get_by_label("Token").fill("a-token-for-writing")
    dialog.get_by_role("button", name="Continue").click()
    expect(card(page, "mug")).to_contain_text("2 pictures learned")


def test_the_token_leaves_the_address(visit, taught):
    page = visit(taught)
    assert page.url == f"{taught.url}/"
    page.reload()
    assert page.evaluate("sessionStorage.getItem('if2net-token')") == "a-token-for-writing"


def test_a_file_that_is_no_picture_is_said_in_words(visit, service, draw):
    page = visit(service)
    damaged = {"name": "damaged.png", "mimeType": "image/png", "buffer": draw("mug", 1)[0]["buffer"][:100]}
    notes = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"a mug"}
    teach(page, "mug", [*draw("mug", 2), damaged, notes])
    message = card(page, "mug").get_by_role("status")
    expect(message).to_contain_text("notes.txt: It is not a picture.")
    assert message.text_content().count("damaged.png") == 1
    assert service.classes() == {"mug": 2}

    teach(page, "leaf", [damaged])  # none is left to learn
    expect(card(page, "leaf").get_by_role("status")).to_contain_text("damaged.png")
    assert service.classes() == {"mug": 2}


NAMES = ["<img src=x onerror=alert(1)>", "</script>", "constructor", "__proto__", "日本語 😀", "a/b?c#d", "x" * 200]


def test_classes_of_any_name_are_shown_as_text(visit, service, draw):
    page = visit(service)
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for number, name in enumerate(NAMES):
        teach(page, name, draw("mug", 5, start=10 * number))
        expect(card(page, name).locator("..")).to_have_class(re.compile(r"colour-[1-8]$"))
    assert set(service.classes()) == set(NAMES)
    expect(page.locator("#chart .strip-name")).to_have_count(1 + len(NAMES))
    for name in NAMES:
        expect(strip(page, name).locator("b")).to_have_text(re.compile(r"\d+\s%"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    for name in NAMES:
        expect(card(page, name)).to_contain_text("4 pictures learned")
        expect(card(page, name).locator("..")).to_have_class(re.compile(r"colour-[1-8]$"))
    card(page, "a/b?c#d").get_by_role("button", name="Rename").press("Enter")
    page.keyboard.type("toString")
    page.keyboard.press("Enter")
    expect(card(page, "toString")).to_contain_text("4 pictures learned")
    forget(page, NAMES[0])
    assert set(service.classes()) == {"toString", *NAMES[1:]} - {"a/b?c#d"}
    assert dialogs == []


def test_a_correction_is_learned_by_its_id(visit, service, draw):
    page = visit(service)
    teach(page, "mug", draw("mug", 2))
    teach(page, "leaf", draw("leaf", 2))
    assert try_out(page, draw("key", 1)) in ("mug", "leaf")
    page.get_by_role("button", name="That is wrong").click()
    page.get_by_label("What is it?").select_option(label="Something new")
    page.get_by_label("Its name").fill("key")
    with page.expect_request("**/v1/learn") as request:
        page.get_by_role("button", name="Learn it").click()
    assert request.value.post_data_json["labels"] == ["key"]
    expect(page.locator("#verdict")).to_have_text("key")
    assert service.classes() == {"key": 1, "leaf": 2, "mug": 2}


def test_a_lost_answer_is_asked_for_again_and_counts_once(visit, service, draw):
    page = visit(service)
    keys = []

    def lose_the_first_answer(route):
        keys.append(route.request.headers["idempotency-key"])
        answer = route.fetch()
        if len(keys) == 1:
            route.abort("connectionreset")
        elif len(keys) == 2:
            route.fulfill(status=503, json={"error": "The server is busy."})
        else:
            route.fulfill(response=answer)

    page.route("**/v1/learn", lose_the_first_answer)
    teach(page, "mug", draw("mug", 3))
    expect(card(page, "mug")).to_contain_text("3 pictures learned")
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert service.classes() == {"mug": 3}
    expect(page.locator("#banner")).to_be_hidden()


def test_pictures_are_dropped_and_pasted(visit, service, draw):
    page = visit(service)
    teach(page, "mug", draw("mug", 2))
    teach(page, "leaf", draw("leaf", 2))
    transfer = page.evaluate_handle(
        """bytes => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([Uint8Array.from(bytes)], "one.png", {type: "image/png"}));
            return transfer;
        }""",
        list(draw("mug", 1, start=20)[0]["buffer"]),
    )
    card(page, "mug").dispatch_event("drop", {"dataTransfer": transfer})
    expect(card(page, "mug")).to_contain_text("3 pictures learned")
    page.locator("#try-panel").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.locator("#verdict")).to_have_text("mug")
    page.evaluate("t => document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: t}))", transfer)
    expect(page.locator("#verdict")).to_have_text("mug")
    assert service.classes() == {"leaf": 2, "mug": 3}


def test_the_camera_teaches_while_its_button_is_held(visit, service):
    page = visit(service)
    add_class(page, "screen")
    card(page, "screen").get_by_role("button", name="Camera").click()
    shutter = page.get_by_role("button", name="Hold to take pictures")
    expect(shutter).to_be_focused()
    page.keyboard.down("Space")
    expect(page.locator("#camera-count")).to_contain_text(re.compile(r"([3-9]|\d\d) pictures"))
    page.keyboard.up("Space")
    page.get_by_role("button", name="Done").click()
    expect(card(page, "screen")).to_contain_text(re.compile(r"\d+ pictures learned"))
    assert len(page.request.get(f"{service.url}/v1/changes").json()) == 1  # one hold is one step


def test_the_camera_is_tried_live(visit, taught):
    page = visit(taught)
    page.locator("#try").get_by_role("button", name="Camera").click()
    for _ in range(3):
        with page.expect_response("**/v1/predict"):
            pass
    expect(page.locator("#verdict")).to_have_text(re.compile("mug|leaf"))
    page.get_by_role("button", name="That is wrong").click()  # holds the picture that was answered
    expect(page.locator("#try-video")).to_be_hidden()
    expect(page.locator("#try-picture")).to_be_visible()


def test_the_model_is_downloaded(visit, taught, tmp_path):
    page = visit(taught)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".if2"
    assert sorted(load(path).classes_) == ["leaf", "mug"]


@pytest.fixture
def rows(tmp_path):
    """A model of rows: small numbers are one class, large ones the other."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, (20, 3)), random.normal(9, 1, (20, 3))])
    frame = pd.DataFrame(X, columns=["width", "height", "weight"])
    IF2NetClassifier(random_state=0).fit(frame, ["small"] * 20 + ["large"] * 20).save(tmp_path / "rows.if2")
    return tmp_path / "rows.if2"


def test_a_row_is_tried_with_and_without_its_heading(visit, serve, rows):
    served = serve(rows)
    page = visit(served)
    expect(card(page, "large")).to_contain_text("20 rows learned")
    expect(page.locator("#remember")).to_be_hidden()
    field = page.get_by_label("A row of a table")
    field.fill("9.1, 8.7, 9")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#verdict")).to_have_text("large")
    field.fill("weight,width,height\n0.3,-0.2,0.1")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#verdict")).to_have_text("small")
    field.fill("1, 2")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#try-message")).to_contain_text("3")
    expect(page.locator("#answer")).to_be_hidden()


def test_a_server_that_only_reads_shows_nothing_that_writes(visit, serve, rows):
    page = visit(serve(rows, read_only=True), token=None)
    expect(page.locator("#facts")).to_contain_text("read only")
    page.get_by_label("A row of a table").fill("9,9,9")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#verdict")).to_have_text("large")
    names = "Undo|Rename|Forget|Add|That is wrong"
    expect(page.get_by_role("button", name=re.compile(names))).to_have_count(0)
    expect(page.get_by_role("button", name="Download")).to_be_enabled()
