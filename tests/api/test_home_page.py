"""The list of sessions: waiting, then running, then ended; filtered by kind, status, label and text."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.api.scenes import (
    asking,
    at_checkpoint,
    begun,
    exhausted,
    held_fork,
    reached,
    under_review,
    waiting_debate,
    waiting_review,
)
from tests.api.seen import Seen, finished, harmless, page
from tests.api.seen import review as findings
from tests.api.server import delivery, start, system, until
from tests.api.talks import child

SLOW: dict[str, Any] = {"planner": [{"text": "late", "delayMs": 60_000}]}


def sections(html: str) -> dict[str, list[str]]:
    """The sessions of each section, by its heading."""
    matches = re.findall(r'<section class="card[^"]*"><h2>([^<]+?) ?(?:<span|</h2>)(.*?)</section>', html, re.DOTALL)
    return {
        title: re.findall(r'<span class="what"><a href="/sessions/([a-z0-9-]+)" title=', body)
        for title, body in matches
    }


def settled(client: TestClient, path: str, *words: str) -> str:
    """The page, once the views show all of this."""

    def there() -> str | None:
        html = page(client, path)
        return html if all(word in html for word in words) else None

    return until(there, what=f"{path} says {words}")


def row(html: str, session_id: str) -> str:
    [row_html] = [
        part for part in re.split('<li class="session[^>]*>', html) if f'href="/sessions/{session_id}"' in part
    ]
    return " ".join(Seen(row_html.partition("</li>")[0]).text.split())


def test_running_sessions_come_first_then_waiting_then_ended(client: TestClient) -> None:
    done = finished(client)
    running = start(client, delivery(SLOW))
    review = waiting_review(client)
    html = settled(client, "/", "Needs you", "Running", "</span> Decision")
    assert list(sections(html)) == ["Running", "Needs you", "Recent"]
    assert sections(html) == {"Needs you": [review], "Running": [running], "Recent": [done]}
    assert html.index("<h2>Running") < html.index("<h2>Needs you") < html.index('role="search"')


def test_waiting_rows_name_the_reason_and_link_to_it(client: TestClient) -> None:
    review, debate = waiting_review(client, "half-up rounding"), waiting_debate(client)
    run, spent = at_checkpoint(client), exhausted(client)
    html = settled(client, "/", *(f'data-waits="{each}"' for each in (review, debate, run, spent)))
    assert sections(html)["Needs you"] == [review, debate, run, spent]
    assert "<title>(4) Sessions" in html
    assert "half-up rounding · round limit reached" in row(html, review)
    assert row(html, debate).startswith("? Decision ")
    assert row(html, run).startswith("? Checkpoint ")
    rejected = "false ended with exit code 1. · The iterations are used up"
    assert rejected in row(html, spent)
    for each in (review, debate):
        assert f'href="/sessions/{each}#act"' in html


def test_permission_requests_come_first_and_are_not_running(client: TestClient) -> None:
    review, asks = waiting_review(client), asking(client)
    html = settled(client, "/", f'data-waits="{review}"', f'data-waits="{asks}"')
    assert sections(html) == {"Needs you": [asks, review], "Recent": []}
    assert "Run: rm -rf build" in row(html, asks)


def test_child_session_names_its_parent(client: TestClient) -> None:
    parent = start(client, delivery(review={"enabled": True}))
    review = str(child(client, parent)["id"])
    html = settled(client, "/", f'href="/sessions/{review}#act"')
    assert f"part of {parent}" in row(html, review)


def test_a_session_under_review_needs_its_decision_and_does_not_run(client: TestClient) -> None:
    parent = under_review(client)
    html = settled(client, "/", "Needs you")
    assert sections(html) == {"Needs you": [parent], "Recent": []}
    assert row(html, parent).startswith("? Decision Add a login page")


@pytest.mark.parametrize("looked", ["kind=delivery", "status=waiting_for_decision", "q=login"])
def test_a_session_under_review_is_not_called_running_in_the_list(client: TestClient, looked: str) -> None:
    parent = under_review(client)
    settled(client, "/", "Needs you")
    shown = row(settled(client, f"/?{looked}", f'href="/sessions/{parent}"'), parent)
    assert shown.startswith("? Awaiting decision Add a login page")


@pytest.mark.parametrize("scene", [under_review, asking])
def test_the_status_running_lists_no_session_that_waits_for_a_person(
    client: TestClient, scene: Callable[[Any], str]
) -> None:
    waits = scene(client)
    works = start(client, delivery(SLOW))
    settled(client, "/", 'data-waits="', "<h2>Running")
    html = settled(client, "/?status=running", works)
    assert waits not in html


@pytest.mark.parametrize("looked", ["kind=delivery", "q=login"])
def test_a_session_whose_agent_asks_is_not_called_running_in_the_list(client: TestClient, looked: str) -> None:
    name = asking(client)
    settled(client, "/", f'data-waits="{name}"')
    assert row(settled(client, f"/?{looked}", f'href="/sessions/{name}"'), name).startswith("? Asks permission")


def test_all_that_wait_are_counted_and_the_rest_is_a_link_away(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.web.home_page.SECTION", 2)
    first, second = waiting_review(client), waiting_debate(client)
    exhausted(client)
    html = settled(client, "/", "Show all (3)")
    assert sections(html)["Needs you"] == [first, second]
    assert '<a href="/decisions">Show all (3)</a>' in html and "<title>(3) Sessions" in html


def test_every_kind_says_how_far_it_is(client: TestClient) -> None:
    done, review = finished(client), waiting_review(client)
    html = settled(client, "/", "Needs you")
    assert "true passed" in row(html, done)
    assert f"{review}" in row(html, review) and "review · " not in row(html, review)


def test_it_is_looked_through_by_kind_status_label_and_words(client: TestClient) -> None:
    names = {
        "basket": finished(client, task="Mend the basket"),
        "shed": finished(client, task="Paint the shed", labels=["garden"]),
    }
    settled(client, "/?q=shed", names["shed"])
    for query, expected in (
        ("kind=delivery", ["shed", "basket"]),
        ("label=garden", ["shed"]),
        ("label=garden&q=basket", []),
        ("status=success&q=BASKET", ["basket"]),
        ("label=gard", []),
        ("kind=debate", []),
    ):
        assert sections(page(client, f"/?{query}")) == {"Found": [names[name] for name in expected]}, query


def test_a_label_leads_to_all_that_have_it(client: TestClient) -> None:
    session_id = finished(client, labels=["a & b"])
    html = settled(client, "/", session_id)
    assert '<a class="label" href="/?label=a+%26+b">a &amp; b</a>' in html
    result = page(client, "/?label=a+%26+b")
    assert sections(result) == {"Found": [session_id]}
    assert {"name": "label", "maxlength": "64", "value": "a & b"} in Seen(result).all("input")


def test_older_sessions_of_a_label_keep_the_label(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.web.home_page.SESSIONS", 1)
    first, second = finished(client, labels=["x"]), finished(client, labels=["x"])
    html = settled(client, "/?label=x", second)
    [older] = re.findall(r'rel="next" href="([^"]+)"', html)
    assert older.startswith("/?label=x&amp;cursor=")
    assert sections(page(client, older.replace("&amp;", "&"))) == {"Found": [first]}


def test_page_follows_the_log_and_keeps_typed_text(client: TestClient) -> None:
    html = page(client, "/")
    seen = Seen(html)
    assert seen.all("body")[0]["data-follows"] == "*"
    parts = [attributes["data-part"] for _, attributes in seen.elements if "data-part" in attributes]
    assert parts == ["needs-count", "running", "needs", "sections"]
    live = "".join(re.findall(r'<div data-part="\w+">.*?</div>', html, re.DOTALL))
    assert "<form" not in live and "<input" not in live


def test_all_pages_lead_to_each_other(client: TestClient) -> None:
    for path in ("/", "/decisions", "/reports"):
        links = [(link.get("href"), link.get("aria-current")) for link in Seen(page(client, path)).all("a")]
        assert {each for each in links if each[1] == "page" and each[0] in ("/", "/decisions", "/reports")} == {
            (path, "page")
        }
        assert {"/", "/decisions", "/reports"} <= {href for href, _ in links}


@pytest.mark.parametrize("name", ["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits"])
def test_every_report_is_a_table_with_its_csv(client: TestClient, name: str) -> None:
    words = "<script>alert(1)</script>"
    waiting_review(client, words)
    at_checkpoint(client, words)
    finished(client, task=words, labels=["x"], replies={"planner": [{"error": "lost_conversation"}, words]})
    seen = harmless(page(client, f"/reports?name={name}&from=2020-01-01&to=&kind=&label="))
    csv = f"/api/reports/{name}?format=csv&from=2020-01-01"
    assert csv in [link.get("href") for link in seen.all("a")]
    assert client.get(csv).headers["content-type"] == "text/csv; charset=utf-8"
    assert seen.all("table") and seen.all("tbody")
    assert "{'" not in seen.text and "None" not in seen.text
    empty = Seen(page(client, f"/reports?name={name}&to=2020-01-01"))
    assert empty.all("table") == [] and "Nothing to report." in empty.text


def test_report_chart_matches_its_table(client: TestClient) -> None:
    finished(client)
    finished(client, replies={"reviewer": ["no JSON"]})
    seen = Seen(page(client, "/reports"))
    [drawing] = [each for each in seen.all("svg") if each.get("class") == "bars"]
    assert drawing["aria-label"] == "Sessions" and len([one for one in seen.all("rect") if one["class"] == "bar"]) == 2
    text = " ".join(seen.text.split())
    assert "delivery · Success" in text and "delivery · Failed" in text


def test_bars_of_a_report_lead_to_the_sessions_they_count(client: TestClient) -> None:
    done = finished(client)
    stopped = finished(client, replies={"reviewer": ["no JSON"]})
    html = page(client, "/reports?label=")
    address = "/?kind=delivery&amp;status=success"
    assert f'<a href="{address}" aria-label="delivery · Success 1">' in html
    listed = page(client, address.replace("&amp;", "&"))
    assert done in listed and stopped not in listed
    budgets = page(client, "/reports?name=budgets")
    assert f'<a href="/sessions/{done}" aria-label="Add a login page' in budgets


def test_a_report_over_several_days_has_a_column_for_each(client: TestClient) -> None:
    old, new = finished(client), finished(client)
    page(client, "/reports")
    with system(client).views.transaction() as db:
        db.execute("UPDATE overview SET created_at = created_at - ? WHERE session_id = ?", (3 * 86_400_000, old))
    html = page(client, "/reports?kind=delivery")
    days = re.findall(r'<a href="/\?from=(\S+?)&amp;to=(\S+?)&amp;kind=delivery" aria-label="(.+?)">', html)
    assert len(days) == 4 and all(first == last for first, last, _ in days)
    assert [item.partition(": ")[2] for _, _, item in days] == ["1 Sessions", "0 Sessions", "0 Sessions", "1 Sessions"]
    first = page(client, f"/?from={days[0][0]}&to={days[0][1]}&kind=delivery")
    assert old in first and new not in first
    assert "By the day on which" not in page(client, f"/reports?from={days[-1][0]}")


@pytest.mark.parametrize("query", ["name=poem", "kind=poem", "from=yesterday", "from=2026-02-01&to=2026-01-01", "q=x"])
def test_invalid_report_query_is_422(client: TestClient, query: str) -> None:
    assert client.get(f"/reports?{query}").status_code == 422


def test_a_finding_and_the_reason_of_a_decision_can_be_searched(client: TestClient) -> None:
    replies = {"reviewer": [findings("Divides by zero"), findings()]}
    blocked = reached(client, begun(client, delivery(replies)), "success")
    review = waiting_review(client, "half-up rounding")
    client.post(f"/api/sessions/{review}/decision", json={"decision": "skip", "rationale": "통화 반올림은 나중에"})
    for words, session_id in (("divides by ZERO", blocked), ("반올림은", review)):
        result = until(lambda q=words: client.get("/api/sessions", params={"q": q}).json()["items"], what=words)
        assert [item["id"] for item in result] == [session_id], words


def test_replies_can_be_searched_between_two_dates(client: TestClient) -> None:
    done = reached(client, begun(client, delivery({"planner": ["Half-even은 은행가의 반올림입니다."]})), "success")
    for query in ({"q": "은행가"}, {"q": "half-EVEN", "from": "2020-01-01"}, {"q": "half-even", "to": "2999-01-01"}):
        items = client.get("/api/sessions", params=query).json()["items"]
        assert [item["id"] for item in items] == [done], query
        assert done in page(client, f"/?{urlencode(query)}")
    for query in ({"q": "half-odd"}, {"q": "은행가", "to": "2020-01-01"}, {"from": "2999-01-01"}):
        assert client.get("/api/sessions", params=query).json()["items"] == []
        assert "No matching sessions." in page(client, f"/?{urlencode(query)}")
    assert client.get("/api/sessions?from=soon").status_code == client.get("/?from=soon").status_code == 422


def test_a_row_says_how_it_ended(client: TestClient) -> None:
    done, review, stopped = finished(client), waiting_review(client), start(client, delivery(SLOW))
    client.post(f"/api/sessions/{review}/decision", json={"decision": "skip", "rationale": "next week"})
    client.post(f"/api/sessions/{stopped}/cancel", json={"reason": "wrong repository"})
    html = settled(client, "/", "true passed", "next week", "wrong repository")
    assert "true passed" in row(html, done)
    assert "Decided: Skip & continue “next week”" in row(html, review)
    assert "“wrong repository”" in row(html, stopped)
    korean = page(client, "/?lang=ko")
    assert "true 통과" in korean and "결정: 건너뛰고 계속" in korean
    spent = exhausted(client)
    assert "false ended with exit code 1." in row(settled(client, "/?status=failed", spent), spent)


def test_a_fork_says_of_which_session_and_event(client: TestClient) -> None:
    source = finished(client)
    fork = held_fork(client, source)
    html = settled(client, "/", f'href="/sessions/{fork}"')
    [at] = re.findall(rf'<a href="/sessions/{source}\?at=(\d+)">{source}</a>', html)
    assert f"Forked from {source} (event {at})" in row(html, fork)


def test_a_held_fork_is_not_listed_as_running(client: TestClient) -> None:
    fork = held_fork(client, finished(client))
    until(lambda: fork in sections(page(client, "/")).get("Needs you", []), what="the fork among what waits")
    html = page(client, "/")
    assert fork not in sections(html).get("Running", []) + sections(html).get("Recent", [])
    assert "Held" in row(html, fork) and "No recorded answer fits from here" in row(html, fork)
    assert client.post(f"/api/sessions/{fork}/continue", json={}).status_code == 200
    until(lambda: fork not in sections(page(client, "/")).get("Needs you", []), what="the fork to go on")


def test_running_row_shows_the_agents_activity(client: TestClient) -> None:
    did = [
        {"kind": "message", "text": "I begin."},
        {"kind": "tool", "id": "c0", "tool": "edit", "title": "src/calc.py", "status": "completed"},
        {"kind": "tool", "id": "c1", "tool": "execute", "title": "pytest -q", "status": "running"},
        {"kind": "tool", "id": "c1", "status": "failed", "text": "== 1 failed =="},
    ]
    running = start(client, delivery({"planner": [{"text": "late", "delayMs": 60_000, "activity": did}]}))
    html = settled(client, "/", "1 failed")
    assert re.search(r"planner: Edit calc\.py · Run pytest -q → 1 failed · \d\d:\d\d UTC", row(html, running))
    assert "편집 calc.py · 실행 pytest -q → 1 failed" in page(client, "/?lang=ko")


def test_a_stream_says_that_agents_are_active_only_if_asked(client: TestClient) -> None:
    answer = client.get("/api/events?activity=yes", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, "activity" in answer.text) == (422, True)
