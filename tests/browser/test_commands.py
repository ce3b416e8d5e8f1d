"""Commands on a session's page: decide, continue, extend, end; each bound to the shown version."""

from typing import Any

from playwright.sync_api import expect

from api.web.presets import PRESETS
from tests.api.scenes import at_checkpoint, begun, exhausted, reached, waiting_review
from tests.api.server import Server, delivery, events, only, session
from tests.api.server import reached as happened
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, button, hide, live

SLOW: dict[str, Any] = {"planner": [{"text": "A plan.", "delayMs": 60_000}]}


def test_a_checkpoint_is_continued_to_the_end(site: Browsing, server: Server) -> None:
    session_id = reached(server.client, begun(server.client, PRESETS["continue"].body), "checkpoint")
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Checkpoint")
    expect(page.locator("#decision")).to_contain_text("Waiting for your go-ahead: the requested phases are done.")
    button(page, "Continue").click()
    badge(page, "Done")
    live(page, "finished")
    expect(page.locator("form[data-command]:not([data-command$=revise])")).to_have_count(0)
    assert session(server.client, session_id)["status"] == "done"


def test_a_checkpoint_is_reset_only_after_it_was_asked_twice(site: Browsing, server: Server) -> None:
    session_id = at_checkpoint(server.client)
    page = site.tab(f"/sessions/{session_id}")
    sure = button(page, "Reset for good")
    expect(sure).to_be_hidden()
    page.get_by_text("Reset …").click()
    expect(page.locator("#reset")).to_contain_text("This ends the run for good")
    sure.click()
    badge(page, "Reset")
    assert session(server.client, session_id)["status"] == "reset"


def test_a_review_is_decided_with_a_reason(site: Browsing, server: Server) -> None:
    session_id = reached(server.client, begun(server.client, PRESETS["red-team"].body), "waiting_for_decision")
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Awaiting decision")
    expect(page.locator("#decision")).to_contain_text("The review needs your decision.")
    page.get_by_label("Reason (optional)").fill("The limit is worth it")
    button(page, "Apply fix").click()
    badge(page, "Decided")
    outcome = page.locator("#discussion .outcome").last
    expect(outcome).to_contain_text("Decision: Apply fix")
    expect(outcome).to_contain_text("The limit is worth it")
    expect(button(page, "Apply fix")).to_have_count(0)
    decision = session(server.client, session_id)["decision"]
    assert (decision["choice"], decision["rationale"]) == ("apply_fix", "The limit is worth it")


def test_decision_made_elsewhere_is_reported_and_not_repeated(site: Browsing, server: Server) -> None:
    session_id = waiting_review(server.client)
    page = site.tab(f"/sessions/{session_id}")
    live(page)
    hide(page)
    decided = server.client.post(f"/api/sessions/{session_id}/decision", json={"decision": "skip"})
    assert decided.status_code == 200
    button(page, "Apply fix").click()
    expect(page.get_by_role("alert").filter(has_text="Already decided by unauthenticated")).to_be_visible()
    badge(page, "Decided")
    assert session(server.client, session_id)["decision"]["choice"] == "skip"
    site.forgive("status of 412")


def test_the_number_of_waiting_decisions_follows_one_made_elsewhere(site: Browsing, server: Server) -> None:
    session_id = waiting_review(server.client)
    page = site.tab(f"/sessions/{session_id}")
    count = page.locator(".needs-count")
    before = int(count.inner_text())
    server.client.post(f"/api/sessions/{session_id}/decision", json={"decision": "skip"}).raise_for_status()
    badge(page, "Decided")
    expect(count).to_have_text(str(before - 1) if before > 1 else "")


def test_a_delivery_without_budget_goes_on_when_it_gets_more(site: Browsing, server: Server) -> None:
    session_id = exhausted(server.client)
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Budget exhausted")
    expect(page.locator("#decision")).to_contain_text("no iterations left")
    page.locator("#extending > summary").click()
    page.get_by_label("More iterations").fill("2")
    page.get_by_label("Reason").fill("Almost there")
    button(page, "Add budget").click()
    expect(page.locator("#overview")).to_contain_text("3/3", timeout=PATIENCE_MS)
    badge(page, "Budget exhausted")
    extended = only(events(server.client, session_id), "delivery.budget_extended")
    assert [item["why"] for item in extended] == ["Almost there"]


def test_invalid_extension_is_reported_at_the_form(site: Browsing, server: Server) -> None:
    session_id = exhausted(server.client)
    page = site.tab(f"/sessions/{session_id}")
    page.locator("#extending > summary").click()
    page.get_by_label("Reason").fill("More of nothing")
    button(page, "Add budget").click()
    expect(page.locator("#extending [role=alert]")).to_contain_text("add", ignore_case=True)
    badge(page, "Budget exhausted")
    site.forgive("status of 422")


def test_a_running_session_is_cancelled_only_after_it_was_asked_twice(site: Browsing, server: Server) -> None:
    session_id = begun(server.client, delivery(SLOW))
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Running")
    sure = button(page, "Cancel for good")
    expect(sure).to_be_hidden()
    page.get_by_text("Cancel this session …").click()
    page.locator("#cancelReason").fill("No longer wanted")
    sure.click()
    badge(page, "Cancelled")
    live(page, "finished")
    assert session(server.client, session_id)["status"] == "cancelled"


def test_korean_page_reports_errors_in_korean(site: Browsing, server: Server) -> None:
    session_id = exhausted(server.client)
    page = site.tab(f"/sessions/{session_id}?lang=ko")
    page.locator("#extending > summary").click()
    page.locator("#extendReason").fill("더")
    button(page, "예산 추가").click()
    alert = page.locator("#extending [role=alert]")
    expect(alert).to_have_text("다음 중 하나 이상이 필요합니다: 추가 반복, 추가 시간(분), 추가 토큰, 추가 비용")
    page.locator("#addIterations").fill("2")
    page.locator("#extendReason").evaluate(
        "(field) => { field.removeAttribute('maxlength'); field.value = 'x'.repeat(2001); }"
    )
    button(page, "예산 추가").click()
    expect(alert).to_have_text("이유: 2000자 이하여야 합니다")
    site.forgive("status of 422")
    server.client.post(f"/api/sessions/{session_id}/cancel", json={})


def test_an_agents_question_is_allowed_on_its_page_and_denied_in_the_inbox(site: Browsing, server: Server) -> None:
    ask = {"permission": {"title": "rm -rf build"}, "ifDenied": "Without it.", "text": "With it."}
    first, second = (begun(server.client, delivery({"planner": [ask]})) for _ in range(2))
    for name in (first, second):
        happened(server.client, name, "turn.permission_requested")
    page = site.tab(f"/sessions/{first}")
    expect(page.locator("#decision")).to_contain_text("planner wants to run:")
    page.get_by_label("Remember for this session").check()
    button(page, "Allow").click()
    badge(page, "Nothing changed")
    [decided] = only(events(server.client, first), "turn.permission_decided")
    assert (decided["decision"], decided["remember"]) == ("allow", True)
    page = site.tab("/decisions")
    expect(page.get_by_text("rm -rf build")).to_be_visible()
    button(page, "Deny").click()
    expect(page.get_by_text("rm -rf build")).to_have_count(0)
    [decided] = happened(server.client, second, "turn.permission_decided")
    assert (decided["decision"], decided["remember"]) == ("deny", False)
