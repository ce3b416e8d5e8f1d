"""A session's findings and people's comments, as its view reports them."""

from collections.abc import Iterable
from typing import Final, Literal

from domain.findings.advice import LookStep
from domain.findings.finding import FactAt, FindingState, LedgerFinding, LifeEvent
from domain.findings.ledger import POLICY, FindingLedger, ledger_of
from domain.session.comments import Comment, CommentChanged, CommentMade, CommentStatus
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.state import Session
from projections.record.moments import moments_of
from projections.views.findings import (
    BecauseView,
    FindingEvent,
    FindingKind,
    FindingsView,
    FindingView,
    LookView,
)

_STATES: Final[dict[CommentStatus, FindingState | None]] = {
    "open": "open",
    "unchanged": "unchanged",
    "fixed": "claimed",
    "declined": "open",
    "answered": "claimed",
    "resolved": "fixed",
    "withdrawn": None,
}
"""The status of a comment in the ledger: only a person settles it."""


def findings_view(session: Session, history: Iterable[Recorded], whole: Whole) -> FindingsView:
    """The findings as of the session's version; `history` are its events up to there, at least those that tell."""
    events = list(history)
    ledger, parts = ledger_of(moments_of(events, whole)), _SharedParts()
    advice = ledger.advice
    return FindingsView(
        policy=POLICY,
        version=session.version,
        items=(*(parts.finding(each) for each in ledger.findings), *_comments(session, events)),
        rounds=tuple(parts.look(each) for each in ledger.steps),
        quiet=advice.quiet,
        recommendation=advice.recommendation,
        because=parts.because(advice.because),
    )


def ledger_of_history(history: Iterable[Recorded], whole: Whole) -> FindingLedger:
    """The ledger alone."""
    return ledger_of(moments_of(history, whole))


class _SharedParts:
    """The parts of an answer. What many rows have in common, such as a look that did not repeat them, is made once."""

    def __init__(self) -> None:
        self._events: dict[LifeEvent, FindingEvent] = {}
        self._facts: dict[FactAt, BecauseView] = {}

    def finding(self, finding: LedgerFinding) -> FindingView:
        report, keyed = finding.report, bool(finding.report.key)
        kind: FindingKind = "verdict" if keyed else "blocking" if finding.blocking else "remark"
        reasons = (finding.state_why,) if keyed else (finding.why, finding.state_why)
        return FindingView(
            finding=finding.name,
            kind=kind,
            source=report.source,
            title=report.title,
            detail=report.detail,
            by=report.by,
            severity=report.severity,
            blocking=finding.blocking,
            path=finding.spot.path or None,
            line=finding.spot.number,
            gone=finding.gone,
            match=finding.life[0].match,
            perhaps=finding.perhaps or None,
            origin=None if keyed else finding.origin,
            weight=finding.weight,
            state=finding.state,
            status=None,
            open=finding.is_open,
            because=self.because(dict.fromkeys(reasons)),
            life=tuple(map(self._event, finding.life)),
        )

    def look(self, step: LookStep) -> LookView:
        return LookView(
            version=step.version,
            round=step.number,
            by=step.by,
            full=step.full,
            blocking=step.blocking,
            remarks=step.remarks,
            quiet=step.quiet,
            recommendation=step.advice.recommendation,
            because=self.because(step.advice.because),
        )

    def because(self, reasons: Iterable[FactAt]) -> tuple[BecauseView, ...]:
        return tuple(map(self._reason, reasons))

    def _event(self, event: LifeEvent) -> FindingEvent:
        view = self._events.get(event)
        if view is None:
            look = event.act in ("raised", "repeated", "reopened", "fixed", "not_repeated")
            view = self._events[event] = FindingEvent(
                version=event.version,
                act=event.act,
                by=event.by,
                round=event.number if look else None,
                turn=event.turn or None,
                match=event.match if event.act in ("raised", "repeated", "reopened") else None,
            )
        return view

    def _reason(self, reason: FactAt) -> BecauseView:
        view = self._facts.get(reason)
        if view is None:
            finding = reason.finding or None
            view = self._facts[reason] = BecauseView(fact=reason.fact, version=reason.version, finding=finding)
        return view


def _comments(session: Session, events: Iterable[Recorded]) -> list[FindingView]:
    """People's comments in the same list; the versions are those of the events that made and changed them."""
    lives: dict[str, list[FindingEvent]] = {}
    for recorded in events:
        match recorded.event:
            case CommentMade() as made:
                life = lives.setdefault(made.comment_id, [])
                life.append(FindingEvent(version=recorded.version, act="raised", by=made.by))
            case CommentChanged() as changed:
                act: Literal["reopened", "settled"] = "reopened" if changed.status == "open" else "settled"
                lives[changed.comment_id].append(FindingEvent(version=recorded.version, act=act, by=changed.by))
    return [_comment(comment, tuple(lives.get(comment.comment_id, ()))) for comment in session.comments.all]


def _comment(comment: Comment, life: tuple[FindingEvent, ...]) -> FindingView:
    state = _STATES[comment.status]
    title, _, detail = comment.text.strip().partition("\n")
    version = life[-1].version if life else 0
    return FindingView(
        finding=comment.comment_id,
        kind="comment",
        source="person",
        title=title,
        detail=detail.strip(),
        by=comment.by.removeprefix("person:"),
        severity="",
        blocking=True,
        path=comment.path,
        line=comment.line,
        gone=False,
        match="new",
        perhaps=None,
        origin=None,
        weight="plain",
        state=state,
        status=comment.status,
        open=state not in (None, "fixed"),
        because=(BecauseView(fact="raised", version=version),),
        life=life,
    )
