"""Pages on paper, and texts that a narrow screen or a strict eye finds first: widths and contrast."""

import pytest
from playwright.sync_api import Browser, expect

from tests.api.scenes import at_checkpoint, begun, exhausted, reached, two_iterations, waiting_review
from tests.api.server import Server, delivery
from tests.browser.accessible import faults
from tests.browser.browsing import Browsing, browsing, live
from tests.kit.replies import review
from tests.kit.sweeps import sampled

CUT = """() => [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility()
  && getComputedStyle(one).overflowY !== "visible" && one.scrollHeight > one.clientHeight + 2
  && !one.matches(".unseen, .lane-name, .title h1"))
  .map((one) => `${one.className} ${one.clientHeight}/${one.scrollHeight}`)"""
ON_SCREENS = ".top, .views, .player, .filter, .skip, dialog, button, .button, input, textarea, select"
TOO_WIDE = "() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
FOUR_DIGITS = """() => {
  for (const one of document.querySelectorAll("[data-shown], [data-newest-shown]")) one.textContent = "1057";
}"""
LINES = """(labels) => labels.map((one) => Math.round(one.getBoundingClientRect().height))"""


@pytest.mark.parametrize("tab", sampled(["overview", "turns", "changes", "worklog"], 0))
def test_everything_is_printed_and_nothing_that_only_a_screen_can_use(site: Browsing, server: Server, tab: str) -> None:
    for session_id, words in ((exhausted(server.client), "live"), (two_iterations(server.client), "finished")):
        page = site.tab(f"/sessions/{session_id}?tab={tab}&highlights=0")
        live(page, words)
        page.set_viewport_size({"width": 794, "height": 1_123})
        page.emulate_media(media="print")
        assert page.evaluate(CUT) == []
        assert [one for one in page.locator(ON_SCREENS).all() if one.is_visible()] == []


def test_a_decision_is_printed_with_its_matter_and_without_its_form(site: Browsing, server: Server) -> None:
    for path in (f"/sessions/{waiting_review(server.client, 'on paper')}", "/decisions"):
        page = site.tab(path)
        live(page)
        page.emulate_media(media="print")
        expect(page.locator(".matter").filter(has_text="on paper").first).to_be_visible()
        assert [one for one in page.locator(ON_SCREENS).all() if one.is_visible()] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comment_that_changed_can_be_read(browser: Browser, server: Server, scheme: str) -> None:
    first, second = ({"text": "Done.", "files": {"a.py": f"x = 1\n# {word}\n"}} for word in ("begun", "changed"))
    body = delivery({"dev": [first, second], "reviewer": [review("rename it"), review()]})
    session_id = reached(server.client, begun(server.client, body), "success")
    turns = server.client.get(f"/api/sessions/{session_id}/turns").json()["items"]
    last = [turn["turnId"] for turn in turns if turn["agent"] == "dev"][-1]
    with browsing(browser, server.url, color_scheme=scheme) as site:
        page = site.tab(f"/sessions/{session_id}?tab=changes&turnId={last}")
        assert page.locator("mark .small").count() > 0
        assert faults(page) == []


@pytest.mark.parametrize("width", [320, 390])
def test_numbers_of_four_digits_fit_a_narrow_phone(browser: Browser, server: Server, width: int) -> None:
    session_id = two_iterations(server.client)
    with browsing(browser, server.url, viewport={"width": width, "height": 640}) as site:
        page = site.tab(f"/sessions/{session_id}")
        live(page, "finished")
        page.evaluate(FOUR_DIGITS)
        assert page.evaluate(TOO_WIDE) == 0
        heights = page.locator(".filter .choice label").evaluate_all(LINES)
        assert len(heights) == 2 and max(heights) <= 44, "each word in one line"


@pytest.mark.parametrize("width", [800, 1_180, 1_440])
def test_home_fits_the_screen_without_a_script(browser: Browser, server: Server, width: int) -> None:
    at_checkpoint(server.client)
    reached(server.client, begun(server.client, delivery()), "success")
    with browsing(browser, server.url, java_script_enabled=False, viewport={"width": width, "height": 900}) as site:
        page = site.tab("/")
        assert page.evaluate(TOO_WIDE) == 0
        assert max(page.locator(".session").evaluate_all(LINES)) <= 48


def test_the_space_bar_plays_while_the_slider_has_the_focus(site: Browsing, server: Server) -> None:
    page = site.tab(f"/sessions/{two_iterations(server.client)}")
    live(page, "finished")
    page.get_by_role("slider").focus()
    page.keyboard.press(" ")
    live(page, "replay")
