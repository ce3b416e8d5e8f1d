"""The list of sessions: filtered by kind, status, label, time or words, newest first."""

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, get_args

from domain.session.waits import WaitsFor, held
from domain.values.base import Invalid, iso
from domain.values.sentences import Sentence
from projections.engine.ports import LATEST, Database
from projections.facts import AT_REST
from projections.sessions.pull_requests import pull_request_of
from projections.sessions.questions import turns_asking
from projections.sessions.row import ROWS, SessionRow, belonging
from projections.sessions.search import matching
from projections.views.session import TurnView
from projections.views.sessions import SessionItem, SessionPage

LONGEST_WORDS = 1_000
DEFAULT_LIMIT, MOST = 50, 200
ASKING: Final = "permission"
"""The reason of a waiting turn whose agent asks for permission."""
NEEDS: Final[tuple[WaitsFor, ...]] = get_args(WaitsFor)


def worked_on(db: Database) -> tuple[tuple[str, str, int], ...]:
    """The sessions that were started in a folder, oldest first: that folder, the session and its version."""
    rows = db.execute(
        "SELECT repository, session_id, version FROM overview WHERE repository IS NOT NULL ORDER BY created"
    ).fetchall()
    return tuple((str(folder), str(name), int(version)) for folder, name, version in rows)


def page(
    db: Database,
    *,
    kind: str | None = None,
    status: str | None = None,
    q: str | None = None,
    label: str | None = None,
    owner: str | None = None,
    repository: str | None = None,
    here: str | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    index: Database | None = None,
    as_seen: bool = False,
) -> SessionPage:
    """Newest first; `q` is searched in id, title, task, what agents said, findings, verdicts, errors and the reasons of
    decisions, ignoring case; for that, `index` is needed. Owners can be given by name alone. `since` (included) and
    `until` (not included) are about the start. `as_seen`: the status is the one that people see; what waits for one of
    them does not run.

    Raises Invalid for a cursor that was not returned from here, a limit outside 1 … 200, more than 1,000 characters of
    `q`.
    """
    if not 1 <= limit <= MOST:
        raise Invalid({"/limit": Sentence("not_between", number=1, most=MOST)})
    if q is not None and len(q) > LONGEST_WORDS:
        raise Invalid({"/q": Sentence("too_many_characters", number=LONGEST_WORDS)})
    before = LATEST if cursor is None else position_of(cursor)
    where: list[str] = ["created < ?"]
    values: list[int | str] = [before]
    if status == HELD:
        where.append("cause = ?")
        values.append(HELD)
        status = None
    if as_seen and status is not None:
        clause, named = _as_seen(status)
        where.append(clause)
        values += named
        status = None
    conditions = {"kind =": kind, "status =": status}
    for condition, value in (conditions | {"created_at >=": since, "created_at <": until}).items():
        if value is not None:
            where.append(f"{condition} ?")
            values.append(value)
    theirs = belonging(owner, repository, here)
    where += theirs.where
    values += theirs.values
    if label is not None:
        where.append("created IN (SELECT created FROM overview_labels WHERE label = ? AND created < ?)")
        values += [label, before]
    wanted = " AND ".join(where)
    if q:
        if index is None:
            raise ValueError("a search needs its index")
        rows = _matching(db, matching(index, q, before), wanted, values, limit + 1)
    else:
        rows = ROWS.select(db, f"WHERE {wanted} ORDER BY created DESC LIMIT ?", (*values, limit + 1))
    more = len(rows) > limit
    return SessionPage(items=items(db, rows[:limit]), next_cursor=cursor_of(rows[limit - 1].created) if more else None)


ASKED: Final = (
    "(coalesce(waits_for, '') IN ('decision', 'scope')"
    " OR session_id IN (SELECT parent FROM overview WHERE waits_for = 'decision' AND parent IS NOT NULL))"
    f" AND status NOT IN ({', '.join(repr(word) for word in sorted(AT_REST))})"
)
"""The condition for sessions that wait for a person to decide, or to allow files outside the scope."""
QUESTIONED: Final = "session_id IN (SELECT session_id FROM overview_questions)"
"""The condition for sessions in which an agent asks for permission."""
DECIDING: Final = "waiting_for_decision"
HELD: Final = held().cause


def _as_seen(status: str) -> tuple[str, list[str]]:
    """The condition for sessions that people see in this state."""
    if status == DECIDING:
        return f"(status = ? OR ({ASKED}))", [status]
    if status in AT_REST:
        return "status = ?", [status]
    return f"status = ? AND NOT ({ASKED}) AND NOT ({QUESTIONED}) AND coalesce(cause, '') <> ?", [status, HELD]


class Facts(NamedTuple):
    """The facts about a session that a list shows besides its view."""

    cost_micros: int | None
    lasted_ms: int


def facts(db: Database, ids: Sequence[str]) -> dict[str, Facts]:
    """Returns what these sessions have cost, and the time from their start to their last event."""
    rows = ROWS.get(db, list(ids))
    return {name: Facts(row.cost_micros, max(0, row.updated_at - row.created_at)) for name, row in rows.items()}


def item(db: Database, session_id: str) -> SessionItem | None:
    """One session's row."""
    return next(iter(items(db, list(ROWS.get(db, [session_id]).values()))), None)


def forks(db: Database, session_id: str, limit: int) -> tuple[SessionItem, ...]:
    """The sessions that were forked from this one, oldest first."""
    return items(db, ROWS.select(db, "WHERE forked_from = ? ORDER BY created LIMIT ?", (session_id, limit)))


def waiting(db: Database, limit: int = MOST, *, needs: Sequence[WaitsFor] = ()) -> tuple[SessionItem, ...]:
    """The sessions in which a person has to do something, the longest wait first."""
    wanted = tuple(needs or NEEDS)
    clauses = f"WHERE waiting > 0 AND waits_for IN ({', '.join('?' * len(wanted))}) ORDER BY waiting LIMIT ?"
    return items(db, ROWS.select(db, clauses, (*wanted, limit)))


def counts(db: Database) -> dict[str, dict[str, int]]:
    """Returns how many sessions there are, by kind and status."""
    numbers: dict[str, dict[str, int]] = {}
    rows = db.execute("SELECT kind, status, count(*) FROM overview GROUP BY kind, status ORDER BY kind, status")
    for kind, word, number in rows.fetchall():
        numbers.setdefault(kind, {})[word] = int(number)
    return numbers


def _matching(
    db: Database, batches: Iterable[Sequence[int]], wanted: str, values: Sequence[int | str], limit: int
) -> list[SessionRow]:
    """The sessions of the batches that match the other conditions, too."""
    rows = list[SessionRow]()
    for begins in batches:
        places = ", ".join("?" * len(begins))
        clauses = f"WHERE created IN ({places}) AND {wanted} ORDER BY created DESC LIMIT ?"
        rows += ROWS.select(db, clauses, (*begins, *values, limit - len(rows)))
        if len(rows) >= limit:
            break
    return rows


def cursor_of(position: int) -> str:
    """A cursor encodes the rows before a position; callers should treat it as opaque."""
    return base64.urlsafe_b64encode(str(position).encode()).decode().rstrip("=")


def position_of(cursor: str) -> int:
    """Raises Invalid for anything that `cursor_of` did not make."""
    try:
        digits = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        position = int(digits) if len(digits) < 19 else -1
    except (binascii.Error, ValueError):
        position = -1
    if position < 1 or cursor_of(position) != cursor:
        raise Invalid({"/cursor": Sentence("unknown_cursor")})
    return position


def items(db: Database, rows: Sequence[SessionRow]) -> tuple[SessionItem, ...]:
    """The rows with their turns and children."""
    ids = [row.session_id for row in rows]
    turns, children, deciding = open_turns(db, ids), _children(db, ids), _awaiting(db, ids)
    return tuple(
        _item(row, turns[row.session_id], children[row.session_id], waits_below=row.session_id in deciding)
        for row in rows
    )


def open_turns(db: Database, ids: Sequence[str]) -> dict[str, list[TurnView]]:
    """The turns that these sessions wait for."""
    turns: dict[str, list[TurnView]] = defaultdict(list)
    if ids:
        rows = db.execute(
            "SELECT session_id, turn_id, work, agent, role, phase, round, requested_at, attempt,"
            " waiting_until, waiting_for FROM overview_turns"
            f" WHERE session_id IN ({', '.join('?' * len(ids))}) ORDER BY session_id, version",
            ids,
        ).fetchall()
        asking = turns_asking(db, ids)
        for session_id, turn_id, work, agent, role, phase, number, at, attempt, until, reason in rows:
            turn = TurnView(
                turn_id=turn_id,
                work=work,
                agent=agent,
                role=role,
                phase=phase,
                round=number,
                requested_at=iso(at),
                attempt=attempt,
                waiting_until=None if until is None else iso(until),
                waiting_for=ASKING if turn_id in asking else reason,
            )
            turns[session_id].append(turn)
    return turns


def _children(db: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    children: dict[str, list[str]] = defaultdict(list)
    if ids:
        places = ", ".join("?" * len(ids))
        rows = db.execute(
            f"SELECT parent, session_id FROM overview WHERE parent IN ({places}) ORDER BY created", ids
        ).fetchall()
        for parent, session_id in rows:
            children[parent].append(session_id)
    return children


def _awaiting(db: Database, ids: Sequence[str]) -> frozenset[str]:
    """Those whose review or debate waits for a person."""
    if not ids:
        return frozenset()
    places = ", ".join("?" * len(ids))
    rows = db.execute(f"SELECT parent FROM overview WHERE parent IN ({places}) AND waits_for = 'decision'", ids)
    return frozenset(str(parent) for (parent,) in rows.fetchall())


def _waiting(row: SessionRow, turns: Sequence[TurnView], waits_below: bool) -> str | None:
    """Returns what the session needs from a person, or a discussion that it waits for; it may have ended without it."""
    if row.waits_for is not None:
        return row.waits_for
    if any(turn.waiting_for == ASKING for turn in turns):
        return ASKING
    return "decision" if waits_below and row.status not in AT_REST else None


def _item(row: SessionRow, turns: Sequence[TurnView], children: Sequence[str], *, waits_below: bool) -> SessionItem:
    return SessionItem.model_validate(
        {
            "id": row.session_id,
            "kind": row.kind,
            "status": row.status,
            "title": row.title,
            "version": row.version,
            "created_at": iso(row.created_at),
            "updated_at": iso(row.updated_at),
            "origin": row.origin,
            "owner": row.owner,
            "repository": row.repository,
            "labels": json.loads(row.labels),
            "parent": row.parent,
            "children": children,
            "forked_from": row.forked_from,
            "outstanding_turns": turns,
            "last_error": row.last_error,
            "last_error_sentence": json.loads(row.last_error_sentence or "null"),
            "scripted": bool(row.scripted) or None,
            "current_phase": row.phase,
            "iteration": row.iteration,
            "max_iterations": row.max_iterations,
            "round": row.round,
            "max_rounds": row.max_rounds,
            "last_round": row.last_round,
            "strategy": row.strategy,
            "convergence_score": row.score,
            "recommendation": row.recommendation,
            "forked_at": row.forked_at,
            "landing": json.loads(row.landing) if row.landing else None,
            "pull_request": pull_request_of(row),
            "outcome": _outcome(row) if row.status in AT_REST else None,
            "waiting": _waiting(row, turns, waits_below),
            "held": row.cause == HELD,
        }
    )


def _outcome(row: SessionRow) -> dict[str, Any]:
    error = (row.last_error, row.last_error_sentence) if row.last_error else (row.rejected, row.rejected_sentence)
    words, sentence = error if row.status in ("failed", "partial") else (row.ended_words, None)
    return {
        "checks": json.loads(row.checks or "[]"),
        "branch": row.branch,
        "reason": row.ended_as,
        "unchanged": row.ends_unchanged or None,
        "choice": row.choice,
        "by": row.ended_by,
        "words": words,
        "words_sentence": json.loads(sentence or "null"),
    }
