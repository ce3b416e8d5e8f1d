"""Who worked when, in a browser: its clock, its lanes on a phone, and the place in it that a reader has chosen."""

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.scenes import two_iterations
from tests.api.server import Server, delivery, ended, start
from tests.browser.browsing import browsing, live, shown
from tests.kit.replies import review
from tests.kit.sweeps import sampled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TICKS = """() => [...document.querySelectorAll("#gantt .tick")].filter((tick) => tick.checkVisibility()).map((tick) => {
  const box = tick.getBoundingClientRect();
  return [tick.textContent, box.left, box.right];
})"""
CLIPPED = """() => {
  const right = document.querySelector(".gantt").getBoundingClientRect().right + 1;
  return [...document.querySelectorAll(".gantt text, .gantt rect")].filter((one) => one.checkVisibility()
    && one.getBoundingClientRect().right > right).map((one) => one.outerHTML);
}"""

ON_TOP = """(name) => {
  const box = name.getBoundingClientRect();
  return box.left > 0 && name.contains(document.elementFromPoint(box.left + 5, box.top + 8));
}"""
"""Whether the name of a lane is visible, and the drawing goes below it."""


@pytest.fixture(scope="module")
def many_turns(server: Server) -> str:
    work = {"dev": ["Not yet."], "reviewer": [review("one row is missing")]}
    body = delivery(work, maxIterations=12, noProgressLimit=0, validationCommands=["true"])
    return str(ended(server.client, start(server.client, body))["id"])


def labels_apart(page: Page) -> Sequence[str]:
    """The labels of the clock, from left to right, after a check that none overlaps the next."""
    ticks = page.evaluate(TICKS)
    for (_, _, right), (_, left, _) in pairwise(ticks):
        assert right < left, ticks
    return [words for words, *_ in ticks]


@pytest.mark.parametrize(("width", "locale"), sampled(product([1440, 390], ["en", "ko-KR"]), 0, -1))
def test_each_label_of_the_clock_is_there_once_and_complete(
    browser: Browser, server: Server, many_turns: str, width: int, locale: str
) -> None:
    size = PHONE if width == 390 else {}
    sessions = [two_iterations(server.client), many_turns]
    for script in (True, False):
        with browsing(browser, server.url, **size, locale=locale, java_script_enabled=script) as site:
            page = site.tab("/")
            for session_id in sessions:
                page.goto(f"{server.url}/sessions/{session_id}")
                words = labels_apart(page)
                assert len(set(words)) == len(words) >= 2
                assert page.evaluate(CLIPPED) == []


def test_a_short_session_fits_on_a_phone_and_a_long_one_opens_at_its_end(
    browser: Browser, server: Server, many_turns: str
) -> None:
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab(f"/sessions/{two_iterations(server.client)}")
        box = page.locator(".gantt-box")
        assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") == 0
        page.goto(f"{server.url}/sessions/{many_turns}")
        live(page)
        assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") > 200
        assert page.evaluate("() => document.scrollingElement.scrollWidth") == 390
        last = page.locator(".gantt .gantt-bar").nth(-1)
        right = "(one) => one.getBoundingClientRect().right"
        assert last.evaluate(right) <= box.evaluate(right) + 1
        name = page.locator(".lane-name").first
        for way in (0, -10_000):
            box.evaluate("(box, way) => box.scrollTo({ left: way })", way)
            name.scroll_into_view_if_needed()
            assert name.evaluate(ON_TOP)


def test_the_place_in_the_drawing_stays_when_it_changes(browser: Browser, server: Server, many_turns: str) -> None:
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab(f"/sessions/{many_turns}")
        live(page)
        newest = int(str(page.locator("body").get_attribute("data-newest")))
        box = page.locator(".gantt-box")
        box.evaluate("(box) => box.scrollTo({ left: -120 })")
        bars = page.locator(".gantt .gantt-bar")
        before = bars.count()
        earlier = newest * 2 // 3
        page.get_by_role("slider").fill(str(earlier))
        shown(page, earlier)
        expect(bars).not_to_have_count(before)
        assert abs(box.evaluate("(box) => box.scrollLeft") + 120) <= 1  # widths are no whole pixels
