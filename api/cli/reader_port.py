"""The sessions that `list`, `show` and `inbox` read: one port, and the rows of their tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from api.cli.handover_in_short import landing_in_short, pull_request_in_short
from api.cli.labels import sentence

if TYPE_CHECKING:
    from api.cli.answers import (
        ExplainedCause,
        LandingView,
        PullRequestRow,
        SessionAnswer,
        SessionItem,
        WaitingItem,
    )

Item = TypeVar("Item")

Filters = Mapping[str, str | None]
"""What a list is limited to, by the names of the API."""


class SessionLine(NamedTuple):
    """A row of `list`, for people."""

    session_id: str
    status: str
    updated: str
    title: str


class ItemPage(NamedTuple, Generic[Item]):
    """Items of the API, and the cursor after them."""

    items: Sequence[Item]
    cursor: str | None


class SessionLines(NamedTuple):
    """The newest sessions for a table, and whether there are more."""

    rows: Sequence[SessionLine]
    more: bool


class WaitingItems(NamedTuple):
    """The items that wait for a person, as far as a table shows them, and whether there are more."""

    items: "Sequence[WaitingItem]"
    more: bool


class SessionReader(Protocol):
    """The sessions of one log. Raises Failed for what is not there."""

    def sessions(self, filters: Filters, limit: int, cursor: str | None = None) -> "ItemPage[SessionItem]":
        """A list of sessions in full, newest first."""

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        """The same for a table."""

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        """The answer about the session of this name, now or after an event."""

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        """The event that says what went wrong in a session that has stopped, or None."""

    def decisions(self, limit: int) -> "ItemPage[WaitingItem]":
        """Returns what waits for a person, in full."""

    def waiting(self, limit: int) -> WaitingItems:
        """The same for a table."""

    def turn_states(self, session_id: str) -> dict[str, str] | None:
        """The states of the session's turns in the lease table; None where the answer tells them already."""

    def is_worked_on(self) -> bool:
        """True if some process is there to work on open turns."""


def marked(title: str, scripted: object, forked: object) -> str:
    """The title, with marks where scripted agents took part, and where it is that of the session it was forked from."""
    marks = [sentence("scripted")] if scripted else []
    marks += [sentence("fork")] if forked else []
    return "".join([*(f"[{mark}] " for mark in marks), title])


def as_seen(status: str, *, held: bool) -> str:
    """The status; of a fork that does not run but waits until a person continues it, `held`."""
    return "held" if held else status


def with_landing(status: str, landing: "LandingView | None") -> str:
    """The status, and how the newest landing ended."""
    if landing is None:
        return status
    return f"{status}, {landing_in_short(landing)}"


def with_pull_request(status: str, pull: "PullRequestRow | None") -> str:
    """The status, and how the pull request stands."""
    if pull is None:
        return status
    return f"{status}, {pull_request_in_short(pull)}"


def with_branch(status: str, *, needed: bool | int) -> str:
    """The status, and that a person has to check out another branch first."""
    return f"{status}, {sentence('waits for you: its branch is checked out')}" if needed else status
