"""How long a reader of 20,000 events waits, what comes over the wire, and what a page costs (`-m benchmark`)."""

import statistics
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.api.listening import filled
from tests.api.seen import BROWSER
from tests.api.server import Server, serving, until
from tests.benchmarks.measuring import Tell
from tests.benchmarks.test_live import cpu_seconds
from tests.browser.browsing import ARGUMENTS, CHROMIUM, browsing, live

pytestmark = pytest.mark.benchmark

EVENTS, JUMPS, SESSION = 20_000, 40, "delivery-long"
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has read the log."""
    folder = tmp_path_factory.mktemp("long")
    assert filled(folder, EVENTS, reason="more") == SESSION
    with serving(folder) as result:
        until(lambda: result.client.get("/api/sessions").status_code == 200, what="the views", seconds=60)
        yield result


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS)) as browser,
        browsing(browser, server.url) as site,
    ):
        page = site.tab(f"/sessions/{SESSION}")
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


def test_a_page_of_20_000_events_opens_within_1_s_and_150_kib(page: Page, tell: Tell) -> None:
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


def test_twenty_thousand_events_open_soon_after_a_restart(server: Server, tell: Tell) -> None:
    """By what the server spends on it: a busy machine takes longer, and says nothing about us."""

    def opened() -> float:
        before = cpu_seconds(server.pid)
        assert server.client.get(f"/sessions/{SESSION}", headers=BROWSER).status_code == 200
        return cpu_seconds(server.pid) - before

    first = opened()
    server.stop()
    server.start()
    second, third = opened(), opened()
    tell(f"page: {EVENTS:,} events cost {second:.2f} s after a restart (then {third:.2f}, at first {first:.2f})")
    assert second < 1
    assert third < 0.1


def _busy(page: Page, seconds: float) -> float:
    """The share of a core that the page's process had, however busy the machine is otherwise."""
    browser = page.context.browser
    assert browser is not None
    session = browser.new_browser_cdp_session()

    def spent() -> float:
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        return float(sum(process["cpuTime"] for process in processes if process["type"] == "renderer"))

    before = spent()
    page.wait_for_timeout(seconds * 1000)
    return (spent() - before) / seconds


def test_an_idle_page_and_a_busy_page_cost_little(page: Page, server: Server, tell: Tell) -> None:
    assert page.evaluate("() => document.getAnimations().length") == 0
    page.wait_for_timeout(2_000)  # what comes after opening, such as the first connection
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
