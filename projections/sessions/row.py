"""One row per session: what lists show of it, what it waits for, and how it ended.

A row says of the end what was checked, the branch, who decided what, and why.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.session.waits import Need
from domain.session.workspace import ResultPublished
from domain.values.sentences import packed
from projections.engine.ports import Database, Table
from projections.record.markdown import shortened
from projections.sessions.places import HERE, of_repository


@dataclass(slots=True)
class SessionRow:
    """`created` and `waiting` are positions in the log: of the first event, and of the event since which it waits.

    `labels`, `checked`, `checks`, `landing`, `pull_request`, `choices`, `convergence`, `feedback`, `policy`, `votes`
    and the sentences are JSON. `cause` is a code: why it waits; `unlanded`, too: why the newest landing has not merged
    the result.
    `base` and `tree` are the commits of the files before the work and now; `in_place` is 1 for a folder without git,
    which is edited itself.
    `pulling` is 1 while the pull request is not over. `rejected` is what rejected the work last: the failing test, the
    blocking finding.
    """

    session_id: str
    created: int
    version: int
    kind: str
    status: str
    title: str
    origin: str
    owner: str
    repository: str | None
    labels: str
    created_at: int
    updated_at: int
    parent: str | None = None
    about: str | None = None
    forked_from: str | None = None
    phase: str | None = None
    iteration: int | None = None
    max_iterations: int | None = None
    round: int | None = None
    max_rounds: int | None = None
    last_round: int | None = None
    strategy: str | None = None
    score: float | None = None
    recommendation: str | None = None
    last_error: str | None = None
    last_error_sentence: str | None = None
    rejected: str | None = None
    rejected_sentence: str | None = None
    tokens: int | None = None
    cost_micros: int | None = None
    unknown_turns: int = 0
    waits_for: str | None = None
    waiting: int | None = None
    since: int | None = None
    cause: str | None = None
    choices: str | None = None
    request_id: str | None = None
    stop_reason: str | None = None
    convergence: str | None = None
    feedback: str | None = None
    synthesis: str | None = None
    summary: str | None = None
    summary_sentence: str | None = None
    expires_at: str | None = None
    seen: str = ""
    policy: str | None = None
    votes: str | None = None
    forked_at: int | None = None
    checks: str | None = None
    branch: str | None = None
    choice: str | None = None
    ended_by: str | None = None
    ended_words: str | None = None
    ended_as: str | None = None
    checked: str | None = None
    landing: str | None = None
    unlanded: str | None = None
    pull_request: str | None = None
    pulling: int | None = None
    scripted: int = 0
    started_in: str | None = None
    base: str | None = None
    tree: str | None = None
    in_place: int = 0

    @property
    def ends_unchanged(self) -> bool:
        """Returns whether work had begun that failed, or was ended, without a changed file. What was ended may have
        changed files of a folder without git that nobody recorded."""
        begun = self.iteration if self.kind == "delivery" else self.repository and self.round
        ends = ("failed", "partial") if self.in_place else ("failed", "partial", "cancelled", "reset")
        return bool(begun) and self.tree in (None, self.base) and self.status in ends

    def wait(self, wait: Need, recorded: Recorded) -> None:
        """From this event on, the session waits for a person."""
        self.waits_for, self.cause, self.choices = wait.waits_for, wait.cause, json.dumps(wait.choices)
        self.waiting, self.since = recorded.position, recorded.at

    def fork(self, event: SessionForked, *, position: int, at: int) -> None:
        """A fork is created, and waits, since it was made. In old logs, its decisions kept their expiry."""
        self.created_at = at
        if self.waits_for is None:
            return
        self.waiting, self.since = position, at
        if event.wait is not None:
            self.expires_at = event.wait.deadline

    def fail(self, error: str | None) -> None:
        """The last error, or that there is none any more."""
        self.last_error, self.last_error_sentence = error and str(error), packed(error)

    def revise(self) -> None:
        """The session goes on with what a person wants changed: how it ended, and that its result landed, is over."""
        self.go_on()
        self.fail(None)
        self.ended_by = self.ended_words = self.choice = self.ended_as = None
        if self.landing is not None and json.loads(self.landing)["status"] == "landed":
            self.landing = None

    def go_on(self) -> None:
        """The session no longer waits for a person."""
        self.waits_for = self.cause = self.waiting = self.since = self.choices = self.summary = None
        self.request_id = self.votes = self.summary_sentence = None


ROWS = Table("overview", SessionRow, fixed=("created", "kind", "created_at"))


def date_forks(db: Database, events: Iterable[Recorded]) -> None:
    """A fork is created when it is made; the column is fixed because nothing else changes it."""
    for recorded in events:
        if type(recorded.event) is SessionForked:
            values = (recorded.at, recorded.session_id)
            db.execute("UPDATE overview SET created_at = ? WHERE session_id = ?", values)


class Belonging(NamedTuple):
    """Conditions on whose sessions, and in which repository."""

    where: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def belonging(owner: str | None, repository: str | None, here: str | None = None) -> Belonging:
    """Owners can be given by name alone. `here` is the top folder of a repository: what was started in it or on it."""
    theirs = Belonging()
    if owner is not None:
        theirs = Belonging(("owner IN (?, ?, ?)",), (owner, f"person:{owner}", f"key:{owner}"))
    if repository is not None:
        theirs = Belonging((*theirs.where, "repository = ?"), (*theirs.values, repository))
    if here is not None:
        theirs = Belonging((*theirs.where, HERE), (*theirs.values, *of_repository(here)))
    return theirs


EVERYTHING: Final = Belonging()


# -- how a session ended -----------------------------------------------------------------------------------------------


CHECKS: Final = 3
"""Validation commands that are kept."""
ENDING_EVENTS: Final = (
    delivery.DeliveryStarted,
    ResultPublished,
    delivery.BranchPublished,
    SessionForked,
    delivery.SessionFinished,
    orchestration.WasReset,
    orchestration.Completed,
    discussion.Ending,
)
"""Other events change nothing here."""
WORDS: Final = 300
"""Characters of a reason, an answer or a command that are kept; the session has all of it."""


def follow_ending(row: SessionRow, recorded: Recorded) -> None:
    """One more event of the row's session."""
    match recorded.event:
        case delivery.DeliveryStarted(steps=steps):
            row.checks = json.dumps([shortened(step.command, WORDS) for step in steps[:CHECKS]], ensure_ascii=False)
        case ResultPublished(branch=branch) | delivery.BranchPublished(branch=branch):
            row.branch = branch
        case SessionForked(source_version=version):
            row.forked_at = version
        case delivery.SessionFinished(state="cancelled") as event:
            _end(row, recorded.causation.actor, event.cancelled_because)
        case orchestration.WasReset(reason=reason):
            _end(row, recorded.causation.actor, reason)
        case orchestration.Completed(summary=summary, reason=reason):
            _end(row, None, summary.head)
            row.ended_as = reason
        case delivery.SessionFinished(status="success", code=code):
            row.ended_as = code
        case discussion.Decided() as event:
            _end(row, event.actor, event.rationale, event.choice)
        case discussion.Cancelled() as event:
            _end(row, recorded.causation.actor, event.reason)
        case discussion.Expired() as event:
            _end(row, None, "", event.choice)


def _end(row: SessionRow, actor: str | None, words: str, choice: str | None = None) -> None:
    row.ended_by, row.ended_words, row.choice = actor, shortened(words, WORDS) or None, choice
