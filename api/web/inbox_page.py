"""`/decisions`: everything that waits for a person, oldest first, each with its choices and the version they answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import caught_up, only, system
from api.web.asking import card_of
from api.web.model import BADGES, answering, approval_for, money, reason_of
from api.web.model import owner as owner_name
from api.web.plain_text import cut, cut_plain
from api.web.rendering import language_of, page, render
from api.web.sent_forms import NOTHING, Sent
from api.web.session.context import tame
from domain.discussion.events import suggested
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import RETRY, answers
from projections.engine.ports import Database
from projections.record.status import is_phrase
from projections.sessions import inbox
from projections.views.sessions import WaitingItem

ITEMS = 20
"""How many items a page shows."""
WORDS, SYNTHESIS = 600, 2_000
"""How many characters of a reason and of a synthesis are shown; the session has all of it."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """What waits, and how much waits for what."""

    items: tuple[dict[str, Any], ...]
    counts: dict[str, int]
    cursor: str | None
    first: bool


async def decisions(request: Request) -> Response:
    """GET /decisions: what waits for a person; a decision is bound to the version that is shown"""
    only(request, "cursor", "needs", "owner", "repository", "lang")
    return page(await _shown(request, NOTHING))


async def again(request: Request, sent: Sent) -> Response:
    """The page again, with a refused answer."""
    return page(await _shown(request, sent), status=sent.status, key=sent.key)


async def _shown(request: Request, sent: Sent) -> str:
    inside, say = system(request), language_of(request)
    query = {name: request.query_params.get(name) or None for name in ("cursor", "needs", "owner", "repository")}
    await caught_up(request, await asyncio.to_thread(inside.store.head))
    after = inside.follower.position

    def build() -> str:
        with inside.reading() as db:
            items = inbox_page(db, getattr(request.state, "actor", ""), inside.sessions.get, **query)
        shown = partial(cut, limit=WORDS)
        return render(request, say, "inbox.html", page=items, after=after, sent=sent, looked=query, cut=shown)

    return await asyncio.to_thread(build)


def inbox_page(
    db: Database,
    actor: str,
    find: Callable[[str], Session | None],
    cursor: str | None = None,
    needs: str | None = None,
    owner: str | None = None,
    repository: str | None = None,
) -> InboxPage:
    """As `actor` sees it; `find` reads a session. Raises Invalid for a cursor that was not returned from here,
    or an unknown need."""
    wanted = (needs,) if needs else ()
    rows = inbox.page(db, needs=wanted, owner=owner, repository=repository, limit=ITEMS, cursor=cursor)
    return InboxPage(
        items=tuple(_item(db, item, actor, find) for item in rows.items),
        counts=inbox.counts(db, owner=owner, repository=repository),
        cursor=rows.next_cursor,
        first=cursor is None,
    )


def _item(db: Database, item: WaitingItem, actor: str, find: Callable[[str], Session | None]) -> dict[str, Any]:
    """An item of the inbox, with the findings as a sentence and the synthesis as safe HTML."""
    fields, feedback = item.wire(), item.feedback
    words = reason_of(db, item)
    words = "" if is_phrase(words) else words
    return (
        fields
        | answering(db, item)
        | {
            "asked": card_of(item, find),
            "session": item.session_id,
            "request": item.request_id,
            "kind": kind_of(item.session_id),
            "by": owner_name(item.owner),
            "cost": money(item.cost_micros),
            "folder": cut(PurePath(item.repository or "").name, 24),
            "badge": BADGES.get(item.waits_for, "waiting_for_decision"),
            "approval": approval_for(actor, item.approval),
            "seen": item.seen,
            "answers": answers(item.choices),
            "again": item.waits_for == "decision" and RETRY in item.choices,
            "words": cut_plain(words, WORDS),
            "open": item.notes,
            "points": feedback.points if feedback else 0,
            "suggested": suggested(fields["feedback"] or {}),
            "verdict": cut((feedback and feedback.verdict) or "", 40),
            "synthesis": tame(cut(item.synthesis, SYNTHESIS)) if item.synthesis else "",
        }
    )
