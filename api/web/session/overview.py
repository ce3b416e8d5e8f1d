"""The first thing seen: the state, what is left, how far it is, and what is wanted of whom."""

from dataclasses import asdict
from typing import Any, get_args

from api.web.model import clock, money, owner
from api.web.plain_text import cut
from api.web.session.causes import CauseShown, asked_by, cause_of
from api.web.session.context import ICONS, LONG, SENTENCE, PanelContext
from api.web.session.leading import lead
from api.web.session.turns import live
from domain.delivery.state import Delivery
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.orchestration.endings import asks
from domain.orchestration.state import Orchestration
from domain.session.attempts import Unready
from domain.session.state import Session
from projections.record.outcome import outcome
from projections.record.session import approval_of

TURNS = 12
BECAUSE = 120
"""Characters of what stopped a session, in its head."""
WAITED_MS = 1_000
"""A shorter wait is not worth its words."""


def _unready(context: PanelContext) -> bool:
    """Whether it stopped before any agent was asked; its summary says why, and what to do."""
    return context.it.get("reason") in get_args(Unready)


def _because(cause: CauseShown | None, sentence: str) -> str:
    """The first line that says why; the sentence itself where that line only adds a code to it."""
    line = cause.lines[0] if cause else ""
    if not line or line in sentence:
        return ""
    return sentence if sentence and line.endswith(sentence) else line


def head(context: PanelContext) -> dict[str, Any]:
    """What every tab begins with: why it is as it is, what was decided and by whom, what it cost."""
    it, card = context.it, decision(context)
    made, outcomes = it.get("decision") or {}, context.past(context.trail.outcomes)
    waits = context.needs_somebody and context.badge != "exhausted"
    why = card["summary"] if waits else outcome(context.it, context.language)
    error = context.session.last_error if context.badge in ("failed", "partial") and not _unready(context) else ""
    cause, sentence = cause_of(context), error or (why if " " in why else "")
    because = _because(cause, sentence)
    begins = lead(context, card)
    return {
        "lead": begins,
        "why": "" if because and because == sentence else cut(context.worded(sentence), SENTENCE),
        "because": "" if begins else cut(context.worded(because), BECAUSE),
        "because_at": cause.version if cause else None,
        "result": _handed_over(context),
        "asked": owner(asked_by(context)),
        "waited": clock(context.waited_ms) if context.waited_ms >= WAITED_MS else "",
        "choice": made.get("choice"),
        "by": owner(str(made.get("actor") or "")),
        "rationale": cut(str(made.get("rationale") or ""), SENTENCE),
        "closed": [(mark.choice, owner(mark.by), mark.child) for mark in context.past(context.trail.closed)[-1:]],
        "review": ("approved" if outcomes[-1].approved else "blocked") if outcomes else None,
        "now": [(mark["name"], mark["now"], mark["of"]) for mark in _gauges(context.session)],
        "cost": money((it.get("budget") or {}).get("costMicros")),
        "elapsed": context.elapsed,
    }


def _handed_over(context: PanelContext) -> dict[str, Any] | None:
    """From where to where the work goes, and how much it is."""
    result = context.it.get("result")
    if not result:
        return None
    base, files = result["base"], result["files"]
    return {
        "base": "@".join(filter(None, (cut(base["branch"] or "", 80), base["commit"][:7]))),
        "branch": cut(result["branch"] or "", 120),
        "files": len(files),
        "added": sum(file["added"] or 0 for file in files),
        "removed": sum(file["removed"] or 0 for file in files),
        "outside": len(result.get("outside") or ()),
    }


def overview(context: PanelContext) -> dict[str, Any]:
    """What the head has said in a sentence is not said again."""
    session = context.session
    unexplained = context.badge in ("failed", "partial") and not cause_of(context)
    summary = "" if context.needs_somebody else outcome(context.it, context.language)
    spent = (context.it.get("budget") or {}).get("costMicros")
    most = session.budget.limits.max_cost_micros if isinstance(session, Delivery) else None
    return {
        "badge": context.badge,
        "at_work": [
            {
                "agent": cut(turn["agent"], 60),
                "phase": turn["phase"],
                "elsewhere": "elsewhere" in turn,
                "machine": cut(turn.get("machine") or "", 60),
                "live": "" if turn.get("external") else live(context, turn["turnId"]),
                "requested_at": turn["requestedAt"],
            }
            for turn in context.it["outstandingTurns"][:TURNS]
            if turn["work"] != "wait"
        ],
        "more_at_work": max(0, len(session.outstanding) - TURNS),
        "summary": cut(summary, LONG) if len(summary) > SENTENCE else "",
        "error": cut(context.worded(session.last_error), LONG) if unexplained else "",
        "warnings": [cut(context.worded(words), SENTENCE) for words in getattr(session, "warnings", ())[:5]],
        "elapsed": context.elapsed,
        "elapsed_ms": context.elapsed_ms,
        "cost": money(spent),
        "cost_micros": spent or 0,
        "most_cost": money(most),
        "ticks": not context.needs_somebody and not session.ended and context.badge != "partial",
        "gauges": _gauges(session),
        "fence": session.fence,
        "fence_gaps": session.fence_gaps,
        "delivery": session if isinstance(session, Delivery) else None,
    }


def _gauges(session: object) -> list[dict[str, Any]]:
    """How much of what: `of` is the whole."""
    match session:
        case Delivery():
            return [{"name": "iterations", "of": session.budget.limits.max_iterations, "now": session.iteration}]
        case Orchestration() if session.mode == "orchestrated":
            return [{"name": "rounds", "of": session.last_round, "now": session.round}]
        case Discussion():
            return [{"name": "rounds", "of": session.max_rounds, "now": len(session.rounds)}]
        case _:
            return []


def left_over(session: Delivery) -> int:
    """Iterations besides the one that runs; the record's `remainingIterations` has that one among them."""
    return max(0, session.budget.limits.max_iterations - session.iteration)


def decision(context: PanelContext) -> dict[str, Any]:
    """What waits for a person and why; `what` is empty where nothing does."""
    session = context.session
    match session:
        case _ if context.held:
            return _card("held")
        case _ if session.questions:
            question = next(iter(session.questions.values()))
            return _card("permission", summary=f"{question.agent}: {question.tool}: {question.title}")
        case Discussion() if session.choices:
            return _discussed(context, session)
        case Orchestration(state="checkpoint") if asks(session):
            return _card("scope_checkpoint", summary=", ".join(session.outside))
        case Orchestration(state="checkpoint"):
            return _card("checkpoint", summary=outcome(context.it, context.language))
        case Orchestration(state="partial"):
            return _card(
                "partial",
                reason=session.partial_reason or "",
                summary=context.worded(session.last_error),
            )
        case Delivery(scope_request=request) if request is not None:
            return _card("scope", summary=", ".join(request.paths))
        case Delivery(state="exhausted"):
            return _card("exhausted", reason=session.exhausted_by or "")
        case _ if session.open_children:
            children = [{"id": name, **asdict(child)} for name, child in session.open_children.items()]
            return _card("children", children=children[:20])
        case _:
            return _card("")


def _card(what: str, **more: Any) -> dict[str, Any]:
    card = {"what": what, "reason": "", "summary": "", "children": [], **more}
    return card | {"summary": cut(card["summary"], SENTENCE)}


def question_of(child: Discussion) -> dict[str, Any]:
    """What a discussion asks of a person, as its parent's page tells it."""
    feedback = child.feedback or {}
    return {
        "id": child.id,
        "kind": child.kind,
        "version": child.version,
        "choices": child.choices,
        "suggested": suggested(child.feedback),
        "rounds": len(child.rounds),
        "reason": child.stop_reason or "",
        "verdict": cut(str(feedback.get("verdict") or ""), 40),
        "summary": cut(str(feedback.get("error") or feedback.get("summary") or ""), SENTENCE),
        "metrics": child.metrics[-1] if child.metrics else None,
        "approval": approval(child),
        "seen": child.seen,
    }


def approval(session: Session) -> dict[str, Any] | None:
    """How the team decides it, where the team file says so."""
    policy = approval_of(session) if isinstance(session, Discussion) else None
    return policy.wire() if policy else None


def _problem(session: Discussion) -> str:
    """Why the discussion was interrupted, or why its last judgement could not be read."""
    if session.stop_reason == "error":
        return session.last_error or ""
    unread = (session.feedback or {}).get("problem") or ""
    return next((entry.problem for entry in session.rounds if entry.problem and entry.problem == unread), unread)


def _discussed(context: PanelContext, session: Discussion) -> dict[str, Any]:
    feedback = session.feedback or {}
    return _card(
        session.kind,
        reason=session.stop_reason or "",
        summary=str(feedback.get("summary") or ""),
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        problem=cut(context.worded(_problem(session)), LONG),
        rounds=len(session.rounds),
        metrics=session.metrics[-1] if session.metrics else None,
        dissent=len(session.dissent),
        icons=ICONS,
        expires_at=session.expires_at,
    )
