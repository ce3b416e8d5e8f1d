"""An outstanding turn."""

from typing import NamedTuple

from domain.session.attempts import FRESH, PROVIDER_WAITS, Tries
from domain.session.turns import TurnRequested, Work


class Outstanding(NamedTuple):
    """A turn that was requested and is not settled."""

    turn_id: str
    work: Work
    agent: str
    role: str
    requested_at: int
    phase: str | None = None
    round: int | None = None
    lane: int = 0
    deadline: str | None = None
    ordinal: int = 0
    role_ordinal: int = 0
    tries: Tries = FRESH

    @property
    def provider_wait(self) -> int | None:
        """The end of a wait that a provider imposes, in milliseconds."""
        return self.tries.until if self.tries.reason in PROVIDER_WAITS else None


def requested(event: TurnRequested, at: int) -> Outstanding:
    return Outstanding(
        turn_id=event.turn_id,
        work=event.work,
        agent=event.agent,
        role=event.role,
        phase=event.phase,
        round=event.round,
        lane=event.lane,
        requested_at=at,
        deadline=event.deadline,
        ordinal=event.ordinal,
        role_ordinal=event.role_ordinal,
    )
