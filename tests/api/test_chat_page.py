"""`/chat`: conversations as threads, messages from a form, and unclear messages."""

from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient

from tests.api.orchestrating import message, rested, says
from tests.api.seen import BROWSER, Seen, page
from tests.api.server import session
from tests.api.test_session_page import words_of
from tests.kit.replies import plan, subtask


def form(client: TestClient, path: str) -> dict[str, str]:
    """The initial values of the message form."""
    [key] = [field["value"] for field in Seen(page(client, path)).all("input") if field.get("name") == "key"]
    return {"key": str(key)}


def sent(client: TestClient, path: str, **typed: str) -> Any:
    return client.post(path, data=form(client, path) | typed, headers=BROWSER, follow_redirects=False)


def paused(client: TestClient, origin: str) -> str:
    """A run of a conversation that waits at its checkpoint."""
    replies = {"planner": [plan(subtask("Docs", checkpoint=True), subtask("Backend", 3, 4))]}
    text = says(client, message("Build it", replies, origin=origin, triage="orchestrate"))
    rested(client, text["sessionId"])
    return str(text["sessionId"])


def test_a_message_starts_a_run_and_the_thread_shows_both(client: TestClient) -> None:
    answer = sent(client, "/chat", origin="shop talk", prompt="What is this?", triage="direct")
    assert (answer.status_code, answer.headers["location"]) == (303, "/chat/shop%20talk")
    [item] = client.get("/api/conversations").json()["items"]
    [line, *_] = client.get("/api/conversations/shop talk").json()["messages"]
    rested(client, line["sessionId"])
    html = page(client, answer.headers["location"])
    text = words_of(html)
    assert item["origin"] == "shop talk" and "Person" in text and "What is this?" in text
    assert f'href="/sessions/{line["sessionId"]}"' in html and "✓ Done" in text
    assert "shop talk" in page(client, "/chat")


def test_the_same_form_sent_twice_is_one_message(client: TestClient) -> None:
    typed = form(client, "/chat") | {"origin": "once", "prompt": "Hello", "triage": "direct"}
    for _ in range(2):
        assert client.post("/chat", data=typed, headers=BROWSER, follow_redirects=False).status_code == 303
    people = [line for line in client.get("/api/conversations/once").json()["messages"] if line["from"] == "person"]
    assert len(people) == 1


def test_a_conversation_needs_no_name(client: TestClient) -> None:
    """It is named after its first message, and sent twice it is one."""
    typed = form(client, "/chat") | {"prompt": "Rename the parser,\nplease", "triage": "direct"}
    first, second = (client.post("/chat", data=typed, follow_redirects=False) for _ in range(2))
    assert first.status_code == 303 and first.headers["Location"] == second.headers["Location"]
    listed = client.get("/api/conversations").json()["items"]
    names = [item["origin"] for item in listed if item["origin"].startswith("Rename the parser, please · ")]
    assert len(names) == 1


def test_an_unclear_message_is_answered_by_buttons_and_starts_nothing(client: TestClient) -> None:
    run = paused(client, "slow")
    before = client.get("/api/conversations/slow").json()
    answer = sent(client, "/chat/slow", prompt="please continue")
    text = words_of(answer.text)
    assert "Which do you mean?" in text and "Nothing was started." in text
    assert 'name="meant" value="continue"' in answer.text and 'name="meant" value="reset"' in answer.text
    assert client.get("/api/conversations/slow").json() == before
    assert sent(client, "/chat/slow", meant="reset").status_code == 303
    assert session(client, run)["status"] == "reset"


def test_refused_message_shows_the_reason_and_keeps_the_text(client: TestClient) -> None:
    answer = sent(client, "/chat", origin="x", prompt="리셋")
    assert (
        answer.status_code == 409 and "There is nothing to reset." in answer.text and "리셋</textarea>" in answer.text
    )
    answer = sent(client, "/chat", origin="x", prompt="Hello", workspace="/nowhere/at/all")
    assert answer.status_code >= 400 and "Nothing was started." in answer.text


def test_unknown_conversations_and_fields_are_refused(client: TestClient) -> None:
    assert client.get("/chat/nobody", headers=BROWSER).status_code == 404
    assert client.get("/api/conversations/nobody").status_code == 404
    assert sent(client, "/chat", origin="x", prompt="Hello", other="1").status_code == 400


def test_conversations_are_listed_page_by_page_and_found_by_any_name(client: TestClient) -> None:
    names = [f"team/{number}?" for number in range(3)]
    for name in names:
        client.post("/api/message", json={"prompt": "What is this?", "origin": name})
    first = client.get("/api/conversations", params={"limit": 2}).json()
    rest = client.get("/api/conversations", params={"limit": 200, "cursor": first["nextCursor"]}).json()
    listed = [item["origin"] for item in (*first["items"], *rest["items"])]
    assert (listed[:3], rest["nextCursor"]) == (names[::-1], None)
    assert len(listed) == len(set(listed))
    assert client.get(f"/api/conversations/{quote(names[0], safe='')}").json()["origin"] == names[0]
    assert client.get("/api/conversations?cursor=zz").status_code == 422
    assert client.post("/chat", data={"prompt": "x"}, headers=BROWSER).status_code == 400


def test_the_page_speaks_the_readers_language(client: TestClient) -> None:
    run = paused(client, "말")
    assert session(client, run)["status"] in ("checkpoint", "partial")
    assert "지금까지의 결과" in page(client, "/chat/말?lang=ko")
    assert "Result so far" in page(client, "/chat/말")
