"""External agents claim turns over HTTP, keep their leases and send results that count once (§4)."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.routes.turns import TurnOffer
from tests.api.orchestrating import ENDS
from tests.api.pulling import begin, claim, nothing, result, team, well, work
from tests.api.server import ROOT, Json, delivery, ended, events, inside, only, serving, session, start, until
from tests.kit.replies import plan, subtask, verdicts


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """The planner and the developer are external, with very long leases."""
    with inside(tmp_path, team=team(tmp_path, "planner", "dev", limits="output_bytes = 2000")) as result:
        yield result


def developing(client: httpx.Client, **fields: Any) -> tuple[str, Json]:
    """A delivery whose developer's turn is claimed."""
    session_id = begin(client, **fields)
    if session(client, session_id)["outstandingTurns"][0].get("external"):
        assert result(client, claim(client, roles=["planner"])).status_code == 200
    return session_id, claim(client, roles=["dev"])


# -- from claim to result ------------------------------------------------------------------------------------------


def test_a_claim_has_all_that_the_contract_says(client: TestClient) -> None:
    session_id = begin(client, maxMinutes=15)
    turn = claim(client)
    TurnOffer.model_validate(turn)
    assert (turn["sessionId"], turn["kind"], turn["role"], turn["agent"]) == (
        session_id,
        "delivery",
        "planner",
        "Remote",
    )
    assert turn["turnId"] == f"{session_id}.t1"
    assert "Add a login page" in turn["prompt"]
    assert turn["context"]["task"] == "Add a login page"
    assert Path(turn["workspace"]).is_dir()
    assert (turn["access"], turn["agentSession"]) == ("read", None)
    assert turn["deadline"] == session(client, session_id)["budget"]["deadlineAt"]
    assert turn["lease"] == {"attempt": 1, "until": turn["lease"]["until"], "seconds": 60.0, "heartbeatSeconds": 15.0}


SETTINGS = """
[workspace]
setup = ["touch made"]
env = { SHOP = "./inside", MODE = "test" }
"""


@pytest.fixture
def project(client: TestClient, tmp_path: Path) -> Path:
    """A repository with set-up and variables, trusted."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "hansard.toml").write_text(SETTINGS)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "A"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    assert client.post("/api/trust", json={"workspace": str(folder)}).status_code == 200
    return folder


@pytest.mark.parametrize("baseline", [True, False])
def test_a_claim_names_the_variables_and_the_set_up_that_is_left_to_do(
    client: TestClient, project: Path, baseline: bool
) -> None:
    """The baseline has set up the folder; without it, the worker does."""
    begin(client, workspace=str(project), baseline=baseline, validationCommands=["true"])
    turn = claim(client)
    person = {"NAME": "Remote via Hansard", "EMAIL": "remote@hansard.invalid"}
    git = {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in person.items()}
    assert turn["env"] == {"SHOP": f"{turn['workspace']}/inside", "MODE": "test"} | git
    assert turn["setup"] == ([] if baseline else [["touch", "made"]])
    assert (Path(turn["workspace"]) / "made").exists() is baseline


def test_a_result_is_recorded_like_any_agents_answer(client: TestClient) -> None:
    session_id, turn = developing(client)
    usage = {"inputTokens": 7, "cachedTokens": 2, "outputTokens": 3, "reasoningTokens": 1, "costMicros": 11}
    answer = result(
        client, turn, "Done.", usage=usage, files={"src/login.py": "x = 1\n"}, agentSession="thread 9", model="m-1"
    )
    receipt = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (200, f'"{receipt["version"]}"')
    assert ended(client, session_id)["status"] == "success"
    results = [event for event in events(client, session_id) if event["type"] == "turn.answered"]
    [event] = [event for event in results if event["data"]["role"] == "dev"]
    assert event["actor"] == "agent:Remote via unauthenticated"
    text = event["data"]
    assert (text["reply"]["head"], text["usage"], text["agentSession"]) == ("Done.", usage, "thread 9")
    assert text["prompt"]["head"] == turn["prompt"]
    assert text["model"] == "m-1"
    assert text["files"] == ["src/login.py"]
    assert "+x = 1" in text["patch"]["head"]
    assert Path(turn["workspace"], "src/login.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("beside", [{}, {"model": "m-1"}])
def test_a_result_may_name_the_model_in_its_usage(client: TestClient, beside: Json) -> None:
    """The usage object of the contract, also with the same model beside it (contract-2 §10)."""
    session_id, turn = developing(client)
    answer = result(client, turn, "Done.", usage={"inputTokens": 7, "costMicros": 11, "model": "m-1"}, **beside)
    assert answer.status_code == 200, answer.text
    ended(client, session_id)
    [event] = [event for event in only(events(client, session_id), "turn.answered") if event["role"] == "dev"]
    assert event["model"] == "m-1"
    assert (event["usage"]["inputTokens"], event["usage"]["costMicros"]) == (7, 11)


def test_files_written_by_a_worker_are_recorded(client: TestClient) -> None:
    session_id, turn = developing(client)
    Path(turn["workspace"], "mine.txt").write_text("by hand\n")
    assert result(client, turn, "See mine.txt.").status_code == 200
    ended(client, session_id)
    assert [
        event["files"] for event in only(events(client, session_id), "turn.answered") if event["role"] == "dev"
    ] == [["mine.txt"]]


def test_the_conversation_goes_on_where_the_last_result_left_it(client: TestClient) -> None:
    """Per role: the developer does not continue the planner's conversation."""
    session_id = begin(client, validationCommands=["false"], maxIterations=2)
    for role, thread in (("planner", "thread 1"), ("dev", "thread 2")):
        turn = claim(client)
        assert (turn["role"], turn["agentSession"]) == (role, None)
        assert result(client, turn, agentSession=thread).status_code == 200
    turn = claim(client)
    assert (turn["role"], turn["agentSession"]) == ("dev", "thread 2")
    assert result(client, turn).status_code == 200
    ended(client, session_id)
    messages = [event for event in only(events(client, session_id), "turn.answered") if event["agent"] == "Remote"]
    assert [message["agentSession"] for message in messages] == ["thread 1", "thread 2", "thread 2"]


BODIES: dict[str, tuple[Json, Callable[[Json], bool]]] = {
    "delivery": (
        {"kind": "delivery", "task": "Add it", "filePaths": ["a.py"], "validationCommands": ["true"]},
        lambda found: found["status"] == "success",
    ),
    "orchestration": (
        {"kind": "orchestration", "prompt": "Build it", "triage": "orchestrate"},
        lambda found: found["status"] in ENDS,
    ),
    "review": ({"kind": "review", "subject": "Step: parser"}, lambda found: found["status"] == "waiting_for_decision"),
    "debate": ({"kind": "debate", "plan": "1. Switch."}, lambda found: found["status"] == "waiting_for_decision"),
}


def planned(turn: Json) -> Json:
    """As `well`, with a plan for two agents that both pass."""
    if turn["reads"] == "subtasks":
        return {"text": plan(subtask("Remote", role="backend"))}
    if turn["reads"] == "verdicts":
        return {"text": verdicts(**dict.fromkeys(turn["expects"], True))}
    return well(turn)


@pytest.mark.parametrize("kind", BODIES)
def test_all_kinds_of_sessions_are_worked_through_by_an_external_worker_alone(tmp_path: Path, kind: str) -> None:
    body, over = BODIES[kind]
    with inside(tmp_path, team=team(tmp_path)) as client:
        session_id = start(client, body)
        turns = work(client, lambda: over(session(client, session_id)), planned)
        recorded = only(events(client, session_id), "turn.answered")
        asked = [item for item in recorded if item["reply"]["length"]]
        assert [item["turnId"] for item in asked] == [turn["turnId"] for turn in turns]
        assert {item["agent"] for item in asked} == {"Remote"}
        assert session(client, session_id)["status"] in ("success", "done", "waiting_for_decision")


def test_two_agents_that_work_at_once_have_folders_of_their_own_and_both_changes_stay(tmp_path: Path) -> None:
    names = ("Ada", "Bob")
    file = team(tmp_path)
    file.write_text(
        file.read_text() + "".join(f'[[agents]]\nname = "{n}"\nroles = ["data"]\nadapter = "external"\n' for n in names)
    )
    tasks = [subtask(n, role="data", parallel=True, verification={"affected_files": [f"{n}.py"]}) for n in names]
    with inside(tmp_path, team=file) as client:
        body = {"kind": "orchestration", "prompt": "Build it", "triage": "orchestrate"}
        session_id = start(client, body | {"employees": [{"name": n, "role": "data"} for n in names]})
        assert result(client, claim(client, roles=["planner"]), plan(*tasks)).status_code == 200
        first, second = claim(client, roles=["data"]), claim(client, roles=["data"])
        assert first["workspace"] != second["workspace"]
        for turn in (first, second):
            assert result(client, turn, "ok", files={f"{turn['agent']}.py": "x\n"}).status_code == 200
        judged = claim(client, roles=["judge"])
        assert sorted(judged["expects"]) == ["Ada", "Bob"]
        assert result(client, judged, verdicts(Ada=True, Bob=True)).status_code == 200
        until(lambda: session(client, session_id)["status"] == "done", what="the end")
        messages = [event for event in only(events(client, session_id), "turn.answered") if event.get("tree")]
        repository = Path(first["workspace"]).parent / "repo.git"
        listed = ["git", f"--git-dir={repository}", "ls-tree", "--name-only", messages[-1]["tree"]]
        assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout == "Ada.py\nBob.py\n"


def test_the_worker_of_the_documents_works(tmp_path: Path) -> None:
    """`docs/api.md` shows the complete worker."""
    [source] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "worker.py").write_text(source, encoding="utf-8")
    with serving(tmp_path, team=team(tmp_path, "dev")) as server:
        environment = {"HANSARD_SERVER": server.url, "PATH": os.environ["PATH"]}
        command = [sys.executable, str(tmp_path / "worker.py"), "dev"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as worker:
            try:
                for session_id in [begin(server.client) for _ in range(3)]:
                    assert ended(server.client, session_id)["status"] == "success"
                    data = only(events(server.client, session_id), "turn.answered")
                    [developer] = [message for message in data if message["role"] == "dev"]
                    assert developer["reply"]["head"].startswith("Remote read ")
                    assert developer["files"] == ["REMOTE.md"]
                assert worker.poll() is None
            finally:
                worker.kill()
                _, complaints = worker.communicate()
        assert complaints == b""


# -- who claims what -----------------------------------------------------------------------------------------------


def test_the_local_worker_leaves_external_turns_alone_and_does_all_others(client: TestClient) -> None:
    waiting = begin(client)
    scripted = start(client, delivery())
    assert ended(client, scripted)["status"] == "success"
    [turn] = session(client, waiting)["outstandingTurns"]
    assert (turn["agent"], turn["external"]) == ("Remote", True)
    assert only(events(client, waiting), "turn.answered") == []


def test_scripted_and_local_turns_cannot_be_claimed(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path, "dev"), worker_slots=1) as client:
        silent = start(client, delivery({"planner": [{"text": "late", "delayMs": 600_000}]}))
        begin(client)  # its planning waits because the only slot is taken
        nothing(client)
        assert client.post(f"/api/sessions/{silent}/cancel", json={}).status_code == 200
        assert claim(client)["role"] == "dev"


@pytest.mark.parametrize(
    ("wish", "found"),
    [
        ({}, True),
        ({"roles": ["planner"]}, True),
        ({"roles": ["dev", "PLANNER"]}, True),
        ({"agents": ["remote"]}, True),
        ({"agents": ["Somebody"], "roles": ["planner"]}, True),
        ({"roles": ["dev"]}, False),
        ({"agents": ["Local"]}, False),
    ],
)
def test_agents_and_roles_narrow_a_claim(client: TestClient, wish: Json, found: bool) -> None:
    begin(client)
    if found:
        assert claim(client, wait=0, **wish)["role"] == "planner"
    else:
        nothing(client, **wish)


def test_turns_are_claimed_oldest_first_and_each_once(client: TestClient) -> None:
    ids = [begin(client) for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        claimed = list(pool.map(lambda _: claim(client, wait=0)["sessionId"], ids))
    assert sorted(claimed) == sorted(ids)
    nothing(client)


def test_fork_reuses_answers_before_it_waits_for_a_worker(client: TestClient) -> None:
    session_id, turn = developing(client)
    assert result(client, turn, "first").status_code == 200
    ended(client, session_id)
    history = events(client, session_id)
    version = next(event["version"] for event in history if event["type"] == "delivery.session_started")
    forked = client.post(f"/api/sessions/{session_id}/fork", json={"atVersion": version, "snap": True})
    again = forked.json()["sessionId"]
    assert ended(client, again)["status"] == "success"
    nothing(client)
    budget = {"substitute": {"answer": {"text": "another plan"}}, "atVersion": version, "snap": True}
    other = client.post(f"/api/sessions/{session_id}/fork", json=budget).json()["sessionId"]
    turn = claim(client)
    assert (turn["sessionId"], turn["role"]) == (other, "dev")
    assert result(client, turn, "second").status_code == 200
    assert ended(client, other)["status"] == "success"


def waiters(client: httpx.Client) -> int:
    """The number of workers waiting for a turn."""
    [count] = re.findall(r"^hansard_claims_waiting (\d+)", client.get("/metrics").text, re.MULTILINE)
    return int(count)


# -- waiting -------------------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_waiting_worker_is_woken_by_a_new_turn(client: TestClient) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(claim, client, wait=20)
        until(lambda: waiters(client) == 1, what="a waiter")
        began = time.monotonic()
        session_id = begin(client)
        assert waiting.result(timeout=20)["sessionId"] == session_id
        assert time.monotonic() - began < 0.9


def test_wait_is_capped_and_ends_with_204(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path), claim_wait_seconds=0.2) as client:
        began = time.monotonic()
        nothing(client, wait=60)
        assert 0.2 <= time.monotonic() - began < 50


def test_waiters_take_no_threads(client: TestClient) -> None:
    nothing(client)
    with ThreadPoolExecutor(40) as pool:
        before = threading.active_count()
        waiting = [pool.submit(client.post, "/api/turns/claim", json={"waitSeconds": 10}) for _ in range(40)]
        until(lambda: waiters(client) == 40, what="40 waiters")
        assert threading.active_count() - before <= 40 + 8  # the clients' own threads, and a few that poll
        assert {answer.result().status_code for answer in waiting} == {204}


def test_disconnected_waiter_gets_no_turn(tmp_path: Path) -> None:
    with serving(tmp_path, team=team(tmp_path)) as server:
        with pytest.raises(httpx.TimeoutException):
            server.client.post("/api/turns/claim", json={"waitSeconds": 20}, timeout=0.5)
        session_id = begin(server.client)
        turn = claim(server.client)
        assert (turn["sessionId"], turn["lease"]["attempt"]) == (session_id, 1)


@pytest.mark.alone
def test_server_shutdown_releases_waiters(tmp_path: Path) -> None:
    with serving(tmp_path, team=team(tmp_path)) as server, ThreadPoolExecutor(1) as pool:
        nothing(server.client)
        waiting = pool.submit(httpx.post, f"{server.url}/api/turns/claim", json={"waitSeconds": 25}, timeout=30)
        until(lambda: waiters(server.client) == 1, what="a waiter")
        assert server.stop() < 3
        assert waiting.result(timeout=5).status_code == 204
