"""`/decisions`: everything that waits for a person, oldest first, each with its choices and the version they answer."""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import caught_up, only, system
from api.web.forms.sent import NOTHING, Sent
from api.web.rendering import language_of, page, render
from api.web.session.context import tame
from api.web.shown import cut
from domain.discussion.seen import suggested
from projections.engine.ports import Database
from projections.sessions import inbox, overview
from projections.views.sessions import WaitingItem

ITEMS, BUDGETS = 20, 50
"""How many decisions a page shows; sessions out of budget follow below the first page."""
WORDS, SYNTHESIS = 600, 2_000
"""How many characters of a reason and of a synthesis are shown; the session has all of it."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """What waits, and on the first page the sessions that would continue with more budget."""

    items: tuple[dict[str, Any], ...]
    exhausted: tuple[dict[str, Any], ...]
    cursor: str | None
    first: bool


async def decisions(request: Request) -> Response:
    """GET /decisions: what waits for a person; a decision is bound to the version that is shown"""
    only(request, "cursor", "lang")
    return page(await _shown(request, NOTHING))


async def again(request: Request, sent: Sent) -> Response:
    """The page again, with a refused answer."""
    return page(await _shown(request, sent), status=sent.status, key=sent.key)


async def _shown(request: Request, sent: Sent) -> str:
    inside, say = system(request), language_of(request)
    cursor = request.query_params.get("cursor") or None
    await caught_up(request, await asyncio.to_thread(inside.store.head))
    after = inside.follower.position

    def build() -> str:
        with inside.reading() as db:
            items = inbox_page(db, cursor)
        return render(request, say, "inbox.html", page=items, after=after, sent=sent, cursor=cursor)

    return await asyncio.to_thread(build)


def inbox_page(db: Database, cursor: str | None) -> InboxPage:
    """Raises Invalid for a cursor that was not returned from here."""
    waiting = inbox.page(db, needs=("decision", "permission", "scope", "checkpoint"), limit=ITEMS, cursor=cursor)
    exhausted = overview.waiting(db, BUDGETS, needs=("budget", "partial")) if cursor is None else ()
    return InboxPage(
        items=tuple(_item(item) for item in waiting.items),
        exhausted=tuple(item.wire() for item in exhausted),
        cursor=waiting.next_cursor,
        first=cursor is None,
    )


def _item(item: WaitingItem) -> dict[str, Any]:
    """An item of the inbox, with the findings as a sentence and the synthesis as safe HTML."""
    fields, feedback = item.wire(), item.feedback
    words = (feedback and (feedback.error or feedback.summary)) or item.summary or ""
    return fields | {
        "approval": fields.get("approval"),
        "seen": item.seen,
        "place": item.request_id if item.kind == "permission" else item.session_id,
        "words": cut(words, WORDS),
        "points": feedback.points if feedback else 0,
        "suggested": suggested(fields["feedback"] or {}),
        "verdict": cut((feedback and feedback.verdict) or "", 40),
        "synthesis": tame(cut(item.synthesis, SYNTHESIS)) if item.synthesis else "",
    }
