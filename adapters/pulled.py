"""Which turns are not asked here: those of external agents, who come for them."""

from collections.abc import Callable
from typing import Final

from adapters.store.turns import OpenTurn
from adapters.team import Team
from domain.base import HansardError
from domain.session import Session

KNOWN: Final = 50_000
"""Of so many turns, the last ones, it is remembered whose they are."""


class Pulled:
    """Tells turns of external agents from all others; belongs to one thread at a time.

    A session's own scenario stands in for its team, and what a fork recalls is not asked: nobody claims either.
    """

    def __init__(self, team: Team, load: Callable[[str], Session | None]) -> None:
        self._team, self._load = team, load
        self._known: dict[str, bool] = {}
        self.any = any(member.adapter == "external" for member in team.agents)

    def has(self, turn: OpenTurn) -> bool:
        """Whether external agents may claim the turn; never again false once it is true."""
        known = self._known.get(turn.turn_id)
        if known is not None:
            return known
        if turn.work != "ask" or not self._is_external(turn.agent, turn.role):
            return False
        try:
            session = self._load(turn.session_id)
        except (HansardError, ValueError):  # whoever takes it up is told what is wrong with it
            return False
        found = session is not None and self.waits(session, turn.agent, turn.role)
        if session is None or session.reuse is None:  # else it changes once the fork and its source have parted
            self._remember(turn, found)
        return found

    def _remember(self, turn: OpenTurn, found: bool) -> None:
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[turn.turn_id] = found

    def waits(self, session: Session, agent: str, role: str) -> bool:
        """Whether a question to this agent waits for a worker of its own, as the session is now."""
        return session.scenario is None and session.reuse is None and self._is_external(agent, role)

    def _is_external(self, agent: str, role: str) -> bool:
        member = self._team.asked(agent, role)
        return member is not None and member.adapter == "external"
