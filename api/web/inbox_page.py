"""`/decisions`: everything that waits for a person, oldest first, each with its choices and the version they answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import caught_up, only, system
from api.web.inbox_items import WORDS, InboxCard, item_of
from api.web.plain_text import cut
from api.web.renderer import language_of, page, render
from api.web.sent_forms import NOTHING, Sent
from domain.session.state import Session
from projections.engine.ports import Database
from projections.sessions import inbox

ITEMS = 20
"""Items on a page."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """The items that wait, and how many wait for what."""

    items: tuple[InboxCard, ...]
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
        items=tuple(item_of(db, item, actor, find) for item in rows.items),
        counts=inbox.counts(db, owner=owner, repository=repository),
        cursor=rows.next_cursor,
        first=cursor is None,
    )
