"""The entry pages: the live list, the start form, the inbox and the reports."""

import re
import time

from playwright.sync_api import Page, expect

from tests.api.scenes import begun, two_iterations, waiting_review
from tests.api.server import Server, delivery, session, start
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, button, live


def _identity(page: Page) -> str:
    """The id of the session of this page."""
    return page.url.rpartition("/")[2]


def test_a_session_that_is_started_elsewhere_appears_and_its_state_changes(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    live(page)
    body = delivery({"planner": [{"text": "A plan.", "delayMs": 1_000}]}, title="Begun elsewhere")
    session_id = begun(server.client, body)
    row = page.locator("li.session", has=page.get_by_role("link", name="Begun elsewhere", exact=True))
    expect(row.locator(".badge")).to_contain_text("Running", timeout=PATIENCE_MS)
    expect(row).to_contain_text(session_id)
    expect(row.locator(".badge")).to_contain_text("Nothing changed", timeout=PATIENCE_MS)


def test_waiting_items_come_first(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    live(page)
    waiting_review(server.client, "needs somebody")
    needs = page.locator("section.needs")
    expect(needs.get_by_role("link", name="needs somebody", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("main h2").first).to_contain_text("Needs you")


def test_sessions_are_looked_for_by_kind_and_words(site: Browsing, server: Server) -> None:
    two_iterations(server.client, "searched for")
    waiting_review(server.client, "searched for")
    page = site.tab("/")
    page.locator("#filters > summary").click()
    page.locator("[name=kind]").select_option("review")
    page.get_by_role("searchbox", name="Search").fill("searched for")
    button(page, "Filter").click()
    expect(page.get_by_role("link", name="searched for", exact=True)).to_have_count(1)
    expect(page.get_by_role("link", name="Add a login page searched for", exact=True)).to_have_count(0)
    expect(page).to_have_url(re.compile("kind=review"))


def test_a_delivery_is_started_from_a_preset_and_followed_to_its_end(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    page.get_by_text("Start a session", exact=True).click()
    page.get_by_role("link", name="approved", exact=True).click()
    form = page.locator("form[data-start=delivery]")
    expect(form.get_by_label("Task")).to_have_value("Add a login page.")
    form.get_by_label("Task").fill("Add a login page, from the form.")
    button(form, "Start").click()
    page.wait_for_url("**/sessions/delivery-*")
    badge(page, "Running")
    live(page)
    badge(page, "Success")
    live(page, "finished")
    expect(page.locator("#overview .phase.is-completed")).to_have_count(7)
    view = session(server.client, _identity(page))
    assert (view["status"], view["task"]) == ("success", "Add a login page, from the form.")


def test_a_debate_is_started_by_hand_with_a_strategy_that_fits(site: Browsing, server: Server) -> None:
    page = site.tab("/?start=debate")
    form = page.locator("form[data-start=debate]")
    form.locator("[name=plan]").fill("Drop the old table.")
    strategy = form.locator("[name=strategy]")
    assert strategy.locator("option").evaluate_all("(all) => all.map((one) => one.value)") == [
        "",
        "debate",
        "perspectives",
    ]
    strategy.select_option("perspectives")
    button(form, "Start").click()
    page.wait_for_url("**/sessions/debate-*")
    badge(page, "Awaiting decision")
    assert session(server.client, _identity(page))["strategy"] == "perspectives"


def test_invalid_field_is_reported_and_nothing_starts(site: Browsing, server: Server) -> None:
    page = site.tab("/?start=delivery")
    before = len(server.client.get("/api/sessions?q=Not+to+be+started").json()["items"])
    form = page.locator("form[data-start=delivery]")
    form.locator("[name=task]").fill("Not to be started")
    form.locator("details.more > summary").click()
    form.locator("[name=filePaths]").fill("src/a.py\n/etc/passwd")
    button(form, "Start").click()
    paths = form.locator("[name=filePaths]")
    expect(paths).to_have_attribute("aria-invalid", "true")
    expect(paths).to_be_focused()
    expect(form.locator("#delivery-filePaths-error")).to_contain_text("2: ")
    expect(form.locator("#delivery-task-error")).to_be_empty()
    site.forgive("status of 422")
    form.locator("[name=scenario]").fill("{not json")
    button(form, "Start").click()
    expect(form.locator("#delivery-scenario-error")).to_contain_text("This is not JSON: expecting property name")
    site.forgive("status of 422")
    assert len(server.client.get("/api/sessions?q=Not+to+be+started").json()["items"]) == before == 0


def test_korean_page_reports_errors_in_korean(site: Browsing, server: Server) -> None:
    page = site.tab("/?lang=ko&start=delivery")
    form = page.locator("form[data-start=delivery]")
    form.locator("[name=task]").fill("Not to be started")
    form.locator("details.more > summary").click()
    form.locator("[name=filePaths]").fill("../a.py")
    form.locator("[name=workspace]").fill("/")
    button(form, "시작하기").click()
    error = form.locator("#delivery-workspace-error")
    expect(error).to_have_text("파일 시스템 전체입니다. 프로젝트 하나의 폴더를 지정하세요")
    form.locator("[name=workspace]").fill("")
    button(form, "시작하기").click()
    expect(error).to_be_empty()
    expect(form.locator("#delivery-filePaths-error")).to_have_text("1: '../a.py': 작업 폴더를 벗어납니다.")
    form.locator("[name=filePaths]").fill("a.py")
    button(form, "시작하기").click()
    expect(form.locator("#delivery-validationCommands-error")).not_to_be_empty()
    form.locator("[name=testCommand]").fill("true")
    form.locator("[name=scenario]").fill("{not json")
    button(form, "시작하기").click()
    expect(form.locator("#delivery-scenario-error")).to_have_text(
        "JSON이 아닙니다: 1행 2열, 큰따옴표로 묶은 이름이 있어야 합니다."
    )
    expect(form.locator("[role=alert]")).to_have_text("시작하지 못했습니다. 표시된 항목을 수정하세요.")
    site.forgive("status of 422")


def test_a_decision_is_made_in_the_inbox(site: Browsing, server: Server) -> None:
    page = site.tab("/decisions")
    live(page)
    session_id = waiting_review(server.client, "decided in the inbox")
    card = page.locator(".waiting", has=page.get_by_role("link", name="decided in the inbox", exact=True))
    expect(card).to_be_visible(timeout=PATIENCE_MS)
    card.locator("[name=rationale]").fill("From the inbox")
    button(card, "Skip & continue").click()
    expect(card).to_have_count(0, timeout=PATIENCE_MS)
    decision = session(server.client, session_id)["decision"]
    assert (decision["choice"], decision["rationale"]) == ("skip", "From the inbox")


def test_running_row_shows_activity_without_another_stream(site: Browsing, server: Server) -> None:
    did = [
        {"kind": "tool", "id": "c0", "tool": "edit", "title": "src/calc.py", "status": "completed"},
        {"kind": "tool", "id": "c1", "tool": "execute", "title": "pytest -q", "status": "running"},
        {"kind": "tool", "id": "c1", "status": "failed", "exitCode": 1, "afterMs": 6_000},
    ]
    streams = site.asked("activity")
    page = site.tab("/")
    live(page)
    body = delivery({"planner": [{"text": "x", "activity": did, "delayMs": 60_000}]}, title="Seen at work")
    name = start(server.client, body)
    row = page.locator("li.session", has=page.get_by_role("link", name="Seen at work", exact=True))
    line = row.locator(".where")
    expect(line).to_contain_text(re.compile(r"planner: Edit calc\.py · Run pytest -q · \d:\d\d"), timeout=PATIENCE_MS)
    version = session(server.client, name)["version"]
    expect(line).to_contain_text("Run pytest -q → exit code 1", timeout=2 * PATIENCE_MS)
    assert session(server.client, name)["version"] == version
    assert len(streams) == 1 and streams[0].endswith("&activity=1")
    assert row.evaluate("(row) => row.offsetHeight") <= 45
    server.client.post(f"/api/sessions/{name}/cancel", json={"reason": "seen enough"})
    expect(line).to_contain_text("“seen enough”", timeout=PATIENCE_MS)


def test_list_updates_rarely_for_activity_and_at_once_for_decisions(site: Browsing, server: Server) -> None:
    step = {"kind": "tool", "tool": "edit", "title": "src/calc.py", "status": "completed", "afterMs": 100}
    steps = [{**step, "id": f"c{number}"} for number in range(300)]
    body = delivery({"planner": [{"text": "x", "activity": steps, "delayMs": 60_000}]}, title="Busy for long")
    name = start(server.client, body)
    page = site.tab("/")
    live(page)
    renewed: list[float] = []
    page.on("request", lambda request: renewed.append(time.monotonic()) if request.url == page.url else None)
    row = page.locator("li.session", has=page.get_by_role("link", name="Busy for long", exact=True))
    expect(row).to_contain_text("Edit calc.py", timeout=PATIENCE_MS)
    del renewed[:]
    page.wait_for_timeout(8_000)
    assert 2 <= len(renewed) <= 4
    began = time.monotonic()
    waiting_review(server.client, "waits among others")
    expect(page.locator("section.needs")).to_contain_text("waits among others", timeout=PATIENCE_MS)
    assert time.monotonic() - began < 2.5
    server.client.post(f"/api/sessions/{name}/cancel", json={"reason": "seen enough"})
