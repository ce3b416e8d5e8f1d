"""The agents of a simulation: what they say depends on their session and on the files before them, never on luck."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from adapters.agents.port import Reply, Turn
from adapters.agents.team import Member
from domain.session.attempts import Failure, FailureCode
from domain.values.base import Usage
from tests.simulator.folders import MemoryWorkspaces
from tests.simulator.weather import Bad, Weather

USAGE: Final = Usage(input_tokens=100, output_tokens=20, cost_micros=5)
_FAILURES: Final[dict[Bad, tuple[FailureCode, float | None]]] = {
    "rate_limit": ("rate_limit", None),
    "rate_limit_named": ("rate_limit", 45.0),
    "overloaded": ("overloaded", None),
    "overloaded_named": ("overloaded", 20.0),
    "cut": ("network", None),
    "crash": ("crash", None),
    "auth": ("auth", None),
    "workspace": ("workspace", None),
    "lost_conversation": ("lost_conversation", None),
}


@dataclass(slots=True)
class Asked:
    """What all servers of a simulation have asked. `twice` are turns that were asked again after a good answer."""

    attempts: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    answered: set[str] = field(default_factory=set)
    twice: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Performer:
    """One agent of the team, in every session."""

    member: Member
    weather: Weather
    workspaces: MemoryWorkspaces
    asked: Asked

    async def ask(self, turn: Turn) -> Reply:
        asked, loop = self.asked, asyncio.get_running_loop()
        asked.attempts += 1
        if turn.turn_id in asked.answered:
            asked.twice.append(turn.turn_id)
        limited = self.weather.limit_of(turn.agent, loop.time())
        if limited is not None:
            asked.bad[limited[0]] += 1
            return _reached(limited[1], turn)
        bad = _possible(self.weather.of(turn.turn_id, turn.attempt), turn)
        await asyncio.sleep(_seconds(turn))
        if bad is None:
            asked.answered.add(turn.turn_id)
            return self._answer(turn)
        asked.bad[bad] += 1
        self._leave_half(turn)
        return await self._go_wrong(bad, turn)

    async def forget(self, handle: str) -> None:
        """Nothing is kept."""

    def _answer(self, turn: Turn) -> Reply:
        text, files = said(turn, self._files(turn))
        handle = turn.agent_session or f"{turn.session_id}/{turn.agent}/{turn.role}"
        return Reply(text, USAGE, files, handle, model="simulated", resumed=turn.agent_session is not None)

    async def _go_wrong(self, bad: Bad, turn: Turn) -> Reply:
        handle = turn.agent_session
        if bad == "hang":
            await asyncio.sleep(turn.limits.wall_seconds)
            return Reply(agent_session=handle, failure=Failure(code="timeout", detail="No answer in time."))
        if bad == "unreadable":
            return Reply("I had a look, and it is fine.", USAGE, agent_session=handle)
        if bad == "contradictory":
            files = self._files(turn)
            good, _ = said(turn, files)
            return Reply(f"{_opposite(turn, files)}\n{good}", USAGE, agent_session=handle)
        code, after = _FAILURES[bad]
        return Reply(usage=USAGE, agent_session=handle, failure=Failure(code=code, detail=bad, retry_after=after))

    def _files(self, turn: Turn) -> dict[str, bytes]:
        if turn.workspace is None:
            return {}
        return self.workspaces.holding(turn.workspace).folders[turn.workspace]

    def _leave_half(self, turn: Turn) -> None:
        """What goes wrong leaves half a file in the folder."""
        if turn.access == "write" and turn.workspace is not None:
            self._files(turn)["half-written.txt"] = b"half"


def _reached(seconds: float, turn: Turn) -> Reply:
    """The provider refuses at once, and says when it answers again."""
    failure = Failure(code="rate_limit", detail="You have reached your limit.", retry_after=seconds)
    return Reply(agent_session=turn.agent_session, failure=failure)


def _possible(bad: Bad | None, turn: Turn) -> Bad | None:
    """Where an answer has no form, it cannot be out of form."""
    if bad in ("unreadable", "contradictory") and turn.reads == "text":
        return "cut"
    if bad == "lost_conversation" and turn.agent_session is None:
        return "crash"
    return bad


def _seconds(turn: Turn) -> float:
    return 20.0 + Random(f"{turn.turn_id}:{turn.attempt}").randrange(100)  # noqa: S311 - no secret


# -- what they say -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plot:
    """How a session goes: so many versions fail their tests, then so many are sent back by the reviewer."""

    failing: int
    blocked: int

    @classmethod
    def of(cls, session_id: str) -> "Plot":
        drawn = Random(f"plot:{session_id}")  # noqa: S311 - no secret
        return cls(failing=drawn.randrange(2), blocked=drawn.randrange(2))


BUG: Final = b"BUG"


def versions(files: dict[str, bytes], name: str) -> int:
    """How many versions of its file the author has written."""
    return len(files.get(name, b"").splitlines())


def said(turn: Turn, files: dict[str, bytes]) -> tuple[str, dict[str, str]]:
    """The answer, and the files that come with it."""
    match turn.role, turn.reads:
        case _, "subtasks" | "direct_answer":
            return _plan(), {}
        case (_, "verdicts") | ("judge", _):
            return _verdicts(turn, passed=True), {}
        case "reviewer", "review_artifact":
            return _review(blocked=_blocks(turn, files)), {}
        case "dev", _:
            return "The code is written.", {"work.txt": _next(files, "work.txt", Plot.of(turn.session_id).failing)}
        case (("frontend" | "backend"), _):
            name = f"{turn.agent}.txt".lower()
            return f"{turn.agent} wrote the next part.", {name: _next(files, name, 0)}
        case _:
            return f"The {turn.role} has spoken.", {}


def _next(files: dict[str, bytes], name: str, failing: int) -> str:
    written = versions(files, name)
    word = "BUG" if written < failing else "fine"
    return files.get(name, b"").decode().replace("BUG", "gone") + f"version {written}: {word}\n"


def _plan() -> str:
    parts = (("Backend", "backend", 3), ("Frontend", "frontend", 4))
    subtasks = [
        {
            "agent": agent,
            "role": role,
            "task": f"{agent} works",
            "start_phase": 3,
            "end_phase": last,
            "verification": {"affected_files": [f"{agent}.txt".lower()]},
        }
        for agent, role, last in parts
    ]
    return json.dumps({"subtasks": subtasks})


def _verdicts(turn: Turn, *, passed: bool) -> str:
    result = [_verdict(name, passed=passed) for name in turn.expects]
    return json.dumps({"verdicts": result, "allDone": False})


def _verdict(expected: str, *, passed: bool) -> dict[str, Any]:
    result = re.fullmatch(r"(.*)#(s\d+)", expected)
    who = {"agent": result[1], "subtask": result[2]} if result else {"agent": expected}
    return {**who, "pass": passed, "feedback": "seen"}


def _review(*, blocked: bool) -> str:
    issue = {"id": "b1", "title": "Name it better", "detail": "The name says nothing."}
    return json.dumps({"blockingIssues": [issue] if blocked else [], "nonBlockingIssues": [], "score": 80})


def _blocks(turn: Turn, files: dict[str, bytes]) -> bool:
    plot = Plot.of(turn.session_id)
    return versions(files, "work.txt") <= plot.failing + plot.blocked


def _opposite(turn: Turn, files: dict[str, bytes]) -> str:
    """What says something else than the answer."""
    match turn.reads:
        case "verdicts":
            return _verdicts(turn, passed=False)
        case "review_artifact":
            return _review(blocked=not _blocks(turn, files))
        case _:
            return '{"direct_answer": "No.", "subtasks": []}'
