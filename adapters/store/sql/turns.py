"""The lease table in SQL. Rows change in the same transaction as the events that change them."""

from collections.abc import Sequence
from typing import Any, Final, get_args

from adapters.store.errors import Fenced
from adapters.store.port import NO_LIMIT, Access, SqlConnection, SqlResult
from adapters.store.sql.log import marks
from adapters.store.sql.rows import TURN_COLUMNS
from adapters.store.turn_changes import COUNTED, STEP, NewTurn, TurnAgain, TurnChange, TurnEnd, TurnState
from adapters.store.turns import FIRST, LAST, Lease, OpenTurn, TurnPage, TurnPlace, TurnStatus, UsedSoFar

_LEASE: Final = "turn_id, stream, version, work, agent, role, attempt, worker, lease_until, deadline"
_UNSETTLED: Final = "state IN ('queued', 'running')"
"""Exactly the condition of the index `turns_ranked`: otherwise SQLite reads all turns that ever existed."""
_NEVER: Final = 366 * 24 * 3_600_000
"""Milliseconds: no lease and no wait is as long, so a row that says so is damaged."""
_FREE: Final = f"work <> 'wait' AND (lease_until IS NULL OR lease_until <= :now OR lease_until > :now + {_NEVER})"
"""Of the unsettled turns those that may be claimed: queued, waited long enough after a failed attempt (then
`lease_until` is the end of the wait), or running on a lease that ran out. A person's decision cannot be claimed."""
_NEXT: Final = "CASE WHEN attempt BETWEEN 0 AND 1000000000 THEN attempt + 1 ELSE 1 END"
_QUEUED: Final = f"{_UNSETTLED} AND state = 'queued'"
_RUNNING: Final = f"{_UNSETTLED} AND state = 'running'"
_OF: Final = "SELECT owner FROM turns WHERE turn_id > :{0}_from AND turn_id < :{0}_to ORDER BY turn_id LIMIT 1"
_OWNER: Final = f"coalesce(({_OF.format('own')}), ({_OF.format('root')}), :asked_by)"
_OPEN: Final = f"FROM turns WHERE {_UNSETTLED} AND work <> 'wait' AND owner = {_OWNER}"
_NEW: Final = (
    f"INSERT INTO turns ({TURN_COLUMNS}) VALUES"
    " (:turn_id, :session_id, :version, :work, :agent, :role, :state, 0, NULL, NULL, :deadline,"
    f" :requested_at, {_OWNER}, :requested_at + :long + {STEP} * ("
    f"(SELECT count(*) FROM (SELECT 1 {_OPEN} LIMIT {COUNTED}) AS theirs)"
    f" + (SELECT count(*) FROM (SELECT 1 {_OPEN} AND stream = :session_id LIMIT {COUNTED}) AS ours)))"
)


class SqlTurns:
    """The turns of a store."""

    def __init__(
        self, transaction: Access, reading: Access, *, leasing: Access | None = None, by_deadline: str = ""
    ) -> None:
        """`leasing` is a transaction that a power cut may undo, where the database has a cheaper one. `by_deadline`
        names the index for deadlines where the database does not find it by itself."""
        self._transaction, self._reading, self._by_deadline = transaction, reading, by_deadline
        self._leasing = leasing or transaction

    # -- taking ----------------------------------------------------------------------------------------------------

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        with self._transaction() as connection:
            return _taken(connection, turn_id, worker, now, now + lease_ms)

    def take_all(self, turn_ids: Sequence[str], worker: str, *, now: int, lease_ms: int) -> list[Lease]:
        with self._leasing() as connection:
            leases = [_taken(connection, turn_id, worker, now, now + lease_ms) for turn_id in turn_ids]
        return [lease for lease in leases if lease is not None]

    def waiting(self, now: int) -> bool:
        with self._reading() as connection:
            row = connection.execute(f"SELECT 1 FROM turns WHERE {_UNSETTLED} AND {_FREE} LIMIT 1", {"now": now})
            return row.fetchone() is not None

    def open(self, now: int, *, limit: int, after: TurnPlace = FIRST, upto: TurnPlace = LAST) -> TurnPage:
        between = "(rank, turn_id) > (:rank, :id) AND (rank, turn_id) <= (:last_rank, :last_id)"
        columns = f"turn_id, stream, work, agent, role, requested_at, rank, {_FREE} AS free"
        bounds = {"rank": after.rank, "id": after.turn_id, "last_rank": upto.rank, "last_id": upto.turn_id}
        with self._reading() as connection:
            rows = connection.execute(
                _in_order(columns, between, limit=":limit"), {"now": now, "limit": limit, **bounds}
            ).fetchall()
        turns = [(_open_turn(row), free) for *row, free in rows]
        return TurnPage([turn for turn, free in turns if free], turns[-1][0].place if len(turns) == limit else None)

    def unsettled(self) -> list[OpenTurn]:
        columns = "turn_id, stream, work, agent, role, requested_at, rank"
        with self._reading() as connection:
            rows = connection.execute(_in_order(columns, "work <> 'wait'", limit=":limit"), {"limit": NO_LIMIT})
            return [_open_turn(row) for row in rows.fetchall()]

    # -- holding ---------------------------------------------------------------------------------------------------

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        with self._leasing() as connection:
            done = connection.execute(
                "UPDATE turns SET lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (until, until, lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def give_back(self, lease: Lease) -> bool:
        with self._leasing() as connection:
            done = connection.execute(
                "UPDATE turns SET state = 'queued', lease_until = NULL"
                " WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (lease.turn_id, lease.attempt),
            )
        return done.rowcount == 1

    def keep_usage(self, turn_id: str, attempt: int, used: str) -> None:
        with self._leasing() as connection:
            connection.execute(
                "UPDATE turns SET used = ? WHERE turn_id = ? AND attempt = ? AND state = 'running'",
                (used, turn_id, attempt),
            )

    def usage(self, turn_id: str) -> UsedSoFar | None:
        with self._reading() as connection:
            row = connection.execute(
                "SELECT attempt, used FROM turns WHERE turn_id = ? AND state = 'running' AND used IS NOT NULL",
                (turn_id,),
            ).fetchone()
        return None if row is None else UsedSoFar(*row)

    def release(self, worker: str) -> int:
        with self._transaction() as connection:
            return self._released(connection, worker)

    def recover(self) -> int:
        with self._transaction() as connection:
            return connection.execute(
                f"UPDATE turns SET state = 'queued', lease_until = NULL WHERE state NOT IN {get_args(TurnState)}"
            ).rowcount

    @staticmethod
    def _released(connection: SqlConnection, worker: str) -> int:
        return connection.execute(
            f"UPDATE turns SET state = 'queued', lease_until = NULL WHERE worker = ? AND {_RUNNING}", (worker,)
        ).rowcount

    # -- status --------------------------------------------------------------------------------------------------

    def workers(self) -> tuple[str, ...]:
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT DISTINCT worker FROM turns WHERE {_RUNNING} AND worker IS NOT NULL"
            ).fetchall()
        return tuple(row[0] for row in rows)

    def overdue(self, now: int) -> list[tuple[str, str]]:
        with self._reading() as connection:
            return connection.execute(
                f"SELECT stream, turn_id FROM turns {self._by_deadline} WHERE {_UNSETTLED} AND deadline < ?", (now,)
            ).fetchall()

    def held(self, turn_id: str) -> Lease | None:
        with self._reading() as connection:
            row = connection.execute(
                f"SELECT {_LEASE} FROM turns WHERE turn_id = ? AND state = 'running'",
                (turn_id,),
            ).fetchone()
        return None if row is None else _lease(row)

    def attempts(self, turn_ids: Sequence[str]) -> dict[str, int | None]:
        if not turn_ids:
            return {}
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT turn_id, attempt FROM turns WHERE turn_id IN ({marks(turn_ids)}) AND state = 'running'",
                turn_ids,
            ).fetchall()
        return dict.fromkeys(turn_ids) | dict(rows)

    def imported(self, turn_ids: Sequence[str]) -> frozenset[str]:
        if not turn_ids:
            return frozenset()
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT turn_id FROM turns WHERE turn_id IN ({marks(turn_ids)}) AND state = 'held'", turn_ids
            ).fetchall()
        return frozenset(str(name) for (name,) in rows)

    def status(self, turn_id: str) -> TurnStatus | None:
        with self._reading() as connection:
            row = connection.execute(
                "SELECT stream, state, attempt, worker FROM turns WHERE turn_id = ?", (turn_id,)
            ).fetchone()
        return None if row is None else TurnStatus(*row)

    def count(self) -> dict[str, int]:
        with self._reading() as connection:
            rows = connection.execute(f"SELECT state, count(*) FROM turns WHERE {_UNSETTLED} GROUP BY state").fetchall()
        return {"queued": 0, "running": 0} | dict(rows)


def _taken(connection: SqlConnection, turn_id: str, worker: str, now: int, until: int) -> Lease | None:
    row = connection.execute(
        f"UPDATE turns SET state = 'running', attempt = {_NEXT}, worker = :worker, lease_until = :until,"
        " used = NULL"
        f" WHERE turn_id = :turn_id AND {_UNSETTLED} AND {_FREE} RETURNING {_LEASE}",
        {"turn_id": turn_id, "worker": worker, "now": now, "until": until},
    ).fetchone()
    return None if row is None else _lease(row)


def _session_of(turn_id: str) -> str:
    """The session of a turn is part of its name, so a damaged row does not change it."""
    return turn_id.rpartition(".")[0]


def _lease(row: Sequence[Any]) -> Lease:
    turn_id, _, *rest = row
    return Lease(turn_id, _session_of(turn_id), *rest)


def _open_turn(row: Sequence[Any]) -> OpenTurn:
    turn_id, _, *rest = row
    return OpenTurn(turn_id, _session_of(turn_id), *rest)


def apply(connection: SqlConnection, changes: Sequence[TurnChange]) -> list[tuple[TurnChange, SqlResult]]:
    """Change the table in the transaction of the events; see `check_held`."""
    return [(change, _applied(connection, change)) for change in changes]


def check_held(applied: Sequence[tuple[TurnChange, SqlResult]]) -> None:
    """Raise Fenced if a change did not find the turn in the expected state. Before the commit."""
    for change, done in applied:
        match change:
            case TurnEnd(fenced=True) if done.rowcount != 1:
                raise Fenced(change.turn_id, change.said_by)
            case TurnAgain() if done.rowcount != 1:
                raise Fenced(change.turn_id, change.attempt or 0)


def _applied(connection: SqlConnection, change: TurnChange) -> SqlResult:
    match change:
        case NewTurn():
            return connection.execute(_NEW, _begun(change))
        case TurnEnd():
            return _end(connection, change)
        case TurnAgain():
            return _ask_again(connection, change)


def _begun(change: NewTurn) -> dict[str, object]:
    """The values of a new row. A session's turns are those whose names begin with its own."""
    values = change._asdict()
    names = {"own": change.session_id, "root": change.root or change.session_id}
    values |= {f"{name}_from": f"{session}." for name, session in names.items()}
    values |= {f"{name}_to": f"{session}/" for name, session in names.items()}
    return values | {"long": STEP * change.long}


def _end(connection: SqlConnection, change: TurnEnd) -> SqlResult:
    states = ", ".join(f"'{state}'" for state in change.before)
    before = f" AND state IN ({states})" if states else ""
    return connection.execute(
        "UPDATE turns SET state = :state, lease_until = NULL, used = NULL"
        f" WHERE turn_id = :turn_id{before} AND attempt = coalesce(:attempt, attempt)",
        {"state": change.state, "turn_id": change.turn_id, "attempt": change.attempt},
    )


def _ask_again(connection: SqlConnection, change: TurnAgain) -> SqlResult:
    held = "" if change.attempt is None else " AND state = 'running' AND attempt = :attempt"
    return connection.execute(
        "UPDATE turns SET state = :state, agent = coalesce(:agent, agent), lease_until = :not_before,"
        f" deadline = :deadline, used = NULL WHERE turn_id = :turn_id{held}",
        change._asdict(),
    )


def _in_order(columns: str, which: str, *, limit: str) -> str:
    """A query for open turns in order: the two halves of the index, merged, so that nothing needs to be sorted."""
    queued, running = (f"SELECT {columns} FROM turns WHERE {half} AND {which}" for half in (_QUEUED, _RUNNING))
    return f"{queued} UNION ALL {running} ORDER BY rank, turn_id LIMIT {limit}"
