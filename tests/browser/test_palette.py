"""Opened by keyboard: places, sessions, the list of keys, tabs."""

from playwright.sync_api import Browser, expect

from tests.api.scenes import begun, reached, two_iterations
from tests.api.server import Server, delivery
from tests.browser.accessible import faults
from tests.browser.browsing import Browsing, browsing, button


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


def test_a_search_without_a_result_says_so(site: Browsing) -> None:
    page = site.tab("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("no such words anywhere")
    expect(page.locator("#palette [data-nothing]")).to_be_visible()
    page.locator("#palette input").fill("")
    expect(page.locator("#palette [data-nothing]")).to_be_hidden()


def test_a_question_mark_lists_the_keys(site: Browsing) -> None:
    page = site.tab("/")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Ctrl K")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_title_matches_come_before_text_matches(site: Browsing, server: Server) -> None:
    named = reached(server.client, begun(server.client, delivery(task="Quokka in the title")), "success")
    reached(server.client, begun(server.client, delivery({"planner": ["About a quokka."]})), "success")
    page = site.tab("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("quokka")
    links = page.locator("#palette [data-found] a")
    expect(links).to_have_count(2)
    assert links.first.get_attribute("href") == f"/sessions/{named}"


def test_dark_buttons_can_be_read_where_colours_are_forced(browser: Browser, server: Server) -> None:
    with browsing(browser, server.url, forced_colors="active") as site:
        page = site.tab("/chat")
        ground = "(button) => getComputedStyle(button).backgroundColor"
        plain = page.locator(".list .button").evaluate(ground)
        assert button(page, "Send").evaluate(ground) == plain
        page.goto(server.url + "/")
        assert page.locator(".start > summary").evaluate(ground) == plain
