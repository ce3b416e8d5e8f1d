"""Rows of home: what waits for a person, with its matter."""

from collections.abc import Callable
from typing import Any

from api.web.inbox_items import item_of
from api.web.model import BADGES, REASON, money, owner
from api.web.permission_cards import ask_of
from api.web.plain_text import cut_plain
from api.web.waiting_item import answering, approval_for, reason_of
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import answers
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.inbox import WaitingItem


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
