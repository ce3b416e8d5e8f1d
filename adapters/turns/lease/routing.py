"""Decides where a turn runs: here, with an external agent, or in another process whose team has the agent."""

import logging
from collections.abc import Callable
from typing import Final, Literal, Protocol

from adapters.agents.team import Team
from adapters.store.turns import OpenTurn
from domain.session.state import Session
from domain.values.base import HansardError

Place = Literal["here", "outside", "elsewhere"]
KNOWN: Final = 50_000
"""For how many turns, the newest ones, the place is remembered."""
log = logging.getLogger(__name__)


class Load(Protocol):
    """A session now, or after its event `upto`."""

    def __call__(self, session_id: str, *, upto: int | None = None) -> Session | None: ...


def place_of(session: Session, agent: str, role: str, team: Team) -> Place:
    """The place where a question to this agent is asked. A session's own scenario replaces a team, and answers that a
    fork reuses are not asked at all; but no other agent replaces one that a session names (K-36).
    """
    if session.scenario is not None or session.reuse is not None:
        return "here"
    member = team.member_for(agent, role, session.crew, session.recast)
    if member is None:
        return "elsewhere"
    return "outside" if member.adapter == "external" else "here"


class Affinity(Protocol):
    """The knowledge about other machines."""

    def leaves(self, turn: OpenTurn) -> bool:
        """True if another machine should run the turn, for now."""


class Routing:
    """Tells turns apart; belongs to one thread at a time."""

    def __init__(
        self,
        team: Team,
        load: Load,
        affinity: Affinity | None = None,
        cached: Callable[[str], Session | None] = lambda _: None,
    ) -> None:
        """`affinity` says which turns are left to other machines, where there are any; `cached` has sessions as they
        were a moment ago, without reading anything."""
        self._team, self._load, self._affinity, self._cached = team, load, affinity, cached
        self._known: dict[str, Place] = {}

    def place(self, turn: OpenTurn) -> Place:
        """Everything except questions can be done by any process that has the workspace."""
        place = "here" if turn.work != "ask" else self._known.get(turn.turn_id) or self._locate(turn)
        if place != "elsewhere" and self._affinity is not None and self._affinity.leaves(turn):
            return "elsewhere"
        return place

    def _locate(self, turn: OpenTurn) -> Place:
        """A session's first event says who is asked; only a fork changes that later."""
        try:
            session = self._cached(turn.session_id) or self._load(turn.session_id, upto=1)
            if session is not None and place_of(session, turn.agent, turn.role, self._team) != "here":
                session = self._load(turn.session_id)
        except (HansardError, ValueError):  # the worker that claims it gets the error
            return "here"
        if session is None:
            return "here"
        outstanding = session.outstanding.get(turn.turn_id, turn)
        place = place_of(session, outstanding.agent, outstanding.role, self._team)
        if session.reuse is None:  # otherwise it changes once the fork has diverged from its source
            self._remember(turn, place)
        return place

    def _remember(self, turn: OpenTurn, place: Place) -> None:
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[turn.turn_id] = place
        if place == "elsewhere":
            log.warning(
                "%s waits for %s (%s), which this team does not have; no other agent takes its place.",
                *(turn.turn_id, turn.agent, turn.role),
            )
