"""An item of the inbox as its card shows it, and the unfolded row of home."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from api.web.model import BADGES, money
from api.web.model import owner as owner_name
from api.web.permission_cards import card_of
from api.web.plain_text import cut, cut_plain
from api.web.session.matter import Matter, matter_of
from api.web.waiting_item import answering, approval_for, reason_of
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import RETRY, answers
from projections.engine.ports import Database
from projections.record.status import is_phrase
from projections.views.inbox import WaitingItem

WORDS, SYNTHESIS = 600, 2_000
"""How many characters of a reason and of a synthesis are shown; the session has all of it."""


def _matter(session: Session | None) -> Matter | None:
    return matter_of(session, long=SYNTHESIS) if isinstance(session, Discussion) else None


def item_of(db: Database, item: WaitingItem, actor: str, find: Callable[[str], Session | None]) -> dict[str, Any]:
    """An item of the inbox, with what was found and the synthesis as safe HTML."""
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
            "matter": _matter(find(item.session_id)) if item.waits_for == "decision" else None,
        }
    )
