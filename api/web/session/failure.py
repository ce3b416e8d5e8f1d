"""Why a session stopped: the cause in the record, what it says, and what a person may do besides."""

from typing import Any, Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext, event_of
from api.web.session.result_commands import commands_of
from api.web.session.turns import report_of, turns_of
from domain.delivery.events import PhaseFailed, ValidationFailed
from domain.delivery.state import Delivery
from domain.orchestration.events import VerdictGiven
from domain.session.turns import TurnFailed
from domain.values.base import DomainEvent
from projections.record.explain import CAUSES, evidence, stopped

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


def failure(context: PanelContext) -> dict[str, Any]:
    """The cause that stopped the session: of a validation the command that failed and the end of its output; else
    what the event says. Empty where nothing did.
    """
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
    """The actions besides those that the session takes: fork before the last agent was asked, take the work as it
    is; after a success, the commands that take the result. Empty while it goes on."""
    cause = cause_of(context)
    if cause is None:
        commands = commands_of(context) if context.session.status in _DONE else []
        return {"fork_at": None, "files": 0, "commands": commands}
    requested = [turn.entry.version for turn in turns_of(context) if turn.entry.work == "ask"]
    before = [version for version in requested if version < cause.version]
    files = len((context.it.get("result") or {}).get("files") or ())
    return {"fork_at": before[-1] if before else None, "files": files, "commands": []}


_DONE: Final = frozenset({"success", "done", "checkpoint", "partial"})
"""Statuses with a result that can be taken."""


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
