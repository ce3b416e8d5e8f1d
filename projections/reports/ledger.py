"""Keeps what reports are made of: their facts, one row each, the sessions that they belong to, and rows, totals and
figures.

A report is computed from facts on request, so it can be computed as of any position: later facts then do not count.

Figures are rounded the same way everywhere. Unknown values are None and never count as zero. Times are milliseconds,
money is in millionths.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.values.base import DomainEvent
from projections.engine.ports import LATEST, Database, Projection
from projections.facts import of_sessions
from projections.views.base import View


class ReportRow(View):
    """A row of any report. Its fields, in order, are the columns."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(map(to_camel, cls.model_fields))


class AgentRow(ReportRow):
    agent: str


class ReportTotals(View):
    """Figures over all rows."""


class Spread(NamedTuple):
    """Mean and median with two digits; None where there is nothing to compute."""

    mean: float | None = None
    median: float | None = None
    max: int | None = None


def share(part: int, whole: int) -> float | None:
    """From 0 to 1, four digits; None for an empty total."""
    return round(part / whole, 4) if whole else None


def spread(values: Sequence[int]) -> Spread:
    if not values:
        return Spread()
    return Spread(mean=round(fmean(values), 2), median=round(float(median(values)), 2), max=max(values))


def total_of(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def ordered(value: object) -> tuple[int, str | int]:
    """A key that sorts numbers, texts and None together."""
    match value:
        case None:
            return (0, "")
        case int():
            return (1, value)
        case _:
            return (2, str(value))


# -- facts -------------------------------------------------------------------------------------------------------------


Values = Mapping[str, Any]
"""Columns of a fact: `what` it is, and its figures."""
Reader = Callable[[Database, Recorded], Values | None]
"""Returns what a report takes from an event; None: nothing. It may have tables of its own."""
FORKED = "forked"
_Beginning = delivery.DeliveryStarted | orchestration.OrchestrationStarted | discussion.DiscussionStarted
_MARKS = (delivery.DeliveryStarted, orchestration.OrchestrationStarted, discussion.DiscussionStarted, SessionForked)
"""The events that every report is about: where sessions begin, or continue as a fork."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The facts that count. Times in milliseconds, `since` ≤ at < `until`; `as_of`: up to that position. `now`: what
    has not come to an end yet has lasted until then; None: until it was planned to end."""

    since: int | None = None
    until: int | None = None
    kind: str | None = None
    label: str | None = None
    as_of: int | None = None
    now: int | None = None

    def holds(self, at: int) -> bool:
        """Returns whether the time is within the range."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


@dataclass(slots=True)
class Fact:
    """One row: `began` is the start of its session (of a fork: the time of the fork), `at` its own time."""

    position: int
    session_id: str
    kind: str
    began: int
    at: int
    what: str
    values: Values = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The tables of one report. `columns` are SQL types by name."""

    name: str
    columns: Mapping[str, str]

    @property
    def table(self) -> str:
        return f"report_{self.name}"

    def projection(
        self,
        reader: Reader,
        *about: type[DomainEvent],
        version: int = 1,
        tables: Mapping[str, str] | None = None,
    ) -> Projection:
        """The view of what `read` takes from the events that it is `about`; `tables` are those that `read` needs for
        itself, columns by name."""
        own = tables or {}
        return Projection(
            name=self.table,
            tables=(self.table, f"{self.table}_sessions", f"{self.table}_labels", *own),
            schema=(
                *self._schema(),
                *(f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in own.items()),
            ),
            apply=lambda db, events: self.apply(db, events, reader),
            version=version,
            about=(*_MARKS, *about),
        )

    def _schema(self) -> tuple[str, ...]:
        own = "".join(f", {name} {kind}" for name, kind in self.columns.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {self.table} (position BIGINT PRIMARY KEY, session_id TEXT NOT NULL,"
            f" at BIGINT NOT NULL, what TEXT NOT NULL{own})",
            f"CREATE TABLE IF NOT EXISTS {self.table}_sessions (session_id TEXT PRIMARY KEY, position BIGINT NOT NULL,"
            " kind TEXT NOT NULL, at BIGINT NOT NULL, forked_at BIGINT)",
            f"CREATE TABLE IF NOT EXISTS {self.table}_labels (label TEXT NOT NULL, session_id TEXT NOT NULL,"
            " PRIMARY KEY (label, session_id))",
        )

    def apply(self, db: Database, events: Sequence[Recorded], reader: Reader) -> None:
        """Add what the reader takes from the events, and the sessions that begin."""
        facts, sessions, labels = list[tuple[object, ...]](), list[tuple[object, ...]](), list[tuple[object, ...]]()
        forks = list[tuple[int, str]]()
        columns = tuple(self.columns)
        for recorded in of_sessions(events):
            position, session_id, _, at, _, event = recorded
            fact = reader(db, recorded)
            if isinstance(event, _MARKS):
                if isinstance(event, SessionForked):
                    fact = {**(fact or {}), "what": FORKED}
                    forks.append((at, session_id))
                else:
                    sessions.append((session_id, position, recorded.kind, at, None))
                    labels += [(label, session_id) for label in dict.fromkeys(_labels(event))]
            if fact is not None:
                facts.append((position, session_id, at, fact["what"], *map(fact.get, columns)))
        db.insert(f"INSERT INTO {self.table}_sessions VALUES (?, ?, ?, ?, ?)", sessions)
        for fork in forks:
            db.execute(f"UPDATE {self.table}_sessions SET forked_at = ? WHERE session_id = ?", fork)
        db.insert(f"INSERT INTO {self.table}_labels VALUES (?, ?)", labels)
        db.insert(f"INSERT INTO {self.table} VALUES ({', '.join('?' * (4 + len(columns)))})", facts)

    # -- reading ---------------------------------------------------------------------------------------------------

    def facts(self, db: Database, filters: Filters) -> list[Fact]:
        """The facts of sessions with that kind and label, in the order of the log; the time range is ignored."""
        where, values = self._where(filters)
        own = "".join(f", f.{name}" for name in self.columns)
        rows = db.execute(
            f"SELECT f.position, f.session_id, s.kind, s.at, f.at, f.what{own} FROM {self.table} f"
            f" JOIN {self.table}_sessions s ON s.session_id = f.session_id WHERE {where} ORDER BY f.position",
            values,
        ).fetchall()
        return _since_forks([self._fact(*row) for row in rows])

    def joined(self, db: Database, table: str, columns: str, filters: Filters) -> list[Any]:
        """Kind and beginning of each session with that kind and label, and columns of its row `f` in a table."""
        where, values = self._of_session(filters)
        return db.execute(
            f"SELECT s.kind, coalesce(s.forked_at, s.at), {columns} FROM {table} f"
            f" JOIN {self.table}_sessions s ON s.session_id = f.session_id"
            + (f" WHERE {' AND '.join(where)}" if where else ""),
            values,
        ).fetchall()

    def _fact(self, position: int, session_id: str, kind: str, began: int, at: int, what: str, *own: object) -> Fact:
        return Fact(position, session_id, kind, began, at, what, dict(zip(self.columns, own, strict=True)))

    def _where(self, filters: Filters) -> tuple[str, list[object]]:
        where, values = self._of_session(filters)
        upto = LATEST if filters.as_of is None else filters.as_of
        return " AND ".join(["f.position <= ?", *where]), [upto, *values]

    def _of_session(self, filters: Filters) -> tuple[list[str], list[object]]:
        """The conditions for the session of a row `f`."""
        where, values = list[str](), list[object]()
        if filters.kind is not None:
            where.append("s.kind = ?")
            values.append(filters.kind)
        if filters.label is not None:
            where.append(f"f.session_id IN (SELECT session_id FROM {self.table}_labels WHERE label = ?)")
            values.append(filters.label)
        return where, values

    def by_session(self, db: Database, filters: Filters) -> dict[str, list[Fact]]:
        """The facts of each session that began within the range, in the order in which the sessions began."""
        sessions: dict[str, list[Fact]] = {}
        for fact in self.facts(db, filters):
            if filters.holds(fact.began):
                sessions.setdefault(fact.session_id, []).append(fact)
        return sessions


def _since_forks(facts: list[Fact]) -> list[Fact]:
    """The facts, with the forks as the beginnings of their sessions. A fork after the last fact is unknown here."""
    forks = {fact.session_id: fact.at for fact in facts if fact.what == FORKED}
    for fact in facts:
        fact.began = forks.get(fact.session_id, fact.began)
    return facts


def unshared(facts: Iterable[Fact]) -> list[Fact]:
    """Without what a fork copied from its source: that counts once, for the source."""
    own: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.what == FORKED:
            own[fact.session_id] = []
        else:
            own.setdefault(fact.session_id, []).append(fact)
    return sorted((fact for rest in own.values() for fact in rest), key=lambda fact: fact.position)


def _labels(event: _Beginning) -> tuple[str, ...]:
    """The labels of a session that begins."""
    match event:
        case delivery.DeliveryStarted():
            return event.labels
        case orchestration.OrchestrationStarted():
            return event.opening.labels
        case discussion.DiscussionStarted():
            return event.topic.labels
