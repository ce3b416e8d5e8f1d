"""Checks what the events say: each must load and follow the rules, and the lease table must know the same turns."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from adapters.proof.faults import misplaced
from adapters.proof.verdict import Verification
from adapters.store.errors import DamagedEvent
from adapters.store.mapper import decode
from adapters.store.rows import Row, Rows
from adapters.store.turn_changes import COUNTED, STEP, NewTurn, TurnAgain, TurnEnd, change_of
from domain.kinds import fold
from domain.session.forks import SessionForked
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.values.sentences import Sentence

_OPEN: Final = ("queued", "running", "held")
_SETTLED: Final = ("done", "cancelled")


class TurnRow(NamedTuple):
    """A row of the lease table, in the order of `Rows.turns`."""

    turn_id: str
    stream: str
    version: int
    work: str
    agent: str
    role: str
    state: str
    attempt: int | None
    worker: str | None
    lease_until: int | None
    deadline: int | None
    requested_at: int
    owner: str
    rank: int


@dataclass(slots=True)
class _Turn:
    """A turn as the log has it. `agents` were asked one after another; an imported turn stays with the first.
    `asked_by` is who asked for it, and `root` the session of which its session is a part; `settled_by` who settled
    it."""

    new: NewTurn
    agents: list[str]
    deadline: int | None
    asked_by: str
    root: str
    settled: TurnEnd | None = None
    settled_by: str = ""


@dataclass(slots=True)
class _SeenRows:
    """The sessions that were read, as far as they are kept."""

    streams: set[str] = field(default_factory=set)
    rows: int = 0


def check_contents(rows: Rows, verdict: Verification) -> None:
    """Every event, and the whole lease table."""
    seen_rows = _SeenRows()
    for stream, events in groupby(rows.by_stream(), key=itemgetter(1)):
        if verdict.full:
            return
        session, turns = _read(rows, verdict, events)
        _check_turns(rows, verdict, stream, session, turns, seen_rows)
    _check_strangers(rows, verdict, seen_rows)


def _read(rows: Rows, verdict: Verification, events: Iterator[Row]) -> tuple[Session | None, dict[str, _Turn]]:
    """One session and its turns."""
    session: Session | None = None
    turns: dict[str, _Turn] = {}
    before: Recorded | None = None
    for row in events:
        try:
            recorded = decode(row.stored(), row.position)
            session = fold(kind_of(row.stream), [(recorded.event, recorded.metadata)], session)
            _follow(turns, recorded)
        except Exception as error:  # whatever the rules raise for an event, it is a fault of the log and not of ours
            why = error.why if isinstance(error, DamagedEvent) else f"{type(error).__name__}: {error}"
            verdict.blame(row.position, Sentence("fault_event_unreadable", name=row.topic, id=row.stream, detail=why))
            continue
        for position, problem in misplaced(rows, before, recorded):
            verdict.blame(position, problem)
        before = recorded
    return session, turns


def _follow(turns: dict[str, _Turn], recorded: Recorded) -> None:
    """One more event: what it changes in the lease table, it changes in what the table has to say."""
    event, by = recorded.event, recorded.causation
    change = change_of(
        event,
        session_id=recorded.session_id,
        version=recorded.version,
        at=recorded.at,
        asked_by=by.actor,
        root=by.correlation_id,
    )
    if isinstance(event, SessionForked):
        for turn in turns.values():  # they entered the table with the fork
            turn.asked_by, turn.root = by.actor, by.correlation_id
    match change:
        case NewTurn():
            turns[change.turn_id] = _Turn(change, [change.agent], change.deadline, change.asked_by, change.root)
        case TurnAgain() if change.turn_id in turns:
            turn = turns[change.turn_id]
            turn.settled, turn.deadline = None, change.deadline
            if change.agent is not None:
                turn.agents.append(change.agent)
        case TurnEnd() if change.turn_id in turns:
            turn = turns[change.turn_id]
            turn.settled, turn.settled_by = change, by.actor


def _check_turns(
    rows: Rows,
    verdict: Verification,
    stream: str,
    session: Session | None,
    turns: dict[str, _Turn],
    seen_rows: _SeenRows,
) -> None:
    """The lease table must wait for the same turns as the log, and remember the others as they were."""
    seen_rows.streams.add(stream)
    outstanding = session.outstanding.keys() & turns.keys() if session else set()
    missing = set(outstanding)
    table = [TurnRow(*fields) for fields in rows.turns(stream)]
    owners = _owners(rows, stream, table, turns)
    for row in table:
        seen_rows.rows += 1
        turn = turns.get(row.turn_id)
        is_open = row.turn_id in outstanding
        missing.discard(row.turn_id)
        if turn is None or (row.state in _OPEN) != is_open:
            _blame_openness(verdict, row.turn_id, in_log=is_open)
        elif not (_fits(row, stream, turn) and row.owner in owners and _ranked(row, turn) and _worked(row, turn)):
            verdict.blame(None, Sentence("fault_turn_differs", turn=row.turn_id))
    for turn_id in sorted(missing):
        _blame_openness(verdict, turn_id, in_log=True)


def _blame_openness(verdict: Verification, turn_id: str, *, in_log: bool) -> None:
    verdict.blame(None, Sentence("fault_open_in_log" if in_log else "fault_open_in_table", turn=turn_id))


def _fits(row: TurnRow, stream: str, turn: _Turn) -> bool:
    """True if a row says what the log says. Who holds it until when is a lease and no fact; imported turns have no
    deadline and count no attempts. Damage can leave a column without a value."""
    new = turn.new
    stored = (row.stream, row.version, row.work, row.role, row.requested_at)
    if stored != (stream, new.version, new.work, new.role, new.requested_at):
        return False
    if row.deadline not in (None, turn.deadline) or row.agent not in (turn.agents[0], turn.agents[-1]):
        return False
    if row.attempt is None or row.attempt < 0:
        return False
    if row.state in _OPEN:
        return True
    cancelled = turn.settled is not None and turn.settled.state == "cancelled"
    if row.state not in _SETTLED or (row.state == "cancelled" and not cancelled):
        return False
    attempt = turn.settled.said_by if turn.settled and not cancelled else 0
    return attempt == 0 or row.attempt in (0, attempt)


def _owners(rows: Rows, stream: str, table: Sequence[TurnRow], turns: Mapping[str, _Turn]) -> Collection[str]:
    """Return who may own the turns of a session: all of them have one owner, the owner of the session that it is a part
    of, or who asked for the first turn. Logs of before there were owners have none."""
    here = (turns[row.turn_id] for row in table if row.turn_id in turns)
    first = min(here, key=lambda turn: turn.new.version, default=None)  # a table has no order of its own
    if first is None:
        return {row.owner for row in table}
    theirs = {TurnRow(*fields).owner for fields in rows.turns(first.root)} if first.root != stream else set[str]()
    owner = next((row.owner for row in table if row.owner in theirs or row.owner in (first.asked_by, "")), None)
    return {owner} if owner is not None else ()


def _ranked(row: TurnRow, turn: _Turn) -> bool:
    """True if the place in the queue is as far from the time of the request as whole steps lead. A turn of a log of
    before there were ranks waits since its request."""
    if type(row.rank) is not int:
        return False
    steps, rest = divmod(row.rank - turn.new.requested_at, STEP)
    if rest:
        return False
    return turn.new.long <= steps <= turn.new.long + 2 * COUNTED or (row.owner == "" and steps == 0)


def _worked(row: TurnRow, turn: _Turn) -> bool:
    """True if the worker can be the one who worked on the turn: nobody without an attempt. Who asked an agent is not in
    the log, but who ran commands is."""
    if not row.attempt:
        return row.worker is None
    if row.worker is None:
        return row.owner == ""  # moved here by an older version, which left it out
    ended = turn.settled
    if ended is None or ended.state == "cancelled" or ended.said_by != row.attempt:
        return row.worker != ""
    kind, _, worker = turn.settled_by.partition(":")
    return row.worker == worker if kind == "worker" else row.worker != ""


def _check_strangers(rows: Rows, verdict: Verification, seen_rows: _SeenRows) -> None:
    """Turns of sessions that do not exist."""
    if rows.turn_count() == seen_rows.rows:
        return
    for turn_id, *_ in rows.turns():
        if turn_id.rpartition(".")[0] not in seen_rows.streams:
            _blame_openness(verdict, turn_id, in_log=False)
