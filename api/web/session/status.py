"""The status of a session in words: what it does or waits for now, from whom, and why it stopped."""

from dataclasses import asdict
from typing import Any, Final, NamedTuple

from api.web.asking import in_one_line, outside, with_paths
from api.web.model import approval_for
from api.web.plain_text import cut
from api.web.session.context import ICONS, LONG, SENTENCE, PanelContext, event_of
from api.web.session.leading import point_of
from api.web.session.turns import report_of, turns_of
from domain.delivery.events import PhaseFailed, ValidationFailed
from domain.delivery.state import Delivery
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.orchestration.endings import asks
from domain.orchestration.events import VerdictGiven
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.session.turns import TurnFailed
from domain.values.base import DomainEvent
from projections.record.explain import CAUSES, evidence, stopped
from projections.record.session import approval_of
from projections.record.status import is_phrase, outcome


def decision(context: PanelContext) -> dict[str, Any]:
    """What waits for a person and why; `what` is empty where nothing does."""
    session = context.session
    match session:
        case _ if context.held:
            return _card("held")
        case _ if session.questions:
            question = next(iter(session.questions.values()))
            title = in_one_line(with_paths(question.title, question.paths))
            return _card("permission", summary=f"{question.agent}: {question.tool}: {title}")
        case Discussion() if session.choices:
            return _discussed(context, session)
        case Orchestration(state="checkpoint") if asks(session):
            return _outside("scope_checkpoint", session)
        case Orchestration(state="checkpoint"):
            recorded = str(context.it.get("summary") or "")
            return _card("checkpoint", summary="" if is_phrase(recorded) else outcome(context.it, context.language))
        case Orchestration(state="partial"):
            return _card(
                "partial",
                reason=session.partial_reason or "",
                summary=context.worded(session.last_error),
            )
        case Delivery(scope_request=request) if request is not None:
            return _outside("scope", session)
        case Delivery(state="exhausted"):
            return _card("exhausted", reason=session.exhausted_by or "")
        case _ if session.open_children:
            children = [{"id": name, **asdict(child)} for name, child in session.open_children.items()]
            return _card("children", children=children[:20])
        case _:
            return _card("")


def question_of(child: Discussion, actor: str) -> dict[str, Any]:
    """What a discussion asks of a person, as shown to them on the page of its parent."""
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
        "summary": cut(str(feedback.get("error") or point_of(child)), SENTENCE),
        "metrics": child.metrics[-1] if child.metrics else None,
        "approval": approval(child, actor),
        "seen": child.seen,
    }


def approval(session: Session, actor: str) -> dict[str, Any] | None:
    """How the team decides it, where the team file says so, and what that person has voted."""
    return approval_for(actor, approval_of(session)) if isinstance(session, Discussion) else None


LOOKED: Final = 50
"""Events that may say why, at most, among which the last that does is looked for."""
LAST: Final = 15
"""Lines of a failing command's output that say why."""


class CauseShown(NamedTuple):
    """The event, what it says, and the turn it is about, if it is about one."""

    version: int
    lines: tuple[str, ...]
    turn: str


def cause_of(context: PanelContext) -> CauseShown | None:
    """None where the session has not stopped before it was done."""
    if not stopped(context.session):
        return None
    candidates = [entry for entry in context.record.entries[: context.version] if entry.topic in CAUSES]
    for entry in reversed(candidates[-LOOKED:]):
        lines = evidence(event_of(context, entry.version))
        if lines:
            return CauseShown(entry.version, lines, entry.turn_id or "")
    return None


def asked_by(context: PanelContext) -> str:
    """The actor of the first event."""
    [first] = context.store.history(context.session.id, upto=1)
    return first.causation.actor


# -- the card ----------------------------------------------------------------------------------------------------------
def failure(context: PanelContext) -> dict[str, Any]:
    """What stopped the session: of a validation the command that failed and the end of its output; else what the event
    says. Empty where nothing did."""
    cause = cause_of(context)
    if cause is None:
        return {}
    event = event_of(context, cause.version)
    if isinstance(event, VerdictGiven):
        return {}  # the matrix has every verdict in its cell
    card = {"event": cause.version, "turn": cause.turn, "what": event.TOPIC, "run": None, "new": False, "log": None}
    card |= {"iteration": context.record.entries[cause.version - 1].number}
    if isinstance(event, ValidationFailed):
        card |= {"new": _had_baseline(context) and bool(event.new_failures)} | _output(context, cause)
    code, detail = _failed(event)
    card["code"] = code
    if not card["run"]:
        lines = [line for words in ((detail,) if detail else cause.lines) for line in context.worded(words).split("\n")]
        card["lines"] = [(cut(line, SENTENCE), False) for line in lines[:LAST]]
    return card


def next_steps(context: PanelContext) -> dict[str, Any]:
    """What a person may do besides what the session takes: fork before the last agent was asked, take the work as it
    is. Empty where nothing stopped the session."""
    cause = cause_of(context)
    if cause is None:
        return {}
    requested = [turn.entry.version for turn in turns_of(context) if turn.entry.work == "ask"]
    before = [version for version in requested if version < cause.version]
    files = len((context.it.get("result") or {}).get("files") or ())
    return {"fork_at": before[-1] if before else None, "files": files}


def _card(what: str, **more: Any) -> dict[str, Any]:
    card = {"what": what, "reason": "", "summary": "", "children": [], "files": 0, **more}
    return card | {"summary": cut(card["summary"], SENTENCE)}


def _outside(what: str, session: Session) -> dict[str, Any]:
    """How many files are outside the scope, and the first ones; all of them are listed beside the buttons."""
    paths = outside(session)
    return _card(what, files=len(paths), summary=in_one_line(", ".join(paths)))


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
        summary=point_of(session),
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        problem=cut(context.worded(_problem(session)), LONG),
        rounds=len(session.rounds),
        metrics=session.metrics[-1] if session.metrics else None,
        dissent=len(session.dissent),
        icons=ICONS,
        expires_at=session.expires_at,
    )


def _failed(event: DomainEvent) -> tuple[str, str]:
    """The code of a failed turn or phase, which its heading says, and what is known besides."""
    match event:
        case TurnFailed(failure=failure):
            return failure.code, failure.sentence or failure.detail
        case PhaseFailed():
            return event.error_type, event.sentence or event.error_message
        case _:
            return "", ""


def _had_baseline(context: PanelContext) -> bool:
    return isinstance(context.session, Delivery) and bool(context.session.baseline)


def _output(context: PanelContext, cause: CauseShown) -> dict[str, Any]:
    """The turn that ran the command, and the end of what it said; a line that says why is marked."""
    turn = next((turn for turn in reversed(turns_of(context)) if turn.report), None)
    ran = report_of(context, turn) if turn else None
    run = next((run for run in ran["runs"] if not run["passed"]), None) if ran and not ran["passed"] else None
    if turn is None or run is None:
        return {}
    streams = dict(run["said"])
    words = streams.get("stderr") or streams.get("stdout") or run["detail"]
    lines = words.rstrip().split("\n")[-LAST:]
    return {
        "turn": turn.id,
        "run": run,
        "log": turn.report.version if turn.report else None,
        "lines": [(cut(line, SENTENCE), _says_why(line, cause.lines)) for line in lines],
    }


def _says_why(line: str, reasons: tuple[str, ...]) -> bool:
    words = line.strip()
    return words.startswith(("E  ", "FAILED ", "ERROR ")) or any(words and words in reason for reason in reasons)
