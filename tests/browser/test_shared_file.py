"""A shared file, opened from the disk: it asks nobody, can be read without a script, and checks itself."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from adapters.references import NO_SECRETS
from adapters.store.location import reading
from api.share.collection import SharedSession, SharingRules
from api.share.file_to_show import file_to_show, signed_file
from api.share.page import END, START
from api.share.shared_record import PackedRecord
from tests.api.scenes import two_iterations
from tests.api.server import Server
from tests.api.test_shared_files import KEY, forged_file
from tests.browser.browsing import PATIENCE_MS

_FLIPS = """async (count) => {
  const element = document.getElementById("record"), button = document.getElementById("check");
  const told = document.getElementById("told"), whole = element.textContent;
  let missed = 0;
  for (let number = 0; number < count; number++) {
    const at = Math.floor((number * 7919.37) % whole.length);
    const letter = String.fromCharCode(whole.charCodeAt(at) ^ 1);
    element.textContent = whole.slice(0, at) + letter + whole.slice(at + 1);
    told.className = "";
    button.click();
    while (told.className === "") await new Promise((done) => setTimeout(done, 0));
    missed += told.className === "good";
  }
  element.textContent = whole;
  return missed;
}"""


@pytest.fixture(scope="module")
def shared(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    session_id = two_iterations(server.client)
    with reading(str(server.database)) as log:
        html = file_to_show(log, session_id, None, KEY, SharingRules(NO_SECRETS)).html
    path = tmp_path_factory.mktemp("shared") / "session.html"
    path.write_bytes(html.encode())
    return path


def test_the_button_checks_the_record_and_nothing_is_asked_for(browser: Browser, shared: Path) -> None:
    page = browser.new_context().new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(shared.as_uri())
    page.locator("#check").click()
    expect(page.locator("#told")).to_have_class("good", timeout=PATIENCE_MS)
    page.locator("#scrubber").fill("5")
    expect(page.locator("tr[data-version='5']")).to_be_visible()
    expect(page.locator("tr[data-version='6']")).to_be_hidden()
    assert page.evaluate(_FLIPS, 200) == 0
    assert asked == [shared.as_uri()] and errors == []
    page.context.close()


def test_the_button_checks_a_file_without_its_longest_texts(browser: Browser, server: Server, tmp_path: Path) -> None:
    session_id = two_iterations(server.client, "A long finding. " * 3_000)
    with reading(str(server.database)) as log:
        record = SharedSession(log, session_id, None, KEY, SharingRules(NO_SECRETS)).record(0)
    assert record.texts == {} and {each.why for each in record.left_out} >= {"long"}
    assert any(event.cut for event in record.events)
    path = tmp_path / "short.html"
    path.write_text(signed_file(record, KEY), "utf-8")
    page = browser.new_context().new_page()
    page.goto(path.as_uri())
    page.locator("#check").click()
    expect(page.locator("#told")).to_have_class("good", timeout=PATIENCE_MS)
    page.context.close()


@pytest.mark.nightly
def test_a_thousand_changed_bytes_of_the_record_are_all_noticed_by_the_button(browser: Browser, shared: Path) -> None:
    page = browser.new_context().new_page()
    page.goto(shared.as_uri())
    length = page.evaluate("document.getElementById('record').textContent.length")
    assert page.evaluate(_FLIPS, 1_000) == 0, f"of a record of {length} characters"
    page.context.close()


def test_a_byte_that_was_changed_on_the_disk_is_noticed(browser: Browser, shared: Path, tmp_path: Path) -> None:
    html = shared.read_bytes()
    place = html.index(START.encode()) + 600
    changed = tmp_path / "changed.html"
    changed.write_bytes(html[:place] + bytes([html[place] ^ 1]) + html[place + 1 :])
    page = browser.new_context().new_page()
    page.goto(changed.as_uri())
    page.locator("#check").click()
    expect(page.locator("#told")).to_have_class("bad", timeout=PATIENCE_MS)
    page.context.close()


def test_it_can_be_read_without_a_script(browser: Browser, shared: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(shared.as_uri())
    expect(page.locator("#check")).to_be_hidden()
    expect(page.locator("tr[data-version='6']")).to_be_visible()
    expect(page.locator("#changes ~ details").first).to_contain_text("login.py")
    page.context.close()


def test_what_is_left_of_a_cut_event_is_signed(browser: Browser, shared: Path, tmp_path: Path) -> None:
    """Its hash cannot be computed, so whoever has the file could write other words there."""
    html = shared.read_text("utf-8")
    start = html.index(START) + len(START)
    record = PackedRecord(html[start : html.index(END, start)], "").opened()
    last = record.events[-1]
    forged = last.model_copy(update={"cut": True, "state": last.state.replace("success", "failure")})
    changed = tmp_path / "forged.html"
    changed.write_text(forged_file(record, events=(*record.events[:-1], forged)), "utf-8")
    page = browser.new_context().new_page()
    page.goto(changed.as_uri())
    page.locator("#check").click()
    expect(page.locator("#told")).to_have_class("bad", timeout=PATIENCE_MS)
    expect(page.locator("#told")).to_contain_text("signature")
    page.context.close()
