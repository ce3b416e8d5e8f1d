"""The page without a mouse: every stop is visible, nothing traps the focus, Enter and Space click."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.api.scenes import two_iterations, waiting_review
from tests.api.server import Server, events, session
from tests.browser.browsing import Browsing, badge, button, live, shown, tab_to

_SEEN = """() => { const found = document.activeElement, style = getComputedStyle(found);
  const place = found.getBoundingClientRect();
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
    && place.bottom > 0 && place.top < innerHeight; }"""
_FOCUSED = "() => document.activeElement.outerHTML.slice(0, 200)"
_NOWHERE = "() => document.activeElement === document.body"
MOST = 180
"""Stops of a page with short sessions, at most."""


def go_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the element has the focus; every stop on the way must be visible."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        if page.evaluate(_NOWHERE):  # past the end of the page; the focus starts over
            continue
        assert page.evaluate(_SEEN), f"the focus cannot be seen: {page.evaluate(_FOCUSED)}"
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"Tab never comes to {wanted}")


def round_trip(page: Page) -> None:
    """Tab leaves the page at its end: nothing traps the focus."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        if page.evaluate(_NOWHERE):
            return
    raise AssertionError(f"Tab stays at {page.evaluate(_FOCUSED)}")


def test_from_the_list_to_the_inbox_to_a_decision_to_the_session(site: Browsing, server: Server) -> None:
    other, session_id = waiting_review(server.client, "decided later"), waiting_review(server.client, "by keyboard")
    page = site.tab("/")
    live(page)
    page.keyboard.press("Tab")
    expect(page.locator("a.skip:focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("main :focus")).to_have_count(1)
    round_trip(page)
    go_to(page, page.get_by_role("navigation").get_by_role("link", name="Decisions"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/decisions")
    live(page)
    card = page.locator(f"[data-waits='{session_id}']")
    go_to(page, card.get_by_label("Reason (optional)"))
    page.keyboard.type("Seen without a mouse")
    go_to(page, button(card, "Skip & continue"))
    page.keyboard.press("Space")
    expect(card).to_have_count(0)
    assert session(server.client, session_id)["decision"]["rationale"] == "Seen without a mouse"
    expect(page.locator(f"[data-waits='{other}'] :focus")).to_have_count(1)
    page.keyboard.press("Enter")
    badge(page, "Awaiting decision")
    live(page)
    go_to(page, button(page, "Skip & continue"))
    page.keyboard.press("Space")
    badge(page, "Decided")
    expect(page.locator("#top:focus")).to_have_count(1)
    round_trip(page)


def test_through_the_turns_and_changes_and_history_of_a_session(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    last = len(events(server.client, session_id))
    page = site.tab(f"/sessions/{session_id}?tab=turns")
    live(page, "finished")
    go_to(page, page.locator(".turn-list a").nth(3))
    page.keyboard.press("Enter")
    page.wait_for_url("**/turns/*")
    live(page, "finished")
    go_to(page, page.locator("#part-instructions > summary"))
    page.keyboard.press("Space")
    expect(page.locator("#part-instructions pre")).to_be_visible()
    page.keyboard.press("3")
    page.wait_for_url("**?tab=changes")
    line = page.locator(".by").first
    go_to(page, line.locator("summary"))
    page.keyboard.press("Enter")
    expect(line.locator(".card")).to_be_visible()
    round_trip(page)
    page.keyboard.press("1")
    page.wait_for_url(f"**/sessions/{session_id}")
    live(page, "finished")
    page.keyboard.press("Tab")
    go_to(page, page.get_by_role("link", name="History", exact=True))
    page.keyboard.press("Enter")
    previous, following = (page.get_by_role("link", name=name) for name in ("Previous event", "Next event"))
    tab_to(page, previous)
    page.keyboard.press("Enter")
    shown(page, last - 1)
    go_to(page, following)
    page.keyboard.press("Enter")
    shown(page, last)
    assert page.evaluate(_SEEN), "the focus is lost at the end of the history"
    slider = page.get_by_role("slider", name="Position in the history")
    go_to(page, slider)
    page.keyboard.press("Home")
    shown(page, 1)
    page.keyboard.press("ArrowRight")
    shown(page, 2)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("l")
    shown(page, last)
    expect(page.locator("body[data-replay]")).to_have_count(0)
    round_trip(page)


def test_to_the_comparison_and_the_lab_by_the_palette(site: Browsing, server: Server) -> None:
    one, other = two_iterations(server.client, "compared"), two_iterations(server.client, "with this")
    waiting_review(server.client, "in the lab")
    page = site.tab(f"/sessions/{one}")
    live(page, "finished")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    go_to(page, page.get_by_role("link", name="Compare", exact=True))
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?a=*")
    go_to(page, page.locator("select[name=b]"))
    page.locator("select[name=b]").select_option(other)  # typing into a list is the browser's own
    go_to(page, page.locator("form:has(select[name=b]) button"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"b={other}"))
    expect(page.locator("tr.is-first")).to_be_visible()
    round_trip(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("lab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/lab")
    go_to(page, page.get_by_role("slider").first)
    before = page.locator("output").first.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("output").first).not_to_have_text(before)
    page.wait_for_url("**/lab?*")
    round_trip(page)
