"""The endpoints of cli-jaw: message, continue and reset; one run per origin, and its queue (S1, S3)."""

import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from tests.api.orchestrating import TEAM, agent, message, orchestration, post, rested, run, says, slow
from tests.api.server import Json, Server, events, only, serving, session, until
from tests.kit.replies import plan, subtask, verdicts

AT_ONCE = {"assistant": ["answered"]}
"""Direct answers come at once."""
LONG = {"assistant": [slow()], "planner": [slow()]}
"""Direct answers are slow."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("messages")) as result:
        yield result


@pytest.fixture
def origin(request: pytest.FixtureRequest) -> str:
    """Every test uses its own channel."""
    return str(request.node.name)[:200]


def channel(server: Server, origin: str) -> Json:
    answer = server.client.get("/api/message", params={"origin": origin})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def scoped(checkpoint: bool = True) -> Json:
    """A team with one agent that runs phase 3."""
    return {
        "planner": [plan(subtask("Backend", checkpoint=checkpoint))],
        "judge": [verdicts(words="Phase 3 완료. 다음 지시?", Backend=True), verdicts(words="전체 완료", Backend=True)],
    }


def paused(server: Server, origin: str) -> Json:
    """A run started by a message that rests at a checkpoint."""
    answer = says(server.client, message("개발만 하고 보고해", scoped(), origin=origin, triage="orchestrate"))
    session = rested(server.client, answer["sessionId"])
    assert session["status"] == "checkpoint"
    return session


# -- a message -----------------------------------------------------------------------------------------------------


def test_a_message_starts_a_session(server: Server, origin: str) -> None:
    answer = says(server.client, message("안녕", AT_ONCE, origin=origin, title="Hello", labels=["chat"]))
    assert (answer["action"], answer["kind"], answer["version"]) == ("started", "orchestration", 3)
    session = rested(server.client, answer["sessionId"])
    assert (session["status"], session["mode"], session["summary"], session["prompt"]) == (
        "done",
        "direct",
        "answered",
        "안녕",
    )
    assert (session["origin"], session["title"], session["labels"]) == (origin, "Hello", ["chat"])


@pytest.mark.parametrize(
    ("text", "mode", "signals"),
    [
        ("안녕", "direct", []),
        ("그래서 대답이 뭐냐고", "direct", []),
        ("서버 상태 어때?", "direct", ["keyword"]),
        ("API가 뭐야?", "direct", ["keyword"]),
        ("코드 리뷰해줘", "direct", []),
        ("ㅇㅇ", "direct", []),
        ("고마워", "direct", []),
        ("src/agent.js 수정해줘", "orchestrated", ["keyword", "keywords", "path"]),
        ("API 만들고 테스트 작성해", "orchestrated", ["keyword", "keywords"]),
        ("API 엔드포인트 만들어줘", "orchestrated", ["keyword", "keywords"]),
        ("메모리 시스템 리팩토링하고 벡터 DB 추가해줘", "orchestrated", ["keyword", "keywords"]),
        (
            "메모리 시스템 리팩토링하고 벡터 DB 추가해줘 그리고 테스트도...",
            "orchestrated",
            ["keyword", "keywords", "multi"],
        ),
        ("src/agent.js의 함수를 리팩토링하고 테스트 작성해줘", "orchestrated", ["keyword", "keywords", "path"]),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_every_row_of_the_seed_is_triaged_as_listed(
    server: Server, text: str, mode: str, signals: list[str], form: Literal["NFC", "NFD"]
) -> None:
    """S3, K-21."""
    answer = says(server.client, message(unicodedata.normalize(form, text), origin=f"{form} {text}"))
    session = rested(server.client, answer["sessionId"])
    assert (session["mode"], session["triage"]["signals"], session["status"]) == (mode, signals, "done")


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t"])
def test_an_empty_message_is_400(server: Server, prompt: str) -> None:
    answer = server.client.post("/api/message", json={"prompt": prompt})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["action"], answer.json()["reason"]) == ("rejected", "empty")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/prompt"),
        ({"prompt": None}, "/prompt"),
        ({"prompt": "hello", "text": "hello"}, "/text"),
        ({"prompt": "hello", "workspace": "/nowhere/at/all"}, "/workspace"),
        ({"prompt": "hello", "scenario": {"replies": {"judge": "x"}}}, "/scenario/replies/judge"),
    ],
)
def test_invalid_message_is_422_with_a_pointer(server: Server, body: Json, pointer: str) -> None:
    answer = server.client.post("/api/message", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_the_teams_own_employees_take_part(server: Server, origin: str) -> None:
    answer = says(server.client, {"prompt": "hello", "origin": origin})
    assert rested(server.client, answer["sessionId"])["employees"] == TEAM


# -- one at a time -------------------------------------------------------------------------------------------------


def test_messages_wait_in_order_and_can_be_seen(server: Server, origin: str) -> None:
    first = says(server.client, message("one", {"assistant": [slow("first", 400)]}, origin=origin))
    assert channel(server, origin) == {
        "origin": origin,
        "busy": first["sessionId"],
        "latest": first["sessionId"],
        "queue": [],
    }
    waiting = [says(server.client, message(word, AT_ONCE, origin=origin, title=word)) for word in ("two", "three")]
    assert [(entry["action"], entry["reason"], entry["queued"], entry["pending"]) for entry in waiting] == [
        ("queued", "busy", True, 1),
        ("queued", "busy", True, 2),
    ]
    assert [entry["version"] for entry in waiting] == [0, 0], "they have not begun"
    assert 0 < waiting[0]["position"] < waiting[1]["position"]
    seen = channel(server, origin)
    assert [(item["sessionId"], item["prompt"], item["title"], item["sender"]) for item in seen["queue"]] == [
        (waiting[0]["sessionId"], "two", "two", "unauthenticated"),
        (waiting[1]["sessionId"], "three", "three", "unauthenticated"),
    ]
    assert seen["queue"][0]["queuedAt"] <= seen["queue"][1]["queuedAt"]
    assert server.client.get(f"/api/sessions/{waiting[0]['sessionId']}").status_code == 404, "it has not begun"
    until(lambda: not channel(server, origin)["busy"], what="the end of the queue")
    ids = [first["sessionId"], waiting[0]["sessionId"], waiting[1]["sessionId"]]
    begun = [session(server.client, session_id) for session_id in ids]
    assert [entry["status"] for entry in begun] == ["done", "done", "done"]
    assert begun[0]["updatedAt"] <= begun[1]["createdAt"] <= begun[1]["updatedAt"] <= begun[2]["createdAt"]
    assert channel(server, origin) == {"origin": origin, "busy": None, "latest": ids[2], "queue": []}


def test_a_session_that_waited_is_its_senders_and_its_own(server: Server, origin: str) -> None:
    """It starts when an agent's answer ends the previous session, and belongs to neither of them."""
    says(server.client, message("one", {"assistant": [slow("first", 200)]}, origin=origin))
    second = says(server.client, message("two", AT_ONCE, origin=origin))["sessionId"]
    until(lambda: not channel(server, origin)["busy"], what="the end of the queue")
    history = events(server.client, second)
    assert {event["correlationId"] for event in history} == {second}
    assert (history[0]["actor"], history[0]["causationId"].partition("-")[0]) == ("unauthenticated", "channel")


def test_channel_without_messages_is_empty(server: Server) -> None:
    assert channel(server, "silence") == {"origin": "silence", "busy": None, "latest": None, "queue": []}
    assert server.client.get("/api/message", params={"orgin": "x"}).status_code == 422


def test_concurrent_messages_start_one_after_another(server: Server, origin: str) -> None:
    bodies = [message(f"message {number}", {"assistant": [slow("ok", 400)]}, origin=origin) for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda body: says(server.client, body), bodies))
    assert sorted(answer["action"] for answer in answers) == ["queued"] * 15 + ["started"]
    assert sorted(answer["pending"] for answer in answers if "pending" in answer) == list(range(1, 16))
    until(lambda: not channel(server, origin)["busy"], what="the end of the queue")
    ended = [session(server.client, answer["sessionId"]) for answer in answers]
    assert {item["status"] for item in ended} == {"done"}
    order = sorted(ended, key=lambda item: str(item["createdAt"]))
    by_turn = {answer["sessionId"]: answer.get("pending", 0) for answer in answers}
    assert [by_turn[item["id"]] for item in order] == list(range(16))
    for before, after in pairwise(order):
        assert before["updatedAt"] <= after["createdAt"], "never two at once"


def test_a_duplicate_is_not_started_twice(server: Server, origin: str) -> None:
    first = says(server.client, message("안녕", AT_ONCE, origin=origin))
    again = says(server.client, message(unicodedata.normalize("NFD", "안녕"), AT_ONCE, origin=origin))
    assert (again["action"], again["reason"], again["sessionId"]) == ("rejected", "duplicate", first["sessionId"])
    assert (again["version"], again["position"] > first["position"]) == (0, True), "it moved no session"
    assert says(server.client, message("안녕", AT_ONCE, origin=f"{origin} 2"))["action"] == "started"


def test_queued_messages_survive_a_crash(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        replies = {"assistant": [slow("ok", 1_000)]}, AT_ONCE, AT_ONCE
        answers = [says(server.client, message(f"message {n}", replies[n])) for n in range(3)]
        before = channel(server, "")
        assert [item["sessionId"] for item in before["queue"]] == [answer["sessionId"] for answer in answers[1:]]
        server.kill()
        server.start()
        assert channel(server, "") == before, "the first is asked again, the others still wait"
        until(lambda: not channel(server, "")["busy"], what="the end of the queue")
        assert [session(server.client, answer["sessionId"])["status"] for answer in answers] == ["done"] * 3


# -- S1 §4, the three scenarios ------------------------------------------------------------------------------------


def test_scenario_1_checkpoint_continue_done(server: Server, origin: str) -> None:
    """S1 §4.1; "리뷰도 해봐" is no exact phrase (K-6), "리뷰해봐" is."""
    session = paused(server, origin)
    assert (session["summary"], agent(session, "Backend")["agentSession"]) == (
        "Phase 3 완료. 다음 지시?",
        "scripted:Backend",
    )
    answer = says(server.client, message("리뷰해봐", origin=origin))
    assert (answer["action"], answer["continued"], answer["sessionId"]) == ("started", True, session["id"])
    over = rested(server.client, session["id"])
    assert [entry["phase"] for entry in agent(over, "Backend")["history"]] == [3, 4, 5]
    assert (over["status"], over["summary"], agent(over, "Backend")["agentSession"]) == ("done", "전체 완료", None)
    asked = only(events(server.client, session["id"]), "turn.requested")
    assert [turn["agentSession"] for turn in asked if turn["agent"] == "Backend"][1] == "scripted:Backend"


def test_scenario_2_checkpoint_reset(server: Server, origin: str) -> None:
    """S1 §4.2; a sentence that ends in 리셋해 is a request (K-1), 리셋해 alone resets."""
    view = paused(server, origin)
    answer = says(server.client, message("리셋해", origin=origin))
    assert (answer["action"], answer["reset"], answer["sessionId"]) == ("started", True, view["id"])
    over = session(server.client, view["id"])
    assert (over["status"], agent(over, "Backend")["agentSession"]) == ("reset", None)
    assert says(server.client, message("리셋해", origin=origin)) | {"position": 0} == {
        "kind": "orchestration",
        "position": 0,
        "action": "rejected",
        "reason": "nothing_to_reset",
        "version": 0,
    }


@pytest.mark.parametrize("sentence", ["다른데서 리뷰했으니 리셋해", "초기화 코드를 작성해줘", "리셋 버튼 추가해줘"])
def test_a_sentence_never_resets(server: Server, origin: str, sentence: str) -> None:
    view = paused(server, origin)
    answer = says(server.client, message(sentence, origin=origin))
    assert answer["action"] == "started"
    assert answer["sessionId"] != view["id"]
    assert session(server.client, view["id"])["status"] == "checkpoint"


@pytest.mark.parametrize(("text", "nearest"), [("리셋해줘", "reset"), ("please continue", "continue")])
def test_nearly_a_word_to_continue_or_reset_starts_nothing(
    server: Server, origin: str, text: str, nearest: str
) -> None:
    """Contract §13."""
    view = paused(server, origin)
    answer = says(server.client, message(text, origin=origin))
    assert (answer["action"], answer["suggestions"][0], "sessionId" in answer) == ("unclear", nearest, False)
    assert channel(server, origin)["queue"] == []
    assert session(server.client, view["id"])["status"] == "checkpoint"
    assert channel(server, origin)["latest"] == view["id"]


def test_thanks_do_not_clear_the_waiting_run(server: Server, origin: str) -> None:
    """Contract §13."""
    view = paused(server, origin)
    thanks = says(server.client, message("고마워", AT_ONCE, origin=origin))
    assert rested(server.client, thanks["sessionId"])["mode"] == "direct"
    assert agent(session(server.client, view["id"]), "Backend")["agentSession"] is not None
    answer = says(server.client, message("이어서 해줘", origin=origin))
    assert (answer["sessionId"], answer["continued"]) == (view["id"], True)


def test_scenario_3_checkpoint_new_request(server: Server, origin: str) -> None:
    """S1 §4.3: the conversations of the previous run are cleared and its state is kept."""
    view = paused(server, origin)
    answer = says(server.client, message("다른 작업 해줘", LONG, origin=origin, triage="orchestrate"))
    assert (answer["action"], answer["sessionId"] != view["id"]) == ("started", True)
    before = session(server.client, view["id"])
    assert (before["status"], agent(before, "Backend")["agentSession"]) == ("checkpoint", None)
    cleared = only(events(server.client, view["id"]), "session.agent_sessions_cleared")[-1]
    assert cleared["reason"] == "a new request begins clean"
    assert cleared["agentSessions"]["Backend (backend)"] == "scripted:Backend"


# -- the words to continue and to reset ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", ["이어서 해줘", "계속", "다음 해봐", "/CONTINUE", "  continue "])
def test_the_exact_phrases_continue(server: Server, text: str, form: Literal["NFC", "NFD"]) -> None:
    where = f"{text} {form}"
    session = paused(server, where)
    answer = says(server.client, message(unicodedata.normalize(form, text), origin=where))
    assert (answer["continued"], answer["sessionId"]) == (True, session["id"])
    assert rested(server.client, session["id"])["status"] == "done"


def test_a_word_to_continue_goes_nowhere_while_the_run_is_busy(server: Server, origin: str) -> None:
    first = says(server.client, message("one", LONG, origin=origin))
    answer = says(server.client, message("이어서 해줘", origin=origin))
    assert (answer["action"], answer["reason"]) == ("rejected", "busy")
    assert channel(server, origin)["queue"] == []
    assert says(server.client, message("리셋", origin=origin))["sessionId"] == first["sessionId"]
    assert session(server.client, first["sessionId"])["status"] == "reset"


def test_a_word_to_continue_is_a_message_once_there_is_nothing_to_continue(server: Server, origin: str) -> None:
    """K-6, #182."""
    session = paused(server, origin)
    says(server.client, message("리셋", origin=origin))
    answer = says(server.client, message("이어서 해줘", AT_ONCE, origin=origin))
    assert (answer["action"], answer.get("continued")) == ("started", None)
    assert answer["sessionId"] != session["id"]


def test_a_reset_lets_the_next_message_go_on(server: Server, origin: str) -> None:
    first = says(server.client, message("one", LONG, origin=origin))["sessionId"]
    second = says(server.client, message("two", AT_ONCE, origin=origin))["sessionId"]
    answer = says(server.client, message("리셋", origin=origin))
    assert (answer["sessionId"], answer["reset"]) == (first, True)
    assert session(server.client, first)["status"] == "reset"
    assert rested(server.client, second)["status"] == "done"


# -- the endpoints that need no words ----------------------------------------------------------------------------------


def test_continue_and_reset_turn_to_the_latest_of_the_origin(server: Server, origin: str) -> None:
    session = paused(server, origin)
    answer = post(server.client, "/api/orchestrate/continue", {"origin": origin})
    body = answer.json()
    assert (answer.status_code, body["ok"], body["sessionId"], body["kind"]) == (
        200,
        True,
        session["id"],
        "orchestration",
    )
    assert answer.headers["ETag"] == f'"{body["version"]}"'
    assert rested(server.client, session["id"])["status"] == "done"
    refused = post(server.client, "/api/orchestrate/continue", {"origin": origin})
    assert refused.status_code == 409
    assert "An orchestration in the state done cannot be continued." in refused.json()["detail"]


def test_a_session_that_was_started_otherwise_is_the_latest_too(server: Server, origin: str) -> None:
    view = run(server.client, orchestration(scoped(), origin=origin))
    assert view["status"] == "checkpoint"
    answer = post(server.client, "/api/orchestrate/reset", {"origin": origin, "reason": "enough"})
    assert (answer.json()["ok"], answer.json()["sessionId"]) == (True, view["id"])
    [was_reset] = only(events(server.client, view["id"]), "orchestration.reset")
    assert (was_reset["reason"], session(server.client, view["id"])["status"]) == ("enough", "reset")
    assert post(server.client, "/api/orchestrate/reset", {"origin": origin}).status_code == 409


@pytest.mark.parametrize(
    ("endpoint", "detail"),
    [
        ("continue", "이어갈 worklog가 없습니다. (There is nothing to continue.)"),
        ("reset", "리셋할 worklog가 없습니다. (There is nothing to reset.)"),
    ],
)
def test_where_there_was_never_a_run_both_are_refused(server: Server, origin: str, endpoint: str, detail: str) -> None:
    answer = post(server.client, f"/api/orchestrate/{endpoint}", {"origin": origin})
    assert (answer.status_code, answer.json()["detail"]) == (409, detail)


def test_a_running_run_is_reset_and_not_continued(server: Server, origin: str) -> None:
    """K-17."""
    first = says(server.client, message("one", LONG, origin=origin))["sessionId"]
    assert post(server.client, "/api/orchestrate/continue", {"origin": origin}).status_code == 409
    assert post(server.client, "/api/orchestrate/reset", {"origin": origin}).json()["sessionId"] == first
    assert session(server.client, first)["status"] == "reset"


@pytest.mark.parametrize("endpoint", ["/api/orchestrate/continue", "/api/orchestrate/reset"])
def test_the_latest_run_is_bound_to_the_version_that_is_named(server: Server, origin: str, endpoint: str) -> None:
    view = paused(server, f"{origin} {endpoint}")
    body, version = {"origin": f"{origin} {endpoint}"}, view["version"]
    stale = post(server.client, endpoint, body, **{"If-Match": f'"{version + 1}"'})
    assert (stale.status_code, stale.json()["currentVersion"]) == (412, version)
    assert session(server.client, view["id"])["version"] == version
    assert post(server.client, endpoint, body, **{"If-Match": f'"{version}"'}).status_code == 200


@pytest.mark.parametrize("endpoint", ["/api/orchestrate/continue", "/api/orchestrate/reset"])
def test_the_latest_run_takes_the_fields_of_a_message(
    server: Server, origin: str, endpoint: str, tmp_path: Path
) -> None:
    """They are checked, and the run keeps its own (contract §2)."""
    view = paused(server, f"{origin} {endpoint}")
    body = {"origin": f"{origin} {endpoint}", "scenario": {"replies": {}}, "workspace": str(tmp_path)}
    for field, wrong in (("scenario", {"reply": {}}), ("workspace", str(tmp_path / "nowhere"))):
        assert post(server.client, endpoint, body | {field: wrong}).status_code == 422
    answer = post(server.client, endpoint, body)
    assert (answer.status_code, answer.json()["ok"], answer.json()["sessionId"]) == (200, True, view["id"])


def test_a_word_to_continue_is_bound_to_the_version_that_is_named(server: Server, origin: str) -> None:
    view = paused(server, origin)
    body = message("계속", origin=origin)
    stale = post(server.client, "/api/message", body, **{"If-Match": '"1"'})
    assert (stale.status_code, session(server.client, view["id"])["status"]) == (412, "checkpoint")
    fresh = post(server.client, "/api/message", body, **{"If-Match": f'"{view["version"]}"'})
    assert (fresh.status_code, fresh.json()["continued"]) == (200, True)


@pytest.mark.parametrize("endpoint", ["/api/message", "/api/orchestrate/continue", "/api/orchestrate/reset"])
def test_every_endpoint_answers_the_same_key_once(server: Server, origin: str, endpoint: str) -> None:
    where = f"{origin} {endpoint}"
    if endpoint != "/api/message":
        paused(server, where)
    body = message("hello", AT_ONCE, origin=where) if endpoint == "/api/message" else {"origin": where}
    key = {"Idempotency-Key": where.replace(" ", "-")[-200:]}
    first, again = post(server.client, endpoint, body, **key), post(server.client, endpoint, body, **key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert post(server.client, endpoint, body | {"origin": "another"}, **key).status_code == 422


@pytest.mark.parametrize("endpoint", ["continue", "reset"])
def test_refusal_under_a_key_is_repeated_after_later_changes(server: Server, origin: str, endpoint: str) -> None:
    where = f"{origin} {endpoint}"
    key = {"Idempotency-Key": f"refused-{endpoint}"}
    first = post(server.client, f"/api/orchestrate/{endpoint}", {"origin": where}, **key)
    paused(server, where)
    again = post(server.client, f"/api/orchestrate/{endpoint}", {"origin": where}, **key)
    assert (first.status_code, again.status_code, again.json()) == (409, 409, first.json())


def test_the_answer_to_a_message_says_where_the_log_is(server: Server, origin: str) -> None:
    answer = says(server.client, message("안녕", AT_ONCE, origin=origin))
    listed = server.client.get(
        "/api/sessions", headers={"Read-After": str(answer["position"])}, params={"q": answer["sessionId"]}
    )
    assert [item["id"] for item in listed.json()["items"]] == [answer["sessionId"]]
