"""The worklog of a review or a debate: rounds with verdict and convergence, synthesis, decision."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DecisionVoted,
    DiscussionEvent,
    DiscussionRetried,
    DiscussionStarted,
    DiscussionTransition,
    Expired,
    LimitReached,
    RoundAdded,
    Stalled,
    Synthesized,
)
from domain.discussion.state import Discussion
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.values.time import iso
from domain.values.words import Words
from projections.record.markdown import cell
from projections.record.turns import Turns
from projections.record.worklog.log import Row, Worklog
from projections.record.worklog.parts import (
    begun,
    block,
    chapter,
    execution,
    forked,
    heading,
    joined,
    link,
    point,
    quotation,
    title,
)

_LISTS = {"concerns": "Concern", "suggestions": "Suggestion"}
_MOST = 20
"""How many points of one kind an entry shows; the events have all of them."""


def rows(_: Worklog, __: Turns, recorded: Recorded) -> Iterator[Row]:
    """What an event adds."""
    event = recorded.event
    if isinstance(event, DiscussionStarted):
        yield from _started(recorded, event)
    elif isinstance(event, SessionForked):
        yield forked(event)
        yield "parent", ""
    elif isinstance(event, DiscussionEvent):
        yield from _spoken(event)
        yield from _closed(event)
        yield from _decided(recorded, event)
    if isinstance(event, DiscussionTransition):
        yield "status", event.state


def _started(recorded: Recorded, event: DiscussionStarted) -> Iterator[Row]:
    topic = event.topic
    yield from begun(topic.title.strip() or topic.subject.head, recorded.at)
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
            first = heading(f"Round {event.round}", event.agent, event.role)
            lines = [first, "", "- Status: done", *quotation("Result", event.content), *_feedback(event.feedback or {})]
            if event.problem:
                lines.append(point("Unreadable", event.problem))
            yield "log", "\n".join(lines)
        case Assessed():
            metrics = event.metrics
            shares = f"agreement {metrics.agreement_ratio:.2f}, stability {metrics.avg_stability:.2f}"
            yield "log", f"- Convergence: {metrics.overall_score:.2f} ({shares}, {metrics.recommendation})"


def _feedback(feedback: dict[str, Any]) -> Iterator[str]:
    """The parsed part of a contribution (S2, behaviour §2.2)."""
    if feedback.get("verdict"):
        yield point("Verdict", str(feedback["verdict"]))
    if feedback.get("summary"):
        yield point("Summary", str(feedback["summary"]))
    for issue in list(feedback.get("issues") or ())[:_MOST]:
        yield point(f"Issue ({cell(str(issue.get('severity', '')))})", str(issue.get("description", "")))
    for name, label in _LISTS.items():
        for words in list(feedback.get(name) or ())[:_MOST]:
            yield point(label, str(words))
    if feedback.get("error"):
        yield point("Error", str(feedback["error"]))


def _closed(event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case Converged() | Stalled() | LimitReached():
            yield "log", point("Stopped", event.message)
        case AgentFailed():
            yield "log", f"### Failed after round {event.round}\n\n{point('Error', event.error)}"
        case DiscussionRetried():
            lines = [point("Reason", event.why)] if event.why.strip() else []
            yield "log", "\n\n".join(["### Asked again", *lines])
        case Synthesized():
            note = "The synthesis failed; the rounds stand in for it.\n\n" if event.fallback else ""
            yield "synthesis", note + block(event.synthesis.head)


# -- the decision --------------------------------------------------------------------------------------------------


def _decided(recorded: Recorded, event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case DecisionRequested():
            yield "decision", "\n".join(_request(event))
        case DecisionVoted():
            head = f"### {cell(event.actor)} voted {cell(event.choice)}"
            yield "log", "\n".join([head, "", f"- At: {iso(recorded.at)}", *_reason("Rationale", event.rationale)])
        case Decided():
            lines = [f"- Choice: {cell(event.choice)}", point("By", event.actor or "a person")]
            lines += [f"- At: {iso(recorded.at)}", *_reason("Rationale", event.rationale)]
            yield "decision", "\n".join(lines)
        case Expired():
            by = "nobody decided in time; the default stands in"
            yield "decision", f"- Choice: {cell(event.choice)}\n- By: {by}\n- At: {iso(recorded.at)}"
        case Cancelled():
            lines = [f"- Choice: {cell(event.choice)}", "- By: cancelled", f"- At: {iso(recorded.at)}"]
            yield "decision", "\n".join([*lines, *_reason("Reason", event.reason)])


def _request(event: DecisionRequested) -> Iterator[str]:
    yield f"- Waits for a person: {' or '.join(cell(choice) for choice in event.choices)}"
    if event.expires_at:
        yield f"- Expires: {event.expires_at}"
    yield from _feedback(event.feedback)
    for words in event.dissent[:_MOST]:
        yield point("Not agreed", words)


def _reason(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield point(label, words)


# -- rendering -----------------------------------------------------------------------------------------------------


def text(_: Discussion, latest: Mapping[str, str], log: Sequence[Row], say: Words) -> str:
    """The worklog: all sections, and the log."""
    facts = {"rounds": f"{latest['round']}/{latest['last']}", "strategy": latest["strategy"]}
    if latest.get("parent"):
        facts["parent"] = latest["parent"]
    return joined(
        title(latest, say, **facts),
        chapter(latest["name"].lower(), latest["subject"], say),
        execution(log, say),
        chapter("synthesis", latest.get("synthesis"), say),
        chapter("decision", latest.get("decision", say("worklog.unfinished")).rstrip(), say),
    )
