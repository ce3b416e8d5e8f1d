"""axe-core on every kind of page: WCAG 2.0 to 2.2 A and AA and best practices; light and dark, in English and Korean,
on a desktop and on a phone. Only here the content security policy is bypassed, because axe has to be injected.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.api.orchestrating import message, says
from tests.api.scenes import (
    asking,
    at_checkpoint,
    begun,
    exhausted,
    failed,
    two_iterations,
    under_review,
    waiting_debate,
    waiting_review,
)
from tests.api.server import Server, delivery, events, serving
from tests.api.test_login import KEY, kept
from tests.browser.browsing import browsing, unfold
from tests.browser.test_looks import PHONE
from tests.kit.sweeps import sampled

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
OPTIONS: dict[str, Any] = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
TALL = 9_000
"""Pixels: high enough that sticky parts at the bottom cover nothing that axe measures."""
DESKTOP: dict[str, Any] = {"viewport": {"width": 1440, "height": TALL}}
SMALL: dict[str, Any] = PHONE | {"viewport": {"width": 390, "height": TALL}}
LOOKS: dict[str, dict[str, Any]] = {
    f"{scheme}, {language}, {width}": {"color_scheme": scheme, "locale": locale, **size}
    for scheme in ("light", "dark")
    for language, locale in (("English", "en"), ("Korean", "ko-KR"))
    for width, size in (("desktop", DESKTOP), ("phone", SMALL))
}
CHIEF = (
    *("home", "inbox", "form of a delivery", "report: costs", "delivery without budget", "review that waits"),
    *("replay of a delivery", "comparison", "conversation", "tab turns", "tab changes", "lab", "turn that asks"),
    *("try it differently", "findings of a delivery", "error"),
    *("orchestration at its checkpoint", "tab worklog of a review", "tab findings of a debate"),
)
"""Pages that together have nearly everything the others have."""
SLOW: dict[str, Any] = {"planner": [{"text": "A plan.", "delayMs": 600_000}]}


@pytest.fixture(scope="module")
def pages(server: Server) -> dict[str, str]:
    """Addresses by content; everything folded is opened before axe runs."""
    client = server.client
    says(client, message("What is this?", {"assistant": ["A **shop**."]}, origin="axe"))
    empty = {"no sessions": "/?q=nothing+has+these+words"}
    sessions = {
        "delivery that runs": begun(client, delivery(SLOW)),
        "delivery that succeeded": two_iterations(client),
        "delivery that failed": failed(client),
        "delivery that asks": asking(client),
        "delivery without budget": exhausted(client),
        "delivery under review": under_review(client),
        "orchestration at its checkpoint": at_checkpoint(client),
        "review that waits": waiting_review(client),
        "debate that waits": waiting_debate(client),
    }
    _commented(client, sessions["delivery that succeeded"])
    result = {name: f"/sessions/{session_id}" for name, session_id in sessions.items()}
    kinds = {f"form of a {kind}": f"/?start={kind}" for kind in ("delivery", "orchestration", "review", "debate")}
    reports = ("summary", "budgets", "quality", "convergence", "decisions", "costs", "waits", "merges")
    return (
        {"home": "/", "inbox": "/decisions", "error": "/sessions/none", "reference": "/docs"}
        | empty
        | kinds
        | {f"report: {name}": f"/reports?name={name}" for name in reports}
        | result
        | {
            "replay of a delivery": result["delivery that succeeded"] + "?at=11",
            "replay of an orchestration": result["orchestration at its checkpoint"] + "?at=20",
            "replay of a review": result["review that waits"] + "?at=7",
            "comparison": f"/compare?a={sessions['delivery that succeeded']}&b={sessions['delivery that failed']}",
            "lab": f"/lab?session={sessions['review that waits']}",
            "lab without a discussion": "/lab",
            "comparison of nothing": "/compare",
            "fork with something else": f"/compare?a={sessions['review that waits']}&atA=7",
            "turn that runs": f"{result['delivery that runs']}/turns/{sessions['delivery that runs']}.t1",
            "turn that asks": f"{result['delivery that asks']}/turns/{sessions['delivery that asks']}.t1",
            "changes with their file": result["delivery that succeeded"] + "?tab=changes&file=src/login.py",
            "findings of a delivery": result["delivery that succeeded"] + "?tab=findings",
            "changes by risk": result["delivery that succeeded"] + "?tab=changes#by-risk",
            "try it differently": f"{result['delivery that succeeded']}/fork?at={_asked(server, sessions)}",
            "run again": f"{result['delivery that succeeded']}/fork?at=1",
            "decide otherwise": f"{result['review that waits']}/fork",
            "tab worklog of a review": result["review that waits"] + "?tab=worklog",
            "tab findings": result["delivery under review"] + "?tab=findings",
            "tab findings of a debate": result["debate that waits"] + "?tab=findings",
            "replay of turns": result["delivery that succeeded"] + "?tab=turns&at=11",
            "new conversation": "/chat",
            "conversation": "/chat/axe",
            "output": _output(server, sessions["delivery without budget"]),
            "why": result["delivery without budget"] + "/why?check=1",
            "event": result["delivery that succeeded"] + "/event?at=3",
        }
        | {f"tab {tab}": result["delivery that succeeded"] + f"?tab={tab}" for tab in ("turns", "changes", "worklog")}
    )


def _commented(client: httpx.Client, session_id: str) -> None:
    """Comments on a line, on a file and on the whole."""
    for place in ({"path": "src/login.py", "line": 1}, {"path": "src/login.py"}, {}):
        answer = client.post(f"/api/sessions/{session_id}/comments", json={"text": "Why **this**?"} | place)
        assert answer.status_code == 201, answer.text


def _asked(server: Server, sessions: Mapping[str, str]) -> int:
    """The event at which the reviewer is asked for its first verdict."""
    history = events(server.client, sessions["delivery that succeeded"])
    return next(
        int(event["version"])
        for event in history
        if event["type"] == "turn.requested" and event["data"]["agent"] == "reviewer"
    )


def _output(server: Server, session_id: str) -> str:
    """The address of a failed validation's output."""
    [failed, *_] = [
        event["version"]
        for event in events(server.client, session_id)
        if event["type"] == "delivery.artifact_created" and event["data"]["phase"] == "validation"
    ]
    return f"/sessions/{session_id}/log?at={failed}&field=content&q=exit"


@pytest.mark.nightly
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_on_any_page(browser: Browser, server: Server, pages: dict[str, str], look: str) -> None:
    assert _found(browser, server, pages, look) == {}


@pytest.mark.parametrize("look", sampled(LOOKS, 0, -1))
def test_axe_finds_nothing_on_the_main_pages(
    browser: Browser, server: Server, pages: dict[str, str], look: str
) -> None:
    """Each page in two looks that differ in everything, and each look on some pages."""
    place = list(LOOKS).index(look)
    names = CHIEF[min(place, len(LOOKS) - 1 - place) :: len(LOOKS) // 2]
    assert _found(browser, server, {name: pages[name] for name in names}, look) == {}


@pytest.mark.parametrize("look", sampled(LOOKS, 0, -1))
def test_axe_finds_nothing_on_the_pages_of_an_account(browser: Browser, tmp_path: Path, look: str) -> None:
    keys = kept(tmp_path / "keys", alice=KEY)
    with (
        serving(tmp_path, api_keys_file=keys) as server,
        browsing(browser, server.url, bypass_csp=True, **LOOKS[look]) as site,
    ):
        page = site.tab("/login")
        assert _violations(page) == []
        page.locator("#login-key").fill(KEY)
        page.locator("button.strong").click()
        page.goto(server.url + "/login")
        page.locator(".account").wait_for()
        assert _violations(page) == []


def test_axe_finds_what_is_wrong(browser: Browser, server: Server) -> None:
    """The check itself finds a button without a name and text with too little contrast."""
    with browsing(browser, server.url, bypass_csp=True) as site:
        page = site.tab("/")
        page.evaluate(
            """() => {
              const faint = document.createElement("p");
              faint.textContent = "too faint";
              faint.style.cssText = "color: #999999; background: #ffffff";
              document.querySelector("main").append(document.createElement("button"), faint);
            }"""
        )
        assert sorted(violation.partition(":")[0] for violation in _violations(page)) == [
            "button-name",
            "color-contrast",
        ]


def _found(browser: Browser, server: Server, pages: dict[str, str], look: str) -> dict[str, list[str]]:
    """The violations on each page, by its name."""
    result: dict[str, list[str]] = {}
    with browsing(browser, server.url, bypass_csp=True, **LOOKS[look]) as site:
        page = site.tab("/")
        for name, path in pages.items():
            page.goto(server.url + path)
            unfold(page)
            if path.endswith("#by-risk"):
                page.locator("#by-risk").check(force=True)
            if violations := _violations(page):
                result[name] = violations
        site.overlook("status of 404")
    return result


def _violations(page: Page) -> list[str]:
    """One line per element that breaks a rule: the rule, the element and the problem."""
    response = Axe().run(page, options=OPTIONS).response
    return [
        f"{rule['id']}: {node['html'][:160]} — {node.get('failureSummary', '').splitlines()[-1].strip()}"
        for rule in response["violations"]
        for node in rule["nodes"]
    ]
