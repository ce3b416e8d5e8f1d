"""What a session's workspace adds to its history: what it began with, and the branch that has its changes."""

from typing import TypeVar

from domain.session.decision import Events, Now, ask
from domain.session.state import Session
from domain.session.turns import RecordTurn
from domain.values.base import Command

S = TypeVar("S", bound=Session)


def with_workspace(now: Now[S], command: Command, rules: Events) -> Events:
    """The events of a command. Where its turn made the workspace, this is said right after the end of the turn."""
    prepared = command.prepared if isinstance(command, RecordTurn) else None
    if prepared is not None and now.state.base is None:
        yield next(rules)
        yield prepared
    yield from rules


def hand_over(now: Now[S], round: int) -> Events:
    """Ask for a branch of the changes that have none yet. The session's status does not wait for it."""
    waiting = any(turn.work == "package" for turn in now.state.outstanding.values())
    if now.state.unpublished and not waiting:
        yield ask(now, role="supervisor", work="package", round=round or None)
