"""The stream of a page: many tabs on one server, a server restart, the end of a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.api.scenes import begun, two_iterations, waiting_review
from tests.api.server import Server, delivery, ended, events, serving, start
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, browsing, hide, live, shown

TABS = 8
"""A browser has six connections to a server; a stream holds one."""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server for a test that stops it."""
    with serving(tmp_path) as result:
        yield result


def test_more_tabs_than_connections_stay_current(site: Browsing, server: Server) -> None:
    session_id = waiting_review(server.client)
    tabs = []
    for _ in range(TABS):
        page = site.tab(f"/sessions/{session_id}")
        live(page, "live")
        hide(page)
        tabs.append(page)
    body = {"decision": "skip", "rationale": "Seen in every tab"}
    assert server.client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
    for page in tabs:
        badge(page, "Awaiting decision")
        hide(page, hidden=False)
        badge(page, "Decided")
        expect(page.locator("#discussion")).to_contain_text("Seen in every tab")


def test_hidden_tab_keeps_no_stream(site: Browsing, server: Server) -> None:
    """Six tabs that kept their streams would leave none for a seventh."""
    session_id = waiting_review(server.client)
    page = site.tab(f"/sessions/{session_id}")
    live(page)
    with page.expect_event("requestfailed", lambda request: "/api/events?after=" in request.url):
        hide(page)


def test_many_windows_share_one_stream(site: Browsing, server: Server) -> None:
    """All windows are visible; a browser has six connections to a server."""
    session_id = waiting_review(server.client)
    streams = site.asked("/api/events")
    tabs = [site.tab(path) for _ in range(TABS // 2) for path in (f"/sessions/{session_id}", "/")]
    for page in tabs:
        live(page)
    assert len(streams) == 1
    body = {"decision": "skip", "rationale": "Seen in every window"}
    assert server.client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
    for page in tabs[::2]:
        badge(page, "Decided")
    tabs[0].close()
    begun(server.client, delivery(task="Begun after the reader of the stream was closed"))
    expect(tabs[1].get_by_role("link", name="Begun after the reader of the stream")).to_be_visible()


def _last(server: Server, session_id: str) -> int:
    return len(events(server.client, session_id))


def test_after_a_restart_of_the_server_a_page_has_lost_nothing(browser: Browser, own: Server) -> None:
    with browsing(browser, own.url) as site:
        session_id = waiting_review(own.client)
        page, home = site.tab(f"/sessions/{session_id}?highlights=0"), site.tab("/")
        live(page)
        live(home)
        own.stop()
        live(page, "connection lost, trying again")
        own.start()
        body = {"decision": "skip", "rationale": "After the restart"}
        assert own.client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
        expect(page.locator("[data-badge] .badge")).to_contain_text("Decided", timeout=2 * PATIENCE_MS)
        live(page, "finished")
        last = _last(own, session_id)
        shown(page, last)
        listed = page.locator("[data-row]").evaluate_all("(rows) => rows.map((row) => Number(row.dataset.row))")
        assert listed == list(range(1, last + 1))
        begun(own.client, delivery(task="Begun after the restart"))
        expect(home.get_by_role("link", name="Begun after the restart")).to_be_visible(timeout=2 * PATIENCE_MS)
        site.overlook("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET")


def test_ended_session_closes_its_stream(site: Browsing, server: Server) -> None:
    session_id = start(server.client, delivery({"planner": [{"text": "A plan.", "delayMs": 4_000}]}))
    page = site.tab(f"/sessions/{session_id}")
    live(page)
    ended(server.client, session_id)
    badge(page, "Nothing changed")
    live(page, "finished")
    expect(page.locator("body")).to_have_attribute("data-follows", "")


def test_ended_session_opens_no_stream(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    asked = site.asked()
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished")
    assert [url for url in asked if "/api/" in url] == []
    assert f"{server.url}/sessions/{session_id}" in asked


_NOTICES = """window.noticed = [];
window.Notification = class { constructor(title, { body, tag }) { noticed.push([title, body, tag]); } };
Notification.permission = "granted";
Notification.requestPermission = async () => "granted";"""


def test_hidden_page_sends_desktop_notifications_on_request(site: Browsing, server: Server) -> None:
    page = site.tab("/", script=_NOTICES)
    asking = page.get_by_role("button", name="Notify me in this browser")
    expect(asking).to_have_attribute("aria-pressed", "false")
    asking.click()
    expect(asking).to_have_attribute("aria-pressed", "true")
    hide(page)
    waits = waiting_review(server.client, "a new question")
    page.wait_for_function("(name) => noticed.some(([, , tag]) => tag === name)", arg=waits, timeout=PATIENCE_MS)
    noticed = page.evaluate("() => noticed.map(([title, body, tag]) => [title, tag])")
    assert noticed == [["Waiting for you: a new question", waits]]
    hide(page, hidden=False)
    asking.click()
    expect(asking).to_have_attribute("aria-pressed", "false")
    with page.expect_event("requestfailed", lambda request: "/api/events?after=" in request.url):
        hide(page)
