"""The status of a session in words: what it does or waits for now, and from whom."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.web.permission_cards import in_one_line, named_tool, outside, with_paths
from api.web.plain_text import cut
from api.web.session.context import ICONS, LONG, SENTENCE, PanelContext
from api.web.session.matter import point_of
from api.web.waiting_item import ApprovalCard, approval_for
from domain.convergence.assessment import Metrics
from domain.delivery.state import Delivery
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from projections.record.session import approval_of
from projections.record.status import is_phrase
from projections.views.session import OrchestrationView


class ChildLink(NamedTuple):
    id: str
    kind: str
    about: str


class Card(NamedTuple):
    """The thing that waits for a person, and why; `what` is empty where nothing does. Some have more fields."""

    what: str
    reason: str = ""
    summary: str = ""
    files: int = 0
    children: Sequence[ChildLink] = ()
    agent: str = ""
    tool: str = ""
    fence: str = ""
    verdict: str = ""
    problem: str = ""
    rounds: int = 0
    metrics: Metrics | None = None
    dissent: int = 0
    icons: Mapping[str, str] = ICONS


def decision(context: PanelContext) -> Card:
    """The card of a session, with its words cut."""
    card = _card(context)
    return card._replace(summary=cut(card.summary, SENTENCE))


def _card(context: PanelContext) -> Card:
    session, shown = context.session, context.view
    match session:
        case _ if context.held:
            return Card("held")
        case _ if session.questions:
            question = next(iter(session.questions.values()))
            return Card(
                "permission",
                summary=in_one_line(with_paths(question.title, question.paths)),
                agent=question.agent,
                tool=named_tool(question.tool),
                fence=session.fence or "",
            )
        case Discussion() if session.choices:
            return _discussed(context, session)
        case Orchestration(state="checkpoint") if session.asks:
            return _outside("scope_checkpoint", session)
        case Orchestration(state="checkpoint"):
            recorded = (isinstance(shown, OrchestrationView) and shown.summary) or ""
            return Card("checkpoint", summary="" if is_phrase(recorded) else context.outcome)
        case Orchestration(state="partial"):
            return Card("partial", reason=session.partial_reason or "", summary=context.worded(session.last_error))
        case Delivery(scope_request=request) if request is not None:
            return _outside("scope", session)
        case Delivery(state="exhausted", code="no_progress"):
            return Card("no_progress")
        case Delivery(state="exhausted"):
            return Card("exhausted", reason=session.exhausted_by or "")
        case _ if session.open_children:
            children = [ChildLink(name, child.kind, child.about) for name, child in session.open_children.items()]
            return Card("children", children=children[:20])
        case _:
            return Card("")


class Question(NamedTuple):
    """The question of a discussion to a person, as shown to them on the page of its parent."""

    id: str
    kind: str
    version: int
    choices: Sequence[str]
    suggested: str | None
    rounds: int
    reason: str
    verdict: str
    summary: str
    metrics: Metrics | None
    approval: ApprovalCard | None
    seen: str
    since: int | None


def question_of(child: Discussion, actor: str) -> Question:
    feedback = child.feedback or {}
    return Question(
        id=child.id,
        kind=child.kind,
        version=child.version,
        choices=child.choices,
        suggested=suggested(child.feedback),
        rounds=len(child.rounds),
        reason=child.stop_reason or "",
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        summary=cut(str(feedback.get("error") or point_of(child)), SENTENCE),
        metrics=child.metrics[-1] if child.metrics else None,
        approval=approval(child, actor),
        seen=child.seen,
        since=child.waiting_since,
    )


def approval(session: Session, actor: str) -> ApprovalCard | None:
    """The team's rule for the decision, where the team file says so, and what that person has voted."""
    return approval_for(actor, approval_of(session)) if isinstance(session, Discussion) else None


def asked_by(context: PanelContext) -> str:
    """The actor of the first event."""
    [first] = context.store.history(context.session.id, upto=1)
    return first.causation.actor


def _outside(what: str, session: Session) -> Card:
    """The number of files outside the scope, and the first ones; all of them are listed beside the buttons."""
    paths = outside(session)
    return Card(what, files=len(paths), summary=in_one_line(", ".join(paths)))


def _problem(session: Discussion) -> str:
    """Says why the discussion was interrupted, or why its last judgement could not be read."""
    if session.stop_reason == "error":
        return session.last_error or ""
    unread = (session.feedback or {}).get("problem") or ""
    return next((entry.problem for entry in session.rounds if entry.problem and entry.problem == unread), unread)


def _discussed(context: PanelContext, session: Discussion) -> Card:
    feedback = session.feedback or {}
    return Card(
        session.kind,
        reason=session.stop_reason or "",
        summary=point_of(session),
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        problem=cut(context.worded(_problem(session)), LONG),
        rounds=len(session.rounds),
        metrics=session.metrics[-1] if session.metrics else None,
        dissent=len(session.dissent),
    )
