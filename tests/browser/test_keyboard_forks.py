"""Without a mouse: fork with another answer and compare; clarify a message of a conversation."""

import re

from playwright.sync_api import expect

from tests.api.scenes import two_iterations
from tests.api.server import Server, events, session
from tests.api.test_chat_page import paused
from tests.browser.browsing import Browsing, button, live, shown
from tests.browser.test_keyboard import go_to, round_trip


def test_a_fork_with_another_answer_from_an_event_on_the_page(site: Browsing, server: Server) -> None:
    source = two_iterations(server.client)
    asked = next(event["version"] for event in events(server.client, source) if event["type"] == "turn.requested")
    page = site.tab(f"/sessions/{source}?at={asked}")
    shown(page, asked)
    go_to(page, page.locator(".forking"))
    page.keyboard.press("Enter")
    sheet = page.locator("dialog.sheet")
    expect(sheet.locator("[name=at]")).to_have_value(str(asked))
    sheet.locator("[name=change]:checked").focus()
    page.keyboard.press("ArrowDown")
    expect(sheet.locator("[name=change][value=text]")).to_be_checked()
    go_to(page, sheet.locator("[name=text]"))
    page.keyboard.press("Control+a")
    page.keyboard.type("Another plan.")
    go_to(page, button(page, "Start the fork"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"/compare\?a={source}&b=delivery-\w+$"))
    fork = page.url.rpartition("=")[2]
    assert session(server.client, fork)["forkedFrom"] == source
    round_trip(page)


def test_an_unclear_message_is_cleared_up(site: Browsing, server: Server) -> None:
    run = paused(server.client, "by keyboard")
    page = site.tab("/chat/by keyboard")
    live(page)
    go_to(page, page.get_by_role("textbox", name="Message"))
    page.keyboard.type("please continue")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was started.")
    expect(page.locator(".unclear:focus")).to_have_count(1)
    go_to(page, page.locator("button[name=meant][value=reset]"))
    page.keyboard.press("Enter")
    expect(page.locator("button[name=meant]")).to_have_count(0)
    assert session(server.client, run)["status"] == "reset"
    round_trip(page)
