"""The inbox page: waiting sessions, their choices, and the version each choice answers."""

import re

import pytest
from starlette.testclient import TestClient

from tests.api.scenes import at_checkpoint, exhausted, failed, interrupted, waiting_debate, waiting_review
from tests.api.seen import BROWSER, Seen, harmless, page
from tests.api.server import session


def waiting(html: str) -> list[str]:
    return re.findall(r'<article class="card needs waiting" aria-labelledby="of-([a-z0-9-]+)"', html)


def commands(html: str) -> list[tuple[str | None, str | None]]:
    forms = Seen(html).all("form")
    return [(form["data-command"], form.get("data-bound")) for form in forms if "data-command" in form]


def test_oldest_decision_comes_first_with_choices_and_reason(client: TestClient) -> None:
    review = waiting_review(client, "half-up rounding")
    debate = waiting_debate(client)
    html = page(client, "/decisions")
    assert waiting(html) == [review, debate]
    buttons = [(button.get("name"), button.get("value")) for button in Seen(html).all("button") if "name" in button]
    assert buttons == [("decision", choice) for choice in ("apply_fix", "skip", "revise", "accept")]
    text = " ".join(Seen(html).text.split())
    assert "Waiting for your decision · round limit reached · Convergence: 0." in text
    assert "needs a fix · open points: 1" in text and "half-up rounding" in text


@pytest.mark.parametrize(("kind", "choices"), [("review", ["apply_fix", "skip"]), ("debate", ["revise", "accept"])])
def test_an_interrupted_discussion_is_decided_or_its_turn_repeated(
    client: TestClient, kind: str, choices: list[str]
) -> None:
    """What is repeated is no decision: it has a form of its own."""
    name = interrupted(client, kind)
    html = page(client, "/decisions")
    version = str(session(client, name)["version"])
    decides, repeats = f"/api/sessions/{name}/decision", f"/api/sessions/{name}/retry"
    assert commands(html) == [(decides, version), (repeats, version)]
    buttons = [(button.get("name"), button.get("value")) for button in Seen(html).all("button") if "value" in button]
    assert buttons == [("decision", choice) for choice in choices]
    assert client.post(repeats, json={"reason": "again"}, headers={"If-Match": f'"{version}"'}).status_code == 202
    assert session(client, name)["status"] in ("reviewing", "debating", "waiting_for_decision")


def test_every_choice_is_bound_to_the_version_that_is_shown(client: TestClient) -> None:
    review = waiting_review(client)
    version = session(client, review)["version"]
    html = page(client, "/decisions")
    assert commands(html) == [(f"/api/sessions/{review}/decision", str(version))]
    stale = client.post(
        f"/api/sessions/{review}/decision", json={"decision": "skip"}, headers={"If-Match": f'"{version - 1}"'}
    )
    assert (stale.status_code, stale.json()["currentVersion"]) == (412, version)
    assert waiting(page(client, "/decisions")) == [review]


def test_decided_session_leaves_the_inbox_at_once(client: TestClient) -> None:
    review = waiting_review(client)
    [(verb, version)] = commands(page(client, "/decisions"))
    answer = client.post(
        str(verb), json={"decision": "skip", "rationale": "small"}, headers={"If-Match": f'"{version}"'}
    )
    assert answer.status_code == 200
    html = page(client, "/decisions")
    assert waiting(html) == [] and "Nothing is waiting for you." in html
    assert session(client, review)["decision"]["rationale"] == "small"


def test_a_checkpoint_is_continued_or_with_a_second_step_reset(client: TestClient) -> None:
    run = at_checkpoint(client)
    version = str(session(client, run)["version"])
    html = page(client, "/decisions")
    assert waiting(html) == [run]
    assert commands(html) == [(f"/api/sessions/{run}/continue", version), (f"/api/sessions/{run}/reset", version)]
    assert "The requested phases are done" in html
    folded = re.search(rf'<details class="more" id="reset-{run}">(.*?)</details>', html, re.DOTALL)
    assert folded is not None and "Reset for good" in folded[1]


def test_reason_field_and_place_for_a_stale_answer(client: TestClient) -> None:
    review = waiting_review(client)
    seen = Seen(page(client, "/decisions"))
    [rationale] = [field for field in seen.all("input") if field.get("name") == "rationale"]
    assert rationale == {"id": f"why-{review}", "name": "rationale", "maxlength": "2000"}
    assert {"for": f"why-{review}"} in seen.all("label")
    messages = [p for p in seen.all("p") if "data-told" in p]
    assert [p["role"] for p in messages] == ["alert"]


def test_inbox_lists_all_waiting_sessions_and_filters_by_need(client: TestClient) -> None:
    spent, run, broken = exhausted(client), at_checkpoint(client), failed(client)
    html = page(client, "/decisions")
    assert waiting(html) == [spent, run, broken]
    assert [path for path, _ in commands(html)] == [
        f"/api/sessions/{spent}/budget",
        *(f"/api/sessions/{run}/{verb}" for verb in ("continue", "reset")),
        f"/api/sessions/{broken}/retry",
    ]
    text = " ".join(Seen(html).text.split())
    assert "All 3 Budget 1 Checkpoints 1 Failed 1" in text
    assert "The iterations are used up" in text and "No attempts left" in text
    assert waiting(page(client, "/decisions?needs=failed")) == [broken]
    assert client.get("/decisions?needs=nothing", headers=BROWSER).status_code == 422


def test_a_long_inbox_goes_on_page_by_page(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.web.inbox_page.ITEMS", 1)
    first, second = waiting_review(client), waiting_debate(client)
    html = page(client, "/decisions")
    [newer] = re.findall(r'rel="next" href="([^"]+)"', html)
    assert waiting(html) == [first]
    assert waiting(page(client, newer)) == [second]
    assert 'rel="next"' not in page(client, newer)


def test_it_follows_the_log_and_speaks_korean(client: TestClient) -> None:
    waiting_review(client)
    html = page(client, "/decisions?lang=ko")
    [body] = Seen(html).all("body")
    assert body["data-follows"] == "*" and int(body["data-head"] or 0) > 0
    assert "결정을 기다립니다" in html and "수정 적용" in html


def test_inbox_escapes_hostile_text(client: TestClient) -> None:
    words = "<script>alert(1)</script>\u202e<img src=x onerror=alert(2)>"
    waiting_review(client, words)
    waiting_debate(client, words)
    at_checkpoint(client, words)
    html = page(client, "/decisions")
    harmless(html)
    assert "\u202e" not in html and "⟦U+202E⟧" in html


@pytest.mark.parametrize("path", ["/decisions?cursor=!!", "/decisions?kind=review", "/decisions?lang=de"])
def test_invalid_inbox_query_is_422(client: TestClient, path: str) -> None:
    assert client.get(path, headers=BROWSER).status_code == 422
