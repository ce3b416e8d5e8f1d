"""A browser without script: start, watch, decide, extend, cancel and fork, with forms alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from api.web.presets import PRESETS
from tests.api.scenes import (
    at_checkpoint,
    begun,
    exhausted,
    two_iterations,
    under_review,
    waiting_debate,
    waiting_review,
)
from tests.api.server import Server, delivery, events, only, serving, session, until
from tests.browser.accessible import faults
from tests.browser.browsing import (
    ARGUMENTS,
    BROWSER,
    PATIENCE_MS,
    Browsing,
    badge,
    browsing,
    button,
    start_form,
    tab_to,
    unfold,
)
from tests.browser.test_axe import OPTIONS
from tests.browser.test_looks import PHONE, SMALL_TARGETS
from tests.kit.sweeps import sampled

SLOW: dict[str, Any] = {"planner": [{"text": "A plan.", "delayMs": 60_000}]}
LAN = "team.example"
"""A host other than `localhost`: over plain HTTP, browsers do not send the origin site there."""


@pytest.fixture
def site(browser: Browser, server: Server) -> Iterator[Browsing]:
    with browsing(browser, server.url, java_script_enabled=False) as result:
        yield result


def _watched(page: Page, words: str) -> None:
    """Reload until the session has this state."""

    def there() -> bool:
        page.get_by_role("link", name="Reload", exact=True).click()
        return words in page.locator("[data-badge] .badge").inner_text()

    until(there, what=f"{page.url}: {words}", pause=0.1)


def _from_preset(page: Page, name: str) -> None:
    kind = PRESETS[name].kind
    form = start_form(page, kind)
    page.locator(f"#start-{kind} a.preset[href*='preset={name}#']").click()
    button(form, "Start").click()
    page.wait_for_url(f"**/sessions/{kind}-*", timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", level=1)).to_have_text(PRESETS[name].body["title"])


def _identity(page: Page) -> str:
    return page.url.rpartition("/")[2].partition("?")[0]


def test_a_review_is_started_watched_and_decided(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    _from_preset(page, "red-team")
    _watched(page, "Awaiting decision")
    page.get_by_label("Reason (optional)").fill("The limit is worth it")
    button(page, "Apply fix").click()
    badge(page, "Decided")
    decision = session(server.client, _identity(page))["decision"]
    assert (decision["choice"], decision["rationale"]) == ("apply_fix", "The limit is worth it")


def test_a_delivery_is_started_watched_extended_and_forked(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    _from_preset(page, "blocked")
    _watched(page, "Budget exhausted")
    source = _identity(page)
    page.locator("#extending > summary").click()
    page.get_by_label("Reason").fill("Almost there")
    button(page, "Add budget").click()
    expect(page.locator(".told")).to_contain_text("give at least one of addIterations")
    expect(page.locator(".told")).to_be_focused()
    expect(page.get_by_label("Reason")).to_have_value("Almost there")
    page.get_by_label("More iterations").fill("1")
    button(page, "Add budget").click()
    expect(page.locator(".told")).to_have_count(0)
    assert len(only(events(server.client, source), "delivery.budget_extended")) == 1
    _watched(page, "Budget exhausted")
    page.get_by_role("link", name="Previous event").click()
    expect(page.locator("[data-banner]")).to_be_visible()
    page.get_by_role("link", name="Try it differently").first.click()
    page.get_by_role("button", name="Start the fork").click()
    page.wait_for_url("**/compare?*", timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fork of")
    site.forgive("status of 422")


def test_a_running_session_is_cancelled_only_when_it_is_ticked(site: Browsing, server: Server) -> None:
    session_id = begun(server.client, delivery(SLOW))
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Running")
    page.get_by_text("Cancel this session …").click()
    page.locator("#cancelReason").fill("No longer wanted")
    button(page, "Cancel for good").click()
    assert session(server.client, session_id)["status"] == "running"
    page.get_by_label("Yes, go ahead").check()
    button(page, "Cancel for good").click()
    badge(page, "Cancelled")
    assert session(server.client, session_id)["status"] == "cancelled"


def test_the_inbox_is_worked_off(site: Browsing, server: Server) -> None:
    review, run = waiting_review(server.client, "worked off"), at_checkpoint(server.client, "worked off")
    page = site.tab("/decisions")
    for session_id, name in ((review, "Skip & continue"), (run, "Continue")):
        card = page.locator(f"article[aria-labelledby=of-{session_id}]")
        card.get_by_role("button", name=name).click()
        expect(card).to_have_count(0)
        expect(page).to_have_url(f"{server.url}/decisions")
    assert session(server.client, review)["decision"]["choice"] == "skip"


def test_decision_made_elsewhere_is_reported(site: Browsing, server: Server) -> None:
    session_id = waiting_review(server.client)
    page = site.tab(f"/sessions/{session_id}")
    body = {"decision": "skip"}
    assert server.client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
    button(page, "Apply fix").click()
    expect(page.locator(".told")).to_contain_text("Already decided by unauthenticated")
    badge(page, "Decided")
    site.forgive("status of 412")


def test_start_form_is_filled_and_corrected_by_keyboard(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    tab_to(page, page.locator("#start > summary"))
    page.keyboard.press("Enter")
    for name, words in {"task": "Typed.", "validationCommands": "true", "filePaths": "../up.py"}.items():
        if name == "filePaths":
            tab_to(page, page.locator("form[data-start=delivery] .more > summary"))
            page.keyboard.press("Enter")
        tab_to(page, page.locator(f"form[data-start=delivery] [name={name}]"))
        page.keyboard.type(words)
    tab_to(page, button(page.locator("form[data-start=delivery]"), "Start"))
    page.keyboard.press("Enter")
    wrong = page.locator("#delivery-filePaths")
    expect(wrong).to_be_focused()
    expect(page.locator("#delivery-filePaths-error")).not_to_be_empty()
    expect(page.locator("#delivery-task")).to_have_value("Typed.")
    page.keyboard.press("Control+a")
    page.keyboard.type("src/typed.py")
    tab_to(page, button(page.locator("form[data-start=delivery]"), "Start"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/delivery-*", timeout=PATIENCE_MS)
    assert session(server.client, _identity(page))["filePaths"] == ["src/typed.py"]
    site.forgive("status of 422")


# -- how it looks ------------------------------------------------------------------------------------------------------

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 9_000}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 9_000}, "locale": "ko-KR"},
    "phone": PHONE | {"color_scheme": "dark", "viewport": {"width": 390, "height": 9_000}},
}


@pytest.fixture(scope="module")
def pages(server: Server) -> dict[str, str]:
    client = server.client
    sessions = {
        "delivery that runs": begun(client, delivery(SLOW)),
        "delivery that succeeded": two_iterations(client),
        "delivery without budget": exhausted(client),
        "delivery under review": under_review(client),
        "orchestration at its checkpoint": at_checkpoint(client),
        "debate that waits": waiting_debate(client),
    }
    return {"home": "/", "inbox": "/decisions"} | {name: f"/sessions/{item}" for name, item in sessions.items()}


@pytest.mark.parametrize("look", sampled(["light", "phone", "dark"], 1))
def test_noscript_parts_are_accessible(browser: Browser, server: Server, pages: dict[str, str], look: str) -> None:
    """axe needs script, so it checks the pages with our own script blocked."""
    with browsing(browser, server.url, bypass_csp=True, **LOOKS[look]) as site:
        site.context.route("**/assets/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
        page = site.tab("/")
        for name, path in pages.items():
            page.goto(server.url + path)
            _examined(page, name, look)
        page.goto(server.url + pages["delivery without budget"])
        page.locator("#extending > summary").click()
        page.locator("#addIterations").evaluate("(field) => { field.max = ''; field.value = '99'; }")
        page.locator("#extendReason").fill("99")
        page.locator("#extending button").click()
        expect(page.locator(".told")).to_be_visible()
        _examined(page, "an extension that was refused", look)
        page.goto(server.url + "/?start=delivery&task=t&filePaths=../x&testCommand=true")
        page.locator("form[data-start=delivery] .start-go .strong").click()
        expect(page.locator("#delivery-filePaths")).to_be_focused()
        _examined(page, "a start that was refused", look)
        site.forgive("status of 422")


def _examined(page: Page, name: str, look: str) -> None:
    unfold(page)
    response = Axe().run(page, options=OPTIONS).response
    assert (name, [(rule["id"], rule["nodes"][0]["html"]) for rule in response["violations"]]) == (name, [])
    assert (name, faults(page)) == (name, [])
    if look == "phone":
        assert (name, page.evaluate("() => document.scrollingElement.scrollWidth")) == (name, 390)
        assert (name, page.evaluate(SMALL_TARGETS)) == (name, [])


# -- whose forms are taken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_plain_http_accepts_own_forms_and_refuses_foreign_ones(browser: Browser, tmp_path: Path, script: bool) -> None:
    rules = f"--host-resolver-rules=MAP {LAN} 127.0.0.1"
    lan = browser.browser_type.launch(executable_path=BROWSER, args=[*ARGUMENTS, rules])
    with serving(tmp_path, allowed_hosts=LAN) as server:
        try:
            with browsing(lan, f"http://{LAN}:{server.port}", java_script_enabled=script) as site:
                _decided_here_and_not_from_elsewhere(site, server)
        finally:
            lan.close()


def _decided_here_and_not_from_elsewhere(site: Browsing, server: Server) -> None:
    ours, foreign = waiting_review(server.client), waiting_review(server.client)
    page = site.tab(f"/sessions/{ours}")
    asked: list[dict[str, str]] = []
    page.on("request", lambda request: asked.append(request.headers) if request.method == "POST" else None)
    button(page, "Skip & continue").click()
    badge(page, "Decided")
    assert [headers.get("sec-fetch-site") for headers in asked] == [None]
    fields = {"key": "0" * 32, "verb": "decision", "decision": "skip"}
    fields["version"] = str(session(server.client, foreign)["version"])
    inputs = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in fields.items())
    html = f'<form method="post" action="{site.url}/sessions/{foreign}">{inputs}<button>Win</button></form>'

    def served(route: Route) -> None:
        route.fulfill(body=html, content_type="text/html")

    site.context.route("http://evil.example/**", served)
    page.goto("http://evil.example/")
    button(page, "Win").click()
    expect(page.locator("body")).to_contain_text("Cross-origin commands are not allowed.")
    assert session(server.client, foreign)["status"] == "waiting_for_decision"
    site.forgive("status of 403")
    site.forgive("Cross-Origin-Opener-Policy header has been ignored")
