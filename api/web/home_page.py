"""`/`: what needs attention, what is running, and earlier sessions."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, get_args

from starlette.requests import Request
from starlette.responses import Response

from api.actions.fixes import fix_task
from api.http.problems import of_field
from api.http.requests import only, system
from api.node.session_answers import marked_list
from api.routes.spans import span
from api.web.home_rows import RUNNING, ListedRow, listed_rows
from api.web.home_waits import WaitingRow, waiting_row
from api.web.model import REASON
from api.web.plain_text import cut
from api.web.presets import PRESETS
from api.web.renderer import language_of, page, render
from api.web.sent_forms import NOTHING
from api.web.start_form import FORMS, NAMES, Filled, forms
from api.web.start_panel import known_before, known_folders
from api.web.step import doing
from api.web.waiting_item import waits_for_others
from domain.delivery.chart import Status
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.session.state import Session
from domain.values.sentences import Sentence
from projections.engine.ports import Database
from projections.record.status import phrase
from projections.sessions import inbox, overview
from projections.sessions.overview import HELD, NEEDS
from projections.views.inbox import WaitingItem
from projections.views.session import is_imported
from projections.views.sessions import SessionItem

LOOKED = ("kind", "status", "q", "label", "owner", "repository", "from", "to", "cursor")
"""The filters of the list."""


async def home(request: Request) -> Response:
    """GET /: the sessions that need a person, that run and that ended; or the results of a search"""
    only(request, *LOOKED, "needs", "lang", "preset", "start", "key", *NAMES)
    return page(await _shown(request, _forms(await asyncio.to_thread(_fixing, request))))


async def again(request: Request, starting: tuple[Filled, ...], *, status: int, key: str) -> Response:
    """The page again, with a refused form."""
    return page(await _shown(request, starting), status=status, key=key)


SESSIONS, SECTION, UNFOLDING = 25, 50, 10
"""Sessions on a page of the list, those that run above it, and those that wait there."""
STATUSES: Final = (*get_args(Status), HELD)
"""Statuses that can always be selected; other statuses that sessions have are added."""

HOLDING: Final = ("permission", "scope")
"""Needs that an agent, or a turn, waits for."""
_OTHERS: Final = tuple(need for need in NEEDS if need not in HOLDING)


@dataclass(frozen=True, slots=True)
class HomePage:
    """The list of sessions. The sections above the list are empty during a search; `needs` counts everything that
    waits, `counts` by what it needs, and `waiting` are the longest waits."""

    needs: int
    counts: dict[str, int]
    waiting: tuple[WaitingRow, ...]
    others: tuple[WaitingRow, ...]
    """Decisions that wait for other people than the reader."""
    """Forks that wait for a person to continue them."""
    running: tuple[ListedRow, ...]
    more_running: bool
    listed: tuple[ListedRow, ...]
    cursor: str | None
    statuses: tuple[str, ...]
    searching: bool
    first: bool
    empty: bool


def home_page(
    db: Database,
    looked: Mapping[str, str | None],
    *,
    actor: str = "",
    index: Database | None,
    mark: Callable[[tuple[SessionItem, ...]], tuple[SessionItem, ...]],
    find: Callable[[str], Session | None],
    needs: str | None = None,
) -> HomePage:
    """`looked` has the filters and the cursor, `index` is for words, `mark` adds to rows what the log does not know,
    `find` reads a session. With `needs`, only what needs that is listed above.

    Raises Invalid for an unknown cursor, a time that cannot be read, or a text that cannot be searched.
    """
    cursor = looked["cursor"]
    filters = {name: value for name, value in looked.items() if name not in ("from", "to", "cursor")}
    since, until = span(looked["from"], looked["to"])
    searching = any(value for name, value in looked.items() if name != "cursor")
    sections = not searching and cursor is None
    first = _first(db) if sections else ()
    waiting = (_needing(db, needs) if sections and needs else first)[:UNFOLDING]
    others = tuple(item for item in waiting if waits_for_others(actor, item.approval))
    held = {name for item in first for name in (item.parent, item.session_id) if name}
    at_work = mark(_running(db)) if sections else ()
    others_at_work = [item for item in at_work if item.id not in held and not is_imported(item.outstanding_turns)]
    running = [item for item in others_at_work if not item.held]
    page = overview.page(
        db, **filters, since=since, until=until, limit=SESSIONS, cursor=cursor, index=index, as_seen=True
    )
    counts = inbox.counts(db)
    above = {*held, *(item.id for item in running)}
    return HomePage(
        needs=sum(counts.values()),
        counts=counts,
        waiting=tuple(waiting_row(db, item, actor, find) for item in waiting if item not in others),
        others=tuple(waiting_row(db, item, actor, find) for item in others),
        running=listed_rows(db, running[:SECTION]),
        more_running=len(running) > SECTION,
        listed=listed_rows(db, [item for item in mark(page.items) if item.id not in above]),
        cursor=page.next_cursor,
        statuses=tuple(dict.fromkeys((*STATUSES, *(word for words in overview.counts(db).values() for word in words)))),
        searching=searching,
        first=cursor is None,
        empty=not page.items and not above,
    )


async def _shown(request: Request, starting: tuple[Filled, ...]) -> str:
    query = request.query_params
    looked = {name: query.get(name) or None for name in LOOKED}
    if looked["kind"] is not None and looked["kind"] not in KINDS:
        raise of_field("kind", Sentence("not_one_of", choices=list(KINDS)))
    needs = query.get("needs") or None
    if needs is not None and needs not in NEEDS:
        raise of_field("needs", Sentence("not_one_of", choices=list(NEEDS)))
    inside, say = system(request), language_of(request)
    after = inside.follower.position

    def build() -> str:
        with inside.reading() as db, inside.search.reading(looked["q"]) as index:
            home = home_page(
                db,
                looked,
                actor=request.state.actor,
                index=index,
                mark=partial(marked_list, inside),
                find=inside.sessions.get,
                needs=needs,
            )
        example = inside.team.example
        open_now = any(query.get(name) for name in ("preset", "start")) or any(form.words for form in starting)
        more = {
            "example": example,
            "scripted": inside.settings.example,
            "forms": starting,
            "starting": open_now,
            "chosen": query.get("preset"),
        }
        is_update = request.headers.get("sec-fetch-dest") == "empty"  # the script leaves the panel as it is
        opened = next((form for form in starting if form.open), None) if open_now and not is_update else None
        more |= {"before": known_before(request, opened) if opened else None}
        more |= {
            "folders": known_folders(inside.settings, [row.of.repository for row in (*home.running, *home.listed)])
        }
        now = {
            "doing": partial(doing, inside.live, say),
            "phrase": partial(phrase, language=say.language),
            "cut": partial(cut, limit=REASON),
            "after": after,
        }
        return render(request, say, "home.html", page=home, looked=looked, wanted=needs, sent=NOTHING, **now, **more)

    return await asyncio.to_thread(build)


def _fixing(request: Request) -> Mapping[str, str]:
    """The address; with the task of a delivery that applies a review, where it names one.

    Raises Invalid for one that asks for no fix.
    """
    query = request.query_params
    if not query.get("fixes") or query.get("task"):
        return query
    name = query["fixes"]
    session = system(request).sessions.get(name) if kind_of(name) in KINDS else None
    return {**query, "task": fix_task(session)} | (
        {"workspace": session.workspace} if session and session.workspace else {}
    )


def _forms(query: Mapping[str, str]) -> tuple[Filled, ...]:
    for name, allowed in (("preset", PRESETS), ("start", FORMS)):
        if query.get(name) and query[name] not in allowed:
            raise of_field(name, Sentence("not_one_of", choices=list(allowed)))
    return forms(query)


def _needing(db: Database, needs: str) -> tuple[WaitingItem, ...]:
    """The longest waits for the same."""
    return inbox.page(db, needs=(needs,), limit=SECTION).items


def _first(db: Database) -> tuple[WaitingItem, ...]:
    """The items in order: what holds up an agent, then the longest waits."""
    held_up, others = (inbox.page(db, needs=needs, limit=SECTION).items for needs in (HOLDING, _OTHERS))
    return (*held_up, *others)[:SECTION]


def _running(db: Database) -> tuple[SessionItem, ...]:
    """The newest sessions at work, one more than a section holds if there are as many."""
    pages = [overview.page(db, status=status, limit=SECTION + 1).items for status in RUNNING]
    items = [item for page in pages for item in page]
    return tuple(sorted(items, key=lambda item: item.created_at, reverse=True)[: SECTION + 1])
