"""An item of the inbox as its card shows it, and the unfolded row of home."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from api.node.checkouts import free_branch
from api.web.model import money
from api.web.model import owner as owner_name
from api.web.permission_cards import AskCard, card_of
from api.web.plain_text import cut, cut_plain
from api.web.session.matter import Matter, matter_of
from api.web.waiting_item import Answering, ApprovalCard, answering, approval_for, badge_of_item, reason_of
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.waits import BRANCH_IN_USE, RETRY, answers
from projections.engine.ports import Database
from projections.record.status import is_phrase
from projections.views.inbox import WaitingItem

WORDS, SYNTHESIS = 600, 2_000
"""Characters of a reason and of a synthesis that are shown; the session has all of it."""


def _matter(session: Session | None) -> Matter | None:
    return matter_of(session, long=SYNTHESIS) if isinstance(session, Discussion) else None


class InboxCard(NamedTuple):
    """An item of the inbox, with what was found and the synthesis as safe HTML. `again` is set where the discussion
    can also be taken up again."""

    of: WaitingItem
    answer: Answering
    again: Answering | None
    ask: AskCard
    by: str
    cost: str
    folder: str
    badge: str
    kind: str
    approval: ApprovalCard | None
    answers: Sequence[str]
    words: str
    points: int
    suggested: str | None
    verdict: str
    matter: Matter | None
    first: str
    """The command for the person's terminal with which a branch becomes free; "" for other waits."""


def item_of(db: Database, item: WaitingItem, actor: str, find: Callable[[str], Session | None]) -> InboxCard:
    """The card of an item."""
    feedback, words, answer = item.feedback, reason_of(db, item), answering(db, item)
    again = item.waits_for == "decision" and RETRY in item.choices
    return InboxCard(
        of=item,
        answer=answer,
        again=answer._replace(verb="retry") if again else None,
        ask=card_of(item, find),
        by=owner_name(item.owner),
        cost=money(item.cost_micros),
        folder=cut(PurePath(item.repository or "").name, 24),
        badge=badge_of_item(item),
        kind=kind_of(item.session_id),
        approval=approval_for(actor, item.approval),
        answers=answers(item.choices),
        words="" if is_phrase(words) else cut_plain(words, WORDS),
        points=feedback.points if feedback else 0,
        suggested=suggested(feedback.wire() if feedback else {}),
        verdict=cut((feedback and feedback.verdict) or "", 40),
        matter=_matter(find(item.session_id)) if item.waits_for == "decision" else None,
        first=free_branch(item.checked_out_in) if item.cause == BRANCH_IN_USE else "",
    )
