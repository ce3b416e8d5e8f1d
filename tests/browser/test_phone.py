"""A phone: filters and lists fold into one row; on a desktop lists are open, and filters fold into a button."""

from itertools import pairwise

import pytest
from playwright.sync_api import Browser, expect

from tests.api.orchestrating import message, rested, says
from tests.api.scenes import two_iterations
from tests.api.server import Server, delivery, ended, start
from tests.browser.browsing import browsing, button, live
from tests.kit.replies import review

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
FOLDED = {
    "/": "filters",
    "/reports": "filters",
    "/sessions/{}?tab=turns": "turns-listed",
    "/sessions/{}?tab=changes": "files-listed",
}


@pytest.mark.parametrize("page", FOLDED)
def test_filters_and_lists_fold_into_one_row_on_a_phone_alone(browser: Browser, server: Server, page: str) -> None:
    path, name = page.format(two_iterations(server.client)), FOLDED[page]
    with browsing(browser, server.url, **PHONE) as site:
        small = site.tab(path)
        fold = small.locator(f"#{name}")
        height = fold.evaluate("(element) => element.offsetHeight")
        assert 44 <= height <= 60, height
        expect(fold.locator("form, nav")).not_to_be_visible()
        fold.locator("summary").tap()
        expect(fold.locator("form, nav")).to_be_visible()
    with browsing(browser, server.url) as site:
        wide = site.tab(path).locator(f"#{name}")
        if name == "filters":  # folded into a button until they are used
            wide.locator("summary").click()
        else:
            expect(wide.locator("summary")).not_to_be_visible()
        expect(wide.locator("form, nav")).to_be_visible()


@pytest.mark.parametrize("width", [720, 390, 320])
def test_the_player_has_all_its_controls_on_narrow_screens(browser: Browser, server: Server, width: int) -> None:
    """720: a desktop at 200 %. Each is in sight, within the window, and none is over another."""
    session_id = two_iterations(server.client)
    with browsing(browser, server.url, viewport={"width": width, "height": 640}) as site:
        page = site.tab(f"/sessions/{session_id}?at=9")
        live(page, "replay")
        expect(page.locator("[data-palette]:visible, .search:visible").first).to_be_visible()
        names = ("first", "previous", "next", "last")
        controls = [page.locator(f"[data-step={name}]") for name in names]
        controls += [page.locator(each) for each in ("[data-play]", "[data-speed]", "[data-fork-otherwise]")]
        boxes = [each.bounding_box() for each in controls]
        for box in boxes:
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 640, boxes
        places = sorted((box["y"], box["x"], box["width"]) for box in boxes if box)
        assert all(y != next_y or x + wide <= next_x for (y, x, wide), (next_y, next_x, _) in pairwise(places)), places


def test_a_folded_filter_names_what_is_set(browser: Browser, server: Server) -> None:
    two_iterations(server.client)  # without a session there is nothing to filter
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab("/")
        page.locator("#filters summary").tap()
        page.locator("[name=kind]").select_option("delivery")
        page.locator("[name=owner]").fill("ada")
        button(page, "Filter").tap()
        expect(page.locator("#filters summary")).to_have_text("Filter delivery · ada")


def test_the_list_of_turns_is_above_the_turn(browser: Browser, server: Server) -> None:
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab(f"/sessions/{two_iterations(server.client)}?tab=turns")
        top = "(element) => element.getBoundingClientRect().top"
        assert page.locator("#turns-listed").evaluate(top) < page.locator(".turn").evaluate(top)
        page.locator("#turns-listed summary").tap()
        page.locator(".turn-list a").nth(2).tap()
        page.wait_for_url("**/turns/*")
        expect(page.locator("#turns-listed nav")).not_to_be_visible()


SHOWN = """(names) => names.filter((name) => {
  const { x, y, width, height } = name.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) === name;
}).map((name) => name.textContent)"""


@pytest.mark.parametrize(("language", "first", "last"), [("en", "planning", "packaging"), ("ko", "계획", "패키징")])
def test_every_phase_of_a_delivery_is_named(
    browser: Browser, server: Server, language: str, first: str, last: str
) -> None:
    with browsing(browser, server.url, **PHONE | {"locale": language}) as site:
        page = site.tab(f"/sessions/{two_iterations(server.client)}")
        names = page.locator(".phase .named")
        expect(names.last).to_be_in_viewport()
        shown = names.evaluate_all(SHOWN)
        assert (len(shown), shown[0], shown[-1]) == (7, first, last)
        assert page.evaluate("() => document.scrollingElement.scrollWidth") == 390


OVERFLOWING = """() => [...document.querySelectorAll(".pairs-of td")]
  .filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent.trim())"""


def test_compared_events_stay_in_their_columns(browser: Browser, server: Server) -> None:
    fails = delivery(
        maxIterations=1, validationCommands=["sh -c 'echo FAILED tests/test_a.py::test_very_long_name; false'"]
    )
    one = ended(server.client, start(server.client, fails))["id"]
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab(f"/compare?a={one}&b={two_iterations(server.client)}")
        expect(page.locator(".pairs-of")).to_contain_text("test_very_long_name")
        assert page.evaluate(OVERFLOWING) == []
        assert page.evaluate("() => document.scrollingElement.scrollWidth") == 390


@pytest.mark.parametrize("look", [PHONE, {}], ids=["phone", "desktop"])
def test_a_long_list_of_turns_scrolls_in_its_own_box_to_the_turn_that_is_shown(
    browser: Browser, server: Server, look: dict[str, object]
) -> None:
    work = {"dev": ["Not yet."], "reviewer": [review("one row is missing")]}
    body = delivery(work, maxIterations=12, noProgressLimit=0, validationCommands=["true"])
    session_id = ended(server.client, start(server.client, body))["id"]
    with browsing(browser, server.url, **look) as site:
        page = site.tab(f"/sessions/{session_id}?tab=turns")
        if look:
            page.locator("#turns-listed summary").tap()
        assert page.locator(".turn-list a").count() > 30
        expect(page.locator(".turn-list [aria-current]")).to_be_in_viewport()
        assert page.evaluate("scrollY") == 0
        assert page.locator(".list").evaluate("(box) => box.offsetHeight") < 900


@pytest.mark.parametrize("locale", ["en", "ko-KR"])
def test_tabs_that_do_not_fit_fade_and_the_open_one_is_in_sight(browser: Browser, server: Server, locale: str) -> None:
    with browsing(browser, server.url, **PHONE | {"locale": locale}) as site:
        page = site.tab(f"/sessions/{two_iterations(server.client)}?tab=worklog")
        live(page, "finished" if locale == "en" else "종료됨")
        tabs = page.locator(".views")
        assert tabs.evaluate("(box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).maskImage !== 'none'")
        box = page.locator(".views > [aria-current]").bounding_box()
        assert box and box["x"] >= 32 and box["x"] + box["width"] <= 390 - 32, box
        last = tabs.locator(".aside > :last-child")
        last.focus()
        place = last.bounding_box()
        assert place and place["x"] + place["width"] <= 390 - 20, place


@pytest.mark.parametrize("look", [PHONE, {}], ids=["phone", "desktop"])
def test_a_conversation_opens_at_its_end_and_enter_sends(
    browser: Browser, server: Server, look: dict[str, object]
) -> None:
    """On a phone, where Enter starts a new line, the button does."""
    for number in range(8):
        said = message(f"Question {number}", {"assistant": ["An answer.\n\nIn two lines."]}, origin="long")
        rested(server.client, says(server.client, said)["sessionId"])
    with browsing(browser, server.url, **look, java_script_enabled=False) as site:
        expect(site.tab("/chat/long").locator(".said-by").last).to_be_in_viewport()
    with browsing(browser, server.url, **look) as site:
        page = site.tab("/chat/long")
        expect(page.locator(".said-by").last).to_be_in_viewport()
        assert page.evaluate("() => document.scrollingElement.scrollWidth") == (390 if look else 1440)
        words = page.get_by_role("textbox", name="Message")
        expect(words).to_be_in_viewport()
        words.fill("One more")
        words.press("Shift+Enter" if not look else "Enter")
        words.type("question")
        if look:
            button(page, "Send").tap()
        else:
            words.press("Enter")
        expect(page.locator(".said-by.is-person .typed").last).to_have_text("One more\nquestion")
        expect(page.locator(".said-by").last).to_be_in_viewport()


@pytest.mark.parametrize("name", ["root", "a-person-with-a-long-name"])
def test_the_top_bar_is_one_row_on_a_phone(browser: Browser, server: Server, name: str) -> None:
    """In English, which takes more room, with a number beside the decisions and the name of who is signed in."""
    with browsing(browser, server.url, **PHONE) as site:
        bar = site.tab("/").locator(".top")
        bar.evaluate(
            """(bar, name) => {
                const link = Object.assign(document.createElement("a"), {className: "signed-in", href: "/login"});
                link.textContent = name;
                bar.querySelector(".sign-in-off").replaceWith(link);
                bar.querySelector(".needs-count").textContent = "12";
            }""",
            name,
        )
        expect(bar.locator(".signed-in")).to_be_visible()
        assert bar.evaluate("(bar) => bar.offsetHeight") < 60
