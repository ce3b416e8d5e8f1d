"""kill -9 in every turn, and a machine that sleeps, with agents whose conversations belong to a folder and a role.

The program remembers a conversation in its home, for the folder it began in, as real agents do. Asked to go on with one
in another folder, it ends with their words. Every story comes to the same end as one without a crash.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api.orchestrating import rested
from tests.api.server import Json, Server, ended, events, only, serving, session, until

PROGRAM = r"""
import json, os, pathlib, sys, time, uuid

gate, role, known = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
with (gate / "calls").open("a") as calls:
    print(role, file=calls)
if len((gate / "calls").read_text().splitlines()) == int((gate / "hang").read_text()):
    (gate / "hangs").write_text(str(os.getpid()))
    time.sleep(float((gate / "seconds").read_text()))
work = pathlib.Path("work.txt")
lines = work.read_text().splitlines() if work.exists() else []
if role == "validation":
    sys.exit(0 if all(line.startswith("line") for line in lines) else 1)

conversations = pathlib.Path(os.environ["HOME"], "conversations")
conversations.mkdir(exist_ok=True)
if known and not (conversations / known[0]).exists():
    sys.exit(f"No conversation found with session ID: {known[0]}")
if known and (conversations / known[0]).read_text() != f"{role} in {os.getcwd()}":
    sys.exit(f"No conversation found with session ID: {known[0]}")
handle = known[0] if known else str(uuid.uuid4())
(conversations / handle).write_text(f"{role} in {os.getcwd()}")


def review():
    blocking = [] if len(lines) > 1 else [{"id": "b1", "title": "One line is not enough", "detail": "Write another."}]
    return {"blockingIssues": blocking, "nonBlockingIssues": [], "score": 90}


def answer():
    if role in ("dev", "backend"):
        work.write_text("".join(f"{line}\n" for line in [*lines, f"line {len(lines) + 1}"]))
        return f"Wrote line {len(lines) + 1}."
    if role == "reviewer":
        return json.dumps(review())
    if role == "judge":
        return json.dumps({"verdicts": [{"agent": "Solo", "pass": True, "feedback": "ok"}], "allDone": False})
    subtask = {"agent": "Solo", "role": "backend", "task": "Write", "start_phase": 3, "end_phase": 4}
    return json.dumps({"subtasks": [subtask]}) if "subtasks" in sys.stdin.read() else f"The {role} has a plan."


print(json.dumps({"type": "result", "text": answer(), "session": handle}))
"""
TEAM = """
[[agents]]
name = "Solo"
roles = ["planner", "architect", "designer", "dev", "reviewer", "backend", "judge"]
adapter = "command"
[agents.settings]
argv = ["{python}", "{program}", "{gate}", "{{role}}"]
resume_argv = ["{python}", "{program}", "{gate}", "{{role}}", "{{agent_session}}"]
output = "json"
text_path = "text"
session_path = "session"
"""
CALLS = {
    "delivery": [
        *("validation", "planner", "architect", "designer", "dev", "validation", "reviewer"),
        *("dev", "validation", "reviewer"),
    ],
    "orchestration": ["planner", "backend", "judge", "backend", "judge"],
}
"""The calls of a run without a crash, in order. The first validation is the baseline."""


@dataclass(frozen=True)
class Stage:
    """A repository, a team of one agent in all roles, and the gate where its program can be made to hang."""

    folder: Path
    program: Path
    gate: Path

    @classmethod
    def make(cls, folder: Path) -> "Stage":
        stage = cls(folder, folder / "program.py", folder / "gate")
        stage.program.write_text(PROGRAM)
        stage.gate.mkdir()
        stage.hang(0)
        (folder / "team.toml").write_text(TEAM.format(python=sys.executable, program=stage.program, gate=stage.gate))
        repository = folder / "repository"
        repository.mkdir()
        for words in (
            ["init", "-q", "-b", "main"],
            ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty", "-m", "Begin"],
        ):
            subprocess.run(["git", *words], cwd=repository, check=True)
        return stage

    def hang(self, call: int, seconds: float = 600) -> None:
        (self.gate / "hang").write_text(str(call))
        (self.gate / "seconds").write_text(str(seconds))

    def calls(self) -> list[str]:
        return (self.gate / "calls").read_text().split()

    def body(self, kind: str) -> Json:
        fields: Json = {"kind": kind, "workspace": str(self.folder / "repository")}
        if kind == "orchestration":
            employees = [{"name": "Solo", "role": "backend"}]
            return fields | {"prompt": "Write the work", "triage": "orchestrate", "employees": employees}
        validation = f"{sys.executable} {self.program} {self.gate} validation"
        return fields | {"task": "Write the work", "filePaths": ["work.txt"], "validationCommands": [validation]}

    def serving(self) -> AbstractContextManager[Server]:
        settings = {"sandbox": "off", "lease_seconds": 2, "heartbeat_seconds": 0.5}
        return serving(self.folder, team=self.folder / "team.toml", **settings)


def begin(server: Server, stage: Stage, kind: str) -> str:
    answer = server.client.post("/api/sessions", json=stage.body(kind))
    assert answer.status_code == 202, answer.text
    return str(answer.json()["sessionId"])


def check(server: Server, stage: Stage, kind: str, session_id: str) -> list[Json]:
    """Check that the session ended as it would without a crash; return its events."""
    over = {"delivery": ended, "orchestration": rested}[kind]
    view = over(server.client, session_id, seconds=60)
    assert view["status"] == {"delivery": "success", "orchestration": "done"}[kind], view
    until(lambda: not session(server.client, session_id)["outstandingTurns"], what="the branch")
    history = events(server.client, session_id)
    requested = [event["turnId"] for event in only(history, "turn.requested")]
    answered = [event["turnId"] for event in only(history, "turn.answered")]
    assert sorted(requested) == sorted(answered) and len(set(answered)) == len(answered), "each is answered once"
    shown = ["git", "show", f"hansard/{session_id}:work.txt"]
    work = subprocess.run(shown, cwd=stage.folder / "repository", check=True, capture_output=True, text=True)
    assert work.stdout == "line 1\nline 2\n"
    return history


@pytest.mark.parametrize("kind", CALLS)
def test_one_agent_in_all_roles_goes_on_with_the_conversation_of_its_role(tmp_path: Path, kind: str) -> None:
    stage = Stage.make(tmp_path)
    with stage.serving() as server:
        text = check(server, stage, kind, begin(server, stage, kind))
    assert stage.calls() == CALLS[kind]
    resumed = [
        (event["role"], event["resumed"]) for event in only(text, "turn.answered") if event["resumed"] is not None
    ]
    assert (
        resumed
        == {
            "delivery": [
                *((role, False) for role in ("planner", "architect", "designer", "dev", "reviewer")),
                *(("dev", True), ("reviewer", True)),
            ],
            "orchestration": [
                ("planner", False),
                ("backend", False),
                ("judge", False),
                ("backend", True),
                ("judge", True),
            ],
        }[kind]
    )


QUICK = {"delivery": (1, 5), "orchestration": (3,)}
"""The calls in which every test run crashes: baseline and developer; judge."""


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        pytest.param(kind, call, marks=() if call in QUICK[kind] else pytest.mark.nightly)
        for kind, calls in CALLS.items()
        for call in range(1, len(calls) + 1)
    ],
)
def test_kill_9_in_any_turn_leads_to_the_same_end(tmp_path: Path, kind: str, call: int) -> None:
    stage = Stage.make(tmp_path)
    stage.hang(call)
    with stage.serving() as server:
        session_id = begin(server, stage, kind)
        until((stage.gate / "hangs").exists, what=f"call {call}")
        server.kill()
        server.start()
        text = check(server, stage, kind, session_id)
    again = CALLS[kind][call - 1]
    assert stage.calls()[:call] == CALLS[kind][:call]
    assert stage.calls()[call] == again, "the turn that hung is asked once more"
    assert not only(text, "turn.failed")
    assert not _runs(stage), "what hung has ended"


@pytest.mark.parametrize("call", [5, pytest.param(6, marks=pytest.mark.nightly)])
def test_a_machine_that_sleeps_goes_on_where_it_was(tmp_path: Path, call: int) -> None:
    """The server and the program stop for longer than the lease, as when a laptop is closed."""
    stage = Stage.make(tmp_path)
    stage.hang(call, seconds=1.5)
    with stage.serving() as server:
        session_id = begin(server, stage, "delivery")
        until((stage.gate / "hangs").exists, what=f"call {call}")
        asleep = (server.pid, int((stage.gate / "hangs").read_text()))
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
        check(server, stage, "delivery", session_id)


def _runs(stage: Stage) -> bool:
    pid = (stage.gate / "hangs").read_text()
    return Path("/proc", pid).exists() and str(stage.program) in Path("/proc", pid, "cmdline").read_text()
