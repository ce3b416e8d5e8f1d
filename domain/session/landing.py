"""Landing in the record: a finished branch is merged into another and validated there, or goes back to its author."""

from typing import ClassVar, Final, Literal

from pydantic import Field

from domain.session.turns import RecordTurn
from domain.session.validation import CleanRoom, Flake, ValidationStep
from domain.values.base import Command, DomainEvent, absent
from domain.values.sentences import Sentence

LANDING_ROLE: Final = "integrator"

SentBackReason = Literal["conflict", "validation", "checkout"]
"""Both sides changed the same lines; the commands failed on the merge; the checkout of the branch is in the way."""

NotTriedReason = Literal["unmerged", "staged", "uncommitted", "not_in_git", "filtered", "locked", "busy", "branch"]
"""What the person's repository is not ready for: conflicts, changes or files that are in the way, a filter that would
have to run, another git command at work, a merge that is not finished, or no such branch."""


def _is_empty(flaky: tuple[Flake, ...]) -> bool:
    return not flaky


class LandingRequested(DomainEvent):
    """The session's result is to be merged into a branch, if the commands pass on the merge."""

    TOPIC: ClassVar[str] = "session.landing_requested"
    onto: str = Field(description="the branch that it is merged into")
    commit: str = Field(description="the result")
    steps: tuple[ValidationStep, ...] = Field(default=(), description="the commands that have to pass")
    by: str = Field(default="", description="who wants it")


class WorkLanded(DomainEvent):
    """The result is part of the branch, and the commands passed on the merge."""

    TOPIC: ClassVar[str] = "session.landed"
    onto: str
    before: str = Field(description="the commit of the branch before")
    commit: str = Field(description="the merge; the commit before where the branch had all of it already")
    clean_room: CleanRoom | None = Field(
        default=None, exclude_if=absent, description="the run in a fresh checkout; null where there was none"
    )
    flaky: tuple[Flake, ...] = Field(
        default=(), exclude_if=_is_empty, description="commands that failed and passed on the same merge"
    )


class WorkSentBack(DomainEvent):
    """The result does not fit the branch as it is now: the branch stays, and the author has to look at it again."""

    TOPIC: ClassVar[str] = "session.sent_back"
    onto: str
    before: str = Field(description="the commit of the branch that it was tried on")
    reason: SentBackReason
    author: str = Field(default="", description="the agent who wrote the work")
    paths: tuple[str, ...] = Field(default=(), description="the files that are in conflict")
    reasons: tuple[str, ...] = Field(default=(), description="the lines that say why the commands failed")
    detail: str = ""
    flaky: tuple[Flake, ...] = Field(
        default=(), exclude_if=_is_empty, description="commands that failed and passed on the same merge"
    )


class LandingNotTried(DomainEvent):
    """Nothing was merged, and the work is not to blame: the person's repository is not ready for it."""

    TOPIC: ClassVar[str] = "session.landing_not_tried"
    onto: str
    reason: NotTriedReason
    paths: tuple[str, ...] = Field(default=(), description="the files that are in the way")
    detail: str = Field(default="", description="what is in the way, and what to do about it")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`detail` as data")


LANDABLE: Final = frozenset({"success", "done", "cancelled", "reset"})
"""The statuses in which a landing that came to nothing is what a person has to look at."""
LANDING_FAILED: Final = "landing_failed"
"""The code of a landing whose turn has no attempt left."""


def why_sent_back(event: WorkSentBack) -> str:
    """Returns what the author reads of a landing that sent the work back; empty where the work was not to blame."""
    if event.reason == "checkout":
        return ""
    if event.reason == "conflict":
        lines = [f"The work could not be merged into {event.onto}: both sides changed the same lines of these files."]
        return "\n".join([*lines, *(f"- {path}" for path in event.paths), *filter(None, [event.detail])])
    lines = [f"The work could not be merged into {event.onto}: the validation failed on the merge."]
    return "\n".join([*lines, *(f"- {reason}" for reason in event.reasons), *filter(None, [event.detail])])


def unlanded_by(event: WorkSentBack | LandingNotTried) -> str:
    """The code of why a landing has not merged the result. Older logs say that a checkout in the way sent it back."""
    if isinstance(event, LandingNotTried) or event.reason == "checkout":
        return "landing_not_tried"
    return "landing_sent_back"


EVENTS: tuple[type[DomainEvent], ...] = (LandingRequested, WorkLanded, WorkSentBack, LandingNotTried)


class LandSession(Command):
    """A person wants the result of a finished session on a branch."""

    REFUSAL: ClassVar[str] = "has_no_branch_to_land"
    onto: str
    steps: tuple[ValidationStep, ...] = ()
    actor: str = ""


class RecordLanding(RecordTurn):
    """The outcome of a landing: the merge, or why there is none."""

    WORK = "land"
    before: str = ""
    commit: str | None = None
    reason: SentBackReason = "conflict"
    not_tried: NotTriedReason | None = None
    author: str = ""
    paths: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    detail: str = ""
    clean_room: CleanRoom | None = None
    flaky: tuple[Flake, ...] = ()
    sentence: Sentence | None = None
