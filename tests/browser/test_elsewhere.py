"""Changes from the command line or another page appear without a reload; late decisions are reported."""

from typing import Any

from playwright.sync_api import expect

from tests.api.scenes import exhausted, held_fork, reached, two_iterations, waiting_review
from tests.api.server import Server, session, until
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, button, hide, live


def test_an_extension_made_elsewhere_is_seen_each_time(site: Browsing, server: Server) -> None:
    """The stream of an exhausted delivery ends until it is extended; its page keeps updating."""
    session_id = exhausted(server.client)
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Budget exhausted")
    live(page)
    for granted in (2, 3):
        body = {"addIterations": 1, "reason": "Almost there"}
        assert server.client.post(f"/api/sessions/{session_id}/budget", json=body).status_code == 200
        expect(page.locator("#overview")).to_contain_text(f"{granted}/{granted}", timeout=PATIENCE_MS)
        badge(page, "Budget exhausted")
        live(page)


def test_held_fork_continued_elsewhere_is_followed_to_its_end(site: Browsing, server: Server) -> None:
    session_id = held_fork(server.client, two_iterations(server.client))
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Held")
    live(page)
    expect(page.locator("#decision")).to_contain_text("The fork is on hold")
    assert server.client.post(f"/api/sessions/{session_id}/continue").status_code == 200
    badge(page, "Success")
    live(page, "finished")


def test_a_held_fork_is_continued_from_its_page(site: Browsing, server: Server) -> None:
    session_id = held_fork(server.client, two_iterations(server.client))
    page = site.tab(f"/sessions/{session_id}")
    button(page, "Continue").click()
    badge(page, "Success")
    assert session(server.client, session_id)["held"] is False


def test_a_fork_says_where_it_begins_and_is_shown_beside_its_source(site: Browsing, server: Server) -> None:
    source = two_iterations(server.client)
    page = site.tab(f"/sessions/{source}?at=9")
    page.locator(".forking").click()
    sheet = page.locator("dialog.sheet")
    at = int(sheet.locator("[name=at]").input_value())
    expect(sheet.locator(".places-of [aria-current]")).to_contain_text(str(at))
    expect(sheet.locator("[data-fork-command]")).to_contain_text(f"hansard fork {source} --at {at} --mode stop")
    button(sheet, "Start the fork").click()
    page.wait_for_url(lambda url: f"/compare?a={source}&b=" in url)
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"at {at}")
    forked = session(server.client, page.url.rpartition("=")[2])
    assert (forked["forkedFrom"], forked["forkedAt"]) == (source, at)


def test_late_decision_from_the_inbox_is_reported_and_not_made(site: Browsing, server: Server) -> None:
    session_id = waiting_review(server.client, "decided while nobody looked")
    page = site.tab("/decisions")
    live(page)
    card = page.locator(".waiting", has=page.get_by_role("link", name="decided while nobody looked", exact=True))
    hide(page)
    decided = server.client.post(f"/api/sessions/{session_id}/decision", json={"decision": "skip"})
    assert decided.status_code == 200
    button(card, "Apply fix").click()
    expect(page.get_by_role("alert").filter(has_text="Already decided by unauthenticated")).to_be_visible()
    expect(card).to_have_count(0)
    assert session(server.client, session_id)["decision"]["choice"] == "skip"
    site.forgive("status of 412")


def forked_otherwise(
    site: Browsing, server: Server, source: str, at: int, change: str, name: str = "", value: str = ""
) -> dict[str, Any]:
    """Fork from an event with one change, by clicking on the page of the source."""
    page = site.tab(f"/sessions/{source}?at={at}")
    page.locator(".forking").click()
    sheet = page.locator("dialog.sheet")
    expect(sheet.locator("[name=at]")).to_have_value(str(at))
    sheet.locator(f"[name=change][value={change}]").check()
    if name:
        control = sheet.locator(f'[name="{name}"]')
        is_list = control.evaluate("(one) => one.tagName") == "SELECT"
        control.select_option(value) if is_list else control.fill(value)
    sheet.locator("[name=mode][value=live]").check()
    button(sheet, "Start the fork").click()
    page.wait_for_url(lambda url: f"/compare?a={source}&b=" in url)
    fork: dict[str, Any] = session(server.client, page.url.rpartition("=")[2])
    assert fork["forkedFrom"] == source
    return fork


def test_a_fork_has_another_answer_or_budget_by_clicking(site: Browsing, server: Server) -> None:
    source = two_iterations(server.client)
    events = server.client.get(f"/api/sessions/{source}/events?limit=500").json()["items"]
    at = next(one["version"] for one in events if one["type"] == "turn.requested" and one["data"]["role"] == "reviewer")
    fork = forked_otherwise(site, server, source, at, "approve")
    assert reached(server.client, fork["id"], "success") and session(server.client, fork["id"])["iteration"] == 1
    spent = exhausted(server.client)
    more = forked_otherwise(
        site, server, spent, session(server.client, spent)["version"], "addIterations", "amount", "1"
    )
    again = session(server.client, spent)["iteration"] + 1
    until(lambda: session(server.client, more["id"])["iteration"] == again, what="one more iteration")


def test_a_fork_has_another_decision_or_profile_by_clicking(site: Browsing, server: Server) -> None:
    source = waiting_review(server.client, "forked otherwise")
    version = session(server.client, source)["version"]
    server.client.post(f"/api/sessions/{source}/decision", json={"decision": "skip", "rationale": "later"})
    fork = forked_otherwise(site, server, source, version, "decision", "decision", "apply_fix")
    assert reached(server.client, fork["id"], "decided")
    assert session(server.client, fork["id"])["decision"]["choice"] == "apply_fix"
    assert session(server.client, source)["decision"]["choice"] == "skip"
    other = forked_otherwise(site, server, source, 2, "profile", "profile", "mysti")
    page = site.tab(f"/compare?a={source}&b={fork['id']}")
    family = page.locator("ul.family")
    for one in (source, fork["id"], other["id"]):
        expect(family).to_contain_text(one)
