"""Finds where a fork of a session can begin: after each decision, with the questions that are open then."""

from collections.abc import Iterator, Sequence

from domain.discussion.events import Decided, DecisionRequested, Expired
from domain.session.children import ChildClosed, ChildRequested
from domain.session.past_commands import commands_in
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnAnswered, TurnAttemptFailed, TurnRequested, TurnRetried
from domain.values.base import DomainEvent
from projections.views.past import Cut

_HEAD = 300
"""So much of an answer tells which one it is."""


class _Open:
    """The questions by turn, and the decisions, that are open at a version."""

    def __init__(self) -> None:
        self.questions: dict[str, tuple[str, str]] = {}
        self._requested: dict[str, tuple[str, str]] = {}
        self.decisions: set[str] = set()
        """Discussions, and waits for a person, that are open."""

    def follow(self, event: DomainEvent) -> None:
        match event:
            case TurnRequested(work="ask"):
                self.questions[event.turn_id] = self._requested[event.turn_id] = (event.agent, event.role)
            case TurnAttemptFailed() if event.turn_id in self.questions and event.fallback_agent:
                self.questions[event.turn_id] = (event.fallback_agent, event.role)
            case TurnRetried() if event.turn_id in self._requested:
                self.questions[event.turn_id] = (event.agent, event.role)
            case DecisionRequested():
                self.decisions.add("")
            case Decided() | Expired():
                self.decisions.discard("")
            case Settled():
                self.questions.pop(event.turn_id, None)
            case ChildRequested():
                self.decisions.add(event.child_id)
            case ChildClosed():
                self.decisions.discard(event.child_id)


def cuts(history: Sequence[Recorded], *, after: int = 0) -> Iterator[Cut]:
    """The versions after this one at which a decision was complete, oldest first: one row for each question that is
    open there, or one that asks nobody."""
    answers = {
        recorded.event.turn_id: recorded.event.reply.head[:_HEAD]
        for recorded in history
        if isinstance(recorded.event, TurnAnswered)
    }
    now = _Open()
    for decision in commands_in(history):
        for event in decision.events:
            now.follow(event)
        version = decision.recorded[-1].version
        if version <= after:
            continue
        needs = "decision" if now.decisions else None
        if not now.questions:
            yield Cut(version=version, asks=None, role=None, turn_id=None, recorded=None, needs=needs)
        for turn_id, (agent, role) in now.questions.items():
            recorded = answers.get(turn_id)
            yield Cut(version=version, asks=agent, role=role, turn_id=turn_id, recorded=recorded, needs=needs)


def around(history: Sequence[Recorded], version: int) -> tuple[int | None, int | None]:
    """The last cut before this version, and the first one from it on."""
    ends = [decision.recorded[-1].version for decision in commands_in(history)]
    before = max((end for end in ends if end < version), default=None)
    return before, min((end for end in ends if end >= version), default=None)
