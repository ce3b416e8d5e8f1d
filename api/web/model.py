"""The values in the templates: made from a session at a version and from the views, without clock or request.

Every text is cut here, so that the size of a page is bounded whatever agents write.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, get_args

from api.routes.spans import span
from api.web.answering import answering
from api.web.plain_text import cut, short_command
from domain.delivery.chart import Status
from domain.session.record import kind_of
from domain.values.budget import dollars
from projections.engine.ports import Database
from projections.sessions import inbox, overview
from projections.sessions.overview import NEEDS
from projections.views.sessions import SessionItem, WaitingItem

SESSIONS, SECTION = 25, 50
"""How many sessions a page of the list shows, and each of the sections above it."""
REASON = 200
"""How many characters of the reason for a wait are shown."""
COMMAND = 40
"""How many characters of a command are shown."""
STATUSES: Final = tuple(get_args(Status))
"""Statuses that can always be selected; other statuses that sessions have are added."""

RUNNING: Final = ("running", "active", "reviewing", "debating", "synthesizing")
"""Statuses in which somebody is at work (contract §2)."""

HOLDING: Final = ("permission", "scope")
"""Needs that an agent, or a turn, waits for."""
_OTHERS: Final = tuple(need for need in NEEDS if need not in HOLDING)

ICONS: Final = {
    "pending": "○",
    "running": "▸",
    "success": "✓",
    "completed": "✓",
    "failed": "✕",
    "cancelled": "–",
    "skipped": "–",
    "exhausted": "!",
    "held": "‖",
    "active": "▸",
    "reviewing": "▸",
    "debating": "▸",
    "synthesizing": "▸",
    "checkpoint": "?",
    "waiting_for_decision": "?",
    "asking": "?",
    "partial": "!",
    "done": "✓",
    "decided": "✓",
    "reset": "–",
}


@dataclass(frozen=True, slots=True)
class HomePage:
    """The list of sessions. The sections above the list are empty during a search; `needs` counts everything that
    waits, `counts` by what it needs, and `waiting` are the longest waits."""

    needs: int
    counts: dict[str, int]
    waiting: tuple[dict[str, Any], ...]
    running: tuple[dict[str, Any], ...]
    more_running: bool
    listed: tuple[dict[str, Any], ...]
    cursor: str | None
    statuses: tuple[str, ...]
    searching: bool
    first: bool
    empty: bool


def home_page(
    db: Database,
    looked: Mapping[str, str | None],
    *,
    index: Database | None,
    mark: Callable[[tuple[SessionItem, ...]], tuple[SessionItem, ...]],
) -> HomePage:
    """`looked` has the filters and the cursor, `index` is for words, `mark` adds to rows what the log does not know.

    Raises Invalid for an unknown cursor, a time that cannot be read, or a text that cannot be searched.
    """
    cursor = looked["cursor"]
    filters = {name: value for name, value in looked.items() if name not in ("from", "to", "cursor")}
    since, until = span(looked["from"], looked["to"])
    searching = any(value for name, value in looked.items() if name != "cursor")
    sections = not searching and cursor is None
    waiting = _first(db) if sections else ()
    held = {name for item in waiting for name in (item.parent, item.session_id) if name}
    running = [item for item in _running(db) if item.id not in held] if sections else []
    page = overview.page(db, **filters, since=since, until=until, limit=SESSIONS, cursor=cursor, index=index)
    counts = inbox.counts(db)
    above = {*held, *(item.id for item in running)}
    return HomePage(
        needs=sum(counts.values()),
        counts=counts,
        waiting=tuple(_waiting(db, item) for item in waiting),
        running=tuple(_item(item) for item in mark(tuple(running[:SECTION]))),
        more_running=len(running) > SECTION,
        listed=tuple(_item(item) for item in mark(page.items) if item.id not in above),
        cursor=page.next_cursor,
        statuses=tuple(dict.fromkeys((*STATUSES, *(word for words in overview.counts(db).values() for word in words)))),
        searching=searching,
        first=cursor is None,
        empty=not page.items and not above,
    )


def _first(db: Database) -> tuple[WaitingItem, ...]:
    """What holds up an agent, then the longest waits."""
    held_up, others = (inbox.page(db, needs=needs, limit=SECTION).items for needs in (HOLDING, _OTHERS))
    return (*held_up, *others)[:SECTION]


def _running(db: Database) -> list[SessionItem]:
    """The newest sessions at work, one more than a section holds if there are as many."""
    pages = [overview.page(db, status=status, limit=SECTION + 1).items for status in RUNNING]
    items = [item for page in pages for item in page]
    return sorted(items, key=lambda item: item.created_at, reverse=True)[: SECTION + 1]


def _waiting(db: Database, item: WaitingItem) -> dict[str, Any]:
    """What waits, with the title of the session that requested the discussion."""
    parent = overview.item(db, item.parent) if item.parent else None
    failed = overview.item(db, item.session_id) if item.waits_for == "partial" else None
    words = feedback_words(db, item) or (failed and (failed.last_error_sentence or failed.last_error))
    counted = item.waits_for == "budget" and kind_of(item.session_id) == "orchestration"
    summary = "" if counted else item.summary_sentence or item.summary or ""
    return answering(db, item) | {
        "id": item.session_id,
        "session": item.session_id,
        "request": item.request_id,
        "version": item.version,
        "kind": kind_of(item.session_id),
        "parent": item.parent,
        "title": parent.title if parent else item.title,
        "badge": BADGES.get(item.waits_for, "waiting_for_decision"),
        "needs": item.waits_for,
        "stop": item.stop_reason,
        "choices": item.choices if item.waits_for == "decision" else (),
        "words": cut(words or summary, REASON),
        "since": item.since,
        "cost": money(item.cost_micros),
        "owner": owner(item.owner),
    }


def feedback_words(db: Database, item: WaitingItem) -> str:
    """Why a discussion was interrupted, else what its last judgement says."""
    if item.feedback is None:
        return ""
    if not item.feedback.error:
        return item.feedback.summary
    session = overview.item(db, item.session_id)
    return (session and session.last_error_sentence) or item.feedback.error


BADGES: Final = {"checkpoint": "checkpoint", "budget": "exhausted", "partial": "partial", "failed": "failed"}
"""The state of what waits for something else than a decision."""


def owner(actor: str) -> str:
    """The name of the key; empty without keys."""
    kind, colon, name = actor.partition(":")
    return name if colon and kind in ("person", "key") else ""


def money(micros: int | None) -> str:
    """`$1.84`; "" if not reported."""
    return "" if micros is None else dollars(micros)


def badge(status: str, *, exhausted: bool) -> str:
    """The state as people see it: a delivery that ran out of budget has failed, but waits for somebody (K-46)."""
    return "exhausted" if exhausted and status == "failed" else status


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours}:{minutes % 60:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


_SHORT_MS: Final = 10_000


def seconds_or_clock(milliseconds: int) -> str:
    """How long something took: `0.2 s` below ten seconds, then as `clock` says it."""
    return f"{max(0, milliseconds) / 1000:.1f} s" if milliseconds < _SHORT_MS else clock(milliseconds)


def _item(item: SessionItem) -> dict[str, Any]:
    return item.wire() | {
        "badge": badge(item.status, exhausted=item.waiting == "budget"),
        "ended": _ended(item),
        "labels": [cut(label, 64) for label in item.labels[:5]],
        "by": owner(item.owner),
        "folder": cut(PurePath(item.repository or "").name, 24),
    }


def _ended(item: SessionItem) -> dict[str, Any]:
    """What its outcome is worded from."""
    it = item.outcome
    if it is None:
        return {}
    return {
        "why": cut(it.words_sentence or it.words or "", REASON),
        "by": owner(it.by or ""),
        "choice": it.choice,
        "checks": ", ".join(cut(short_command(command), COMMAND) for command in it.checks),
        "branch": cut(it.branch or "", 120),
    }
