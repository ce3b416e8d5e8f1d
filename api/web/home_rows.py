"""Rows of home: what waits, with its matter, and sessions that run or have ended."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, Final

from api.web.inbox_items import item_of
from api.web.model import BADGES, REASON, answering, approval_for, badge, clock, money, owner, reason_of
from api.web.permission_cards import ask_of
from api.web.plain_text import cut, cut_plain, short_command
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import answers
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.inbox import WaitingItem
from projections.views.sessions import SessionItem

COMMAND: Final = 40
"""How many characters of a command are shown."""
RUNNING: Final = ("running", "active", "reviewing", "debating", "synthesizing")
"""Statuses in which an agent is at work (contract §2)."""


def waiting_row(db: Database, item: WaitingItem, actor: str, find: Callable[[str], Session | None]) -> dict[str, Any]:
    """An item that waits, with the title of the session that requested the discussion, and what `actor` has chosen."""
    parent = overview.item(db, item.parent) if item.parent else None
    ask = ask_of(item, find)
    unseen = {"verb": ""} if ask and not ask.is_whole else {}
    return (
        answering(db, item)
        | unseen
        | {
            "id": item.session_id,
            "session": item.session_id,
            "request": item.request_id,
            "version": item.version,
            "kind": kind_of(item.session_id),
            "parent": item.parent,
            "title": parent.title if parent else item.title,
            "badge": BADGES.get(item.waits_for, "waiting_for_decision"),
            "needs": item.waits_for,
            "mine": (approval_for(actor, item.approval) or {}).get("mine", ""),
            "stop": item.stop_reason,
            "choices": answers(item.choices) if item.waits_for == "decision" else (),
            "ask": ask,
            "card": item_of(db, item, actor, find),
            "words": cut_plain(reason_of(db, item), REASON),
            "since": item.since,
            "cost": money(item.cost_micros),
            "owner": owner(item.owner),
        }
    )


def is_held(item: SessionItem, find: Callable[[str], Session | None]) -> bool:
    """Only a fork can be; the list does not know, so each of the few that may be is read."""
    session = find(item.id) if item.forked_from and item.status in RUNNING else None
    return session is not None and session.held and not session.ended


def listed_rows(
    db: Database, rows: Sequence[SessionItem], find: Callable[[str], Session | None]
) -> tuple[dict[str, Any], ...]:
    """Sessions as rows of a list, with what they cost and how long they took."""
    facts = overview.facts(db, [row.id for row in rows])
    return tuple(_item(row, facts.get(row.id), find) for row in rows)


def _item(item: SessionItem, facts: overview.Facts | None, find: Callable[[str], Session | None]) -> dict[str, Any]:
    held = is_held(item, find)
    return item.wire() | {
        "cost": money(facts.cost_micros) if facts else "",
        "lasted": clock(facts.lasted_ms) if facts and item.outcome else "",
        "paused_until": _paused_until(item),
        "badge": "held" if held else badge(item),
        "ended": _ended(item),
        "labels": [cut(label, 64) for label in item.labels[:5]],
        "by": owner(item.owner),
        "folder": cut(PurePath(item.repository or "").name, 24),
    }


def _paused_until(item: SessionItem) -> str:
    """When the first of its turns is tried again, where all of them wait for a provider; else ""."""
    turns = [turn for turn in item.outstanding_turns if turn.work != "wait"]
    hours = [turn.waiting_until or "" for turn in turns]
    return min(hours) if hours and all(hours) else ""


def _ended(item: SessionItem) -> dict[str, Any]:
    """The facts that its outcome is worded from."""
    it = item.outcome
    if it is None:
        return {}
    return {
        "why": cut_plain(it.words_sentence or it.words or "", REASON),
        "by": owner(it.by or ""),
        "choice": it.choice,
        "checks": ", ".join(cut(short_command(command), COMMAND) for command in it.checks),
        "branch": cut(it.branch or "", 120),
    }
