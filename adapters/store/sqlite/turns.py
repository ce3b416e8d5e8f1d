"""The lease table: which turns wait, who works on which, and the fence that lets only the holder settle one.

Rows appear, end and are called off in the transaction of the events that say so; claiming and heartbeats are leases,
not facts, and leave no event. Asking is at least once, recording exactly once.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple

from adapters.store.mapper import Fenced
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnCancelled, TurnRequested
from domain.values.time import milliseconds

Access = Callable[[], AbstractContextManager[sqlite3.Connection]]


@dataclass(frozen=True, slots=True)
class Lease:
    """A turn in the hands of a worker, until `until` (milliseconds); `version` is that of its request."""

    turn_id: str
    session_id: str
    version: int
    work: str
    agent: str
    role: str
    attempt: int
    worker: str
    until: int
    deadline: int | None


class Place(NamedTuple):
    """Where a turn stands among the others: the oldest first."""

    requested_at: int
    turn_id: str


FIRST: Final = Place(-(2**63), "")
LAST: Final = Place(2**63 - 1, "")


class OpenTurn(NamedTuple):
    """A turn that may be claimed."""

    turn_id: str
    session_id: str
    work: str
    agent: str
    role: str
    requested_at: int

    @property
    def place(self) -> Place:
        return Place(self.requested_at, self.turn_id)


class Page(NamedTuple):
    """Open turns, oldest first, and how far was read; `end` None: there is no row behind those."""

    turns: list[OpenTurn]
    end: Place | None


class Standing(NamedTuple):
    """How a turn stands: `state` is queued, running, done, cancelled or held; `worker` had it last."""

    session_id: str
    state: str
    attempt: int
    worker: str | None


_LEASE: Final = "turn_id, stream, version, work, agent, role, attempt, worker, lease_until, deadline"
_UNSETTLED: Final = "state IN ('queued', 'running')"
"""Word for word the condition of the index `turns_open`: without it SQLite reads all turns that there ever were."""
_FREE: Final = "work <> 'wait' AND (state = 'queued' OR lease_until <= :now)"
"""Of the unsettled turns those that may be claimed; a decision that a person has to make is nobody's."""
_QUEUED: Final = f"{_UNSETTLED} AND state = 'queued'"
_RUNNING: Final = f"{_UNSETTLED} AND state = 'running'"


class Turns:
    """The turns of a store."""

    def __init__(self, transaction: Access, reading: Access) -> None:
        self._transaction, self._reading = transaction, reading

    def follow(self, connection: sqlite3.Connection, events: Sequence[Recorded], *, adopted: bool = False) -> None:
        """What events mean for the table, in their own transaction. Raises Fenced.

        Turns of an adopted history ended elsewhere: nobody here held them.
        """
        for recorded in events:
            self._follow(connection, recorded, adopted)

    def _follow(self, connection: sqlite3.Connection, recorded: Recorded, adopted: bool) -> None:
        match recorded.event:
            case Settled() as event if adopted:
                self._end(connection, event, "done", "state = 'queued'")
            case TurnRequested() as event:
                self._queue(connection, recorded, event)
            case TurnCancelled() as event:
                self._end(connection, event, "cancelled", "state IN ('queued', 'running', 'held')")
            case Settled() as event:
                self._end(connection, event, "done", "state = 'running' AND attempt = ?", event.attempt)
            case _:
                return

    @staticmethod
    def _queue(connection: sqlite3.Connection, recorded: Recorded, event: TurnRequested) -> None:
        deadline = milliseconds(event.deadline) if event.deadline else None
        connection.execute(
            "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, NULL, NULL, ?, ?)",
            (
                event.turn_id,
                recorded.session_id,
                recorded.version,
                event.work,
                event.agent,
                event.role,
                deadline,
                recorded.at,
            ),
        )

    @staticmethod
    def _end(connection: sqlite3.Connection, event: Settled, state: str, where: str, *values: int) -> None:
        done = connection.execute(
            f"UPDATE turns SET state = ?, lease_until = NULL WHERE turn_id = ? AND {where}",
            (state, event.turn_id, *values),
        )
        if done.rowcount != 1:
            raise Fenced(event.turn_id, event.attempt)

    # -- taking ----------------------------------------------------------------------------------------------------

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        """This turn; None if somebody else was faster, or it does not wait any more."""
        with self._transaction() as connection:
            row = connection.execute(
                "UPDATE turns SET state = 'running', attempt = attempt + 1, worker = :worker, lease_until = :until"
                f" WHERE turn_id = :turn_id AND {_UNSETTLED} AND {_FREE} RETURNING {_LEASE}",
                {"turn_id": turn_id, "worker": worker, "now": now, "until": now + lease_ms},
            ).fetchone()
        return None if row is None else Lease(*row)

    def waiting(self, now: int) -> bool:
        """Whether a claim would find something; cheap, and takes no lock."""
        with self._reading() as connection:
            found = connection.execute(f"SELECT 1 FROM turns WHERE {_UNSETTLED} AND {_FREE} LIMIT 1", {"now": now})
            return found.fetchone() is not None

    def open(self, now: int, *, limit: int, after: Place = FIRST, upto: Place = LAST) -> Page:
        """The turns behind a place, up to another one, that wait or whose lease ran out.

        Whatever they are, at most `limit` rows are read: those that cannot be claimed now count, too.
        """
        between = "(requested_at, turn_id) > (:at, :id) AND (requested_at, turn_id) <= (:last_at, :last_id)"
        columns = f"turn_id, stream, work, agent, role, requested_at, {_FREE} AS free"
        bounds = {"at": after.requested_at, "id": after.turn_id, "last_at": upto.requested_at, "last_id": upto.turn_id}
        with self._reading() as connection:
            rows = connection.execute(
                _in_order(columns, between, limit=":limit"), {"now": now, "limit": limit, **bounds}
            ).fetchall()
        found = [(OpenTurn(*row), free) for *row, free in rows]
        return Page([turn for turn, free in found if free], found[-1][0].place if len(found) == limit else None)

    # -- holding ---------------------------------------------------------------------------------------------------

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        """Hold on to a turn; False when it is lost: settled, called off, or given to another attempt."""
        with self._transaction() as connection:
            done = connection.execute(
                "UPDATE turns SET lease_until = max(lease_until, ?)"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (until, lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def give_back(self, lease: Lease) -> bool:
        """Let the turn wait again, at once; False when it is not ours any more."""
        with self._transaction() as connection:
            done = connection.execute(
                "UPDATE turns SET state = 'queued', lease_until = NULL"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def release(self, worker: str) -> int:
        """Give back at once what a worker held that is known to be dead, or that stops; how many turns."""
        with self._transaction() as connection:
            done = connection.execute(
                f"UPDATE turns SET state = 'queued', lease_until = NULL WHERE worker = ? AND {_RUNNING}", (worker,)
            )
        return done.rowcount

    # -- how things stand ------------------------------------------------------------------------------------------

    def workers(self) -> tuple[str, ...]:
        """Who holds turns now."""
        with self._reading() as connection:
            rows = connection.execute(f"SELECT DISTINCT worker FROM turns WHERE {_RUNNING}").fetchall()
        return tuple(row[0] for row in rows)

    def overdue(self, now: int) -> list[tuple[str, str]]:
        """(session, turn) of the turns, waiting or running, whose deadline has passed."""
        with self._reading() as connection:
            return connection.execute(
                f"SELECT stream, turn_id FROM turns INDEXED BY turns_due WHERE {_UNSETTLED} AND deadline < ?", (now,)
            ).fetchall()

    def held(self, turn_id: str) -> Lease | None:
        """The lease on a turn that is being worked on."""
        with self._reading() as connection:
            row = connection.execute(
                f"SELECT {_LEASE} FROM turns WHERE turn_id = ? AND state = 'running'",
                (turn_id,),
            ).fetchone()
        return None if row is None else Lease(*row)

    def attempts(self, turn_ids: Sequence[str]) -> dict[str, int | None]:
        """The attempt that holds each of these turns, None where none does."""
        marks = ",".join("?" * len(turn_ids))
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT turn_id, attempt FROM turns WHERE turn_id IN ({marks}) AND state = 'running'", turn_ids
            ).fetchall()
        return dict.fromkeys(turn_ids) | dict(rows)

    def standing(self, turn_id: str) -> Standing | None:
        """How the turn stands; None: it was never requested."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT stream, state, attempt, worker FROM turns WHERE turn_id = ?", (turn_id,)
            ).fetchone()
        return None if row is None else Standing(*row)

    def count(self) -> dict[str, int]:
        """How many turns wait and run."""
        with self._reading() as connection:
            rows = connection.execute(f"SELECT state, count(*) FROM turns WHERE {_UNSETTLED} GROUP BY state").fetchall()
        return {"queued": 0, "running": 0} | dict(rows)


def _in_order(columns: str, which: str, *, limit: str) -> str:
    """A query for unsettled turns, oldest first: the two halves of the index, merged, so that nothing is sorted."""
    queued, running = (f"SELECT {columns} FROM turns WHERE {half} AND {which}" for half in (_QUEUED, _RUNNING))
    return f"{queued} UNION ALL {running} ORDER BY requested_at, turn_id LIMIT {limit}"
