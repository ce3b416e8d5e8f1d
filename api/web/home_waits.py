"""Rows of home: what waits for a person, with its matter."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from api.web.inbox_items import InboxCard, item_of
from api.web.model import REASON, money, owner
from api.web.permission_cards import Ask, ask_of
from api.web.plain_text import cut_plain
from api.web.waiting_item import Answering, answering, approval_for, badge_of_item, reason_of
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import BRANCH_IN_USE, answers
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.inbox import WaitingItem
from projections.views.sessions import SessionItem

_OWN_STATES: Final = ("held", "no_progress", BRANCH_IN_USE)
"""The causes that a row names in place of what they need from a person."""


class WaitingRow(NamedTuple):
    """An item that waits, with the title of the session that requested the discussion."""

    id: str
    answer: Answering
    ask: Ask | None
    kind: str
    parent: str | None
    title: str
    badge: str
    needs: str
    stop: str | None
    choices: Sequence[str]
    card: InboxCard
    words: str
    since: str
    cost: str
    owner: str
    unchanged: bool
    """Whether the work has changed nothing, where the reason for the wait does not say so."""
    of: SessionItem | None = None
    """The fork that is held."""


def waiting_row(db: Database, item: WaitingItem, actor: str, find: Callable[[str], Session | None]) -> WaitingRow:
    """The row of an item, with what `actor` has chosen."""
    parent = overview.item(db, item.parent) if item.parent else None
    title = parent.title if parent else item.title
    ask, theirs, answer = ask_of(item, find), approval_for(actor, item.approval), answering(db, item)
    if ask and not ask.is_whole:
        answer = answer._replace(verb="")
    session = overview.item(db, item.session_id)
    return WaitingRow(
        id=item.session_id,
        answer=answer._replace(
            title=title, asks=ask is not None, tool=ask.tool if ask else "", mine=theirs.mine if theirs else ""
        ),
        ask=ask,
        kind=kind_of(item.session_id),
        parent=item.parent,
        title=title,
        badge=badge_of_item(item),
        needs=item.cause if item.cause in _OWN_STATES else item.waits_for,
        stop=item.stop_reason,
        choices=answers(item.choices) if item.waits_for == "decision" else (),
        card=item_of(db, item, actor, find),
        words=cut_plain(reason_of(db, item), REASON),
        since=item.since,
        cost=money(item.cost_micros),
        owner=owner(item.owner),
        unchanged=bool(session and session.outcome and session.outcome.unchanged) and item.cause != "no_change",
        of=session if item.cause == "held" else None,
    )
