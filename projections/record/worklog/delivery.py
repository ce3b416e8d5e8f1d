"""The worklog of a delivery: phases instead of agents, iterations instead of rounds."""

import json
from collections.abc import Iterator, Mapping, Sequence

from domain import replies
from domain.delivery.chart import PHASES, status
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    CommentsUnchanged,
    DeliveryEvent,
    DeliveryStarted,
    DeliveryTransition,
    FixRequested,
    FlakySeen,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewApproved,
    ReviewBlockingDetected,
    RevisionBegun,
    ScopeDecided,
    ScopeExceeded,
    SessionFinished,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.state import Delivery
from domain.delivery.validation import flaky_sentence
from domain.session.attendance import SessionUnattended
from domain.session.children import ChildClosed, ChildRequested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.session.revisions import RevisionRequested
from domain.session.turns import Settled, TurnAnswered
from domain.values.base import Text, Unreadable
from domain.values.words import Words
from projections.record.markdown import cell, code, mark, name, neutral, recorded, sentence
from projections.record.placeholders import clock_time
from projections.record.turns import Turns, stand_in
from projections.record.worklog.parts import (
    Row,
    Worklog,
    begun,
    block,
    changes_wanted,
    chapter,
    child_begins,
    child_ends,
    execution,
    forked,
    heading,
    joined,
    point,
    reason,
    result,
    summary,
    table,
    title,
    who_did,
)
from projections.record.worklog.parts import status as ended

_MOST = 20
"""Remarks of a review that are listed; its turn has all of them."""
_SKIPPED = '["skipped"'


def rows(log: Worklog, turns: Turns, recorded: Recorded) -> Iterator[Row]:
    """The items that an event adds."""
    match recorded.event:
        case DeliveryStarted() as event:
            yield from _started(recorded, event)
        case Settled() as event:
            yield from _settled(turns, recorded, event)
        case ChildRequested() as event:
            yield child_begins(event, mark("the_delivery"))
        case ChildClosed() as event:
            yield child_ends(event)
        case SessionForked() as event:
            yield from forked(event, recorded.at)
        case SessionUnattended() as event:
            yield "log", f"- {mark(f'unattended_{event.why}', clock_time(event.lost))}"
        case RevisionRequested() as event:
            yield changes_wanted(event)
        case BudgetExtended() as event:
            yield from _extended(log, recorded, event)
        case RevisionBegun() as event:
            yield from _revised(log, event)
        case DeliveryEvent() as event:
            if isinstance(event, SessionFinished) and event.status == "cancelled":
                yield from _cancelled(recorded, event)
            yield from _delivery(event)
    if isinstance(recorded.event, DeliveryTransition):
        yield "status", status(recorded.event.state)


def _started(recorded: Recorded, event: DeliveryStarted) -> Iterator[Row]:
    yield from begun(event.task, recorded.at)
    yield "iterations", f"0/{event.limits.max_iterations}"
    yield "criteria", "\n".join(f"- {cell(step.stage)}: {code(step.command)}" for step in event.steps)
    for phase in PHASES:
        yield _mark(phase, "pending", 0)


def _mark(phase: str, word: str, iteration: int) -> Row:
    return f"phase:{phase}", json.dumps([word, iteration])


# -- what each event adds ------------------------------------------------------------------------------------------


def _delivery(event: DeliveryEvent) -> Iterator[Row]:
    match event:
        case PhaseStarted(phase=phase) if phase:
            yield _mark(phase, "running", event.iteration)
        case PhaseCompleted(phase=phase) if phase:
            yield _mark(phase, "completed", event.iteration)
        case PhaseSkipped(phase=phase) if phase:
            yield _mark(phase, "skipped", event.iteration)
        case PhaseFailed(phase=phase) if phase:
            yield _mark(phase, "failed", event.iteration)
            yield (
                "log",
                point(
                    mark("phase_failed", name("phase", phase), cell(event.error_type)),
                    event.error_message,
                    event.sentence,
                ),
            )
        case AttemptStarted():
            yield "iterations", f"{event.iteration}/{event.iteration + max(0, event.remaining_iterations - 1)}"
        case ArtifactCreated(phase="planning"):
            yield "plan", _plan(event.content.head)
        case ArtifactCreated(phase="validation", media_type="application/json"):
            for line in _commands(event.content):
                yield "log", line
        case FlakySeen():
            yield "log", f"- {sentence(event.message, flaky_sentence(event.flake))}"
        case TestsPassed():
            yield "log", f"- {mark('validation_passed')}"
        case ValidationFailed(phase=phase):
            if phase:
                yield _mark(phase, "failed", event.iteration)
            yield "log", "\n".join(_why_failed(event))
        case _:
            yield from _outcome(event)


def _plan(text: str) -> str:
    prose, items = _parted_plan(text)
    return "\n\n".join(part for part in (block(prose), "\n".join(items)) if part)


def _parted_plan(text: str) -> tuple[str, list[str]]:
    """Returns what the planner wrote, and the lists of its JSON as items. Without lists, the text is unchanged."""
    lists = replies.plan_parts(text)
    groups = {"goals": lists.goals, "modules": lists.modules, "checklist": lists.checklist}
    items = [point(mark(f"plan.{key}"), entry) for key, entries in groups.items() for entry in entries]
    if not items:
        return text, []
    if lists.files:
        items.append(point(mark("plan.files"), ", ".join(lists.files)))
    prose, _ = replies.parted(text, next(key for key, entries in groups.items() if entries))
    return prose, items


def _why_failed(event: ValidationFailed) -> Iterator[str]:
    """The lines that say why, whole; only a sentence if the command said nothing, and a summary in old logs."""
    label = mark("validation_failed", name("classification", event.classification))
    if event.reasons in ((), (event.sentence,)) or event.cause is not None:
        yield point(label, event.summary, event.sentence)
        return
    yield f"- {label}"
    yield from (f"  - {code(line)}" for line in event.reasons)


def _outcome(event: DeliveryEvent) -> Iterator[Row]:
    match event:
        case ReviewApproved():
            yield "log", f"- {mark('review_approved')}{_score(event.score)}"
        case ReviewBlockingDetected():
            yield "log", f"- {mark('review_blocked')}{_score(event.score)}"
            for number, issue in enumerate(event.blocking_issues, start=1):
                yield "log", point(mark("blocking_issue", number), f"{issue.title}: {issue.detail}")
            for number, step in enumerate(event.fix_plan, start=1):
                yield "log", point(mark("fix", number), step)
        case BudgetExhausted():
            why = name("reason", str(event.reason), neutral(event.message))
            yield "log", f"### {mark('exhausted', name('budget', str(event.reason)))}\n\n- {mark('message')}: {why}"
        case BranchPublished():
            yield "log", f"- {mark('branch', code(event.branch), code(event.commit))}"
        case ScopeExceeded(phase=phase):
            if phase:
                yield _mark(phase, "failed", event.iteration)
            yield "log", point(mark("outside"), "\n".join(event.paths))
        case ScopeDecided():
            yield (
                "log",
                point(
                    mark("outside_decided", name("choice", event.decision), who_did(event.by)), "\n".join(event.paths)
                ),
            )
        case CommentsUnchanged():
            yield "log", point(mark("comments_left"), ", ".join(event.comments))
        case FixRequested():
            yield "log", point(mark("fix_wanted"), event.feedback.head)
        case SessionFinished():
            yield "summary", event.final_summary


def _score(score: int | None) -> str:
    return "" if score is None else mark("score", score)


def _extended(log: Worklog, recorded: Recorded, event: BudgetExtended) -> Iterator[Row]:
    """More budget: skipped phases are pending again, and there is no summary yet."""
    amounts = {
        "iterations": event.add_iterations,
        "minutes": event.add_minutes,
        "tokens": event.add_tokens,
        "cost": event.add_cost_micros,
    }
    words = ", ".join(mark(f"amount.{unit}", amount) for unit, amount in amounts.items() if amount)
    yield "log", "\n\n".join([f"### {mark('extended', words)}", *reason(recorded, event.why)])
    yield "iterations", f"{event.iteration}/{event.limits.max_iterations}"
    yield "summary", ""
    for phase in PHASES:
        latest = log.newest(f"phase:{phase}") or ""
        if latest.startswith(_SKIPPED):
            yield _mark(phase, "pending", json.loads(latest)[1])


def _cancelled(recorded: Recorded, event: SessionFinished) -> Iterator[Row]:
    """A person's reason to cancel it; nothing if they gave none."""
    if event.cancelled_because.strip():
        yield "log", "\n\n".join([f"### {mark('cancelled')}", *reason(recorded, event.cancelled_because)])


def _revised(log: Worklog, event: RevisionBegun) -> Iterator[Row]:
    """The work goes on: the phases from the implementation on are pending again, except those that the delivery goes
    without, which were skipped before the first iteration. There is no summary yet."""
    yield "log", f"### {mark('revision_begun')}"
    yield "iterations", f"{event.iteration}/{event.limits.max_iterations}"
    yield "summary", ""
    for phase in PHASES[PHASES.index("implementation") :]:
        word, iteration = json.loads(log.newest(f"phase:{phase}") or '["pending", 0]')
        if word != "skipped" or iteration:
            yield _mark(phase, "pending", iteration)


def _commands(report: Text) -> Iterator[str]:
    """The runs of a validation report; if it is too long for its event, the next event summarizes it."""
    try:
        runs = json.loads(report.head)["runs"]
        codes = [(str(run["command"]), int(run["exitCode"])) for run in runs]
    except (ValueError, LookupError, TypeError):
        return
    for command, exit_code in codes:
        yield f"- {mark('command', code(command), exit_code)}"


def _settled(turns: Turns, recorded: Recorded, event: Settled) -> Iterator[Row]:
    turn = turns.get(event.turn_id)
    number, phase = (turn.number, turn.phase) if turn else (0, None)
    place = mark("iteration", number) if number else mark("before_iterations")
    first = heading(place, event.agent, event.role, phase and name("phase", phase), by=stand_in(recorded))
    shown = _without_json(event, phase) if isinstance(event, TurnAnswered) else None
    yield "log", "\n".join([first, "", *(result(event) if shown is None else shown)])


def _without_json(event: TurnAnswered, phase: str | None) -> list[str] | None:
    """A plan or a review whose JSON the worklog shows elsewhere; None for all other replies."""
    if phase == "review":
        return _review(event)
    prose, items = _parted_plan(event.reply.head) if phase == "planning" else ("", [])
    return _answered(prose) if items else None


def _answered(prose: str) -> list[str]:
    return [ended("done"), *([point(mark("result"), prose)] if prose.strip() else [])]


def _review(event: TurnAnswered) -> list[str] | None:
    """A review without its JSON: its verdict, blocking issues and fixes follow with their events. None for a reply that
    is no review."""
    try:
        review = replies.review_artifact(event.reply.head)
    except Unreadable:
        return None
    prose, _ = replies.parted(event.reply.head, "blockingIssues")
    lines = _answered(prose)
    for number, remark in enumerate(review.non_blocking_issues[:_MOST], start=1):
        lines.append(point(mark("remark", number), f"{remark.title}: {remark.detail}"))
    return lines


# -- rendering -----------------------------------------------------------------------------------------------------


def text(_: Delivery, latest: Mapping[str, str], log: Sequence[Row], say: Words) -> str:
    """The worklog: all sections, and the log."""
    return joined(
        title(latest, say, iterations=latest["iterations"]),
        chapter("plan", latest.get("plan"), say),
        chapter("criteria", latest.get("criteria"), say),
        chapter("phases", _matrix(latest, say), say),
        execution(log, say),
        chapter("summary", summary(latest.get("summary", ""), say), say),
    )


def _matrix(latest: Mapping[str, str], say: Words) -> str:
    lines = table(say, "phase", "status", "iteration")
    for phase in PHASES:
        word, iteration = json.loads(latest[f"phase:{phase}"])
        lines.append(
            f"| {recorded(say, 'phase', phase)} | {recorded(say, 'worklog.phase_state', word)} | {iteration or '-'} |"
        )
    return "\n".join(lines)
