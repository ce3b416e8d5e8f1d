"""What a decision is about stands beside its buttons: on home, in the inbox, and on the pages of both sessions."""

import json
from typing import Any

import httpx2 as httpx
from starlette.testclient import TestClient

from tests.api.scenes import asking, begun, reached, waiting_review
from tests.api.seen import Seen, page
from tests.api.seen import review as artifact
from tests.api.server import delivery, session, until

FORGED = "The header can be forged"
JUDGED: dict[str, Any] = {
    "verdict": "NEEDS_FIX",
    "summary": FORGED,
    "issues": [{"severity": "critical", "description": FORGED, "suggestion": "Trust the proxies of the settings"}],
}


def reviewed(client: httpx.Client) -> tuple[str, str]:
    """A delivery that wrote a file and waits for the decision on its review, and the review."""
    replies = {
        "dev": [{"text": "Done.", "files": {"src/login.py": "import os\n"}}],
        "reviewer": [json.dumps(json.loads(artifact()) | JUDGED)],
    }
    parent = begun(client, delivery(replies, review={"maxRounds": 1}))
    [child] = until(lambda: session(client, parent)["children"], what="a review")
    return parent, reached(client, str(child), "waiting_for_decision")


def words(client: TestClient, path: str) -> str:
    return " ".join(Seen(page(client, path)).text.split())


def test_findings_stand_beside_the_buttons_wherever_one_decides(client: TestClient) -> None:
    parent, child = reviewed(client)
    until(lambda: FORGED in page(client, "/"), what="the row")
    for path in ("/", "/decisions", f"/sessions/{parent}", f"/sessions/{child}"):
        assert "critical The header can be forged → Trust the proxies of the settings" in words(client, path), path


def test_the_diff_stands_beside_the_decision_of_both_sessions(client: TestClient) -> None:
    parent, child = reviewed(client)
    for name in (parent, child):
        html = page(client, f"/sessions/{name}")
        assert 'class="matter has-diff' in html and "src/login.py" in html.partition('class="matter has-diff')[2]
        assert f'href="/sessions/{parent}?tab=changes"' in html


def test_an_expiry_says_when_and_what_happens_then(client: TestClient) -> None:
    body = {"kind": "review", "subject": "A diff", "maxRounds": 1, "decisionSeconds": 7_200}
    name = reached(client, begun(client, body), "waiting_for_decision")
    expires = session(client, name).get("expiresAt") or ""
    until(lambda: name in page(client, "/decisions"), what="the item")
    for path in ("/decisions", "/", f"/sessions/{name}"):
        html = page(client, path)
        assert f'datetime="{expires}" data-left="in {{time}}"' in html and "then: Skip &amp; continue" in html, path


def test_rows_unfold_once_each(client: TestClient) -> None:
    review, asks = waiting_review(client), asking(client)
    until(lambda: asks in page(client, "/") and review in page(client, "/"), what="both rows")
    seen = Seen(page(client, "/"))
    unfolding = [each["id"] for each in seen.all("details") if each.get("class") == "unfolding"]
    assert len(unfolding) == len(set(unfolding)) == 2
    ids = [each["id"] for tag in ("input", "form", "details", "section") for each in seen.all(tag) if each.get("id")]
    assert len(ids) == len(set(ids))


def test_a_question_names_its_agent_and_its_tool_in_words(client: TestClient) -> None:
    name = asking(client)
    assert "planner wants to run: rm -rf build" in words(client, f"/sessions/{name}")
    assert "planner의 실행 요청: rm -rf build" in words(client, f"/sessions/{name}?lang=ko")
