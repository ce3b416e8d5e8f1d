"""How a delivery is written down: phases instead of agents, iterations instead of rounds."""

import json
from collections.abc import Iterable, Iterator

from domain.base import Text
from domain.children import ChildClosed, ChildRequested
from domain.delivery.chart import PHASES, status
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    DeliveryEvent,
    FixRequested,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewApproved,
    ReviewBlockingDetected,
    SessionFinished,
    SessionStarted,
    TestsPassed,
    Transition,
    ValidationFailed,
)
from domain.forks import SessionForked
from domain.instant import iso
from domain.record import Recorded
from domain.turns import Settled
from projections.markdown import cell, code, inline, item, neutral
from projections.ports import Database
from projections.worklog.parts import (
    RESULT,
    TITLE,
    WAITING,
    Row,
    block,
    child_begins,
    child_ends,
    entries,
    forked,
    joined,
    result,
    summary,
    turn,
)


def rows(db: Database, recorded: Recorded) -> Iterator[Row]:
    """What an event adds."""
    match recorded.event:
        case SessionStarted() as event:
            yield from _started(recorded, event)
        case Settled() as event:
            yield from _settled(db, recorded, event)
        case ChildRequested() as event:
            yield child_begins(event, "the delivery")
        case ChildClosed() as event:
            yield child_ends(event)
        case SessionForked() as event:
            yield forked(event)
        case BudgetExtended() as event:
            yield from _extended(db, recorded, event)
        case DeliveryEvent() as event:
            yield from _delivery(event)
    if isinstance(recorded.event, Transition):
        yield "status", status(recorded.event.state)


def _started(recorded: Recorded, event: SessionStarted) -> Iterator[Row]:
    yield "task", inline(event.task, TITLE)
    yield "created", iso(recorded.at)
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
            yield "log", item(f"Phase {phase} failed ({cell(event.error_type)})", event.error_message, limit=RESULT)
        case AttemptStarted():
            yield "iterations", f"{event.iteration}/{event.iteration + max(0, event.remaining_iterations - 1)}"
        case ArtifactCreated(phase="planning"):
            yield "plan", block(event.content.head)
        case ArtifactCreated(phase="validation", media_type="application/json"):
            for line in _commands(event.content):
                yield "log", line
        case TestsPassed():
            yield "log", item("Validation", "passed", limit=RESULT)
        case ValidationFailed(phase=phase):
            if phase:
                yield _mark(phase, "failed", event.iteration)
            yield "log", item(f"Validation: failed ({cell(event.classification)})", event.summary, limit=RESULT)
        case _:
            yield from _outcome(event)


def _outcome(event: DeliveryEvent) -> Iterator[Row]:
    match event:
        case ReviewApproved():
            yield "log", f"- Review: approved{_score(event.score)}"
        case ReviewBlockingDetected():
            yield "log", f"- Review: blocked{_score(event.score)}"
            for number, issue in enumerate(event.blocking_issues, start=1):
                yield "log", item(f"Blocking issue {number}", f"{issue.title}: {issue.detail}", limit=RESULT)
            for number, step in enumerate(event.fix_plan, start=1):
                yield "log", item(f"Fix {number}", step, limit=RESULT)
        case BudgetExhausted():
            yield "log", f"### Budget exhausted by {event.reason}\n\n- Message: {neutral(event.message)}"
        case BranchPublished():
            yield "log", f"- Branch: {code(event.branch)} at {code(event.commit)}"
        case FixRequested():
            yield "log", item("Fix wanted", event.feedback.head, limit=RESULT)
        case SessionFinished():
            yield "summary", event.final_summary


def _score(score: int | None) -> str:
    return "" if score is None else f" (score {score})"


def _extended(db: Database, recorded: Recorded, event: BudgetExtended) -> Iterator[Row]:
    """More budget: what had been skipped waits again, and there is no summary yet."""
    amounts = {
        "iterations": event.add_iterations,
        "minutes": event.add_minutes,
        "tokens": event.add_tokens,
        "cost (millionths)": event.add_cost_micros,
    }
    words = ", ".join(f"{amount} {name}" for name, amount in amounts.items() if amount)
    yield "log", f"### Budget extended by {words}\n\n{item('Reason', event.why, limit=RESULT)}"
    yield "iterations", f"{event.iteration}/{event.limits.max_iterations}"
    yield "summary", ""
    marks = db.execute(
        f"SELECT section, body FROM worklog WHERE session_id = ? AND section IN ({', '.join('?' * len(PHASES))})"
        " ORDER BY version, ordinal",
        (recorded.session_id, *(f"phase:{phase}" for phase in PHASES)),
    ).fetchall()
    for section, body in dict(marks).items():
        word, iteration = json.loads(body)
        if word == "skipped":
            yield section, json.dumps(["pending", iteration])


def _commands(report: Text) -> Iterator[str]:
    """The runs of a validation report; one that is too long to stand in its event is summed up by the next event."""
    try:
        runs = json.loads(report.head)["runs"]
        found = [(str(run["command"]), int(run["exitCode"])) for run in runs]
    except (ValueError, LookupError, TypeError):
        return
    for command, exit_code in found:
        yield f"- Command: {code(command)} → exit code {exit_code}"


def _settled(db: Database, recorded: Recorded, event: Settled) -> Iterator[Row]:
    place = turn(db, recorded.session_id, event.turn_id)
    names = ", ".join(cell(word) for word in (event.role, place.phase) if word)
    yield "log", "\n".join([f"### Iteration {place.number} — {cell(event.agent)} ({names})", "", *result(event)])


# -- rendering -----------------------------------------------------------------------------------------------------


def text(rows: Iterable[Row]) -> str | None:
    """The worklog of these rows; None if no delivery began in them."""
    rows = list(rows)
    latest = dict(rows)
    if "task" not in latest:
        return None
    return joined(
        (
            f"# Work Log: {latest['task']}\n- Created: {latest['created']}\n- Status: {latest['status']}\n"
            f"- Iterations: {latest['iterations']}",
            f"## Plan\n\n{latest.get('plan') or WAITING}",
            f"## Verification Criteria\n\n{latest.get('criteria') or WAITING}",
            f"## Phase Status Matrix\n\n{_matrix(latest)}",
            *("## Execution Log", *entries(rows)),
            f"## Final Summary\n\n{summary(latest.get('summary', ''))}",
        )
    )


def _matrix(latest: dict[str, str]) -> str:
    lines = ["| Phase | Status | Iteration |", "|---|---|---|"]
    for phase in PHASES:
        word, iteration = json.loads(latest[f"phase:{phase}"])
        lines.append(f"| {phase} | {word} | {iteration or '-'} |")
    return "\n".join(lines)
