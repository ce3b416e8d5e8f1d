"""The worklog of a review or a debate: rounds with verdict and convergence, synthesis, decision."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from domain import replies
from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DecisionVoted,
    DiscussionEvent,
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
from domain.session.team_decisions import DecisionComment
from domain.values.base import iso
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.describe import NAMELESS
from projections.record.markdown import cell, code, mark, name, neutral
from projections.record.turns import Turns, stand_in
from projections.record.worklog.parts import (
    Row,
    Worklog,
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
    reason,
    status,
    title,
    who_did,
)

_LISTS: Final = {
    "concerns": "concern",
    "pointsOfDisagreement": "disagreement",
    "unexaminedAssumptions": "assumption",
    "missingConsiderations": "missing",
    "securityRisks": "security_risk",
    "edgeCases": "edge_case",
    "scalabilityConcerns": "scalability",
    "maintenanceBurden": "maintenance",
    "suggestions": "suggestion",
    "pointsOfAgreement": "agreement",
}
"""The lists of a contribution besides its issues, and the labels of their points."""
_PARTS: Final = ("claim", "description", "explanation")
"""The texts of a point that has several; `alternative` comes last."""
_VERDICTS: Final = ("PASS", "NEEDS_FIX", "APPROVE", "CHALLENGE")
_SEVERITIES: Final = ("critical", "major", "minor")
_COUNTS: Final = ("resolved", "remaining", "consensus", "divergence")
_VOTE: Final = "vote:"
"""The beginning of the sections that keep each person's newest vote: its choice, and the remarks."""
_MOST = 20
"""Points of one kind that an entry shows; the events have all of them."""


def rows(log: Worklog, _: Turns, recorded: Recorded) -> Iterator[Row]:
    """The items that an event adds."""
    event = recorded.event
    if isinstance(event, DiscussionStarted):
        yield from _started(recorded, event)
    elif isinstance(event, SessionForked):
        yield from forked(event, recorded.at)
        yield "parent", ""
    elif isinstance(event, DiscussionEvent):
        yield from _spoken(recorded, event)
        yield from _closed(event)
        yield from _decided(log, recorded, event)
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


def _spoken(recorded: Recorded, event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case RoundAdded():
            yield "round", str(event.round)
            first = heading(mark("round", event.round), event.agent, event.role, by=stand_in(recorded))
            lines = [first, "", status("done"), *_contribution(event)]
            if event.problem:
                lines.append(point(mark("unreadable"), event.problem, event.sentence))
            yield "log", "\n".join(lines)
        case Assessed():
            metrics = event.metrics
            shares = (metrics.agreement_ratio, metrics.avg_stability)
            figures = (f"{figure:.2f}" for figure in (metrics.overall_score, *shares))
            advice = name("worklog.recommendation", metrics.recommendation)
            yield "log", f"- {mark('convergence', *figures, advice)}"


def _contribution(event: RoundAdded) -> Iterator[str]:
    """The verdict and the reasons, then each point; the reply itself if it has no readable verdict."""
    if event.feedback is None:
        yield from quotation(mark("result"), event.content)
        return
    prose, answer = replies.parted(event.content.head, "verdict")
    yield from _verdict(event.feedback)
    if prose.strip():
        yield point(mark("result"), prose)
    yield from _points(event.feedback, answer)


def _verdict(feedback: Mapping[str, Any]) -> Iterator[str]:
    verdict = str(feedback.get("verdict") or "")
    if verdict:
        yield f"- {mark('verdict')}: {mark(f'verdict.{verdict}') if verdict in _VERDICTS else cell(verdict)}"
    if feedback.get("summary"):
        yield point(mark("summary"), str(feedback["summary"]), _broke_off(feedback))


def _broke_off(feedback: Mapping[str, Any]) -> Sentence | None:
    """The summary of a discussion that ended with an error, as a sentence."""
    summary, error = str(feedback["summary"]), str(feedback.get("error") or "")
    is_ours = bool(error) and summary.endswith(f" broke off: {error}")
    return Sentence.foreign(summary, "discussion_broke_off", detail=error) if is_ours else None


def _points(feedback: Mapping[str, Any], answer: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The parsed part of a contribution (S2, behaviour §2.2). `answer` is what the agent wrote: it may name places."""
    issues = answer.get("issues") if answer else None
    for number, issue in enumerate(list(feedback.get("issues") or ())[:_MOST]):
        place = _place(issues[number]) if isinstance(issues, list) and number < len(issues) else ""
        label = mark("issue", _severity(issue)) + (f" {code(place)}" if place else "")
        yield point(label, _joined(str(issue.get("description", "")), issue.get("suggestion")))
    for field, label in _LISTS.items():
        for words in list(feedback.get(field) or ())[:_MOST]:
            yield _point(label, words)
    if feedback.get("error"):
        yield point(mark("error"), str(feedback["error"]))


def _point(label: str, words: object) -> str:
    if not isinstance(words, Mapping):
        return point(mark(label), str(words))
    text = ": ".join(str(words[part]) for part in _PARTS if words.get(part))
    severity = f" ({_severity(words)})" if words.get("severity") else ""
    return point(f"{mark(label)}{severity}", _joined(text, words.get("alternative")))


def _joined(text: str, instead: object) -> str:
    return f"{text} → {instead}" if instead else text


def _severity(point: Mapping[str, Any]) -> str:
    severity = str(point.get("severity") or "")
    return name("worklog.severity", severity) if severity in _SEVERITIES else cell(severity)


def _place(issue: object) -> str:
    """The `file:line` of an issue; empty if the agent named none."""
    if not isinstance(issue, dict):
        return ""
    path = next((issue[field] for field in ("file", "path", "location") if issue.get(field)), None)
    line = issue.get("line")
    if not isinstance(path, str):
        return ""
    return f"{path}:{line}" if isinstance(line, int) and not isinstance(line, bool) else path


def _closed(event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case Converged() | Stalled() | LimitReached():
            how = name("worklog.stopped", event.TOPIC.rpartition(".")[2], neutral(event.message))
            yield "log", f"- {mark('stopped')}: {how}"
        case AgentFailed():
            yield "log", f"### {mark('failed', event.round)}\n\n{point(mark('error'), event.error, event.sentence)}"
        case Synthesized():
            yield "synthesis", "\n\n".join(part for part in _synthesis(event) if part)


def _synthesis(event: Synthesized) -> Iterator[str]:
    """The text, and the verdict and counts at its end as a list."""
    words = event.synthesis.head
    if event.fallback:
        yield mark("no_synthesis")
        words = replies.without_json(words) or words
    elif event.counts is not None:
        words, _ = replies.parted(words, "verdict")
    yield block(words)
    yield "\n".join(_counted(event.counts or {}))


def _counted(counts: Mapping[str, Any]) -> Iterator[str]:
    yield from _verdict(counts)
    for count in _COUNTS:
        if f"{count}Count" in counts:
            yield f"- {mark(f'count.{count}')}: {counts[f'{count}Count']}"


# -- the decision --------------------------------------------------------------------------------------------------


def _decided(log: Worklog, recorded: Recorded, event: DiscussionEvent) -> Iterator[Row]:
    match event:
        case DecisionRequested():
            yield "decision", "\n".join(_request(event))
        case DecisionVoted():
            head = f"### {mark('voted', who_did(event.actor), name('choice', cell(event.choice)))}"
            lines = [*_reason(mark("rationale"), event.rationale), *map(_remark, event.comments)]
            yield "log", "\n".join([head, "", f"- {mark('at')}: {iso(recorded.at)}", *lines])
            yield f"{_VOTE}{event.actor}", "\n".join([event.choice, *_remarks_of(event)])
        case Decided():
            is_named = event.actor and event.actor != NAMELESS
            by = f"- {mark('by')}: {who_did(event.actor)}" if is_named else f"- {mark('by')}: {mark('a_person')}"
            lines = [_chosen(event.choice), by, f"- {mark('at')}: {iso(recorded.at)}"]
            lines += _reason(mark("rationale"), event.rationale)
            lines += _voted_remarks(log, event.choice) or map(_remark, event.comments)
            yield "decision", "\n".join(lines)
        case Expired():
            lines = [_chosen(event.choice), f"- {mark('by')}: {mark('nobody')}", f"- {mark('at')}: {iso(recorded.at)}"]
            yield "decision", "\n".join(lines)
        case Cancelled():
            by = f"- {mark('by')}: {mark('by.cancelled')}"
            lines = [_chosen(event.choice), by, f"- {mark('at')}: {iso(recorded.at)}"]
            yield "decision", "\n".join([*lines, *reason(recorded, event.reason)])


def _remark(comment: DecisionComment) -> str:
    return point(code(comment.place) if comment.place else mark("words"), comment.text)


def _remarks_of(vote: DecisionVoted) -> Iterator[str]:
    """The remarks with a vote, each with its author: several people may have remarked something."""
    for each in vote.comments:
        place = code(each.place) if each.place else mark("words")
        yield point(mark("said_by", who_did(vote.actor), place), each.text)


def _voted_remarks(log: Worklog, choice: str) -> list[str]:
    """The remarks with the votes for what was decided."""
    votes = [log.newest(section) or "" for section in log.sections if section.startswith(_VOTE)]
    return [remarks for first, _, remarks in (vote.partition("\n") for vote in votes) if first == choice and remarks]


def _chosen(choice: str) -> str:
    return f"- {mark('choice')}: {name('choice', cell(choice))}"


def _request(event: DecisionRequested) -> Iterator[str]:
    yield f"- {mark('waits', mark('or').join(name('choice', cell(choice)) for choice in event.choices))}"
    yield from _verdict(event.feedback)
    yield from _points(event.feedback)
    for words in event.dissent[:_MOST]:
        yield point(mark("not_agreed"), words)


def _reason(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield point(label, words)


# -- rendering -----------------------------------------------------------------------------------------------------


def text(session: Discussion, latest: Mapping[str, str], log: Sequence[Row], say: Words) -> str:
    """The worklog: all sections, and the log."""
    facts = {"rounds": f"{latest['round']}/{latest['last']}", "strategy": latest["strategy"]}
    if latest.get("parent"):
        facts["parent"] = latest["parent"]
    return joined(
        title(latest, say, **facts),
        chapter(latest["name"].lower(), latest["subject"], say),
        execution(log, say),
        chapter("synthesis", latest.get("synthesis"), say),
        chapter("decision", _decision(session, latest.get("decision", say("worklog.unfinished")).rstrip()), say),
    )


def _decision(session: Discussion, words: str) -> str:
    """The section, with the expiry after its first line while it waits: in a fork that differs from what was asked."""
    if not session.choices or session.expires_at is None:
        return words
    first, *others = words.split("\n")
    return "\n".join([first, f"- {mark('expires')}: {session.expires_at}", *others])
