"""The pages of a session while its agents work, and once they have stopped."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from playwright.sync_api import Browser, expect

from tests.api.scenes import asking, begun, reached, two_iterations
from tests.api.server import Server, delivery, events, start
from tests.browser.browsing import PATIENCE_MS, Browsing, browsing, live

EDITED = {"kind": "tool", "id": "c0", "tool": "edit", "title": "src/calc.py", "status": "completed"}
BEGUN = {"kind": "tool", "id": "c1", "tool": "execute", "title": "pytest -q", "status": "running"}
FAILED = {"kind": "tool", "id": "c1", "status": "failed", "afterMs": 1_500}
TABS = 5
"""More tabs than can have their own stream."""


def at_work(server: Server, *activity: dict[str, object]) -> str:
    planner = [{"text": "x", "activity": list(activity), "delayMs": 60_000}]
    return start(server.client, delivery({"planner": planner}))


def test_activity_appears_while_the_agent_works(site: Browsing, server: Server) -> None:
    name = at_work(server, EDITED, BEGUN, {**FAILED, "exitCode": 1, "afterMs": 8_000})
    page = site.tab(f"/sessions/{name}/turns/{name}.t1")
    steps = page.locator("[data-activity] li")
    expect(steps).to_have_text(["Edit calc.py", "Run pytest -q"])
    expect(steps).to_have_text(["Edit calc.py", "Run pytest -q → exit code 1"], timeout=2 * PATIENCE_MS)
    server.client.post(f"/api/sessions/{name}/cancel", json={})
    expect(page.locator(".story")).to_be_visible()


def test_steps_have_their_time_and_result_and_stay_while_the_reader_reads(site: Browsing, server: Server) -> None:
    said = {"kind": "message", "text": "First line.\n" + "word " * 100}
    more = [EDITED | {"id": f"e{number}", "afterMs": 50} for number in range(215)]
    name = at_work(server, said, {**BEGUN, "status": "denied"}, {**EDITED, "afterMs": 1_500}, *more)
    page = site.tab(f"/sessions/{name}/turns/{name}.t1")
    items = page.locator("[data-activity] li")
    expect(items.nth(0)).to_contain_text("First line.")
    assert items.nth(0).inner_text().rstrip().endswith("word"), "whole, not its first 300 characters"
    expect(items.nth(1)).to_have_class("is-denied")
    expect(items.nth(1).locator("code")).to_have_text("pytest -q")
    expect(items.nth(2)).to_have_class("is-completed")
    assert re.fullmatch(r"0:0\d", str(items.nth(2).get_attribute("data-time")))
    expect(items.nth(30)).to_be_attached()  # more than its box shows at once
    page.locator("[data-activity]").evaluate("(box) => box.scrollTo(0, 0)")
    expect(items).to_have_count(len(more) + 3, timeout=2 * PATIENCE_MS)
    assert page.locator("[data-activity]").evaluate("(box) => box.scrollTop") == 0
    server.client.post(f"/api/sessions/{name}/cancel", json={})


def test_session_shows_current_activity_in_one_line(site: Browsing, server: Server) -> None:
    name = at_work(server, {"kind": "message", "text": "I begin."}, EDITED, BEGUN, {**FAILED, "text": "== 1 failed =="})
    page = site.tab(f"/sessions/{name}")
    expect(page.locator("[data-activity]")).to_have_text(
        re.compile(r"^Edit calc\.py · Run pytest -q → 1 failed · \d:\d\d$")
    )
    server.client.post(f"/api/sessions/{name}/cancel", json={})
    expect(page.locator("[data-activity]")).to_have_count(0)


CLOCKS = """() => ({
  used: [...document.querySelectorAll("[data-elapsed]")].map((clock) => clock.textContent),
  whole: document.querySelector("[data-gantt-time]").textContent,
  step: document.querySelector("[data-activity]")?.textContent.split(" · ").at(-1) ?? "",
  waited: document.querySelector("[data-waited]").textContent,
})"""


def test_the_clocks_of_a_page_agree(site: Browsing, server: Server) -> None:
    """Head, budget, timeline and the step at work at any moment; what is not time used is waiting."""
    name = at_work(server, EDITED, BEGUN)
    page = site.tab(f"/sessions/{name}")
    expect(page.locator("[data-activity]")).to_contain_text("Run pytest")
    for _ in range(10):
        page.wait_for_timeout(230)
        found = page.evaluate(CLOCKS)
        assert {*found["used"], found["whole"]} == {found["step"]} and not found["waited"], found
    server.client.post(f"/api/sessions/{name}/cancel", json={})
    asks = asking(server.client)
    page.goto(f"{server.url}/sessions/{asks}")
    for _ in range(10):
        page.wait_for_timeout(230)
        found = page.evaluate(CLOCKS)
        assert found["waited"] in ("", f"({found['whole']} waiting)"), found
    assert found["waited"]
    server.client.post(f"/api/sessions/{asks}/cancel", json={})


def test_many_tabs_show_it_though_few_have_a_stream(site: Browsing, server: Server) -> None:
    name = at_work(server, EDITED)
    streams = site.asked(r"/activity$")
    for page in [site.tab(f"/sessions/{name}/turns/{name}.t1") for _ in range(TABS)]:
        expect(page.locator("[data-activity] li")).to_have_text(["Edit calc.py"])
    assert len(streams) == 3
    server.client.post(f"/api/sessions/{name}/cancel", json={})


def test_replay_shows_no_current_work(site: Browsing, server: Server) -> None:
    """The turn open at that event has ended since, so its clock does not run."""
    session_id = two_iterations(server.client)
    [asked, *_] = [event["version"] for event in events(server.client, session_id) if event["type"] == "turn.requested"]
    page = site.tab(f"/sessions/{session_id}?at={asked}")
    live(page, "replay")
    expect(page.locator("#overview")).to_contain_text("At work:")
    page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true), 1200))")
    assert page.locator("#overview .doing").inner_text() == ""


def test_timeline_uses_local_time_or_elapsed_time_without_script(browser: Browser, server: Server) -> None:
    session_id = two_iterations(server.client)
    with browsing(browser, server.url, timezone_id="Asia/Seoul") as site:
        tick = site.tab(f"/sessions/{session_id}").locator("#gantt .tick[data-wall]").first
        began = datetime.fromisoformat(str(tick.get_attribute("data-wall"))).astimezone(ZoneInfo("Asia/Seoul"))
        expect(tick).to_have_text(re.compile(rf"^{began:%H:%M:%S}(\.\d\d?)?$"))
    with browsing(browser, server.url, java_script_enabled=False) as site:
        page = site.tab(f"/sessions/{session_id}")
        expect(page.locator("#gantt .tick[data-wall]").first).to_have_text(re.compile(r"^0[.:]0"))


def test_the_one_lane_of_a_failed_session_has_no_gap_below_it(site: Browsing, server: Server) -> None:
    session_id = reached(server.client, begun(server.client, delivery({"planner": [{"error": "auth"}]})), "failed")
    page = site.tab(f"/sessions/{session_id}")
    gap = "(box) => box.getBoundingClientRect().bottom - box.querySelector('svg').getBoundingClientRect().bottom"
    assert page.locator("#gantt .gantt-box").evaluate(gap) < 20
