"""How long a reader waits for any moment of a session of 20,000 events (`-m benchmark`)."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.api.listening import filled
from tests.api.server import serving
from tests.benchmarks.measuring import Tell
from tests.browser.browsing import ARGUMENTS, CHROMIUM, browsing, live

pytestmark = pytest.mark.benchmark

EVENTS, JUMPS = 20_000, 40
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
def page(tmp_path: Path) -> Iterator[Page]:
    session_id = filled(tmp_path, EVENTS, reason="more")
    with (
        serving(tmp_path) as server,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS)) as browser,
        browsing(browser, server.url) as site,
    ):
        yield site.tab(f"/sessions/{session_id}")


def test_any_of_twenty_thousand_events_is_shown_within_a_fifth_of_a_second(page: Page, tell: Tell) -> None:
    live(page)
    positions = [1 + number * 7_919 % EVENTS for number in range(1, JUMPS + 1)]
    took = [page.evaluate(_JUMP, position) for position in positions]
    median, slow = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    tell(f"page: a scrub of {EVENTS:,} events shows any of them in {median:.0f} ms (median), {slow:.0f} ms (p95)")
    assert median < 120
    assert slow < 200
