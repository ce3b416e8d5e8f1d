"""How long a reader of 20,000 events waits, what comes over the wire, and what a page costs (`-m benchmark`)."""

import statistics
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.api.listening import filled
from tests.api.server import Server, serving
from tests.benchmarks.measuring import Tell
from tests.browser.browsing import ARGUMENTS, CHROMIUM, browsing, live

pytestmark = pytest.mark.benchmark

EVENTS, JUMPS = 20_000, 40
RATE, FOLLOWED = 50, 10
_JUMP = """(position) => new Promise((done) => {
  const began = performance.now();
  const slider = document.querySelector("[data-slider]");
  const marked = () => document.querySelector(`[data-row="${position}"][aria-current]`);
  const look = () => (document.body.dataset.version === String(position) && marked()
    ? done(performance.now() - began) : requestAnimationFrame(look));
  slider.value = String(position);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(look);
})"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    filled(tmp_path, EVENTS, reason="more")
    with serving(tmp_path) as found:
        yield found


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    session_id = server.client.get("/api/sessions").json()["items"][0]["id"]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS)) as browser,
        browsing(browser, server.url) as site,
    ):
        page = site.tab(f"/sessions/{session_id}")
        live(page)
        yield page


def test_any_of_twenty_thousand_events_is_shown_within_a_fifth_of_a_second(page: Page, tell: Tell) -> None:
    positions = [1 + number * 7_919 % EVENTS for number in range(1, JUMPS + 1)]
    took = [page.evaluate(_JUMP, position) for position in positions]
    median, slow = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    tell(f"page: a scrub of {EVENTS:,} events shows any of them in {median:.0f} ms (median), {slow:.0f} ms (p95)")
    assert median < 120
    assert slow < 200


_OPENED = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const sent = [page, ...performance.getEntriesByType("resource")].filter((each) => !each.name.includes("/api/events"));
  const painted = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return [painted, page.domContentLoadedEventEnd, sent.reduce((sum, each) => sum + each.transferSize, 0)];
}"""


def test_twenty_thousand_events_open_within_a_second_and_150_kibibytes(page: Page, tell: Tell) -> None:
    """The first visit of a browser: style sheet and script are among what is sent."""
    painted, loaded, sent = page.evaluate(_OPENED)
    page.reload()
    live(page)
    again, _, fewer = page.evaluate(_OPENED)
    tell(
        f"page: {EVENTS:,} events are painted after {painted:.0f} ms (again: {again:.0f}), loaded after {loaded:.0f},"
        f" {sent / 1024:.0f} KiB on the wire (again: {fewer / 1024:.0f} KiB)"
    )
    assert again < 1_000
    assert sent < 150 * 1024


def _busy(page: Page, seconds: float) -> float:
    """The share of the time in which the page's thread was at work."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    before = spent()
    page.wait_for_timeout(seconds * 1000)
    return (spent() - before) / seconds


def test_a_page_costs_little_while_nothing_happens_and_while_much_does(page: Page, server: Server, tell: Tell) -> None:
    idle = _busy(page, 10)
    session_id, stopped = page.url.rpartition("/")[2], threading.Event()

    def extend() -> int:
        body, count = {"addMinutes": 1, "reason": "more"}, 0
        while not stopped.wait(1 / RATE):
            count += server.client.post(f"/api/sessions/{session_id}/budget", json=body).status_code == 200
        return count

    with ThreadPoolExecutor(1) as threads:
        events = threads.submit(extend)
        try:
            followed = _busy(page, FOLLOWED)
        finally:
            stopped.set()
        rate = events.result() / FOLLOWED
    tell(f"page: {idle:.1%} of a core while nothing happens, {followed:.1%} at {rate:.0f} events a second")
    assert idle < 0.01
    assert followed < 0.15
