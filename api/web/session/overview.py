"""The first thing seen: the state, what is left, how far it is, and what is wanted of whom."""

from dataclasses import asdict
from typing import Any

from api.web.model import clock, money, owner
from api.web.session.causes import asked_by, cause_of
from api.web.session.standing import ICONS, LONG, SENTENCE, Standing
from api.web.shown import cut
from domain.delivery.state import Delivery
from domain.discussion.seen import suggested
from domain.discussion.state import Discussion
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from projections.record.outcome import outcome
from projections.record.placeholders import shortly
from projections.record.session import approval_of

TURNS = 12
BECAUSE = 120
"""Characters of what stopped a session, in its head."""
WAITED_MS = 1_000
"""A shorter wait is not worth its words."""


def head(standing: Standing) -> dict[str, Any]:
    """What every tab begins with: why it is as it is, what was decided and by whom, what it cost."""
    it, card = standing.it, decision(standing)
    made, outcomes = it.get("decision") or {}, standing.past(standing.trail.outcomes)
    waits = standing.needs_somebody and standing.badge != "exhausted"
    why = card["summary"] if waits else outcome(standing.it, standing.language)
    error = standing.session.last_error if standing.badge in ("failed", "partial") else ""
    cause = cause_of(standing)
    return {
        "why": cut(error or (why if " " in why else ""), SENTENCE),
        "because": cut(shortly(cause.lines[0]), BECAUSE) if cause and cause.lines[0] not in (error or why) else "",
        "because_at": cause.version if cause else None,
        "result": _handed_over(standing),
        "asked": owner(asked_by(standing)),
        "waited": clock(standing.waited_ms) if standing.waited_ms >= WAITED_MS else "",
        "choice": made.get("choice"),
        "by": owner(str(made.get("actor") or "")),
        "rationale": cut(str(made.get("rationale") or ""), SENTENCE),
        "closed": [(found.choice, owner(found.by), found.child) for found in standing.past(standing.trail.closed)[-1:]],
        "review": ("approved" if outcomes[-1].approved else "blocked") if outcomes else None,
        "now": [(found["name"], found["now"], found["of"]) for found in _gauges(standing.session)],
        "cost": money((it.get("budget") or {}).get("costMicros")),
        "elapsed": standing.elapsed,
    }


def _handed_over(standing: Standing) -> dict[str, Any] | None:
    """From where to where the work goes, and how much it is."""
    result = standing.it.get("result")
    if not result:
        return None
    base, files = result["base"], result["files"]
    return {
        "base": cut(base["branch"] or "", 80) or base["commit"][:8],
        "branch": cut(result["branch"] or "", 120),
        "files": len(files),
        "added": sum(file["added"] or 0 for file in files),
        "removed": sum(file["removed"] or 0 for file in files),
        "outside": len(result.get("outside") or ()),
    }


def overview(standing: Standing) -> dict[str, Any]:
    """What the head has said in a sentence is not said again."""
    session = standing.session
    summary = "" if standing.needs_somebody else outcome(standing.it, standing.language)
    return {
        "badge": standing.badge,
        "at_work": [
            {
                "agent": cut(turn["agent"], 60),
                "phase": turn["phase"],
                "elsewhere": "elsewhere" in turn,
                "machine": cut(turn.get("machine") or "", 60),
            }
            for turn in standing.it["outstandingTurns"][:TURNS]
            if turn["work"] != "wait"
        ],
        "more_at_work": max(0, len(session.outstanding) - TURNS),
        "summary": cut(summary, LONG) if len(summary) > SENTENCE else "",
        "error": cut(session.last_error or "", LONG) if standing.badge in ("failed", "partial") else "",
        "warnings": [cut(words, SENTENCE) for words in standing.it.get("warnings", ())[:5]],
        "elapsed": standing.elapsed,
        "elapsed_ms": standing.elapsed_ms,
        "ticks": not standing.needs_somebody and not session.ended and standing.badge != "partial",
        "gauges": _gauges(session),
        "fence": session.fence,
        "fence_gaps": session.fence_gaps,
        "delivery": session if isinstance(session, Delivery) else None,
    }


def _gauges(session: object) -> list[dict[str, Any]]:
    """What is left of what: `of` is the whole."""
    match session:
        case Delivery():
            limits = session.budget.limits
            left = left_over(session)
            return [{"name": "iterations", "left": left, "of": limits.max_iterations, "now": session.iteration}]
        case Orchestration() if session.mode == "orchestrated":
            left = max(0, session.last_round - session.round)
            return [{"name": "rounds", "left": left, "of": session.last_round, "now": session.round}]
        case Discussion():
            now = len(session.rounds)
            left = max(0, session.max_rounds - now)
            return [{"name": "rounds", "left": left, "of": session.max_rounds, "now": now}]
        case _:
            return []


def left_over(session: Delivery) -> int:
    """Iterations besides the one that runs; the record's `remainingIterations` has that one among them."""
    return max(0, session.budget.limits.max_iterations - session.iteration)


def decision(standing: Standing) -> dict[str, Any]:
    """What waits for a person and why; `what` is empty where nothing does."""
    session = standing.session
    match session:
        case _ if standing.held:
            return _card("held")
        case _ if session.questions:
            question = next(iter(session.questions.values()))
            return _card("permission", summary=f"{question.agent}: {question.tool}: {question.title}")
        case Discussion() if session.choices:
            return _discussed(standing, session)
        case Orchestration(state="checkpoint"):
            return _card("checkpoint", summary=outcome(standing.it, standing.language))
        case Orchestration(state="partial"):
            return _card("partial", reason=session.partial_reason or "", summary=session.last_error or "")
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
    found = {"what": what, "reason": "", "summary": "", "children": [], **more}
    return found | {"summary": cut(found["summary"], SENTENCE)}


def asked(child: Discussion) -> dict[str, Any]:
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
    found = approval_of(session) if isinstance(session, Discussion) else None
    return found.wire() if found else None


def _discussed(standing: Standing, session: Discussion) -> dict[str, Any]:
    feedback = session.feedback or {}
    return _card(
        session.kind,
        reason=session.stop_reason or "",
        summary=str(feedback.get("summary") or ""),
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        problem=cut(str(feedback.get("error") or feedback.get("problem") or ""), LONG),
        rounds=len(session.rounds),
        metrics=session.metrics[-1] if session.metrics else None,
        dissent=len(session.dissent),
        icons=ICONS,
        expires_at=session.expires_at,
    )
