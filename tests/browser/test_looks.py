"""How pages look: on a phone, in the dark, in Korean, to a screen reader, and with hostile text."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.scenes import SCENES, begun, exhausted, reached, waiting_review
from tests.api.seen import review
from tests.api.server import Server, delivery, session, until
from tests.browser.accessible import faults
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, browsing, live, shown, unfold
from tests.kit.sweeps import sampled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, summary, input, a.button, .chips a")]
  .filter((element) => element.checkVisibility() && !["hidden", "checkbox", "radio", "range"].includes(element.type))
  .map((element) => [element.getBoundingClientRect(), element]).filter(([box]) => box.width < 43.5 || box.height < 43.5)
  .map(([box, element]) => `${box.width}×${box.height} ${element.outerHTML.slice(0, 100)}`)"""
MISPLACED = """() => {
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const box = (element) => element.getBoundingClientRect();
  const rows = [...document.querySelectorAll("li.session")].filter((row) => row.checkVisibility() &&
    [...row.querySelectorAll(".badge")].some((badge) => over(box(badge), box(row.querySelector(".where")))));
  const cut = [...document.querySelectorAll("svg text")].filter((text) => text.checkVisibility() &&
    (box(text).left < box(text.ownerSVGElement).left - 1 || box(text).right > box(text.ownerSVGElement).right + 1));
  return [...rows, ...cut].map((element) => element.textContent.trim().slice(0, 80));
}"""
"""Overlapping text in the list, and clipped text in a diagram."""
PICTURES = Path(named) if (named := os.environ.get("HANSARD_SCREENSHOTS", "")) not in ("", "docs") else None
"""The folder of the pictures of all pages, if somebody wants to look at them."""
HOSTILE = (
    "</p></script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"
    " [a link](javascript:alert(4)) <javascript:alert(5)> [data](data:text/html,<script>alert(6)</script>)"
    " ![picture](https://example.invalid/x.png) \x1b[31mred\x1b]0;title\x07 \u202egnp\u202c zero\u200bwidth {{ 7*7 }}\n"
)


@pytest.fixture(scope="module")
def pages(server: Server) -> dict[str, str]:
    """The addresses of the main pages, by name."""
    result = {kind: f"/sessions/{scene(server.client)}" for kind, scene in SCENES.items()}
    result["exhausted"] = f"/sessions/{exhausted(server.client)}"
    return result | {
        "replay": result["delivery"] + "?at=11",
        "sessions": "/",
        "decisions": "/decisions",
        "reports": "/reports",
    }


@contextmanager
def _phone(browser: Browser, server: Server, **look: object) -> Iterator[Browsing]:
    with browsing(browser, server.url, **PHONE, **look) as result:
        yield result


def _too_wide(page: Page) -> int:
    """How much wider the page is than a phone, as a literal, because innerWidth grows with the page."""
    width: int = page.evaluate("() => document.scrollingElement.scrollWidth")
    return width - 390


@pytest.mark.parametrize(("scheme", "width"), sampled(product(["light", "dark"], [1440, 390]), 0, 1, 2))
def test_every_page_is_accessible_and_has_its_place(
    browser: Browser, server: Server, pages: dict[str, str], scheme: str, width: int
) -> None:
    look = PHONE if width == 390 else {}
    with browsing(browser, server.url, color_scheme=scheme, **look) as site:
        page = site.tab("/")
        for name, path in pages.items():
            page.goto(server.url + path)
            if PICTURES is not None:
                page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png")
            assert (name, page.evaluate(MISPLACED)) == (name, [])
            if width == 390:
                assert (name, _too_wide(page)) == (name, 0)
                assert (name, page.evaluate(SMALL_TARGETS)) == (name, [])
            else:
                unfold(page)
                assert (name, faults(page)) == (name, [])


_OVER_THE_PAGE = """() => [".deciding", "[data-player]"].map((name) => document.querySelector(name).offsetHeight)"""
"""The heights of what stays over a page that asks for a decision."""


@pytest.mark.parametrize("locale", ["en", "ko-KR"])
def test_a_decision_is_made_on_a_phone(browser: Browser, server: Server, locale: str) -> None:
    """Its buttons are one row, so that most of the screen is left to what is decided about; the reason unfolds."""
    session_id = waiting_review(server.client)
    with _phone(browser, server, locale=locale) as site:
        page = site.tab(f"/sessions/{session_id}")
        expect(page.locator(".head .why")).to_be_hidden()  # the card below asks the same
        buttons = page.locator(".deciding > .button")
        assert len(set(buttons.evaluate_all("(all) => all.map((one) => one.offsetTop)"))) == 1
        assert sum(page.evaluate(_OVER_THE_PAGE)) <= 844 / 4
        reason = page.locator(".deciding [name=rationale]")
        expect(reason).to_be_hidden()
        page.locator(".saying > summary").tap()
        reason.fill("Seen on a phone")
        apply = page.locator("[name=decision][value=apply_fix]")
        expect(apply).to_be_in_viewport()
        apply.tap()
        expect(page.locator("[data-badge] .is-decided")).to_be_visible(timeout=PATIENCE_MS)
        assert _too_wide(page) == 0
    assert session(server.client, session_id)["decision"]["rationale"] == "Seen on a phone"


BEYOND = """(words) => words.getBoundingClientRect().left + words.scrollWidth
  - words.closest("#matrix").getBoundingClientRect().right"""
"""How far text extends beyond the visible part of its table."""
COLUMNS = """() => [...document.querySelectorAll(".matrix thead th")].map((cell) => {
  const box = cell.getBoundingClientRect();
  return [Math.round(box.left), Math.round(box.right)];
})"""


@pytest.mark.parametrize("width", [1440, 390])
def test_matrix_columns_stay_aligned_with_long_text(
    browser: Browser, server: Server, many_rounds: str, width: int
) -> None:
    with browsing(browser, server.url, **(PHONE if width == 390 else {})) as site:
        page = site.tab(f"/sessions/{many_rounds}")
        frame = page.locator("#matrix .wide-table")
        folded, wide = page.evaluate(COLUMNS), frame.evaluate("(frame) => frame.scrollWidth")
        page.locator("#matrix details > summary").click()
        expect(page.locator("#matrix details p").first).to_be_visible()
        assert page.evaluate(COLUMNS) == folded
        assert frame.evaluate("(frame) => frame.scrollWidth") == wide
        for words in page.locator("#matrix details p").all():
            assert words.evaluate(BEYOND) <= 0
        rows = page.locator(".matrix tbody tr:not(.under)")
        assert rows.evaluate_all("(rows) => Math.max(...rows.map((row) => row.offsetHeight))") < 120


@pytest.fixture(scope="module")
def many_rounds(server: Server) -> str:
    """An orchestration whose agent fails twelve times, with verdicts that contain no spaces."""
    path = f"/srv/{'very-long-name/' * 12}index.html"
    task = {"agent": "Backend", "role": "backend", "task": path, "start_phase": 3, "end_phase": 5}
    failed = {"verdicts": [{"agent": "Backend", "pass": False, "feedback": path}], "allDone": False}
    body = {
        "kind": "orchestration",
        "prompt": "Write it",
        "maxRounds": 12,
        "triage": "orchestrate",
        "employees": [{"name": "Backend", "role": "backend"}],
        "scenario": {"replies": {"planner": [json.dumps({"subtasks": [task]})], "judge": [json.dumps(failed)]}},
    }
    return reached(server.client, begun(server.client, body), "partial")


_BELOW_ITS_BOX = """() => document.querySelector("[data-row]:last-child").getBoundingClientRect().bottom
  - document.querySelector("[data-scroll]").getBoundingClientRect().bottom - 1"""
"""The list of events comes last in its column and is scrolled to its end."""
_IN_ITS_BOX = """(version) => {
  const place = (selector) => document.querySelector(selector).getBoundingClientRect();
  const [row, box] = [place(`[data-row="${version}"]`), place("[data-scroll]")];
  return row.top >= box.top - 1 && Math.min(row.bottom, row.top + box.height) <= box.bottom + 1;
}"""


_ABOVE_THE_STEPS = """(one) => one.getBoundingClientRect().bottom
  <= document.querySelector("[data-player]").getBoundingClientRect().top"""


@pytest.mark.parametrize("locale", sampled(["en", "ko"], 0))
def test_the_newest_event_is_in_sight_in_its_list(
    browser: Browser, server: Server, pages: dict[str, str], many_rounds: str, locale: str
) -> None:
    paths = [pages[name] for name in SCENES] + [f"/sessions/{many_rounds}"]
    with browsing(browser, server.url, locale=locale) as site:
        page = site.tab("/")
        for path in paths:
            page.goto(server.url + path)
            until(lambda: page.evaluate(_BELOW_ITS_BOX) <= 0, what=f"the newest event of {path} in its list")
        page.locator("#extending > summary").click()
        expect(page.locator("#extendReason")).to_be_visible()
        until(lambda: page.evaluate(_BELOW_ITS_BOX) <= 0, what="the newest event in sight over a form that was opened")


@pytest.mark.parametrize("width", [1440, 390])
def test_timeline_comes_before_events_and_is_as_high_as_its_lanes(
    browser: Browser, server: Server, pages: dict[str, str], width: int
) -> None:
    with browsing(browser, server.url, viewport={"width": width, "height": 900}) as site:
        page = site.tab("/")
        page.goto(server.url + pages["delivery"])
        order = page.locator("#overview, #gantt, #events").evaluate_all("(found) => found.map((one) => one.id)")
        assert order == ["overview", "gantt", "events"]
        height, lanes_height = page.locator("#gantt .gantt-box").evaluate(
            "(box) => [box.offsetHeight, box.querySelector('.gantt-names').offsetHeight]"
        )
        assert 0 <= height - lanes_height < 20
        lanes = page.locator("#gantt .lane-name")
        assert lanes.count() >= 6, "the agents and the validation"
        assert page.locator("#gantt .gantt-box").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 0
        spare = "(box) => box.clientHeight - box.querySelector('svg').getBoundingClientRect().height"
        assert page.locator("#gantt .gantt-box").evaluate(spare) < 30


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_first_screen_shows_why_the_budget_ran_out(
    browser: Browser, server: Server, pages: dict[str, str], size: tuple[int, int]
) -> None:
    """Beside the next steps; the list of events comes below the timeline."""
    with browsing(browser, server.url, viewport={"width": size[0], "height": size[1]}) as site:
        page = site.tab(pages["exhausted"])
        live(page)
        cause = page.get_by_text("Why: validation failed")
        assert cause.evaluate(_ABOVE_THE_STEPS)
        assert page.locator("#extending > summary").is_visible()
        assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [1440, 1000, 390])
def test_lab_chart_text_has_normal_size(browser: Browser, server: Server, pages: dict[str, str], width: int) -> None:
    with browsing(browser, server.url, viewport={"width": width, "height": 900}) as site:
        page = site.tab(f"/lab?session={pages['review'].rpartition('/')[2]}")
        drawing = page.locator(".lab .chart")
        sizes = drawing.evaluate(
            """(drawing) => [...drawing.querySelectorAll("text")].map((words) =>
              parseFloat(getComputedStyle(words).fontSize) * drawing.getScreenCTM().a)"""
        )
        assert sizes and min(sizes) > 5 and max(sizes) < 17, sizes


@pytest.mark.parametrize("width", [1440, 390])
def test_the_list_opens_at_the_event_that_stopped_the_session(
    browser: Browser, server: Server, pages: dict[str, str], width: int
) -> None:
    """However few events come after it."""
    with browsing(browser, server.url, viewport={"width": width, "height": 900}) as site:
        page = site.tab(pages["exhausted"])
        live(page)
        stopped = page.locator("[data-bring]").get_attribute("data-bring")
        until(lambda: page.evaluate(_IN_ITS_BOX, stopped), what="the event that says why, in sight")


def test_accessibility_check_finds_problems(site: Browsing, pages: dict[str, str]) -> None:
    """The checks themselves find what they are made for."""
    page = site.tab(pages["sessions"])
    page.evaluate(
        """() => {
          const button = document.createElement("button");
          button.id = "content";
          const heading = document.createElement("h6");
          heading.textContent = "too faint";
          heading.style.color = "#999999";
          heading.style.background = "#ffffff";
          document.querySelector("main").append(button, heading);
        }"""
    )
    assert [fault.partition(":")[0] for fault in faults(page)] == [
        "no name",
        "an id twice",
        "too faint",
        "h2 is followed by h6",
    ]


def test_in_the_dark_a_page_is_dark(browser: Browser, server: Server, pages: dict[str, str]) -> None:
    ground = (
        "() => getComputedStyle(document.documentElement).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
    )
    with browsing(browser, server.url, color_scheme="dark") as dark, browsing(browser, server.url) as light:
        assert max(dark.tab(pages["delivery"]).evaluate(ground)) < 60
        assert min(light.tab(pages["delivery"]).evaluate(ground)) > 200


def test_a_delivery_is_followed_in_korean(browser: Browser, server: Server) -> None:
    session_id = begun(
        server.client, delivery({"planner": [{"text": "계획입니다.", "delayMs": 500}]}, task="로그인 추가")
    )
    with browsing(browser, server.url, locale="ko-KR") as site:
        page = site.tab(f"/sessions/{session_id}")
        expect(page.locator("html[lang=ko]")).to_be_attached()
        badge(page, "바뀐 것 없음")
        live(page, "종료됨")
        expect(page.get_by_role("heading", name="로그인 추가", exact=True)).to_be_visible()
        page.get_by_role("link", name="이전 이벤트").click()
        expect(page.locator("[data-banner]")).to_contain_text("읽기 전용입니다.")
        page.get_by_role("link", name="English").click()
        expect(page.locator("html[lang=en]")).to_be_attached()


@pytest.mark.parametrize("kind", SCENES)
def test_hostile_text_is_shown_and_inert(site: Browsing, server: Server, kind: str) -> None:
    session_id = SCENES[kind](server.client, HOSTILE)
    asked = site.asked()
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished" if kind == "delivery" else "live")
    unfold(page)
    words = page.locator("main").inner_text()
    assert "<script>alert(1)</script>" in words and "⟦U+202E⟧gnp" in words and "{{ 7*7 }}" in words
    assert "\x1b" not in words and "\u202e" not in words and "\u200b" not in words
    links = page.locator("main a:not(svg a)").evaluate_all("(links) => links.map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:"}
    page.get_by_role("slider").fill("5")
    shown(page, 5)
    assert {url.split("/")[2] for url in asked} == {server.url.removeprefix("http://")}


def test_page_with_a_megabyte_of_text_stays_usable(site: Browsing, server: Server) -> None:
    much = HOSTILE * (1_000_000 // len(HOSTILE))
    session_id = begun(server.client, delivery({"dev": [much], "reviewer": [review("Too much")]}, maxIterations=1))
    reached(server.client, session_id, "failed")
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Budget exhausted")
    assert len(page.content()) < 1_500_000
    page.get_by_role("link", name="Previous event").click()
    expect(page.locator("[data-banner]")).to_be_visible()
