"""The lease table, turn by turn: for those who may only take some of the turns that wait."""

from typing import NamedTuple

from adapters.store.turns import _COLUMNS, Lease, Turns


class OpenTurn(NamedTuple):
    """A turn that may be claimed; `version` is that of its request."""

    turn_id: str
    session_id: str
    version: int
    work: str
    agent: str
    role: str


class Standing(NamedTuple):
    """How a turn stands: `state` is queued, running, done, cancelled or held; `worker` had it last."""

    session_id: str
    state: str
    attempt: int
    worker: str | None


class Leases(Turns):
    """The same table, for choosing. Nothing is kept here: any number of these may look at one store."""

    @classmethod
    def of(cls, turns: Turns) -> "Leases":
        return cls(turns._transaction, turns._reading)

    def open(self, now: int) -> list[OpenTurn]:
        """The turns that wait or whose lease ran out, oldest first."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT turn_id, stream, version, work, agent, role FROM turns"
                " WHERE work <> 'wait' AND (state = 'queued' OR (state = 'running' AND lease_until <= ?))"
                " ORDER BY requested_at, turn_id",
                (now,),
            ).fetchall()
        return [OpenTurn(*row) for row in rows]

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        """This turn; None if somebody else was faster, or it does not wait any more."""
        with self._transaction() as connection:
            row = connection.execute(
                "UPDATE turns SET state = 'running', attempt = attempt + 1, worker = ?, lease_until = ?"
                " WHERE turn_id = ? AND (state = 'queued' OR (state = 'running' AND lease_until <= ?))"
                f" RETURNING {_COLUMNS}",
                (worker, now + lease_ms, turn_id, now),
            ).fetchone()
        return None if row is None else Lease(*row)

    def give_back(self, lease: Lease) -> bool:
        """Let the turn wait again, at once; False when it is not ours any more."""
        with self._transaction() as connection:
            done = connection.execute(
                "UPDATE turns SET state = 'queued', lease_until = NULL"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def standing(self, turn_id: str) -> Standing | None:
        """How the turn stands; None: it was never requested."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT stream, state, attempt, worker FROM turns WHERE turn_id = ?", (turn_id,)
            ).fetchone()
        return None if row is None else Standing(*row)
