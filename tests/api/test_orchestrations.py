"""Orchestrations over HTTP, with a scripted team and with real programs (S0, S1, S3; contract §2, §3)."""

import fcntl
import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.api.orchestrating import TEAM, agent, orchestration, post, rested, run, says, slow
from tests.api.server import Json, Server, events, inside, only, reached, serving, session, until
from tests.kit.replies import plan, subtask, verdicts

ASKED = ["turn.requested", "turn.answered"]
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("orchestrations")) as result:
        yield result


def topics(history: list[Json]) -> list[str]:
    return [event["type"].removeprefix("orchestration.") for event in history]


def paused(server: Server, **fields: Any) -> Json:
    """A run that rests at a checkpoint after phase 3."""
    replies = {
        "planner": [plan(subtask("Backend", checkpoint=True), subtask("Docs"))],
        "judge": [verdicts(words="Phase 3 is built.", Backend=True, Docs=True), verdicts(Backend=True)],
    }
    return run(server.client, orchestration(replies, **fields))


def ran_out(server: Server, **fields: Any) -> Json:
    replies = {"planner": [plan(subtask("Backend", 3, 4), subtask("Docs"))]}
    replies["judge"] = [verdicts(Backend=False, Docs=True), *[verdicts(Backend=False)] * 3, verdicts(Backend=True)]
    return run(server.client, orchestration(replies, **fields))


# -- from the request to the end -----------------------------------------------------------------------------------


def test_run_of_two_rounds_event_by_event(server: Server) -> None:
    replies = {
        "planner": [plan(subtask("Backend", 3, 4), subtask("Docs"))],
        "Backend": ["built", "tested"],
        "Docs": ["written"],
        "judge": [verdicts(Backend=True, Docs=True), verdicts(words="All is well.", Backend=True)],
    }
    session = run(server.client, orchestration(replies))
    history = events(server.client, session["id"])
    assert topics(history) == [
        *["session_started", "session.agent_sessions_cleared", *ASKED, "plan_made"],
        *["round_start", *ASKED, "work_reported", *ASKED, "work_reported", "judging_started", *ASKED],
        *["verdict_given", "verdict_given", "round_done"],
        *["round_start", *ASKED, "work_reported", "judging_started", *ASKED, "verdict_given", "round_done"],
        *["completed", "session.agent_sessions_cleared", "orchestrate_done"],
    ]
    assert [event["version"] for event in history] == list(range(1, session["version"] + 1))
    starts, ends = only(history, "orchestration.round_start"), only(history, "orchestration.round_done")
    assert [(event["round"], event["agentPhases"]) for event in starts] == [
        (1, [{"agent": "Backend", "phase": 3, "completed": False}, {"agent": "Docs", "phase": 3, "completed": False}]),
        (2, [{"agent": "Backend", "phase": 4, "completed": False}, {"agent": "Docs", "phase": 3, "completed": True}]),
    ]
    assert [(event["round"], event["action"]) for event in ends] == [(1, "next"), (2, "complete")]
    [over] = only(history, "orchestration.orchestrate_done")
    assert (over["text"]["head"], over["origin"], over["status"], over["checkpoint"]) == (
        "All is well.",
        "",
        "done",
        False,
    )
    [data, _, last] = only(history, "orchestration.verdict_given")
    assert (data["agent"], data["phase"], data["pass"], data["feedback"]) == ("Backend", 3, True, "Backend: True")
    assert (last["phase"], last["completed"]) == (4, True)


def test_the_view_of_a_run(server: Server) -> None:
    """Contract §2, Views."""
    session = paused(server, title="My run", labels=["a"], origin="view")
    assert {name: session[name] for name in ("kind", "status", "title", "origin", "labels", "prompt", "mode")} == {
        "kind": "orchestration",
        "status": "checkpoint",
        "title": "My run",
        "origin": "view",
        "labels": ["a"],
        "prompt": "Build it",
        "mode": "orchestrated",
    }
    assert session["triage"] == {"orchestrate": False, "signals": []}
    assert (session["planVersion"], session["round"], session["maxRounds"]) == (1, 1, 3)
    assert session["plan"] == plan(subtask("Backend", checkpoint=True), subtask("Docs"))
    assert (session["summary"], session["warnings"], session["outstandingTurns"]) == ("Phase 3 is built.", [], [])
    expected = {
        "agent": "Backend",
        "role": "backend",
        "task": "Backend's task",
        "parallel": False,
        "checkpoint": True,
        "checkpointed": True,
        "phaseProfile": [3],
        "currentPhase": 3,
        "completed": False,
        "status": "paused",
        "gate": "⏸ checkpoint",
        "history": [{"round": 1, "phase": 3, "pass": True, "feedback": "Backend: True"}],
        "agentSession": "scripted:Backend",
    }
    assert {name: agent(session, "Backend")[name] for name in expected} == expected
    docs = agent(session, "Docs")
    assert (docs["status"], docs["gate"], docs["completed"]) == ("completed", "✅ 완료", True)


def test_run_can_be_read_at_any_version(server: Server) -> None:
    view = paused(server)
    at = {event["type"]: event["version"] for event in events(server.client, view["id"])}
    plan_made = session(server.client, view["id"], version=at["orchestration.plan_made"])
    assert (plan_made["status"], plan_made["round"], agent(plan_made, "Backend")["gate"]) == ("active", 0, "⏳ 진행 중")
    judging = session(server.client, view["id"], version=at["orchestration.judging_started"])
    assert [turn["agent"] for turn in judging["outstandingTurns"]] == []
    assert agent(judging, "Backend")["agentSession"] == "scripted:Backend"


@pytest.mark.parametrize(
    ("prompt", "triage", "mode", "signals"),
    [
        ("안녕", "auto", "direct", []),
        ("API가 뭐야?", "auto", "direct", ["keyword"]),
        ("src/agent.js 수정해줘", "auto", "orchestrated", ["keyword", "keywords", "path"]),
        ("src/agent.js 수정해줘", "direct", "direct", ["keyword", "keywords", "path"]),
        ("안녕", "orchestrate", "orchestrated", []),
    ],
)
def test_triage_decides_or_is_overruled(
    server: Server, prompt: str, triage: str, mode: str, signals: list[str]
) -> None:
    """S3, K-22."""
    session = run(server.client, orchestration(prompt=prompt, triage=triage))
    assert (session["status"], session["mode"], session["summary"]) == ("done", mode, "ok")
    assert session["triage"] == {"orchestrate": len(signals) >= 2, "signals": signals}


def test_without_employees_one_agent_answers(server: Server) -> None:
    session = run(server.client, orchestration(prompt="src/agent.js 수정해줘", employees=[], triage="auto"))
    assert (session["mode"], session["status"], session["triage"]["orchestrate"]) == ("direct", "done", True)


def test_the_teams_own_employees_are_the_default(server: Server) -> None:
    body = orchestration({"planner": [plan(subtask("docs"))]})
    del body["employees"]
    session = run(server.client, body)
    assert session["employees"] == TEAM
    assert agent(session, "Docs")["completed"] is True


def test_late_subtasks_enter_the_same_rounds(server: Server) -> None:
    """S0 2-D, S1 §3.3."""
    replies = {"assistant": ["I hand it on.\n" + plan(subtask("Backend", checkpoint=True))]}
    session = run(server.client, orchestration(replies, triage="direct"))
    assert (session["status"], session["mode"], session["plan"]) == (
        "checkpoint",
        "orchestrated",
        "Agent-initiated dispatch",
    )
    assert agent(session, "Backend")["agentSession"] == "scripted:Backend"


def test_an_invalid_plan_is_repaired_or_ends_the_run(server: Server) -> None:
    """K-18, contract §5."""
    session = run(server.client, orchestration({"planner": [plan(subtask("Ghost")), plan(subtask("Backend"))]}))
    assert (session["status"], session["planVersion"]) == ("done", 1)
    [refused] = only(events(server.client, session["id"]), "orchestration.plan_refused")
    assert refused["reasons"] == ["There is no employee 'Ghost'; there are: Frontend, Backend, Data, Docs."]

    replies = {"planner": [plan(subtask("Ghost")), "Hm?", "Hm.", plan(subtask("Backend"))]}
    session = run(server.client, orchestration(replies))
    assert (session["status"], session["reason"], session["agents"]) == ("partial", "plan_invalid", [])
    assert session["summary"] == "Hm.\n\nThe reply holds no list of subtasks."
    assert post(server.client, f"/api/sessions/{session['id']}/retry").status_code == 202
    session = rested(server.client, session["id"])
    assert (session["status"], session["planVersion"], agent(session, "Backend")["completed"]) == ("done", 1, True)
    assert len(only(events(server.client, session["id"]), "orchestration.retried")) == 1


def test_an_agent_that_fails_is_judged_as_an_error(server: Server) -> None:
    replies = {
        "planner": [plan(subtask("Backend"))],
        "Backend": [{"error": "timeout"}, "built"],
        "judge": [verdicts(Backend=False), verdicts(Backend=True)],
    }
    session = run(server.client, orchestration(replies, retry={"attempts": 1}))
    history = events(server.client, session["id"])
    assert [report["result"] for report in only(history, "orchestration.work_reported")] == ["error", "done"]
    [first, _] = [asked for asked in only(history, "turn.requested") if asked["role"] == "judge"]
    assert first["context"]["results"]["head"].startswith("❌ Backend\ntimeout: ")
    assert (session["status"], session["round"]) == ("done", 2)


def test_unreadable_verdicts_advance_no_agent(server: Server) -> None:
    """CP-004, K-14, K-15."""
    replies = {
        "planner": [plan(subtask("Backend", 3, 4))],
        "judge": [
            '{"allDone": true}',
            '{"verdicts": [{"agent": "Backend", "pass": "true"}], "allDone": true}',
            verdicts(Backend=False),
        ],
    }
    session = run(server.client, orchestration(replies, maxRounds=2))
    assert (session["status"], agent(session, "Backend")["currentPhase"]) == ("partial", 3)
    assert [(entry["phase"], entry["pass"]) for entry in agent(session, "Backend")["history"]] == [(3, False)] * 2
    unreadable = only(events(server.client, session["id"]), "orchestration.verdict_unreadable")
    assert [(event["round"], event["attempt"]) for event in unreadable] == [(1, 1)]


def test_the_next_round_brings_the_judges_feedback(server: Server) -> None:
    replies = {"planner": [plan(subtask("Backend"))], "judge": [verdicts(Backend=False), verdicts(Backend=True)]}
    session = run(server.client, orchestration(replies))
    asked = [
        asked for asked in only(events(server.client, session["id"]), "turn.requested") if asked["role"] == "backend"
    ]
    assert [turn["context"]["feedback"]["head"] for turn in asked] == ["", "Backend: False"]
    assert [turn["agentSession"] for turn in asked] == [None, "scripted:Backend"]


# -- the ends, and continuing --------------------------------------------------------------------------------------


def test_continue_after_a_checkpoint_goes_on_with_the_next_phase(server: Server) -> None:
    """K-7, K-9: same session, no planner call; at the end the conversations are cleared."""
    session = paused(server)
    answer = post(server.client, f"/api/sessions/{session['id']}/continue")
    assert answer.status_code == 200
    assert answer.json()["sessionId"] == session["id"]
    over = rested(server.client, session["id"])
    assert (over["status"], over["round"], over["planVersion"]) == ("done", 3, 1)
    assert [entry["phase"] for entry in agent(over, "Backend")["history"]] == [3, 4, 5]
    assert (agent(over, "Backend")["checkpoint"], agent(over, "Backend")["agentSession"]) == (False, None)
    history = events(server.client, session["id"])
    assert [asked["role"] for asked in only(history, "turn.requested")].count("planner") == 1
    resumed = [asked["agentSession"] for asked in only(history, "turn.requested") if asked["agent"] == "Backend"]
    assert resumed == [None, "scripted:Backend", "scripted:Backend"]


def test_continue_after_partial_goes_on_in_the_same_phase_with_fresh_rounds(server: Server) -> None:
    session = ran_out(server, maxRounds=2)
    assert (session["status"], session["reason"], session["round"], session["lastRound"]) == ("partial", "rounds", 2, 2)
    assert session["summary"] == (
        "## 완료 (1)\n- ✅ Docs (docs)\n\n## 미완료 (1)\n- ⏳ Backend (backend) — Phase 3: 개발\n\n"
        f'이어서 진행하려면 "이어서 해줘"라고 말씀하세요.\nWorklog: /api/sessions/{session["id"]}/worklog'
    )
    assert agent(session, "Backend")["agentSession"] == "scripted:Backend"
    post(server.client, f"/api/sessions/{session['id']}/continue")
    again = rested(server.client, session["id"])
    assert (again["status"], again["round"], again["lastRound"]) == ("partial", 4, 4)
    post(server.client, f"/api/sessions/{session['id']}/continue")
    over = rested(server.client, session["id"])
    assert (over["status"], over["round"]) == ("done", 6)


@pytest.mark.parametrize("end", ["done", "reset"])
def test_edge_cases_8_and_9_ended_run_is_not_continued(server: Server, end: str) -> None:
    """S1 §5.8 and §5.9."""
    session = paused(server) if end == "reset" else run(server.client, orchestration())
    if end == "reset":
        post(server.client, f"/api/sessions/{session['id']}/reset")
    answer = post(server.client, f"/api/sessions/{session['id']}/continue")
    assert answer.status_code == 409
    nothing = "이어갈 worklog가 없습니다. (There is nothing to continue.)"
    assert answer.json()["detail"] == (
        f"{nothing} An orchestration in the state {end} cannot be continued. Nothing is allowed now."
    )
    assert server.client.get(f"/api/sessions/{session['id']}").json()["availableCommands"] == []


def test_available_commands_are_the_endpoints_that_open(server: Server) -> None:
    session = paused(server)
    shown = server.client.get(f"/api/sessions/{session['id']}").json()
    assert shown["availableCommands"] == ["continue", "reset", "cancel", "revise"]
    answer = post(server.client, f"/api/sessions/{session['id']}/budget", {"addRounds": 1, "reason": "more"})
    assert (answer.status_code, answer.json()["allowed"]) == (409, shown["availableCommands"])
    assert answer.json()["detail"] == (
        "An orchestration in the state checkpoint cannot be given more rounds."
        " Allowed now: continue, reset, cancel, revise."
    )


def test_agent_text_never_becomes_state(server: Server) -> None:
    """K-8: shipped, continue was refused once an agent had written `Status: done`."""
    words = "- Status: done\n## Final Summary\n| Backend | backend | Phase 3 | ✅ 완료 |\nStatus: reset"
    replies = {
        "planner": [plan(subtask("Backend", checkpoint=True, task=words))],
        "Backend": [words],
        "judge": [verdicts(words=words, Backend=True)],
    }
    session = run(server.client, orchestration(replies, prompt=f"Build it. {words}"))
    assert session["status"] == "checkpoint"
    assert post(server.client, f"/api/sessions/{session['id']}/continue").status_code == 200
    assert rested(server.client, session["id"])["status"] == "done"


def test_reset_ends_a_run_that_rests(server: Server) -> None:
    view = paused(server)
    assert post(server.client, f"/api/sessions/{view['id']}/reset", {"reason": "enough"}).status_code == 200
    over = session(server.client, view["id"])
    assert (over["status"], over["round"], over["summary"]) == ("reset", 1, "유저 요청으로 페이즈 리셋됨.")
    assert agent(over, "Backend")["agentSession"] is None
    [history] = only(events(server.client, view["id"]), "orchestration.orchestrate_done")[1:]
    assert history["text"]["head"] == "페이즈 리셋 완료. 새로 시작하려면 작업을 요청하세요."
    assert post(server.client, f"/api/sessions/{view['id']}/reset").status_code == 409


@pytest.mark.parametrize("endpoint", ["reset", "cancel"])
def test_reset_while_agents_work_ends_the_run_at_once(server: Server, endpoint: str) -> None:
    """K-17."""
    replies = {"planner": [plan(subtask("Backend"))], "Backend": [slow()]}
    session_id = server.client.post("/api/sessions", json=orchestration(replies)).json()["sessionId"]
    reached(server.client, session_id, "turn.requested", count=2)
    assert post(server.client, f"/api/sessions/{session_id}/{endpoint}").status_code == 200
    view = session(server.client, session_id)
    assert (view["status"], view["outstandingTurns"]) == ("reset", [])
    assert topics(events(server.client, session_id))[-4:] == [
        *["turn.cancelled", "reset", "session.agent_sessions_cleared", "orchestrate_done"]
    ]


def test_more_rounds_let_a_run_that_ran_out_go_on(server: Server) -> None:
    session = ran_out(server, maxRounds=1)
    body = {"addRounds": 1, "reason": "nearly there"}
    assert post(server.client, f"/api/sessions/{session['id']}/budget", body).status_code == 200
    again = rested(server.client, session["id"])
    assert (again["status"], again["round"], again["lastRound"]) == ("partial", 2, 2)
    [added] = only(events(server.client, session["id"]), "orchestration.rounds_added")
    assert (added["addRounds"], added["lastRound"], added["why"]) == (1, 2, "nearly there")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"addIterations": 1, "reason": "r"}, "/addIterations"),
        ({"addRounds": 1, "addMinutes": 1, "reason": "r"}, "/addMinutes"),
        ({"reason": "r"}, ""),
        ({"addRounds": 0, "reason": "r"}, "/addRounds"),
        ({"addRounds": 1}, "/reason"),
    ],
)
def test_only_rounds_are_the_budget_of_a_run(server: Server, body: Json, pointer: str) -> None:
    session = run(server.client, orchestration())
    answer = post(server.client, f"/api/sessions/{session['id']}/budget", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


# -- conventions of the endpoints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"prompt": "   "}, "/prompt"),
        ({"prompt": 7}, "/prompt"),
        ({"maxRounds": 0}, "/maxRounds"),
        ({"maxRounds": "3"}, "/maxRounds"),
        ({"triage": "maybe"}, "/triage"),
        ({"employees": [{"name": ""}]}, "/employees/0/name"),
        ({"employees": [{"name": "A"}, {"name": "a"}]}, "/employees/1/name"),
        ({"employees": [{"name": unicodedata.normalize(form, "백엔드")} for form in FORMS]}, "/employees/1/name"),
        ({"employees": [{"name": "A", "rank": 1}]}, "/employees/0/rank"),
        ({"workspace": "relative"}, "/workspace"),
        ({"scenario": {"replies": {"judge": []}}}, "/scenario/replies/judge"),
        ({"rounds": 3}, "/rounds"),
    ],
)
def test_invalid_start_is_422_with_a_pointer(server: Server, fields: Json, pointer: str) -> None:
    answer = server.client.post("/api/sessions", json=orchestration() | fields)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_a_command_is_bound_to_the_version_it_names(server: Server) -> None:
    session = paused(server)
    path, version = f"/api/sessions/{session['id']}/continue", session["version"]
    stale = post(server.client, path, **{"If-Match": f'"{version - 1}"'})
    assert (stale.status_code, stale.json()["currentVersion"]) == (412, version)
    fresh = post(server.client, path, **{"If-Match": f'"{version}"'})
    assert (fresh.status_code, fresh.headers["ETag"]) == (200, f'"{fresh.json()["version"]}"')


@pytest.mark.parametrize("endpoint", ["continue", "reset", "cancel", "budget"])
def test_every_endpoint_answers_the_same_key_once(server: Server, endpoint: str) -> None:
    session = ran_out(server, maxRounds=1)
    path = f"/api/sessions/{session['id']}/{endpoint}"
    body: Json = {"addRounds": 1, "reason": "r"} if endpoint == "budget" else {}
    key = {"Idempotency-Key": f"{endpoint}-{session['id']}"}
    first = post(server.client, path, body, **key)
    rested(server.client, session["id"])
    again = post(server.client, path, body, **key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert post(server.client, path, {"reason": "another"}, **key).status_code == 422


@pytest.mark.parametrize("endpoint", ["continue", "reset", "cancel", "budget"])
def test_endpoints_answer_404_for_everything_but_sessions(server: Server, endpoint: str) -> None:
    says(server.client, {"prompt": "hello", "origin": "hidden", "triage": "direct"})
    channel = next(item["sessionId"] for item in log(server) if item["kind"] == "channel")
    body: Json = {"addRounds": 1, "reason": "r"} if endpoint == "budget" else {}
    for session_id in (channel, "orchestration-0000000000", "nonsense"):
        answer = post(server.client, f"/api/sessions/{session_id}/{endpoint}", body)
        assert (answer.status_code, answer.json()["detail"]) == (404, f"There is no session '{session_id}'.")
    assert server.client.get(f"/api/sessions/{channel}").status_code == 404


def log(server: Server) -> list[Json]:
    session: list[Json] = server.client.get("/api/events", params={"limit": "500"}).json()["items"]
    return session


@pytest.mark.parametrize("endpoint", ["continue", "reset"])
def test_a_delivery_is_neither_continued_nor_reset(server: Server, endpoint: str) -> None:
    body = {"task": "t", "filePaths": ["a.py"], "validationCommands": ["true"], "scenario": {"replies": {}}}
    session_id = server.client.post("/api/sessions", json=body).json()["sessionId"]
    answer = post(server.client, f"/api/sessions/{session_id}/{endpoint}")
    assert (answer.status_code, answer.json()["title"]) == (409, "Not allowed in this state")


# -- one orchestration of an origin --------------------------------------------------------------------------------


def test_a_second_orchestration_of_a_busy_origin_is_refused(server: Server) -> None:
    body = orchestration({"planner": [slow()]}, origin="single")
    first = server.client.post("/api/sessions", json=body).json()["sessionId"]
    refused = server.client.post("/api/sessions", json=orchestration(origin="single"))
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith(f"Origin 'single' is busy with session {first}.")
    assert run(server.client, orchestration(origin="another"))["status"] == "done"
    post(server.client, f"/api/sessions/{first}/cancel")
    assert run(server.client, orchestration(origin="single"))["status"] == "done"


def test_a_run_is_not_continued_while_another_of_its_origin_is_busy(server: Server) -> None:
    resting = paused(server, origin="twice")
    body = orchestration({"planner": [slow()]}, origin="twice")
    busy = server.client.post("/api/sessions", json=body).json()["sessionId"]
    refused = post(server.client, f"/api/sessions/{resting['id']}/continue")
    assert (refused.status_code, session(server.client, resting["id"])["status"]) == (409, "checkpoint")
    post(server.client, f"/api/sessions/{busy}/cancel")
    assert post(server.client, f"/api/sessions/{resting['id']}/continue").status_code == 200


@pytest.mark.parametrize("rest", [paused, ran_out])
def test_edge_cases_6_and_7_new_request_clears_the_resting_run(server: Server, rest: Any) -> None:
    """S1 §5.6 and §5.7: through either endpoint."""
    for endpoint in ("session", "message"):
        origin = f"{rest.__name__}-{endpoint}"
        result = rest(server, origin=origin)
        assert agent(result, "Backend")["agentSession"] == "scripted:Backend"
        if endpoint == "session":
            run(server.client, orchestration(origin=origin))
        else:
            says(server.client, {"prompt": "다른 작업 해줘", "origin": origin, "triage": "orchestrate"})
        after = session(server.client, result["id"])
        assert (after["status"], agent(after, "Backend")["agentSession"]) == (result["status"], None)


def test_sessions_without_an_origin_leave_each_other_alone(server: Server) -> None:
    view = paused(server)
    run(server.client, orchestration())
    assert agent(session(server.client, view["id"]), "Backend")["agentSession"] == "scripted:Backend"


# -- real programs in a real repository ----------------------------------------------------------------------------

PROGRAM = """
import json, pathlib, sys, time
name, prompt = sys.argv[1], sys.stdin.read()
here = pathlib.Path.cwd()
(here / f"{name}.txt").write_text(f"by {name} in {here}\\n")
meeting = pathlib.Path(sys.argv[2])
(meeting / name).touch()
deadline = time.monotonic() + 20
while not all((meeting / other).exists() for other in ("backend", "docs")):
    if time.monotonic() > deadline:
        sys.exit("the other one never came")
    time.sleep(0.01)
print(f"{name} worked in {here}")
"""


def a_repository(folder: Path) -> Path:
    folder.mkdir()
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.org"],
        ["commit", "-q", "--allow-empty", "-m", "begin"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def a_team(folder: Path, programs: dict[str, list[str]], scenario: Json) -> Path:
    """Employees that are programs, without a fence; the scenario gives the other answers."""
    listed = [
        f'[[agents]]\nname = "{name}"\nroles = ["{name.lower()}"]\nadapter = "command"\n'
        f"[agents.settings]\nargv = {json.dumps(argv)}\n"
        for name, argv in programs.items()
    ]
    listed += [
        f'[[agents]]\nname = "{post}"\nroles = ["{post}"]\nadapter = "scripted"\n'
        '[agents.settings]\nscenario = "posts.json"\n'
        for post in ("planner", "judge")
    ]
    (folder / "posts.json").write_text(json.dumps(scenario))
    team = folder / "team.toml"
    team.write_text("\n".join(['sandbox = "off"', *listed]))
    return team


def test_two_programs_work_at_once_in_worktrees_of_their_own(tmp_path: Path) -> None:
    """Each waits for the other, so they only end in parallel. Both changes are kept."""
    repository, meeting, program = a_repository(tmp_path / "repository"), tmp_path / "meeting", tmp_path / "agent.py"
    meeting.mkdir()
    program.write_text(PROGRAM)
    programs = {name: [sys.executable, str(program), name.lower(), str(meeting)] for name in ("Backend", "Docs")}
    apart = {name: {"affected_files": [f"{name.lower()}.txt"]} for name in programs}
    planned = plan(*(subtask(name, parallel=True, verification=files) for name, files in apart.items()))
    with inside(tmp_path, team=a_team(tmp_path, programs, {"replies": {"planner": [planned]}})) as client:
        body = {"kind": "orchestration", "prompt": "Both", "triage": "orchestrate", "workspace": str(repository)}
        session = run(client, body)
        history = events(client, session["id"])
    reports = {event["agent"]: event for event in only(history, "orchestration.work_reported")}
    assert {name: report["result"] for name, report in reports.items()} == {"Backend": "done", "Docs": "done"}
    folders = {report["report"]["head"].split(" in ")[1].strip() for report in reports.values()}
    assert len(folders) == 2
    assert str(repository) not in folders
    assert session["status"] == "done"
    answered = [event for event in only(history, "turn.answered") if event["agent"] in programs]
    assert sorted(event["files"] for event in answered) == [["backend.txt"], ["docs.txt"]]
    kept = tmp_path / "node" / "workspaces" / session["id"] / "repo.git"
    listing = ["git", "--git-dir", str(kept), "ls-tree", "--name-only", answered[-1]["tree"]]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    assert names == ["backend.txt", "docs.txt"], "what came second is merged with what came first"
    assert list(repository.iterdir()) == [repository / ".git"], "the person's own checkout stays as it is"


HOLDING = """
import fcntl, sys, time
with open(sys.argv[1], "w") as note:
    fcntl.flock(note, fcntl.LOCK_EX)
    note.write("held")
    note.flush()
    time.sleep(600)
"""


def is_held(note: Path) -> bool:
    """Whether the program that locks the file is still running."""
    with note.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_reset_stops_the_program(tmp_path: Path) -> None:
    """K-17: the program of a cancelled turn is stopped."""
    program, note = tmp_path / "agent.py", tmp_path / "note"
    program.write_text(HOLDING)
    team = tmp_path / "team.toml"
    argv = json.dumps([sys.executable, str(program), str(note)])
    team.write_text(
        'sandbox = "off"\n'
        '[[agents]]\nname = "assistant"\nroles = ["assistant"]\nadapter = "command"\n'
        f"[agents.settings]\nargv = {argv}\n"
    )
    with inside(tmp_path, team=team) as client:
        body = {"kind": "orchestration", "prompt": "Hello", "triage": "direct"}
        session_id = client.post("/api/sessions", json=body).json()["sessionId"]
        until(lambda: note.exists() and note.read_text() == "held", what="the program")
        assert is_held(note)
        assert post(client, f"/api/sessions/{session_id}/reset").status_code == 200
        assert session(client, session_id)["status"] == "reset"
        until(lambda: not is_held(note), what="the end of the program")
