"""`decisions`: what people were asked, how long it waited and what came of it. A question counts by when it was asked.

`by` is `person`, `expired` (no decision in time, so the default applied), `cancelled` (while it waited) or `waiting`.
Waiting times of people are never mixed with those of the others. A question that a fork copied from its source counts
once, for the source; the fork's decision about it is a what-if and not an answer to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.time import iso
from projections.engine.ports import Database
from projections.reports.figures import Row, ordered, spread
from projections.reports.ledger import Fact, Filters, Ledger, Values, unshared

LEDGER = Ledger("decisions", {"reason": "TEXT", "choice": "TEXT", "decided_by": "TEXT"})
COLUMNS = (
    "kind", "reason", "by", "choice", "decisions", "waitedMsMean", "waitedMsMedian", "waitedMsMax", "oldestAskedAt",
)  # fmt: skip


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
    orchestration.WasReset,
)


@dataclass(frozen=True, slots=True)
class _Question:
    asked: Fact
    answer: Fact | None

    @property
    def group(self) -> tuple[str, str, str, str | None]:
        if self.answer is None:
            return self.asked.kind, self.asked["reason"], "waiting", None
        return self.asked.kind, self.asked["reason"], self.answer["decided_by"], self.answer["choice"]

    @property
    def waited(self) -> int | None:
        return None if self.answer is None else max(0, self.answer.at - self.asked.at)


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    questions = [each for each in _questions(LEDGER.facts(db, filters)) if filters.holds(each.asked.at)]
    groups: dict[tuple[str, str, str, str | None], list[_Question]] = {}
    for question in questions:
        groups.setdefault(question.group, []).append(question)
    rows = [
        {"kind": group[0], "reason": group[1], "by": group[2], "choice": group[3], **_row(groups[group])}
        for group in sorted(groups, key=lambda group: tuple(map(ordered, group)))
    ]
    return rows, _totals(questions)


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


def _row(group: Sequence[_Question]) -> Row:
    oldest = min(question.asked.at for question in group)
    return {"decisions": len(group), **_waited(group), "oldestAskedAt": iso(oldest)}


def _waited(group: Iterable[_Question]) -> Row:
    return spread("waitedMs", [question.waited for question in group if question.waited is not None])


def _totals(questions: Sequence[_Question]) -> Row:
    """The waiting times only include decisions by people."""
    by = {name: [group for group in questions if group.group[2] == name] for name in _BY}
    counts = {name: len(group) for name, group in by.items()}
    return {"decisions": len(questions), **counts, **_waited(by["person"])}


_BY = ("person", "expired", "cancelled", "waiting")
