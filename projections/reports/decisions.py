"""`decisions`: what people were asked, how long it waited and what came of it. A question counts by when it was asked.

`by` is `person`, `expired` (no decision in time, so the default applied), `cancelled` (while it waited) or `waiting`.
Waiting times of people are never mixed with those of the others. A question that a fork copied from its source counts
once, for the source; the fork's decision about it is a what-if and not an answer to it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.base import iso
from projections.engine.ports import Database
from projections.reports.ledger import (
    Fact,
    Filters,
    Ledger,
    ReportRow,
    ReportTotals,
    Spread,
    Values,
    ordered,
    spread,
    unshared,
)
from projections.views.base import View

LEDGER = Ledger("decisions", {"reason": "TEXT", "choice": "TEXT", "decided_by": "TEXT"})


def _read(_: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case discussion.DecisionRequested():
            return {"what": "asked", "reason": "decision"}
        case orchestration.CheckpointReached():
            return {"what": "asked", "reason": "checkpoint"}
        case discussion.Decided() as event:
            return _answered(event.choice, "person")
        case discussion.Expired() as event:
            return _answered(event.choice, "expired")
        case discussion.Cancelled() as event:
            return _answered(event.choice, "cancelled")
        case orchestration.RunRevisionBegun():
            return _answered("revise", "person")
        case orchestration.Continued():
            return _answered("continue", "person")
        case orchestration.WasReset():
            return _answered("reset", "person")
        case _:
            return None


def _answered(choice: str, by: str) -> Values:
    return {"what": "answered", "choice": choice, "decided_by": by}


PROJECTION = LEDGER.projection(
    _read,
    discussion.DecisionRequested,
    discussion.Decided,
    discussion.Expired,
    discussion.Cancelled,
    orchestration.CheckpointReached,
    orchestration.Continued,
    orchestration.RunRevisionBegun,
    orchestration.WasReset,
)


class DecisionGroup(NamedTuple):
    """The key of a row."""

    kind: str
    reason: str
    by: str
    choice: str | None


@dataclass(frozen=True, slots=True)
class _Question:
    asked: Fact
    answer: Fact | None

    @property
    def group(self) -> DecisionGroup:
        if self.answer is None:
            return DecisionGroup(self.asked.kind, self.asked["reason"], "waiting", None)
        return DecisionGroup(self.asked.kind, self.asked["reason"], self.answer["decided_by"], self.answer["choice"])

    @property
    def waited(self) -> int | None:
        return None if self.answer is None else max(0, self.answer.at - self.asked.at)


class Waited(View):
    """The time that decisions waited."""

    waited_ms_mean: float | None
    waited_ms_median: float | None
    waited_ms_max: int | None


class DecisionKey(ReportRow):
    kind: str
    reason: str
    by: str
    choice: str | None
    decisions: int


class DecisionRow(Waited, DecisionKey):
    """Questions of one kind and reason with the same answer."""

    oldest_asked_at: str


class DecisionCounts(ReportTotals):
    decisions: int
    person: int
    expired: int
    cancelled: int
    waiting: int


class DecisionTotals(Waited, DecisionCounts):
    """The times are those of people only."""


def make(db: Database, filters: Filters) -> tuple[tuple[DecisionRow, ...], DecisionTotals]:
    questions = [each for each in _questions(LEDGER.facts(db, filters)) if filters.holds(each.asked.at)]
    groups: dict[DecisionGroup, list[_Question]] = {}
    for question in questions:
        groups.setdefault(question.group, []).append(question)
    keys = sorted(groups, key=lambda group: tuple(map(ordered, group)))
    return tuple(_row(key, groups[key]) for key in keys), _totals(questions)


def _questions(facts: Iterable[Fact]) -> list[_Question]:
    """Every question with the first answer after it; an answer without a question is no decision."""
    questions: list[_Question] = []
    waiting: dict[str, Fact] = {}
    for fact in unshared(facts):
        if fact.what == "asked":
            waiting[fact.session_id] = fact
        elif fact.session_id in waiting:
            questions.append(_Question(waiting.pop(fact.session_id), fact))
    return [*questions, *(_Question(fact, None) for fact in waiting.values())]


def _row(key: DecisionGroup, group: Sequence[_Question]) -> DecisionRow:
    waits = _waits(group)
    return DecisionRow(
        **key._asdict(),
        decisions=len(group),
        waited_ms_mean=waits.mean,
        waited_ms_median=waits.median,
        waited_ms_max=waits.max,
        oldest_asked_at=iso(min(question.asked.at for question in group)),
    )


def _waits(group: Iterable[_Question]) -> Spread:
    return spread([question.waited for question in group if question.waited is not None])


def _totals(questions: Sequence[_Question]) -> DecisionTotals:
    """The waiting times only include decisions by people."""
    by = Counter(question.group.by for question in questions)
    waits = _waits(question for question in questions if question.group.by == "person")
    return DecisionTotals(
        decisions=len(questions),
        person=by["person"],
        expired=by["expired"],
        cancelled=by["cancelled"],
        waiting=by["waiting"],
        waited_ms_mean=waits.mean,
        waited_ms_median=waits.median,
        waited_ms_max=waits.max,
    )
