"""Given / when / then for sessions: a story is a list of commands; each is applied, or refused and changes nothing.

After every command the story folds its record from the start again, so that each test also proves that
replay and decision agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from adapters.store.texts import whole
from domain.delivery.commands import ExtendBudget, RecordValidation, StartDelivery
from domain.delivery.state import Delivery
from domain.kinds import fold, kind
from domain.orchestration.commands import POLICY, ContinueOrchestration, ResetOrchestration, StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure, FailureCode, Outstanding
from domain.session.decision import Outcome
from domain.session.record import Causation, Recorded
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.session.turns import RecordPackage, RecordReply, TurnRequested
from domain.session.validation import ValidationStep
from domain.values.base import Command, DomainEvent, Refused, Text, Usage
from domain.values.budget import BudgetLimits
from tests.kit.replies import plan, review, verdicts

START = 1_700_000_000_000
"""An instant (milliseconds): 2023-11-14T22:13:20Z."""
MINUTE = 60_000

LINT = ValidationStep(stage="lint", command="npm run lint", argv=("npm", "run", "lint"))
TEST = ValidationStep(stage="test", command="npm test", argv=("npm", "test"))


def start(
    *,
    task: str = "Add a login page",
    iterations: int = 6,
    minutes: int = 45,
    tokens: int | None = None,
    cost: int | None = None,
    **fields: Any,
) -> StartDelivery:
    """A delivery of two commands and one file; fields of the command are replaced by name."""
    limits = BudgetLimits(max_iterations=iterations, max_minutes=minutes, max_tokens=tokens, max_cost_micros=cost)
    settings: dict[str, Any] = {"file_paths": ("src/login.ts",), "steps": (LINT, TEST), "limits": limits}
    return StartDelivery(task=task, **(settings | fields))


class Told:
    """The histories of a story as a log, from which derived texts are read."""

    def __init__(
        self, blobs: Mapping[str, str], histories: Mapping[str, Sequence[tuple[DomainEvent, EventMetadata]]]
    ) -> None:
        self._blobs, self._histories = blobs, histories

    def text(self, digest: str) -> str | None:
        return self._blobs.get(digest)

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> list[Recorded]:
        by = Causation("t", "c", session_id, "c")
        return [
            Recorded(version, session_id, version, metadata.at, by, event)
            for version, (event, metadata) in enumerate(self._histories[session_id], start=1)
            if after < version <= (upto or version)
        ]


def topics(events: Iterable[DomainEvent]) -> list[str]:
    """The events' names in the log, in order."""
    return [event.TOPIC for event in events]


class Story:
    """One session from its beginning. `at` is the clock; only the test moves it, or `pace`: the milliseconds that pass
    at least before every command. A replay tells commands apart by their time."""

    pace = 0

    def __init__(self, kind: str = "delivery", session_id: str = "delivery-1") -> None:
        self.kind, self.id, self.at = kind, session_id, START
        self.now: Session | None = None
        self.history: list[tuple[DomainEvent, EventMetadata]] = []
        self.blobs: dict[str, str] = {}

    def when(self, command: Command, *, after: int = 0) -> list[DomainEvent]:
        """Carry out a command, `after` milliseconds later; what it recorded."""
        self.at += after or self.pace
        decision = carry_out(kind(self.kind), self.now, command, EventMetadata(self.id, self.at))
        self._tell(decision)
        return list(decision.events)

    def refused(self, command: Command, *, after: int = 0) -> Refused:
        """The refusal of a command, which changed nothing."""
        self.at += after
        before = self.now
        with pytest.raises(Refused) as refusal:
            carry_out(kind(self.kind), self.now, command, EventMetadata(self.id, self.at))
        assert self.now == before
        return refusal.value

    @property
    def events(self) -> list[DomainEvent]:
        return [event for event, _ in self.history]

    @property
    def turn(self) -> Outstanding:
        """The one turn that is waited for."""
        assert self.now is not None, "the story has begun"
        [turn] = self.now.outstanding.values()
        return turn

    @property
    def request(self) -> TurnRequested:
        """The newest turn request."""
        return next(event for event in reversed(self.events) if isinstance(event, TurnRequested))

    def prompt_part(self, place: str) -> str:
        """What the newest turn request says in a place of its prompt, in full."""
        return self.whole(self.request.context[place])

    def whole(self, text: Text) -> str:
        return whole(Told(self.blobs, {self.id: self.history}), text)

    def answer(self, words: str = "ok", *, after: int = 0, **fields: Any) -> list[DomainEvent]:
        return self.when(self.reply(words, **fields), after=after)

    def reply(self, words: str = "ok", *, turn_id: str | None = None, **fields: Any) -> RecordReply:
        text, blobs = Text.of(words)
        settings: dict[str, Any] = {"attempt": 1, "prompt": Text.of("You are asked.")[0], "usage": Usage()}
        return RecordReply(turn_id=turn_id or self.turn.turn_id, reply=text, blobs=blobs, **(settings | fields))

    def _tell(self, decision: Outcome) -> None:
        self.history += [(event, EventMetadata(self.id, self.at)) for event in decision.events]
        self.blobs |= {blob.digest: blob.content for blob in decision.blobs}
        self.now = decision.session
        assert self.now == fold(self.kind, self.history), "the decision and its replay must agree"
        assert self.now.version == len(self.history)


class DeliveryStory(Story):
    """A delivery, with the answers of its agents as verbs: each settles the turn that is waited for."""

    def __init__(self, session_id: str = "delivery-1", **fields: Any) -> None:
        super().__init__("delivery", session_id)
        self.begun = self.when(start(**fields))

    @property
    def delivery(self) -> Delivery:
        assert isinstance(self.now, Delivery)
        return self.now

    def phases(self) -> dict[str, str]:
        return {str(phase): status for phase, status in self.delivery.phases.items()}

    def fail(self, code: FailureCode = "crash", detail: str = "", *, after: int = 0) -> list[DomainEvent]:
        """The turn that is waited for fails, whatever its work is."""
        common: dict[str, Any] = {"turn_id": self.turn.turn_id, "attempt": 1}
        failure = Failure(code=code, detail=detail)
        match self.turn.work:
            case "ask":
                return self.when(RecordReply(failure=failure, **common), after=after)
            case "validate":
                return self.when(RecordValidation(failure=failure, passed=False, **common), after=after)
            case "package":
                return self.when(RecordPackage(failure=failure, **common), after=after)

    def passes(self, *, after: int = 0) -> list[DomainEvent]:
        """The validation passes."""
        return self.when(self.validated(passed=True, summary="Validation passed: 2 commands in 1.0 s."), after=after)

    def breaks(self, summary: str = "2 tests failed", *, after: int = 0, classification: str = "test") -> list[Any]:
        """The validation fails."""
        command = self.validated(passed=False, classification=classification, summary=summary)
        return list(self.when(command, after=after))

    def validated(self, *, passed: bool, **fields: Any) -> RecordValidation:
        report, _ = Text.of('{"runs": []}')
        return RecordValidation(turn_id=self.turn.turn_id, attempt=1, passed=passed, report=report, **fields)

    def blocks(self, *titles: str, after: int = 0, **fields: Any) -> list[DomainEvent]:
        """The reviewer blocks, with one issue unless others are given."""
        return self.answer(review(*(titles or ("No rate limit",)), **fields), after=after)

    def approves(self, *, after: int = 0) -> list[DomainEvent]:
        return self.answer(review(), after=after)

    def extend(self, *, after: int = 0, **amounts: int) -> list[DomainEvent]:
        return self.when(extension(**amounts), after=after)

    def designed(self) -> "DeliveryStory":
        """Up to the first implementation."""
        for words in ("the plan", "the architecture", "the design"):
            self.answer(words)
        return self

    def implemented(self) -> "DeliveryStory":
        """Up to the first validation."""
        self.designed().answer("the code")
        return self

    def in_review(self) -> "DeliveryStory":
        """Up to the first review."""
        self.implemented().passes()
        return self


def extension(**amounts: int) -> ExtendBudget:
    return ExtendBudget(reason="worth it", **amounts)


# -- orchestrations ------------------------------------------------------------------------------------------------

TEAM = ("Frontend", "Backend", "Data", "Docs")


class OrchestrationStory(Story):
    """An orchestration of the team above, with the answers of its agents as verbs."""

    def __init__(
        self,
        prompt: str = "src/ API 만들어줘",
        session_id: str = "orchestration-1",
        *,
        policy: str = POLICY,
        **fields: Any,
    ) -> None:
        super().__init__("orchestration", session_id)
        settings = {"employees": tuple(Employee(name=name, role=name.lower()) for name in TEAM)}
        self.begun = self.when(
            StartOrchestration(opening=OrchestrationRequest(prompt=prompt, **(settings | fields)), policy=policy)
        )

    @property
    def run(self) -> Orchestration:
        assert isinstance(self.now, Orchestration)
        return self.now

    @property
    def asked(self) -> list[str]:
        """Whose turns are waited for."""
        return [turn.agent for turn in self.run.outstanding.values()]

    def requested(self, agent: str) -> TurnRequested:
        """The newest turn request to an agent."""
        requests = (event for event in reversed(self.events) if isinstance(event, TurnRequested))
        return next(request for request in requests if request.agent == agent)

    def works(self, agent: str, words: str = "ok", **fields: Any) -> list[DomainEvent]:
        """The agent reports."""
        return self.answer(words, turn_id=self._turn_of(agent), **fields)

    def breaks(self, agent: str, code: FailureCode = "crash", detail: str = "", words: str = "") -> list[DomainEvent]:
        """The agent's turn fails."""
        return self.works(agent, words, failure=Failure(code=code, detail=detail))

    def round(self, *, all_done: object = False, words: str = "", **passed: object) -> list[DomainEvent]:
        """All agents report, then the judge says who passes."""
        while self.run.state == "working":
            self.works(self.asked[0])
        return self.answer(verdicts(all_done=all_done, words=words, **passed))

    def planned(self, *subtasks: dict[str, Any]) -> "OrchestrationStory":
        """Up to the first round."""
        self.answer(plan(*subtasks))
        return self

    def resumes(self) -> list[DomainEvent]:
        return self.when(ContinueOrchestration())

    def resets(self, reason: str = "") -> list[DomainEvent]:
        return self.when(ResetOrchestration(reason=reason))

    def agent(self, name: str) -> dict[str, Any]:
        """An agent's record, as in the view."""
        return next(a.model_dump(by_alias=True, mode="json") for a in self.run.agents if a.agent == name)

    def judged(self, name: str) -> list[tuple[int, int, bool]]:
        """Round, phase and verdict, one after another."""
        result = next(agent for agent in self.run.agents if agent.agent == name)
        return [(verdict.round, verdict.phase, verdict.passed) for verdict in result.history]

    def _turn_of(self, agent: str) -> str:
        return next(turn.turn_id for turn in self.run.outstanding.values() if turn.agent == agent)
