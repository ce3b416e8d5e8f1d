"""Retry of a turn: a waiting one at once, a failed one once more."""

from typing import Any

from domain.session.decision import Now, S, moved_deadline, turn_identity
from domain.session.outstanding import Outstanding
from domain.session.turns import (
    RetryTurn,
    TurnRetried,
)
from domain.values.time import iso


def retry_waiting(now: Now[S], command: RetryTurn) -> tuple[TurnRetried, ...]:
    """Ask the turns that wait for their next attempt at once; none where none waits."""
    waiting = (turn for turn in now.state.outstanding.values() if (turn.tries.until or 0) > now.at)
    return tuple(_at_once(now, command, turn) for turn in waiting)


def _at_once(now: Now[S], command: RetryTurn, turn: Outstanding) -> TurnRetried:
    left = now.at - turn.provider_wait if turn.provider_wait else 0
    return TurnRetried(
        reason=command.reason, deadline=moved_deadline(turn.deadline, left), **_request(turn, turn.tries.ended)
    )


def retry_failed(now: Now[S], command: RetryTurn, deadline: int | None) -> TurnRetried:
    """Ask the turn whose last attempt failed once more."""
    turn = now.state.failed_turn
    if turn is None:
        raise now.refusal(command.REFUSAL)
    until = None if deadline is None else iso(deadline)
    return TurnRetried(reason=command.reason, deadline=until, **_request(turn, turn.tries.ended + 1))


def _request(turn: Outstanding, attempts: int) -> dict[str, Any]:
    """The fields of a request that a retry repeats."""
    fields = {"work": turn.work, "phase": turn.phase, "round": turn.round, "attempts": attempts}
    return {**turn_identity(turn), **fields}
