"""Shows why a session stopped: the cause in the record, what it says, and what a person may do besides."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext, event_of
from api.web.session.result_commands import commands_of
from api.web.session.turns import report_of, turns_of
from api.web.session.validation_report import RunShown
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


class FailureCard(NamedTuple):
    """The cause that stopped the session. `run` is the command that failed, `lines` what says why, each with whether it
    is marked, `log` the event that has the whole output."""

    event: int
    turn: str
    what: str
    iteration: int | None
    lines: Sequence[tuple[str, bool]]
    code: str = ""
    run: RunShown | None = None
    new: bool = False
    log: int | None = None


def failure(context: PanelContext) -> FailureCard | None:
    """The cause that stopped the session: of a validation the command that failed and the end of its output; else
    what the event says. None where nothing did.
    """
    cause = cause_of(context)
    event = event_of(context, cause.version) if cause else None
    if cause is None or event is None or isinstance(event, VerdictGiven):
        return None  # the matrix has every verdict in its cell
    code, detail = _failed(event)
    texts = (detail,) if detail else cause.lines
    lines = [line for words in texts for line in context.worded(words).split("\n")]
    card = FailureCard(
        event=cause.version,
        turn=cause.turn,
        what=event.TOPIC,
        iteration=context.record.entries[cause.version - 1].number,
        lines=[(cut(line, SENTENCE), False) for line in lines[:LAST]],
        code=code,
    )
    if not isinstance(event, ValidationFailed):
        return card
    return _with_output(context, cause, card._replace(new=_had_baseline(context) and bool(event.new_failures)))


class NextSteps(NamedTuple):
    """The event at which a fork makes sense, how many files can be taken, and the commands that take a result."""

    fork_at: int | None = None
    files: int = 0
    commands: Sequence[tuple[str, str]] = ()


def next_steps(context: PanelContext) -> NextSteps:
    """The actions besides those that the session takes: fork before the last agent was asked, take the work as it
    is; after a success, the commands that take the result. Empty while it goes on."""
    cause = cause_of(context)
    if cause is None:
        return NextSteps(commands=commands_of(context) if context.session.status in _DONE else ())
    requested = [turn.entry.version for turn in turns_of(context) if turn.entry.work == "ask"]
    before = [version for version in requested if version < cause.version]
    return NextSteps(before[-1] if before else None, len(context.result.files) if context.result else 0)


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


def _with_output(context: PanelContext, cause: CauseShown, card: FailureCard) -> FailureCard:
    """The card with the turn that ran the command, and the end of what it said; a line that says why is marked."""
    turn = next((turn for turn in reversed(turns_of(context)) if turn.report), None)
    ran = report_of(context, turn) if turn else None
    run = next((run for run in ran.runs if not run.passed), None) if ran and not ran.passed else None
    if turn is None or run is None:
        return card
    streams = dict(run.output)
    words = streams.get("stderr") or streams.get("stdout") or run.detail
    lines = words.rstrip().split("\n")[-LAST:]
    return card._replace(
        turn=turn.id,
        run=run,
        log=turn.report.version if turn.report else None,
        lines=[(cut(line, SENTENCE), _says_why(line, cause.lines)) for line in lines],
    )


def _says_why(line: str, reasons: tuple[str, ...]) -> bool:
    words = line.strip()
    return words.startswith(("E  ", "FAILED ", "ERROR ")) or any(words and words in reason for reason in reasons)
