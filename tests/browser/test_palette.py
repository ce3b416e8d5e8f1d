"""What the keyboard opens: places, sessions, the list of keys, tabs."""

from playwright.sync_api import expect

from tests.api.scenes import two_iterations
from tests.api.server import Server
from tests.browser.accessible import faults
from tests.browser.browsing import Browsing


def test_ctrl_k_finds_places_and_sessions(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client, "palette words")
    page = site.tab("/")
    page.keyboard.press("Control+k")
    box = page.locator("#palette")
    expect(box).to_be_visible()
    page.keyboard.type("palette words")
    expect(box.locator("[data-found] a").first).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}")
    page.keyboard.press("3")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}?tab=changes")


def test_a_question_mark_lists_the_keys(site: Browsing) -> None:
    page = site.tab("/")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Ctrl K")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
