"""Finds where a line comes from: the turn that wrote it, and the session's history around that turn."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from domain.delivery.events import (
    CommentsUnchanged,
    FixRequested,
    ReviewApproved,
    ReviewBlockingDetected,
    TestsPassed,
    ValidationFailed,
)
from domain.orchestration.events import VerdictGiven
from domain.provenance.demand import NamedFinding
from domain.provenance.work import SessionWork, TurnWork
from domain.session.children import ChildClosed
from domain.session.forks import SessionForked
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnRequested
from domain.session.workspace import WorkspacePrepared
from domain.values.base import Text
from projections.views.blame import Approval
from projections.views.session import ResultView, SessionView


@dataclass(slots=True)
class Authorship:
    """A turn that changed files. `findings` are those that it had to address."""

    work: TurnWork
    agent: str
    model: str | None
    iteration: int | None
    findings: tuple[NamedFinding, ...]
    prompt: str
    patch: str
    """SHA-256 of the prompt, and of the patch."""
    validated_by: int | None = None
    approved_by: Approval | None = None


@dataclass(slots=True)
class SessionAuthors:
    """The turns of a session that changed files, in order, and the state that it started from."""

    session: str
    source: str | None = None
    base: WorkspacePrepared | None = None
    commits: list[str] = field(default_factory=list)
    turns: dict[str, Authorship] = field(default_factory=dict)

    @property
    def work(self) -> SessionWork | None:
        """None if nothing is known to be the session's."""
        if self.base is None or not self.turns:
            return None
        turns = tuple(turn.work for turn in self.turns.values())
        return SessionWork(self.session, self.base.base_commit, frozenset(self.commits), turns, self.source)


@dataclass(slots=True)
class _Reader:
    whole: Whole
    authors: SessionAuthors
    requests: dict[str, tuple[TurnRequested, tuple[NamedFinding, ...]]] = field(default_factory=dict)
    findings: tuple[NamedFinding, ...] = ()
    verdicts: dict[str, NamedFinding] = field(default_factory=dict)

    def read(self, recorded: Recorded) -> None:
        match recorded.event:
            case WorkspacePrepared() as event:
                self.authors.base = event
            case SessionForked() as event:
                self.authors.source = event.source
            case TurnRequested() as event:
                self.requests[event.turn_id] = event, self._requested_findings(event)
            case TurnAnswered() as event:
                self._answered(recorded, event)
            case TestsPassed():
                for turn in self.authors.turns.values():
                    turn.validated_by = turn.validated_by or recorded.version
            case ReviewApproved():
                self._approved(recorded, "")
            case ChildClosed(by="person", about="delivery") as event if event.choice != "apply_fix":
                self._decided(recorded)
            case VerdictGiven() as event if event.judged:
                self._judged(recorded, event)
            case event:
                self._note_findings(recorded, event)

    def _note_findings(self, recorded: Recorded, event: object) -> None:
        """The findings that the developer's next turn has to address."""
        match event:
            case ReviewBlockingDetected():
                self.findings = tuple(
                    NamedFinding(recorded.version, issue.title, issue.detail) for issue in event.blocking_issues
                )
            case FixRequested():
                self.findings = (NamedFinding(recorded.version, _first_line(self.whole(event.feedback)), ""),)
            case ValidationFailed() | CommentsUnchanged():
                self.findings = ()
            case _:
                pass

    def _requested_findings(self, request: TurnRequested) -> tuple[NamedFinding, ...]:
        verdict = self.verdicts.get(request.agent)
        return self.findings or ((verdict,) if verdict else ())

    def _answered(self, recorded: Recorded, event: TurnAnswered) -> None:
        if event.changes is not None:
            self.authors.commits = list(dict.fromkeys([*self.authors.commits, *event.changes.commits]))
        if event.patch is None or not event.files:
            return
        request, findings = self.requests.get(event.turn_id, (None, ()))
        self.authors.turns[event.turn_id] = Authorship(
            work=TurnWork(recorded.session_id, event.turn_id, self.whole(event.patch)),
            agent=event.agent,
            model=event.model,
            iteration=(request.iteration or request.round) if request else None,
            findings=findings,
            prompt=self._digest(event.prompt),
            patch=self._digest(event.patch),
        )

    def _digest(self, text: Text) -> str:
        words = self.whole(text) if text.derived else text.head
        return text.digest or hashlib.sha256(words.encode()).hexdigest()

    def _judged(self, recorded: Recorded, event: VerdictGiven) -> None:
        if event.passed:
            self.verdicts.pop(event.agent, None)
            self._approved(recorded, event.agent)
        else:
            self.verdicts[event.agent] = NamedFinding(recorded.version, _first_line(event.feedback), "")

    def _approved(self, recorded: Recorded, agent: str) -> None:
        """For one agent's work, or for all."""
        by = Approval(version=recorded.version, actor=recorded.causation.actor)
        for turn in self.authors.turns.values():
            if agent in ("", turn.agent):
                turn.approved_by = turn.approved_by or by

    def _decided(self, recorded: Recorded) -> None:
        """A person's decision takes precedence over a reviewer's."""
        by = Approval(version=recorded.version, actor=recorded.causation.actor)
        for turn in self.authors.turns.values():
            turn.approved_by = by


def authors(session: str, history: Sequence[Recorded], whole: Whole) -> SessionAuthors:
    """Returns who changed files in a session."""
    reader = _Reader(whole, SessionAuthors(session))
    for recorded in history:
        reader.read(recorded)
    return reader.authors


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


# An in-toto statement about a session: its result, who made it, what was validated and who approved it.

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://hansard.invalid/result/v1"


def statement(session: SessionView, result: ResultView, authors: SessionAuthors, chain: str) -> dict[str, Any]:
    """`chain` is the hash of the session's last event, which covers all before it."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": f"{session.id}/result", "digest": {"gitCommit": result.head}}],
        "predicateType": PREDICATE,
        "predicate": {
            "session": {
                "id": session.id,
                "kind": session.kind,
                "title": session.title,
                "status": session.status,
                "createdAt": session.created_at,
                "updatedAt": session.updated_at,
                **({"scripted": True} if session.scripted else {}),
            },
            "base": {"branch": result.base.branch, "commit": {"gitCommit": result.base.commit}},
            "branch": result.branch,
            "commits": [{"gitCommit": commit} for commit in result.commits],
            "files": [{"path": file.path, "status": file.status} for file in result.files],
            "turns": [_turn(turn, author) for turn, author in authors.turns.items()],
            "record": {"version": session.version, "chain": {"sha256": chain}},
        },
    }


def _turn(turn: str, author: Authorship) -> dict[str, Any]:
    approved = author.approved_by
    return {
        "turn": turn,
        "agent": author.agent,
        "model": author.model,
        "iteration": author.iteration,
        "prompt": {"sha256": author.prompt},
        "patch": {"sha256": author.patch},
        "demandedBy": [{"version": finding.version, "title": finding.title} for finding in author.findings],
        "validatedBy": author.validated_by,
        "approvedBy": {"version": approved.version, "actor": approved.actor} if approved else None,
    }
