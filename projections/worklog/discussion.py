"""How a review or a debate is written down: its rounds with verdict and convergence, synthesis, decision."""

from collections.abc import Iterable, Iterator
from typing import Any

from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DiscussionEvent,
    Expired,
    LimitReached,
    RoundAdded,
    SessionStarted,
    Stalled,
    Synthesized,
    Transition,
)
from domain.forks import SessionForked
from domain.instant import iso
from domain.record import Recorded
from projections.markdown import cell, inline, item
from projections.ports import Database
from projections.worklog.parts import (
    RESULT,
    TITLE,
    UNFINISHED,
    WAITING,
    Row,
    block,
    entries,
    forked,
    joined,
    link,
    said,
)

_LISTS = {"concerns": "Concern", "suggestions": "Suggestion"}
_MOST = 20
"""Points of one kind in an entry; the events have them all."""


def rows(_: Database, recorded: Recorded) -> Iterator[Row]:
    """What an event adds."""
    event = recorded.event
    if isinstance(event, SessionStarted):
        yield from _started(recorded, event)
    elif isinstance(event, SessionForked):
        yield forked(event)
        yield "parent", ""
    elif isinstance(event, DiscussionEvent):
        yield from _spoken(event)
        yield from _closed(event)
        yield from _decided(recorded, event)
    if isinstance(event, Transition):
        yield "status", event.state


def _started(recorded: Recorded, event: SessionStarted) -> Iterator[Row]:
    topic = event.topic
    yield "task", inline(topic.title.strip() or topic.subject.head, TITLE)
    yield "created", iso(recorded.at)
    yield "round", "0"
    yield "last", str(topic.max_rounds)
    yield "strategy", cell(topic.strategy)
    yield "name", "Subject" if recorded.kind == "review" else "Plan"
    yield "subject", block(topic.subject.head)
    if topic.parent is not None:
        yield "parent", f"{link(topic.parent.session_id)} ({cell(topic.parent.about)})"


# -- rounds --------------------------------------------------------------------------------------------------------


def _spoken(event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case RoundAdded():
            yield "round", str(event.round)
            heading = f"### Round {event.round} — {cell(event.agent)} ({cell(event.role)})"
            lines = [heading, "", "- Status: done", *said("Result", event.content), *_feedback(event.feedback or {})]
            if event.problem:
                lines.append(item("Unreadable", event.problem, limit=RESULT))
            yield "log", "\n".join(lines)
        case Assessed():
            metrics = event.metrics
            shares = f"agreement {metrics.agreement_ratio:.2f}, stability {metrics.avg_stability:.2f}"
            yield "log", f"- Convergence: {metrics.overall_score:.2f} ({shares}, {metrics.recommendation})"


def _feedback(found: dict[str, Any]) -> Iterator[str]:
    """What could be read of a contribution (S2, behaviour §2.2)."""
    if found.get("verdict"):
        yield item("Verdict", str(found["verdict"]), limit=RESULT)
    if found.get("summary"):
        yield item("Summary", str(found["summary"]), limit=RESULT)
    for issue in list(found.get("issues") or ())[:_MOST]:
        yield item(f"Issue ({cell(str(issue.get('severity', '')))})", str(issue.get("description", "")), limit=RESULT)
    for name, label in _LISTS.items():
        for words in list(found.get(name) or ())[:_MOST]:
            yield item(label, str(words), limit=RESULT)
    if found.get("error"):
        yield item("Error", str(found["error"]), limit=RESULT)


def _closed(event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case Converged() | Stalled() | LimitReached():
            yield "log", item("Stopped", event.message, limit=RESULT)
        case AgentFailed():
            yield "log", f"### Failed after round {event.round}\n\n{item('Error', event.error, limit=RESULT)}"
        case Synthesized():
            note = "The synthesis failed; the rounds stand in for it.\n\n" if event.fallback else ""
            yield "synthesis", note + block(event.synthesis.head)


# -- the decision --------------------------------------------------------------------------------------------------


def _decided(recorded: Recorded, event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case DecisionRequested():
            yield "decision", "\n".join(_asked(event))
        case Decided():
            lines = [f"- Choice: {cell(event.choice)}", item("By", event.actor or "a person", limit=RESULT)]
            lines += [f"- At: {iso(recorded.at)}", *_reason("Rationale", event.rationale)]
            yield "decision", "\n".join(lines)
        case Expired():
            by = "nobody decided in time; the default stands in"
            yield "decision", f"- Choice: {cell(event.choice)}\n- By: {by}\n- At: {iso(recorded.at)}"
        case Cancelled():
            lines = [f"- Choice: {cell(event.choice)}", "- By: called off", f"- At: {iso(recorded.at)}"]
            yield "decision", "\n".join([*lines, *_reason("Reason", event.reason)])


def _asked(event: DecisionRequested) -> Iterator[str]:
    yield f"- Waits for a person: {' or '.join(cell(choice) for choice in event.choices)}"
    if event.expires_at:
        yield f"- Expires: {event.expires_at}"
    yield from _feedback(event.feedback)
    for words in event.dissent[:_MOST]:
        yield item("Not agreed", words, limit=RESULT)


def _reason(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield item(label, words, limit=RESULT)


# -- rendering -----------------------------------------------------------------------------------------------------


def text(rows: Iterable[Row]) -> str | None:
    """The worklog of these rows; None if no discussion began in them."""
    rows = list(rows)
    latest = dict(rows)
    if "task" not in latest:
        return None
    parent = f"\n- Parent: {latest['parent']}" if latest.get("parent") else ""
    return joined(
        (
            f"# Work Log: {latest['task']}\n- Created: {latest['created']}\n- Status: {latest['status']}\n"
            f"- Rounds: {latest['round']}/{latest['last']}\n- Strategy: {latest['strategy']}{parent}",
            f"## {latest['name']}\n\n{latest['subject'] or WAITING}",
            *("## Execution Log", *entries(rows)),
            f"## Synthesis\n\n{latest.get('synthesis') or WAITING}",
            f"## Decision\n\n{latest.get('decision', UNFINISHED).rstrip()}",
        )
    )
