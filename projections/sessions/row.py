"""One row per session: what lists show of it, and what it waits for."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from domain.values.sentences import packed
from projections.engine.ports import Table
from projections.views.sessions import WaitsFor


@dataclass(slots=True)
class SessionRow:
    """`created` and `waiting` are positions in the log: of the first event, and of the event since which it waits.

    `labels`, `checks`, `choices`, `convergence`, `feedback`, `policy`, `votes` and the sentences are JSON. `cause` is a
    code: why it waits. `rejected` is what rejected the work last: the failing test, the blocking finding.
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

    def wait(self, what: WaitsFor, cause: str, *, position: int, at: int) -> None:
        """From now on, the session waits for a person."""
        self.waits_for, self.cause, self.waiting, self.since = what, cause, position, at

    def fail(self, error: str | None) -> None:
        """The last error, or that there is none any more."""
        self.last_error, self.last_error_sentence = error and str(error), packed(error)

    def go_on(self) -> None:
        """The session no longer waits for a person."""
        self.waits_for = self.cause = self.waiting = self.since = self.choices = self.summary = None
        self.request_id = self.votes = self.summary_sentence = None


ROWS = Table("overview", SessionRow)


class Belonging(NamedTuple):
    """Conditions on whose sessions, and in which repository."""

    where: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def belonging(owner: str | None, repository: str | None) -> Belonging:
    """Owners can be given by name alone."""
    theirs = Belonging()
    if owner is not None:
        theirs = Belonging(("owner IN (?, ?, ?)",), (owner, f"person:{owner}", f"key:{owner}"))
    if repository is not None:
        theirs = Belonging((*theirs.where, "repository = ?"), (*theirs.values, repository))
    return theirs


EVERYTHING: Final = Belonging()
