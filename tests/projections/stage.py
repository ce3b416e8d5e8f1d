"""Given: sessions of all kinds in one log, written by the writer, so that what follows from a command has followed."""

import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

from adapters.store.blanks import blanked
from adapters.store.sqlite.store import SqliteStore
from adapters.writer.writer import CommandEnvelope, CommitListener, Writer
from domain.channel import channel_id
from domain.channel.commands import ReceiveMessage
from domain.convergence import named
from domain.delivery.commands import CancelDelivery, ExtendBudget, RecordValidation, StartDelivery
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.state import Discussion
from domain.kinds import KINDS, allowed_actions
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration, StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.orchestration.state import Orchestration
from domain.session.activity import ActivitySummary, ToolUse
from domain.session.attempts import Failure, FailureCode, Outstanding
from domain.session.children import Decide, DiscussionBrief, ReviewSettings
from domain.session.record import Recorded, kind_of
from domain.session.redaction import RedactedEvent, RedactText
from domain.session.state import Session
from domain.session.turns import ExpireTurn, RecordPackage, RecordReply, RetryTurn
from domain.session.validation import ValidationStep
from domain.values.base import Command, Refused, Text, Usage
from domain.values.budget import BudgetLimits
from projections.record.state import Sessions
from tests.kit.claiming import claim
from tests.projections.given import APPROVING, BLOCKING, NOON, SECOND

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

    def do(self, session_id: str, command: Command, *, starts: bool = False) -> "Stage":
        """Carry out a command; its turns are leased at once."""
        self._commands += 1
        order = CommandEnvelope(session_id, command, actor="tester", command_id=f"c{self._commands}", starts=starts)
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


# -- anything may happen -------------------------------------------------------------------------------------------


def wander(folder: Path, seed: int, steps: int = 80, *, hear: CommitListener = lambda _: None) -> Stage:
    """Sessions of every kind side by side: anything allowed may happen. `hear` is called after each commit."""
    chance, stage = random.Random(seed), Stage(folder)  # noqa: S311 - the same story for the same seed
    stage.writer.on_commit.append(hear)
    for number in range(steps):
        open_now = [session for session in stage.sessions() if allowed_actions(session)]
        if not open_now:
            _begin(stage, seed, number)
        else:
            _anything(stage, chance.choice(open_now), chance, number)
    return stage


def _begin(stage: Stage, seed: int, number: int) -> None:
    reviewed: dict[str, Any] = {"plan_review": DEBATE, "work_review": REVIEW} if (seed + number) % 3 else {}
    stage.orchestrates(f"orchestration-a{number}", f"{HOSTILE} {seed}", labels=("mixed",), **reviewed)
    stage.orchestrates(f"orchestration-b{number}", "hello", triage="auto", max_rounds=2)
    stage.delivers(f"delivery-a{number}", review=REVIEW if seed % 2 else None)
    stage.discusses(f"review-a{number}", HOSTILE, strategy="red-team", expires_ms=SECOND)
    stage.discusses(f"debate-a{number}", strategy="debate", max_rounds=6, expires_ms=SECOND)
    stage.says(f"orchestration-c{number}", f"implement src/a.py and then test it {number}", "telegram")
    stage.says(f"orchestration-u{number}", "리셋해줘", "telegram")


def _anything(stage: Stage, session: Session, chance: random.Random, number: int) -> None:
    waiting = [turn for turn in session.outstanding.values() if turn.work != "wait"]
    try:
        if waiting and chance.random() < 0.93:
            stage.do(session.id, _reply(session, chance.choice(waiting), chance))
        elif chance.random() < 0.1:
            stage.says(f"orchestration-m{number}", chance.choice(["이어서 해줘", "리셋해", f"do {number}"]), "telegram")
        else:
            stage.do(session.id, _persons(session, chance))
    except Refused:
        return


def _persons(session: Session, chance: random.Random) -> Command:
    timers = [turn for turn in session.outstanding.values() if turn.work == "wait"]
    if "retry" in allowed_actions(session) and chance.random() < 0.5:
        return RetryTurn(reason=HOSTILE)
    match session:
        case Discussion() if timers and chance.random() < 0.3:
            return ExpireTurn(turn_id=timers[0].turn_id)
        case Discussion() if session.choices:
            return Decide(choice=chance.choice(session.choices), rationale=HOSTILE, actor="Kim")
        case Discussion():
            return CancelDiscussion(reason=HOSTILE)
        case Orchestration():
            dice = chance.random()
            if dice < 0.6:
                return ContinueOrchestration()
            return AddRounds(add_rounds=2, reason=HOSTILE) if dice < 0.9 else ResetOrchestration(reason=HOSTILE)
        case _:
            return ExtendBudget(add_iterations=1, reason="more") if chance.random() < 0.7 else CancelDelivery()


def _reply(session: Session, turn: Outstanding, chance: random.Random) -> Command:
    common: dict[str, Any] = {"turn_id": turn.turn_id, "attempt": turn.tries.ended + 1, "seconds": 1.0}
    failure = Failure(code="timeout", detail=HOSTILE) if chance.random() < 0.07 else None
    if turn.work == "validate":
        passed = failure is None and chance.random() < 0.9
        return RecordValidation(passed=passed, classification="test", summary=HOSTILE, failure=failure, **common)
    if turn.work == "package":
        return RecordPackage(branch="hansard/x", commit="c0ffee", failure=failure, **common)
    text, blobs = Text.of(_words(session, turn, chance))
    tokens = chance.choice([None, chance.randrange(100)])
    prompt, _ = Text.of("What is asked.")
    usage = Usage(input_tokens=tokens, cost_micros=tokens)
    did = ActivitySummary(tools=(ToolUse(tool="execute", title=HOSTILE),), tools_total=1) if tokens else None
    return RecordReply(reply=text, prompt=prompt, usage=usage, blobs=blobs, failure=failure, activity=did, **common)


def _words(session: Session, turn: Outstanding, chance: random.Random) -> str:
    """Mostly a valid answer of the role, sometimes an unreadable one."""
    dice = chance.random()
    match session:
        case _ if dice < 0.08:
            return HOSTILE
        case Discussion(kind="review"):
            return _voice(chance) + critique(chance.choice(["PASS", "NEEDS_FIX"]), HOSTILE)
        case Discussion():
            return _voice(chance) + challenge(chance.choice(["APPROVE", "CHALLENGE"]), HOSTILE)
        case Orchestration() if turn.lane:
            return f"{HOSTILE}\n" + (json.dumps({"phases_completed": [3, 4]}) if dice > 0.7 else "x" * 20_000)
        case Orchestration() if turn.role == "judge":
            return json.dumps(
                {
                    "verdicts": [
                        {"agent": agent.agent, "pass": chance.random() < 0.75, "feedback": HOSTILE}
                        for agent in session.agents
                    ],
                    "allDone": dice > 0.85,
                }
            )
        case Orchestration():
            both = (
                subtask(checkpoint=dice > 0.5, start_phase=3, verification={"pass_criteria": HOSTILE}),
                subtask(EMPLOYEES[1].name, "docs", parallel=True),
            )
            return json.dumps(plan(*both[: 1 + (dice > 0.4)]) if dice > 0.2 else {"direct_answer": HOSTILE})
        case _:
            return chance.choice([BLOCKING, APPROVING, APPROVING]) if turn.role == "reviewer" else HOSTILE


def _voice(chance: random.Random) -> str:
    """Consent in ever the same words, or dissent in ever new ones."""
    if chance.random() < 0.6:
        return "I agree and accept, a valid point. "
    return "".join(f"However, I disagree with item{chance.randrange(10**6)}. " for _ in range(12))
