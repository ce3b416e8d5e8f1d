"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12).

Each event adds rows; of a section that can change the newest row counts, so that the log as it stood at version N is
made of the rows up to N.
"""

import json
from collections.abc import Iterable, Iterator

from domain.base import DomainEvent, Text
from domain.delivery.chart import PHASES, status
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    DeliveryEvent,
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
from domain.instant import iso
from domain.record import Recorded
from domain.turns import Settled, TurnAnswered, TurnCancelled, TurnFailed, TurnRequested
from projections.markdown import cell, code, inline, item, neutral, plain, quote, shortened
from projections.ports import Database, Projection

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS worklog (session_id TEXT NOT NULL, version BIGINT NOT NULL, ordinal BIGINT NOT NULL,"
    " section TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session_id, version, ordinal))",
    "CREATE TABLE IF NOT EXISTS worklog_turns (session_id TEXT NOT NULL, turn_id TEXT NOT NULL, phase TEXT,"
    " iteration BIGINT NOT NULL, PRIMARY KEY (session_id, turn_id))",
)
TITLE, RESULT, PLAN = 80, 500, 4_000
"""Characters of the title, of an agent's result, of the plan."""
WAITING, UNFINISHED = "(대기 중)", "(미완료)"

Row = tuple[str, str]
"""Section and body."""


def apply(db: Database, recorded: Recorded) -> None:
    rows = list(_rows(db, recorded))
    for ordinal, (section, body) in enumerate(rows):
        db.execute(
            "INSERT INTO worklog VALUES (?, ?, ?, ?, ?)",
            (recorded.session_id, recorded.version, ordinal, section, body),
        )


def _rows(db: Database, recorded: Recorded) -> Iterator[Row]:
    match recorded.event:
        case SessionStarted() as event:
            yield from _started(recorded, event)
        case TurnRequested() as event:
            db.execute(
                "INSERT INTO worklog_turns VALUES (?, ?, ?, ?)",
                (recorded.session_id, event.turn_id, event.phase, event.iteration or event.round or 0),
            )
        case Settled() as event:
            yield "log", _entry(db, recorded, event)
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
            yield "plan", quote(shortened(event.content.head.strip(), PLAN))
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


def _entry(db: Database, recorded: Recorded, event: Settled) -> str:
    row = db.execute(
        "SELECT phase, iteration FROM worklog_turns WHERE session_id = ? AND turn_id = ?",
        (recorded.session_id, event.turn_id),
    ).fetchone()
    phase, iteration = row or (None, 0)
    place = ", ".join(cell(word) for word in (event.role, phase) if word)
    lines = [f"### Iteration {iteration} — {cell(event.agent)} ({place})", "", *_result(event)]
    return "\n".join(lines)


def _result(event: DomainEvent) -> Iterator[str]:
    match event:
        case TurnAnswered():
            yield "- Status: done"
            if event.reply.head.strip():
                yield item("Result", event.reply.head, limit=RESULT)
        case TurnFailed():
            yield "- Status: error"
            yield item(f"Error: {event.failure.code}", event.failure.detail, limit=RESULT)
            if event.reply.head.strip():
                yield item("Result", event.reply.head, limit=RESULT)
        case TurnCancelled():
            yield "- Status: cancelled"
            yield item("Reason", event.reason, limit=RESULT)


WORKLOG = Projection(name="worklog", tables=("worklog", "worklog_turns"), schema=SCHEMA, apply=apply)


# -- rendering -----------------------------------------------------------------------------------------------------


def render(db: Database, session_id: str, upto_version: int | None = None) -> str | None:
    """The worklog as it stood after event `upto_version` (now, if not given); None if no session began there."""
    rows = _read(db, session_id, 2**62 if upto_version is None else upto_version)
    latest = dict(rows)
    if "task" not in latest:
        return None
    parts = [
        f"# Work Log: {latest['task']}\n- Created: {latest['created']}\n- Status: {latest['status']}\n"
        f"- Iterations: {latest['iterations']}",
        f"## Plan\n\n{latest.get('plan') or WAITING}",
        f"## Verification Criteria\n\n{latest.get('criteria') or WAITING}",
        f"## Phase Status Matrix\n\n{_matrix(latest)}",
        "\n\n".join(["## Execution Log", *_log(rows)]),
        f"## Final Summary\n\n{_summary(latest.get('summary', ''))}",
    ]
    return "\n\n".join(parts) + "\n"


def _read(db: Database, session_id: str, upto: int) -> list[Row]:
    rows = db.execute(
        "SELECT section, body FROM worklog WHERE session_id = ? AND version <= ? ORDER BY version, ordinal",
        (session_id, upto),
    ).fetchall()
    return [(section, body) for section, body in rows]


def _matrix(latest: dict[str, str]) -> str:
    lines = ["| Phase | Status | Iteration |", "|---|---|---|"]
    for phase in PHASES:
        word, iteration = json.loads(latest[f"phase:{phase}"])
        lines.append(f"| {phase} | {word} | {iteration or '-'} |")
    return "\n".join(lines)


def _log(rows: Iterable[Row]) -> list[str]:
    """Entries, each with the items that followed it."""
    entries: list[str] = []
    for section, body in rows:
        if section != "log":
            continue
        if body.startswith("### ") or not entries:
            entries.append(body)
        else:
            entries[-1] += f"\n{body}"
    return [entry.rstrip("\n") for entry in entries]


def _summary(words: str) -> str:
    if not words.strip():
        return UNFINISHED
    return quote(words) if "\n" in plain(words).strip() else neutral(words.strip())
