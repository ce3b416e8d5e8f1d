"""The looks, changes and disputes in a session's history, for the ledger of its findings."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from domain.delivery import events as delivery
from domain.discussion.events import DiscussionStarted, RoundAdded
from domain.discussion.strategies import STRATEGIES
from domain.findings.moments import Dispute, FoundReport, IssueSeverity, LookTaken, Moment, WorkChange
from domain.kinds import EVENTS
from domain.orchestration import events as orchestration
from domain.replies.hints import IssueHints, discussion_hints, review_hints
from domain.session.children import ChildClosed
from domain.session.comments import CommentChanged, CommentMade
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnRequested
from domain.values.base import DomainEvent, Text
from projections.record.describe import is_person
from projections.record.turns import stand_in

MOST_PATCH: Final = 4_000_000
"""Characters of a turn's patch up to which its lines are followed."""
_REJECTS: Final = ("apply_fix", "revise", "NEEDS_FIX", "CHALLENGE")
_LENS: Final = "-analysis"
_NO_HINTS: Final = IssueHints()


def moments_of(history: Iterable[Recorded], whole: Whole) -> Iterator[Moment]:
    """The moments in their order; `whole` reads long texts."""
    reader = _MomentReader(whole)
    for recorded in history:
        yield from reader.read(recorded)
    yield from reader.judged()


_VERDICTS: Final = (orchestration.VerdictGiven, orchestration.VerdictOverturned)
_REVIEWS: Final = (delivery.ReviewBlockingDetected, delivery.ReviewApproved, delivery.CommentsUnchanged)
_UNREAD: Final = (orchestration.VerdictRefused, orchestration.VerdictUnreadable)
_TELLING: Final = (
    *(*_VERDICTS, *_UNREAD, *_REVIEWS, TurnAnswered),
    *(ChildClosed, DiscussionStarted, RoundAdded, CommentMade, CommentChanged),
)
TOPICS: Final = tuple(
    event.TOPIC for event in EVENTS if issubclass(event, (*_TELLING, TurnRequested, delivery.ArtifactCreated))
)
"""The names of the events that can tell of findings."""


def tells(event: DomainEvent) -> bool:
    """Return True if the event counts for the findings of a session."""
    match event:
        case TurnRequested():
            return event.access == "write"
        case delivery.ArtifactCreated() | delivery.CommentsUnchanged():
            return event.phase == "review"
        case _:
            return isinstance(event, _TELLING)


@dataclass
class _MomentReader:
    """Goes through a history, perhaps without the events that do not tell; keeps what a later event is about."""

    whole: Whole
    version: int = 0
    answer: TurnAnswered | None = None
    """The newest answer of an agent."""
    whose: str = ""
    """The one who gave it: the agent, or the person who answered for it."""
    artifact: Text | None = None
    """The newest review of a delivery's reviewer."""
    strategy: str = ""
    writing: set[str] = field(default_factory=set)
    """The turns of those who may change the work."""
    verdicts: list[tuple[Recorded, orchestration.VerdictGiven | orchestration.VerdictOverturned]] = field(
        default_factory=list
    )

    def read(self, recorded: Recorded) -> Iterator[Moment]:
        event = recorded.event
        if recorded.version != self.version + 1:  # what was left out parts two looks
            yield from self.judged()
        self.version = recorded.version
        if isinstance(event, _VERDICTS):
            self.verdicts.append((recorded, event))
            return
        if not isinstance(event, _UNREAD):
            yield from self.judged()
        match event:
            case TurnRequested(access="write"):
                self.writing.add(event.turn_id)
            case TurnAnswered():
                self.answer, self.whose = event, stand_in(recorded) or event.agent
                yield from self._changed(recorded, event)
            case delivery.ArtifactCreated(phase="review", media_type="application/json"):
                self.artifact = event.content
            case (
                delivery.ReviewBlockingDetected()
                | delivery.ReviewApproved()
                | delivery.CommentsUnchanged(phase="review")  # the reviewer lets it pass, but comments are left
            ):
                yield self._reviewed(recorded, event)
            case ChildClosed():
                yield _closed(recorded, event)
            case DiscussionStarted():
                self.strategy = event.topic.strategy
            case RoundAdded():
                yield from self._contributed(recorded, event)

    def _changed(self, recorded: Recorded, event: TurnAnswered) -> Iterator[WorkChange]:
        """Yields the work that is handed back by who may change it, with changes or without."""
        follows = event.patch is not None and 0 < event.patch.length <= MOST_PATCH
        if follows or event.turn_id in self.writing:
            patch = self.whole(event.patch) if follows and event.patch else ""
            yield WorkChange(version=recorded.version, turn=event.turn_id, by=self.whose, patch=patch)

    def _reviewed(
        self,
        recorded: Recorded,
        event: delivery.ReviewBlockingDetected | delivery.ReviewApproved | delivery.CommentsUnchanged,
    ) -> LookTaken:
        """The reviewer's issues as its artifact has them, with what its reply says beside."""
        artifact = _object(self.whole(self.artifact)) if self.artifact else {}
        answer = self.answer
        blocking_hints, other_hints = review_hints(self.whole(answer.reply)) if answer else ((), ())
        blocking = _issues(artifact.get("blockingIssues"))
        if not blocking and isinstance(event, delivery.ReviewBlockingDetected):
            blocking = [issue.model_dump() for issue in event.blocking_issues]
        by = self.whose or event.role
        reports = [
            *_reports(recorded.version, by, blocking, blocking_hints, blocking=True),
            *_reports(recorded.version, by, _issues(artifact.get("nonBlockingIssues")), other_hints, blocking=False),
        ]
        reviewed = answer.reviewed if answer else None
        full = reviewed is None or reviewed.shown >= reviewed.of
        return LookTaken(version=recorded.version, number=event.iteration, by=by, reports=tuple(reports), full=full)

    def _contributed(self, recorded: Recorded, event: RoundAdded) -> Iterator[Moment]:
        feedback, by = event.feedback or {}, stand_in(recorded) or event.agent
        part = STRATEGIES[self.strategy].part(event.round) if self.strategy in STRATEGIES else None
        if part is None or part.judges or part.role.endswith(_LENS):
            hints = discussion_hints(self.whole(event.content)) if feedback.get("issues") else ()
            reports = _discussed(recorded.version, by, feedback, hints)
            if event.feedback is not None:
                yield LookTaken(version=recorded.version, number=event.round, by=by, reports=reports)
            return
        points = [point for point in feedback.get("pointsOfDisagreement") or () if isinstance(point, dict)]
        disputed = tuple(
            FoundReport(
                version=recorded.version,
                title=str(point.get("claim") or ""),
                detail=str(point.get("explanation") or ""),
                source="discussion",
                by=by,
            )
            for point in points
            if point.get("claim")
        )
        if disputed:
            yield Dispute(version=recorded.version, reports=disputed)

    def judged(self) -> Iterator[LookTaken]:
        """The verdicts of a round are one look; a judge that could not be read has said nothing."""
        verdicts, self.verdicts = self.verdicts, []
        readable = [(recorded, event) for recorded, event in verdicts if not _is_unreadable(event)]
        if not readable:
            return
        last = readable[-1][0]
        by = "person" if is_person(last.causation.actor) else "judge"
        passed = [event for _, event in readable if isinstance(event, orchestration.VerdictGiven) and event.passed]
        yield LookTaken(
            version=last.version,
            number=readable[-1][1].round,
            by=by,
            reports=tuple(_verdict(recorded, event) for recorded, event in readable if event not in passed),
            passed=frozenset(_key(event.index, phase) for event in passed for phase in (event.phase, *event.judged)),
        )


def _is_unreadable(event: orchestration.VerdictGiven | orchestration.VerdictOverturned) -> bool:
    return isinstance(event, orchestration.VerdictGiven) and not event.judged


def _key(index: int, phase: int) -> str:
    return f"{index}:{phase}"


def _verdict(recorded: Recorded, event: orchestration.VerdictGiven | orchestration.VerdictOverturned) -> FoundReport:
    """An agent's phase is not done; the words are the judge's, or those of a person's review."""
    person = isinstance(event, orchestration.VerdictOverturned) or is_person(recorded.causation.actor)
    words = (event.issues or event.feedback) if isinstance(event, orchestration.VerdictOverturned) else event.feedback
    title, _, detail = words.strip().partition("\n")
    return FoundReport(
        version=recorded.version,
        title=title,
        detail=detail.strip(),
        source="person" if person else "judge",
        by=event.agent,
        blocking=True,
        key=_key(event.index, event.phase),
    )


def _closed(recorded: Recorded, event: ChildClosed) -> LookTaken:
    """A review or debate about this session has ended; what blocks is what its choice sends back."""
    feedback = dict(event.feedback)
    feedback["verdict"] = event.choice
    reports = _discussed(recorded.version, event.child_id, feedback, ())
    return LookTaken(version=recorded.version, number=event.rounds, by=event.child_id, reports=reports)


def _discussed(version: int, by: str, feedback: dict[str, Any], hints: Sequence[IssueHints]) -> tuple[FoundReport, ...]:
    """The issues and concerns of a contribution. Minor ones, and those of one that lets it pass, are remarks."""
    rejects = feedback.get("verdict") in _REJECTS
    reports = []
    issues = [issue for issue in feedback.get("issues") or () if isinstance(issue, dict) and issue.get("description")]
    for issue, hint in zip(issues, _aligned(hints, len(issues)), strict=True):
        severity = str(issue.get("severity") or "")
        title, _, more = str(issue["description"]).partition("\n")
        suggestion = str(issue.get("suggestion") or "")
        reports.append(
            FoundReport(
                version=version,
                title=title,
                detail="\n".join(filter(None, (more, suggestion))),
                source="discussion",
                by=by,
                blocking=rejects and severity != "minor",
                severity=_severity(severity),
                path=hint.path,
                line=hint.line,
                symbol=hint.symbol,
                kind=hint.kind,
                evidence=hint.evidence,
                finding=hint.finding,
            )
        )
    for name in ("concerns", "suggestions"):
        points = [str(point) for point in feedback.get(name) or () if isinstance(point, str) and point.strip()]
        blocks = rejects and name == "concerns"
        reports += [
            FoundReport(version=version, title=each, source="discussion", by=by, blocking=blocks) for each in points
        ]
    return tuple(reports)


def _severity(word: str) -> IssueSeverity:
    return next((each for each in _SEVERITIES if each == word), "")


_SEVERITIES: Final[tuple[IssueSeverity, ...]] = ("critical", "major", "minor")


def _reports(
    version: int, by: str, issues: Sequence[dict[str, Any]], hints: Sequence[IssueHints], *, blocking: bool
) -> list[FoundReport]:
    return [
        FoundReport(
            version=version,
            title=str(issue.get("title") or ""),
            detail=str(issue.get("detail") or ""),
            by=by,
            blocking=blocking,
            severity=hint.severity,
            path=hint.path,
            line=hint.line,
            symbol=hint.symbol,
            kind=hint.kind,
            evidence=hint.evidence,
            finding=hint.finding,
        )
        for issue, hint in zip(issues, _aligned(hints, len(issues)), strict=True)
    ]


def _aligned(hints: Sequence[IssueHints], count: int) -> Sequence[IssueHints]:
    return hints if len(hints) == count else [_NO_HINTS] * count


def _issues(value: object) -> list[dict[str, Any]]:
    return [issue for issue in value if isinstance(issue, dict)] if isinstance(value, list) else []


def _object(text: str) -> dict[str, Any]:
    """The JSON of an artifact; empty where it is none any more, as after a redaction."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
