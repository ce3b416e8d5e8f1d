"""Replay by slider, keys and playback: each moment has a URL, is read-only, and uses the live code."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.api.scenes import SCENES, two_iterations, waiting_review
from tests.api.server import Server, delivery, ended, events, start
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, button, hide, live, panels, shown


@pytest.fixture(scope="module")
def session_id(server: Server) -> str:
    """A finished delivery that was sent back once; viewing it changes nothing."""
    return two_iterations(server.client)


def _at(page: Page, version: int) -> None:
    """Check that the replay is at this event, and that the URL matches."""
    shown(page, version)
    expect(page).to_have_url(re.compile(rf"\?at={version}$"))
    expect(page.locator("[data-banner]")).to_be_visible()


def test_the_slider_shows_any_moment_and_every_moment_is_an_address(
    site: Browsing, server: Server, session_id: str
) -> None:
    last = len(events(server.client, session_id))
    page = site.tab(f"/sessions/{session_id}?highlights=0")
    expect(page.locator("[data-banner]")).to_be_hidden()
    slider = page.get_by_role("slider", name="Position in the history")
    slider.fill("9")
    _at(page, 9)
    expect(page.locator("[data-banner]")).to_contain_text(f"as of event 9 of {last}")
    expect(page.locator("[data-row='9']")).to_have_attribute("aria-current", "true")
    expect(page.locator(".row.is-later")).to_have_count(last - 9)
    moved = panels(page)
    assert panels(site.tab(f"/sessions/{session_id}?at=9")) == moved
    page.get_by_role("link", name="Back to now").click()
    shown(page, last)
    expect(page).to_have_url(f"{server.url}/sessions/{session_id}")
    page.go_back()
    _at(page, 9)


def test_arrow_keys_step_and_with_shift_go_from_highlight_to_highlight(
    site: Browsing, server: Server, session_id: str
) -> None:
    history = events(server.client, session_id)
    blocked = next(each["version"] for each in history if each["type"] == "delivery.review_blocking_detected")
    again = next(e["version"] for e in history if e["type"] == "delivery.attempt_started" and e["version"] > blocked)
    passed = next(e["version"] for e in history if e["type"] == "delivery.tests_passed" and e["version"] > blocked)
    page = site.tab(f"/sessions/{session_id}?at={again + 2}")
    page.keyboard.press("ArrowLeft")
    _at(page, again + 1)
    page.keyboard.press("ArrowRight")
    _at(page, again + 2)
    for important in (again, blocked):
        page.keyboard.press("Shift+ArrowLeft")
        _at(page, important)
    expect(page.locator("#reviews")).to_contain_text("blocked")
    for important in (again, passed):
        page.keyboard.press("Shift+ArrowRight")
        _at(page, important)


def test_steps_and_rows_lead_to_their_events(site: Browsing, server: Server, session_id: str) -> None:
    last = len(events(server.client, session_id))
    page = site.tab(f"/sessions/{session_id}?highlights=0")
    page.get_by_role("link", name="Previous event").click()
    _at(page, last - 1)
    page.get_by_role("link", name="First event").click()
    _at(page, 1)
    page.get_by_role("link", name="Next event").click()
    _at(page, 2)
    page.locator("[data-row='5'] a.number").click()
    _at(page, 5)
    page.get_by_role("link", name="Last event").click()
    _at(page, last)


def test_playback_keeps_pauses_can_be_stopped_and_ends(site: Browsing, server: Server) -> None:
    session_id = start(server.client, delivery({"planner": [{"text": "A plan.", "delayMs": 1_900}]}))
    ended(server.client, session_id)
    history = events(server.client, session_id)
    answered = next(each["version"] for each in history if each["type"] == "turn.answered")
    page = site.tab(f"/sessions/{session_id}")
    speed, play = page.get_by_label("Speed"), page.get_by_role("button", name="Play at recorded speed, or pause")
    speed.select_option("1")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    _at(page, answered - 1)
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")
    speed.select_option("50")
    play.click()
    _at(page, len(history))
    expect(play).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("kind", SCENES)
def test_live_and_as_of_its_last_event_a_session_looks_the_same(site: Browsing, server: Server, kind: str) -> None:
    session_id = SCENES[kind](server.client)
    last = len(events(server.client, session_id))
    now = panels(site.tab(f"/sessions/{session_id}"))
    then = panels(site.tab(f"/sessions/{session_id}?at={last}"))
    assert len(now) >= 7
    if kind != "delivery":  # what waits runs to now while it is live
        now.pop("gantt")
        then.pop("gantt")
    assert then == now


def test_live_list_looks_like_a_reloaded_one(site: Browsing, server: Server) -> None:
    """Each panel that was put in place while the session ran is the one that the server would send now."""
    session_id = start(server.client, delivery({"planner": [{"text": "A plan.", "delayMs": 700}]}))
    page = site.tab(f"/sessions/{session_id}?highlights=0")
    badge(page, "Running")
    live(page)
    badge(page, "Nothing changed")
    live(page, "finished")
    last = len(events(server.client, session_id))
    shown(page, last)
    expect(page.locator("[data-row]")).to_have_count(last)
    assert panels(page) == panels(site.tab(f"/sessions/{session_id}"))


def test_a_replay_offers_no_decision_and_stays_where_it_is_while_the_session_goes_on(
    site: Browsing, server: Server
) -> None:
    session_id = waiting_review(server.client)
    last = len(events(server.client, session_id))
    page = site.tab(f"/sessions/{session_id}?at=3")
    live(page, "replay")
    expect(button(page, "Apply fix")).to_have_count(0)
    before = panels(page)
    decided = server.client.post(f"/api/sessions/{session_id}/decision", json={"decision": "skip"})
    more = int(decided.json()["version"]) - 3
    expect(page.locator("[data-behind]")).to_have_text(f"(+{more})", timeout=PATIENCE_MS)
    assert (int(decided.json()["version"]) > last, panels(page)) == (True, before)
    _at(page, 3)
    page.keyboard.press("l")
    badge(page, "Decided")


def test_events_are_filtered_by_clicking(site: Browsing, server: Server, session_id: str) -> None:
    history = events(server.client, session_id)
    reviewer = [each["version"] for each in history if each["data"].get("role") == "reviewer"]
    page = site.tab(f"/sessions/{session_id}?highlights=0")
    page.locator("#filtering > summary").click()
    page.get_by_label("reviewer", exact=True).check()
    expect(page.locator("[data-row]")).to_have_count(len(reviewer))
    page.get_by_label("reviewer", exact=True).uncheck()
    expect(page.locator("[data-row]")).to_have_count(len(history))


def test_a_hidden_replay_comes_back_where_it_was(site: Browsing, server: Server, session_id: str) -> None:
    page = site.tab(f"/sessions/{session_id}?at=6")
    hide(page)
    hide(page, hidden=False)
    _at(page, 6)


def test_an_event_unfolds_in_its_row_and_the_list_stays(site: Browsing, session_id: str) -> None:
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished")
    address = page.url
    page.keyboard.press("j")
    expect(page.locator(".unfold:focus")).to_have_count(1)
    page.keyboard.press("Enter")
    unfolded = page.locator(".unfolded")
    expect(unfolded).to_contain_text("Hash")
    assert page.url == address
    page.keyboard.press("Enter")
    expect(unfolded).to_have_count(0)


def test_important_events_come_first_and_the_choice_is_remembered(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished")
    rows, count = page.locator("[data-row]"), len(events(server.client, session_id))
    important, every = (
        page.locator(".filter label", has_text="Important"),
        page.locator(".filter label", has_text="All"),
    )
    expect(important.locator("input")).to_be_checked()
    expect(every).to_have_text(f"All {count}")
    expect(important).to_have_text(f"Important {rows.count()}")
    assert 0 < rows.count() < count
    every.click()
    expect(rows).to_have_count(count)
    page.reload()
    expect(rows).to_have_count(count)
    page.keyboard.press("Shift+Tab")
    important.click()
    expect(rows).not_to_have_count(count)
    other = site.tab(f"/sessions/{session_id}")
    expect(other.locator(".filter label", has_text="Important").locator("input")).to_be_checked()


def test_an_event_that_is_not_important_is_listed_while_it_is_shown(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished")
    rows = page.locator("[data-row]")
    important = rows.count()
    shown_row = page.locator(".row[aria-current]")
    for version in (9, 10, 11):
        page.get_by_role("slider", name="Position in the history").fill(str(version))
        _at(page, version)
        expect(shown_row).to_have_attribute("data-row", str(version))
        expect(shown_row).to_be_in_viewport()
        expect(rows).to_have_count(important + 1)
    versions = rows.evaluate_all("(found) => found.map((row) => Number(row.dataset.row))")
    assert versions == sorted(versions)
    linked = site.tab(f"/sessions/{session_id}?at=12")
    expect(linked.locator(".row[aria-current]")).to_have_attribute("data-row", "12")
    expect(linked.locator("[data-row]")).to_have_count(important + 1)
    linked.keyboard.press("ArrowRight")
    _at(linked, 13)
    expect(linked.locator("[data-row]")).to_have_count(important + 1)
    linked.keyboard.press("l")
    expect(linked.locator("[data-row]")).to_have_count(important)
