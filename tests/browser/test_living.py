"""The page of a turn while its agent works."""

from playwright.sync_api import expect

from tests.api.server import Server, delivery, start
from tests.browser.browsing import Browsing


def test_what_the_agent_does_appears_while_it_works(site: Browsing, server: Server) -> None:
    begun = {"kind": "tool", "id": "c1", "tool": "execute", "title": "pytest -q", "status": "running"}
    ended = {"kind": "tool", "id": "c1", "status": "failed", "exitCode": 1, "afterMs": 1_500}
    name = start(server.client, delivery({"planner": [{"text": "x", "activity": [begun, ended], "delayMs": 60_000}]}))
    page = site.tab(f"/sessions/{name}/turns/{name}.t1")
    expect(page.locator("[data-activity] li")).to_have_text(["pytest -q"])
    expect(page.locator("[data-activity] li")).to_have_text(["pytest -q ✕ 1"])
    server.client.post(f"/api/sessions/{name}/cancel", json={})
    expect(page.locator("#did")).to_be_visible()
