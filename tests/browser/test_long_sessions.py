"""Sessions of more events than a page lists: a drag of the slider, reading further up while events arrive."""

import itertools
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.listening import SCENARIO, filled
from tests.api.server import Server, delivery, serving, session, start, until
from tests.browser.browsing import PATIENCE_MS, Browsing, browsing, live, shown
from tests.kit.sweeps import sampled

EVENTS = 460

_DRAG = """([positions, pause]) => new Promise((done) => {
  const slider = document.querySelector("[data-slider]");
  const move = () => {
    slider.value = String(positions.shift());
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (positions.length) setTimeout(move, pause);
    else done();
  };
  move();
})"""
_FIRST_IN_SIGHT = """() => {
  const top = document.querySelector("[data-scroll]").getBoundingClientRect().top;
  const row = [...document.querySelectorAll("[data-row]")].find((found) => found.getBoundingClientRect().bottom > top);
  return [row.dataset.row, Math.round(row.getBoundingClientRect().top - top)];
}"""


def grow(server: Server, session_id: str, events: int) -> int:
    """Record this many more events; return the session's new version."""
    for _ in range(events):
        answer = server.client.post(f"/api/sessions/{session_id}/budget", json={"addMinutes": 1, "reason": "more"})
        assert answer.status_code == 200, answer.text
    return int(answer.json()["version"])


@pytest.fixture(scope="module")
def long_session(server: Server) -> str:
    """A delivery with a silent planner that is extended many times."""
    session_id = start(server.client, delivery(scenario=SCENARIO))
    until(lambda: session(server.client, session_id)["version"] == 3, what="the planner's turn")
    grow(server, session_id, EVENTS - 3)
    return session_id


def _rows(page: Page) -> list[int]:
    result: list[int] = page.locator("[data-row]").evaluate_all("(rows) => rows.map((row) => Number(row.dataset.row))")
    return result


def _scroll(page: Page, top: int) -> None:
    page.locator("[data-scroll]").evaluate("(box, top) => { box.scrollTop = top; }", top)


@pytest.mark.parametrize("pause", sampled([0, 3, 40], 0, -1))
def test_a_drag_ends_at_the_last_position(site: Browsing, long_session: str, pause: int) -> None:
    """Address, slider, panels and list agree, however fast the drag was."""
    page = site.tab(f"/sessions/{long_session}")
    live(page)
    page.evaluate(_DRAG, [[400, 90, 300, 20, 350, 131], pause])
    expect(page).to_have_url(re.compile(r"\?at=131$"))
    shown(page, 131)
    expect(page.locator("[data-row='131']")).to_have_attribute("aria-current", "true")
    expect(page.locator("[data-row='131']")).to_be_in_viewport()
    assert page.locator("[data-slider]").input_value() == "131"


def test_a_position_asked_for_while_the_list_is_on_its_way_is_not_lost(site: Browsing, long_session: str) -> None:
    page = site.tab(f"/sessions/{long_session}")
    live(page)
    with page.expect_request(re.compile("/rows")):
        page.evaluate(_DRAG, [[20], 0])
    page.evaluate(_DRAG, [[300], 0])
    shown(page, 300)
    expect(page).to_have_url(re.compile(r"\?at=300$"))


def test_scroll_position_is_kept_while_events_arrive(site: Browsing, server: Server, long_session: str) -> None:
    page = site.tab(f"/sessions/{long_session}")
    live(page)
    _scroll(page, -700)
    before = page.evaluate(_FIRST_IN_SIGHT)
    for _ in range(2):
        newest = grow(server, long_session, 20)
        shown(page, newest)
        assert page.evaluate(_FIRST_IN_SIGHT) == before
    fresh = page.get_by_role("button", name="new events")
    expect(fresh).to_contain_text("40")
    fresh.click()
    expect(page.locator(f"[data-row='{newest}']")).to_be_in_viewport()
    expect(fresh).to_be_hidden()


def test_scrolling_loads_more_rows_and_keeps_the_list_short(site: Browsing, server: Server, long_session: str) -> None:
    newest = int(session(server.client, long_session)["version"])
    page = site.tab(f"/sessions/{long_session}?highlights=0")
    live(page)
    assert _rows(page) == list(range(newest - 59, newest + 1))
    while _rows(page)[0] > 1:
        first = _rows(page)[0]
        _scroll(page, -100_000)
        expect(page.locator(f"[data-row='{max(1, first - 60)}']")).to_be_attached(timeout=PATIENCE_MS)
        rows = _rows(page)
        assert rows == list(range(rows[0], rows[-1] + 1)) and len(rows) <= 240
    while _rows(page)[-1] < newest:
        last = _rows(page)[-1]
        _scroll(page, -100)
        _scroll(page, 0)
        expect(page.locator(f"[data-row='{min(newest, last + 60)}']")).to_be_attached(timeout=PATIENCE_MS)
    expect(page.locator("[data-more='later']")).to_be_hidden()


HOUR_MS = 3_600_000
_LINES = """(cells) => cells.map((cell) => {
  const words = document.createRange();
  words.selectNodeContents(cell);
  return new Set([...words.getClientRects()].map((line) => Math.round(line.top))).size;
})"""


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.nightly
def test_numbers_beyond_ten_thousand_and_clocks_of_many_hours_stay_in_one_line(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    time = itertools.count(1_790_000_000_000, 2 * HOUR_MS)
    session_id = filled(tmp_path, 10_050, reason="more", clock=lambda: next(time))
    with serving(tmp_path) as server, browsing(browser, server.url, viewport={"width": width, "height": 900}) as site:
        until(lambda: server.client.get("/api/sessions").status_code == 200, what="the views", seconds=60)
        page = site.tab(f"/sessions/{session_id}")
        live(page)
        assert _rows(page)[0] > 9_900 and _rows(page)[-1] > 10_000
        clocks = page.locator("[data-row] .clock")
        assert re.fullmatch(r"\d{4,5}:\d\d:\d\d", clocks.last.inner_text())
        for cells in (clocks, page.locator("[data-row] .number")):
            assert set(cells.evaluate_all(_LINES)) == {1}
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width


_SHIFTED = """() => new Promise((done) => {
  let moved = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) moved += entry.hadRecentInput ? 0 : entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(moved), 400);
})"""


@pytest.mark.parametrize("width", [1440, 390])
def test_script_causes_no_layout_shift(browser: Browser, server: Server, long_session: str, width: int) -> None:
    with browsing(browser, server.url, viewport={"width": width, "height": 900}) as site:
        for query in ("", "?at=131", "?tab=turns", "?tab=changes"):
            page = site.tab(f"/sessions/{long_session}{query}")
            page.wait_for_selector("[data-live]:not([hidden])")
            assert page.evaluate(_SHIFTED) < 0.01, query
