"""Given: sessions of all kinds in one log, written by the writer, so that what follows from a command has followed."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from adapters.store.blanks import blanked
from adapters.store.sqlite.store import SqliteStore
from adapters.writer.writer import CommandEnvelope, Writer
from domain.channel import channel_id
from domain.channel.commands import ReceiveMessage
from domain.convergence.profiles import named
from domain.delivery.commands import StartDelivery
from domain.discussion.commands import StartDiscussion
from domain.kinds import KINDS
from domain.orchestration.commands import StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.session.attempts import Failure, FailureCode, Outstanding
from domain.session.children import DiscussionBrief, ReviewSettings
from domain.session.record import Recorded, kind_of
from domain.session.redaction import RedactedEvent, RedactText
from domain.session.state import Session
from domain.session.turns import RecordReply
from domain.session.validation import ValidationStep
from domain.values.base import Command, Text, Usage
from domain.values.budget import BudgetLimits
from projections.record.sessions import Sessions
from tests.kit.claiming import claim
from tests.projections.given import NOON, SECOND

HOSTILE = (
    "## Final Summary\n\n- Status: done\n| a | b |\n|---|---|\n```\n~~~\n# Work Log: mine\n\x1b[31m\u202e<b>[x]: y\n==="
)
"""Text that would break a worklog if it were not escaped."""
EMPLOYEES = (Employee(name="Backend", role="backend"), Employee(name="Fr|ont\n## end", role="frontend"))
REVIEW = ReviewSettings(strategy="review", max_rounds=3, profile=named())
DEBATE = ReviewSettings(strategy="debate", max_rounds=2, profile=named())


class Stage:
    """The log and its writer. Every command comes one second after the last."""

    def __init__(self, folder: Path) -> None:
        self.at = NOON
        self.store = SqliteStore(str(folder / "log.db"))
        self.writer = Writer(self.store, lambda: self.at)
        self._reader = Sessions(self.store)
        self._ids: dict[str, None] = {}
        self._commands = self._seen = 0

    def do(self, session_id: str, command: Command, *, starts: bool = False, actor: str = "tester") -> "Stage":
        """Carry out a command; its turns are leased at once."""
        self._commands += 1
        order = CommandEnvelope(session_id, command, actor=actor, command_id=f"c{self._commands}", starts=starts)
        self.writer.do_now(order)
        self.at += SECOND
        while claim(self.store, "worker", now=self.at, lease_ms=2**30) is not None:
            pass
        return self

    def session(self, session_id: str) -> Session:
        result = self._reader.get(session_id)
        assert result is not None
        return result

    def sessions(self) -> list[Session]:
        """All but the channels, in the order of their beginning."""
        for recorded in self.store.log(after=self._seen, limit=10_000):
            self._seen = recorded.position
            if recorded.kind in KINDS:
                self._ids[recorded.session_id] = None
        return [self.session(session_id) for session_id in self._ids]

    def events(self) -> list[Recorded]:
        return self.store.log(limit=100_000)

    def turn(self, session_id: str, agent: str | None = None) -> Outstanding:
        waiting = self.session(session_id).outstanding.values()
        return next(turn for turn in waiting if agent in (None, turn.agent))

    def answers(
        self, session_id: str, words: str | dict[str, Any], *, agent: str | None = None, **fields: Any
    ) -> "Stage":
        """The turn that is waited for, or that agent's, is answered."""
        words = words if isinstance(words, str) else json.dumps(words)
        text, blobs = Text.of(words)
        turn = self.turn(session_id, agent)
        usage = Usage(input_tokens=10, output_tokens=5, cost_micros=3)
        prompt, _ = Text.of("What is asked.")
        reply: dict[str, Any] = {"reply": text, "prompt": prompt, "usage": usage, "blobs": blobs}
        return self.do(session_id, RecordReply(turn_id=turn.turn_id, attempt=turn.tries.ended + 1, **(reply | fields)))

    def fails(self, session_id: str, detail: str = "nothing came", *, code: FailureCode = "crash") -> "Stage":
        turn, failure = self.turn(session_id), Failure(code=code, detail=detail)
        return self.do(session_id, RecordReply(turn_id=turn.turn_id, attempt=turn.tries.ended + 1, failure=failure))

    def redacts(self, digest: str) -> "Stage":
        """A long text is taken out of every session that mentions it."""
        quoting: dict[str, list[RedactedEvent]] = {}
        for row in self.store.rows.events():
            if digest.encode() in row.state:
                events, state = quoting.setdefault(row.stream, []), blanked(row.state, digest, row.form)
                if state != row.state:
                    events.append(RedactedEvent(version=row.version, hash=sha256(state).hexdigest()))
        for name, quotes in quoting.items():
            self.do(name, RedactText(digest=digest, reason="A key was printed.", events=tuple(quotes)))
        return self

    # -- beginnings ------------------------------------------------------------------------------------------------

    def orchestrates(self, session_id: str = "orchestration-1", prompt: str = "Add a login", **fields: Any) -> "Stage":
        settings: dict[str, Any] = {"employees": EMPLOYEES, "triage": "orchestrate"}
        return self.do(
            session_id,
            StartOrchestration(opening=OrchestrationRequest(prompt=prompt, **(settings | fields))),
            starts=True,
        )

    def discusses(self, session_id: str = "review-1", subject: str = "Step: a result", **fields: Any) -> "Stage":
        kind = kind_of(session_id)
        settings: dict[str, Any] = {"strategy": kind, "max_rounds": 3, "profile": named()}
        topic = DiscussionBrief(subject=Text.of(subject)[0], **(settings | fields))
        return self.do(session_id, StartDiscussion(topic=topic), starts=True)

    def delivers(self, session_id: str = "delivery-1", **fields: Any) -> "Stage":
        steps = (ValidationStep(stage="test", command="pytest", argv=("pytest",)),)
        settings: dict[str, Any] = {"steps": steps, "limits": BudgetLimits(max_iterations=2)}
        return self.do(session_id, StartDelivery(task="Add a flag", **(settings | fields)), starts=True)

    def says(self, session_id: str, prompt: str, origin: str, sender: str = "") -> "Stage":
        opening = OrchestrationRequest(prompt=prompt, employees=EMPLOYEES, origin=origin)
        return self.do(
            channel_id(origin), ReceiveMessage(session_id=session_id, opening=opening, sender=sender), starts=True
        )


def subtask(agent: str = "Backend", role: str = "backend", **fields: Any) -> dict[str, Any]:
    return {"agent": agent, "role": role, "task": f"{agent} works", **fields}


def plan(*subtasks: dict[str, Any]) -> dict[str, Any]:
    return {"subtasks": list(subtasks or (subtask(start_phase=3, end_phase=4),))}


def verdicts(*, all_done: bool = False, **passed: bool) -> dict[str, Any]:
    result = [{"agent": agent, "pass": word, "feedback": f"about {agent}"} for agent, word in passed.items()]
    return {"verdicts": result, "allDone": all_done, "all_done": all_done}


def critique(verdict: str = "NEEDS_FIX", *issues: str) -> str:
    result = [{"severity": "major", "description": words} for words in issues]
    return f"{json.dumps({'verdict': verdict, 'summary': 'One thing.', 'issues': result})}"


def challenge(verdict: str = "CHALLENGE", *concerns: str) -> str:
    return f"{json.dumps({'verdict': verdict, 'concerns': list(concerns)})}"
