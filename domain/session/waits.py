"""Each thing that a session can wait for, why, and what a person may choose then. Nobody else lists choices.

A folded session names its wait by these functions, and so do the rows of the overview, which are folded from fewer
events in a fraction of the time. A test compares both at every version.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from domain.session.forge import CHECKS_RESTS

WaitsFor = Literal[
    "decision", "permission", "scope", "budget", "checkpoint", "partial", "failed", "landing", "checks", "forge"
]
"""What a session needs from a person to continue (contract §16)."""

RETRY: Final = "retry"
ALLOW_OR_DENY: Final = ("allow", "deny")
BRANCH_IN_USE: Final = "branch_checked_out"
_MORE: Final = frozenset({"rounds", "validation_failed"})
"""Why a run stopped that goes on where it is given more rounds."""


class Need(NamedTuple):
    """The need for a person: what they have to give, why (a code), and what they may choose."""

    waits_for: WaitsFor
    cause: str
    choices: tuple[str, ...]


def decision(stop_reason: str | None, offered: Iterable[str], *, interrupted: bool) -> Need:
    """A discussion waits for a choice. One that a failed turn interrupted can go on with that turn, too."""
    return Need("decision", stop_reason or "", (*offered, RETRY) if interrupted else tuple(offered))


def answers(choices: Iterable[str]) -> tuple[str, ...]:
    """The choices that decide: without those that continue the session."""
    return tuple(choice for choice in choices if choice != RETRY)


def permission() -> Need:
    """An agent asks to use a tool; each request is an item of its own in the inbox."""
    return Need("permission", "permission", ALLOW_OR_DENY)


def scope() -> Need:
    """A delivery has changed paths outside its scope."""
    return Need("scope", "outside_scope", ALLOW_OR_DENY)


def budget(cause: str) -> Need:
    """A delivery has used up its budget (K-46)."""
    return Need("budget", cause, ("extend",))


def failed(code: str | None) -> Need:
    """A turn of a delivery has no attempt left."""
    return Need("failed", code or "turn_failed", (RETRY,))


def checkpoint(*, outside: bool) -> Need:
    """A run is paused; `outside`: to continue allows changes outside the scope."""
    return Need("checkpoint", "scope_checkpoint" if outside else "scope_done", ("continue", "reset"))


def held() -> Need:
    """A fork has no recorded answer that fits, and was told to wait there."""
    return Need("checkpoint", "held", ("continue",))


def partial(reason: str, *, planned: bool, retriable: bool) -> Need:
    """A run has stopped. `planned`: its agents can be given more rounds; `retriable`: what failed can be repeated."""
    more = [("extend", planned and reason in _MORE), (RETRY, retriable)]
    choices = ("continue", "reset", *(choice for choice, is_open in more if is_open))
    return Need("budget" if reason == "rounds" else "partial", reason, choices)


def landing(cause: str) -> Need:
    """A finished result is not part of the branch that it was to be merged into."""
    return Need("landing", cause, ("land",))


def branch() -> Need:
    """The work cannot be put on its branch, which a person has checked out. It is tried again by itself."""
    return Need("landing", BRANCH_IN_USE, (RETRY,))


def forge(cause: str) -> Need:
    """Nothing more is done about the pull request of a result."""
    return Need("checks" if cause in CHECKS_RESTS else "forge", cause, ("pull-request",))
