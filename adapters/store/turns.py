"""The lease table: which turns wait, who works on which, and the fence that lets only the holder settle one.

Rows appear, end and are called off in the transaction of the events that say so; claiming and heartbeats are leases,
not facts, and leave no event. Asking is at least once, recording exactly once.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from adapters.store.entries import Fenced
from domain.instant import milliseconds
from domain.record import Recorded
from domain.turns import Settled, TurnCancelled, TurnRequested

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


_COLUMNS = "turn_id, stream, version, work, agent, role, attempt, worker, lease_until, deadline"


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
            raise Fenced(f"Turn {event.turn_id} is not held by attempt {event.attempt}; its answer changes nothing.")

    def claim(
        self, worker: str, *, now: int, lease_ms: int, agents: Sequence[str] = (), roles: Sequence[str] = ()
    ) -> Lease | None:
        """The oldest turn that waits or whose lease ran out, of these agents or roles if given; None if none does."""
        wanted, values = self._wanted(agents, roles)
        with self._transaction() as connection:
            row = connection.execute(
                "UPDATE turns SET state = 'running', attempt = attempt + 1, worker = ?, lease_until = ?"
                " WHERE turn_id = (SELECT turn_id FROM turns"
                "  WHERE work <> 'wait' AND (state = 'queued' OR (state = 'running' AND lease_until <= ?))"
                f" {wanted} ORDER BY requested_at, turn_id LIMIT 1) RETURNING {_COLUMNS}",
                (worker, now + lease_ms, now, *values),
            ).fetchone()
        return None if row is None else Lease(*row)

    @staticmethod
    def _wanted(agents: Sequence[str], roles: Sequence[str]) -> tuple[str, list[str]]:
        if not agents and not roles:
            return "", []
        parts = []
        for column, names in (("agent", agents), ("role", roles)):
            if names:
                parts.append(f"{column} IN ({','.join('?' * len(names))})")
        return f"AND ({' OR '.join(parts)})", [*agents, *roles]

    def waiting(self, now: int) -> bool:
        """Whether a claim would find something; cheap, and takes no lock."""
        with self._reading() as connection:
            return (
                connection.execute(
                    "SELECT 1 FROM turns WHERE work <> 'wait'"
                    " AND (state = 'queued' OR (state = 'running' AND lease_until <= ?)) LIMIT 1",
                    (now,),
                ).fetchone()
                is not None
            )

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        """Hold on to a turn; False when it is lost: settled, called off, or given to another attempt."""
        with self._transaction() as connection:
            done = connection.execute(
                "UPDATE turns SET lease_until = max(lease_until, ?)"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (until, lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def release(self, worker: str) -> int:
        """Give back at once what a worker held that is known to be dead, or that stops; how many turns."""
        with self._transaction() as connection:
            done = connection.execute(
                "UPDATE turns SET state = 'queued', lease_until = NULL WHERE worker = ? AND state = 'running'",
                (worker,),
            )
        return done.rowcount

    def workers(self) -> tuple[str, ...]:
        """Who holds turns now."""
        with self._reading() as connection:
            rows = connection.execute("SELECT DISTINCT worker FROM turns WHERE state = 'running'").fetchall()
        return tuple(row[0] for row in rows)

    def overdue(self, now: int) -> list[tuple[str, str]]:
        """(session, turn) of the turns, waiting or running, whose deadline has passed."""
        with self._reading() as connection:
            return connection.execute(
                "SELECT stream, turn_id FROM turns WHERE state IN ('queued', 'running') AND deadline < ?", (now,)
            ).fetchall()

    def held(self, turn_id: str) -> Lease | None:
        """The lease on a turn that is being worked on."""
        with self._reading() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM turns WHERE turn_id = ? AND state = 'running'",
                (turn_id,),
            ).fetchone()
        return None if row is None else Lease(*row)

    def count(self) -> dict[str, int]:
        """How many turns wait and run."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT state, count(*) FROM turns WHERE state IN ('queued', 'running') GROUP BY state"
            ).fetchall()
        return {"queued": 0, "running": 0} | dict(rows)
