"""Shows what a person may do with a session now: its forms, and those of the discussions that it waits for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup
from starlette.requests import Request

from api.system import System
from api.web.permission_cards import FILES, in_lines, named_tool, outside
from api.web.renderer import explicit, fragment, may_send
from api.web.sent_forms import NOTHING, Sent
from api.web.session import status
from api.web.session.changes import changes
from api.web.session.context import ICONS, PanelContext, badge_of
from api.web.session.diffing import Row
from api.web.session.finding_rows import BY_PEOPLE, FindingRow, ListPlace, place_of, rows_of
from api.web.session.findings import findings_of
from api.web.session.matter import POINTS, DecisionPoint, matter_of
from domain.delivery.state import Delivery
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.values.budget import dollars
from domain.values.words import Words

CHANGED: Final = 400
"""Changed lines that are shown beside a decision; the tab has all of them."""
_SENT_AS: Final = {"extend": "budget"}
"""The verb of the form, where it is called otherwise than what is allowed."""


def act(
    request: Request,
    inside: System,
    now: Session,
    say: Words,
    look: Callable[[Session], PanelContext],
    *,
    key: str = "",
    sent: Sent = NOTHING,
) -> str:
    """`look` makes what the panels of a session are built from. With a `key` the forms can be sent as they are; the
    page's script needs none. `sent` is the one refused."""
    actor = getattr(request.state, "actor", "")
    children = [inside.sessions.get(name) for name in now.open_children]
    waiting = [child for child in children if isinstance(child, Discussion) and child.choices]
    may = may_send(request)
    return fragment(
        say,
        explicit(request),
        "session_act.html",
        may=may,
        id=now.id,
        kind=now.kind,
        version=now.version,
        state=badge_of(now),
        verbs=[verb for verb in allowed_actions(now) if may(_SENT_AS.get(verb, verb))],
        spent=now.exhausted_by if isinstance(now, Delivery) else None,
        scope=now.scope_request if isinstance(now, Delivery) else None,
        outside=outside(now),
        files=FILES,
        in_lines=in_lines,
        named_tool=named_tool,
        questions=tuple(now.questions.values()),
        choices=now.choices if isinstance(now, Discussion) else (),
        suggested=suggested(now.feedback) if isinstance(now, Discussion) else None,
        approval=status.approval(now, actor),
        seen=now.seen if isinstance(now, Discussion) else "",
        alone=now.parent is None,
        each=_iteration_cost(inside, now),
        fixable=_fixable(now),
        matter=_matter(inside, now, look) if isinstance(now, Discussion) and now.choices else None,
        diff=_diff(inside, now, look) if waiting or (isinstance(now, Discussion) and now.choices) else [],
        waiting=[(status.question_of(child, actor), _matter(inside, child, look)) for child in waiting],
        icons_of=ICONS,
        pulling=now.forge is not None and now.forge.rest is not None and not now.forge.is_over,
        pausing=now.waits,
        stopped=_stopped(now),
        remarks=len(now.comments.open),
        of_work=now.parent or now.id,
        key=key,
        sent=sent,
    ).strip()


@dataclass(frozen=True, slots=True)
class DecisionMatter:
    """The matter of a decision: findings as their list shows them, and points that no finding has."""

    of: ListPlace
    rows: tuple[FindingRow, ...]
    points: tuple[DecisionPoint, ...]
    more: int
    synthesis: Markup | None
    expires_at: str
    then: str


def _matter(inside: System, session: Discussion, look: Callable[[Session], PanelContext]) -> DecisionMatter:
    """The open findings of the discussion, with what people have remarked on the work."""
    matter, context = matter_of(session), look(session)
    fixes = {_head(point): point.fix for point in matter.points}
    made = [item for item in findings_of(context).items if item.open]
    rows = [replace(row, fix=fixes.get(row.title, "")) for row in rows_of(context, made)]
    work = inside.sessions.get(session.parent) if session.parent else None
    if work is not None and work.comments.open:
        of_work = look(work)
        remarks = [item for item in findings_of(of_work).items if item.open and item.kind == BY_PEOPLE]
        rows += rows_of(of_work, remarks)
    titles = {row.title for row in rows}
    return DecisionMatter(
        of=place_of(context),
        rows=tuple(rows[:POINTS]),
        points=tuple(point for point in matter.points if _head(point) not in titles),
        more=matter.more + max(0, len(rows) - POINTS),
        synthesis=matter.synthesis,
        expires_at=matter.expires_at,
        then=matter.then,
    )


def _head(point: DecisionPoint) -> str:
    """The title of a finding with these words."""
    return point.words.partition("\n")[0].strip()


def _diff(inside: System, now: Session, look: Callable[[Session], PanelContext]) -> list[Row]:
    """The files of the work that a decision is about, line by line; none where it is about something else."""
    work = inside.sessions.get(now.parent) if now.parent else now
    if work is None:
        return []
    rows: list[Row] = []
    for row in changes(look(work)).files:
        rows.append(row)
        if sum(each["added"] + each["removed"] for each in rows) >= CHANGED:
            break
    return rows


def _stopped(now: Session) -> bool:
    """True if no agent is at work on the result that a person may want changed."""
    return now.status != "active" if isinstance(now, Orchestration) else now.ended


def _iteration_cost(inside: System, now: Session) -> str:
    """The cost so far of the iteration that a decision is about; "" where nothing was reported."""
    delivery = inside.sessions.get(now.parent) if now.parent else now
    if not isinstance(delivery, Delivery) or not delivery.iteration:
        return ""
    cost = delivery.budget.spent.cost_micros
    return dollars(cost // delivery.iteration) if cost else ""


def _fixable(now: Session) -> bool:
    """True if a delivery can apply what it found: a review of its own that was decided so, or work that was sent
    back."""
    match now:
        case Discussion(kind="review", parent=None, decision=made):
            return made is not None and made.choice == "apply_fix"
        case Delivery():
            return now.sent_back is not None
        case _:
            return False
