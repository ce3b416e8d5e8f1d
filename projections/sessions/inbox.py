"""The inbox: everything that waits for a person, the longest wait first (contract §16)."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from domain.session import waits
from domain.session.team_decisions import DecisionPolicy, Vote
from domain.values.base import Invalid, iso
from domain.values.sentences import Sentence
from projections.engine.ports import Database
from projections.record.status import why
from projections.sessions.open_points import open_points
from projections.sessions.overview import NEEDS, cursor_of, position_of
from projections.sessions.questions import QuestionRow, asked_after, number_of_requests
from projections.sessions.row import EVERYTHING, ROWS, Belonging, SessionRow, belonging
from projections.views.base import ApprovalView, approval_view
from projections.views.inbox import DecisionPage, WaitingItem

DEFAULT_LIMIT, MOST = 50, 200


def page(
    db: Database,
    *,
    needs: Collection[str] = (),
    owner: str | None = None,
    repository: str | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> DecisionPage:
    """Returns what waits, oldest first; `needs` filters by what is needed, `owner` and `repository` by the session.

    Raises Invalid for a cursor that was not returned from here, a limit outside 1 … 200, or an unknown need.
    """
    if not 1 <= limit <= MOST:
        raise Invalid({"/limit": Sentence("not_between", number=1, most=MOST)})
    if not set(needs) <= set(NEEDS):
        raise Invalid({"/needs": Sentence("not_one_of", choices=list(NEEDS))})
    after = 0 if cursor is None else position_of(cursor)
    items = begun_after(db, after, limit + 1, tuple(needs or NEEDS), of=belonging(owner, repository))
    shown = items[:limit]
    return DecisionPage(
        items=tuple(item for _, item in shown),
        next_cursor=cursor_of(shown[-1][0]) if len(items) > limit else None,
    )


def begun_after(
    db: Database, after: int, limit: int, wanted: Collection[str] = NEEDS, *, of: Belonging = EVERYTHING
) -> list[tuple[int, WaitingItem]]:
    """Returns what started to wait after this position and still does, with the position where it started."""
    rows = ROWS.select(
        db,
        f"WHERE {_where(of)} waiting > ? AND waits_for IN ({', '.join('?' * len(wanted))}) ORDER BY waiting LIMIT ?",
        (*of.values, after, *wanted, limit),
    )
    items = [(row.waiting or 0, _item(row)) for row in rows]
    if "permission" in wanted:
        items = sorted([*items, *_permissions(db, after, limit, of)], key=lambda place: place[0])
    return items[:limit]


def _where(of: Belonging) -> str:
    return "".join(f"{condition} AND " for condition in of.where)


def _permissions(db: Database, after: int, limit: int, of: Belonging) -> list[tuple[int, WaitingItem]]:
    """The requests of agents, each with its position in the log."""
    open_questions = asked_after(db, after, limit, of)
    rows = ROWS.get(db, list({question.session_id for question in open_questions}))
    return [(question.position, _question(rows[question.session_id], question)) for question in open_questions]


def counts(db: Database, *, owner: str | None = None, repository: str | None = None) -> dict[str, int]:
    """Returns how many items wait, by what they need."""
    of = belonging(owner, repository)
    rows = db.execute(
        f"SELECT waits_for, count(*) FROM overview WHERE {_where(of)} waiting IS NOT NULL"
        " GROUP BY waits_for ORDER BY waits_for",
        of.values,
    ).fetchall()
    numbers = {word: int(number) for word, number in rows}
    permissions = number_of_requests(db, of)
    return numbers | ({"permission": permissions} if permissions else {})


def ballots(db: Database) -> tuple[ApprovalView, ...]:
    """Returns how the team decides each open decision that has rules of its own."""
    rows = ROWS.select(db, "WHERE waits_for = 'decision' AND waiting IS NOT NULL AND policy IS NOT NULL", ())
    return tuple(approval for row in rows if (approval := _approval(row)) is not None)


def _item(row: SessionRow) -> WaitingItem:
    """Only what it waits for now: the latest contribution of a discussion, the summary so far of a run."""
    deciding = row.waits_for == "decision"
    sentence = json.loads(row.summary_sentence or "null")
    return WaitingItem.model_validate(
        {
            "session_id": row.session_id,
            "kind": row.kind,
            "waits_for": row.waits_for,
            "reason": row.waits_for,
            "cause": row.cause,
            "why": why(row.cause),
            "title": row.title,
            "owner": row.owner,
            "repository": row.repository,
            "cost_micros": row.cost_micros,
            "parent": row.parent,
            "about": row.about,
            "since": iso(row.since or 0),
            "version": row.version,
            "choices": json.loads(row.choices or "[]"),
            "request_id": row.request_id,
            "stop_reason": row.stop_reason if deciding else None,
            "convergence": json.loads(row.convergence) if deciding and row.convergence else None,
            "feedback": json.loads(row.feedback) if deciding and row.feedback else None,
            "synthesis": row.synthesis if deciding else None,
            "summary": row.summary,
            "summary_sentence": sentence,
            "checked_out_in": _checkout_in(sentence),
            "notes": tuple(Sentence(code, **params) for code, params in open_points(row.checked, row.waits_for)),
            "expires_at": row.expires_at if deciding else None,
            "seen": row.seen if deciding else None,
            "approval": _approval(row),
        }
    )


def _checkout_in(sentence: dict[str, Any] | None) -> str | None:
    """The folder in which the branch is checked out that the session waits for."""
    return sentence["params"]["path"] if sentence and sentence["code"] == waits.BRANCH_IN_USE else None


def _approval(row: SessionRow) -> ApprovalView | None:
    """Returns how the team decides, for decisions only; permissions and scopes have no votes."""
    if row.policy is None or row.waits_for not in ("decision", "permission", "scope"):
        return None
    policy, voted = DecisionPolicy.model_validate_json(row.policy), row.waits_for == "decision"
    choices = waits.answers(json.loads(row.choices or "[]")) if voted else ()
    votes = tuple(Vote(*vote) for vote in json.loads(row.votes or "[]"))
    return approval_view(policy, choices, votes, row.since if voted else None)


def _question(row: SessionRow, question: QuestionRow) -> WaitingItem:
    """An agent's request, as an item of its own."""
    need = waits.permission()
    waiting_row = replace(
        row,
        waits_for=need.waits_for,
        cause=need.cause,
        since=question.since,
        choices=json.dumps(need.choices),
        request_id=question.request_id,
        summary=f"{question.tool}: {question.title}",
    )
    own = {"agent": question.agent, "tool": question.tool, "question": question.title}
    own |= {"why": f"{question.agent} asks for permission to use a tool.", "kind": "permission"}
    return _item(waiting_row).model_copy(update=own | {"paths": tuple(json.loads(question.paths))})
