"""Notices that nobody was there to work on sessions: no process with their agents ran, or all of them slept.

Every process that runs turns notes from time to time that it is there. The first one that comes back records what is
missing, before it records anything else: that time uses up no budget (contract-3 §23).
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from adapters.agents.team import Team
from adapters.store.errors import DamagedEvent, StoreError
from adapters.store.port import Attendances
from adapters.store.turns import OpenTurn, Turns
from adapters.turns.lease.presence import Peers
from adapters.turns.lease.routing import place_of
from adapters.writer.unit_of_work import CommandEnvelope
from domain.delivery.state import Delivery
from domain.session.attendance import Absence, RecordUnattended
from domain.session.state import Session

log = logging.getLogger(__name__)
_TICKS: Final = 2
"""How many notes may be late before a stop was longer than a process needs to start."""
_LEAST: Final = 1_000
"""A process may be as late (milliseconds) on a busy machine."""
Load = Callable[[str], Session | None]


class Attendance:
    """This process's part in it. It comes before every command of the writer."""

    def __init__(
        self,
        *,
        attendances: Attendances,
        team: Team,
        turns: Turns,
        peers: Peers,
        load: Load,
        clock: Callable[[], int],
        lease_ms: int,
    ) -> None:
        self._attendances, self._team, self._turns = attendances, team, turns
        self._peers, self._load, self._clock = peers, load, clock
        self._gap = max(lease_ms, _LEAST)
        self._names = frozenset(member.name for member in team.agents)
        self._agents = json.dumps(sorted(self._names), ensure_ascii=False)
        self.every = min(attendances.every, lease_ms / 3_000)
        """The seconds between two notes."""
        self._last: int | None = None
        """When this process was last there, as noted; None at its start."""
        self._now = 0

    def due(self) -> Sequence[CommandEnvelope] | None:
        """Return what has to be recorded before anything else; None unless this process has just come back."""
        now = self._now = self._clock()
        if self._last is not None and now - self._last <= self._gap:
            return None
        gap = self._gap if self._last is not None else round(_TICKS * self.every * 1000)
        noted = {_names(agents): until for agents, until in self._attendances.noted().items()}
        sleeps = self._last is not None or (now - max(noted.values(), default=0) > gap and self._are_others_here())
        why: Absence = "asleep" if sleeps else "no_worker"
        missed: dict[str, int] = {}
        for turn in self._turns.unsettled():
            for session, since in self._unattended(turn, noted):
                missed[session.id] = min(since, missed.get(session.id, since))
        return [_envelope(name, since, now, why) for name, since in missed.items() if now - since > gap]

    def done(self) -> None:
        """Note that what was missing is recorded."""
        self._note(self._now)

    def has_slept(self) -> bool:
        """Return True at the start, and if this process was not there for longer than a lease."""
        return self._last is None or self._clock() - self._last > self._gap

    def note(self) -> None:
        """Note that this process is there. Call it only if it has not slept."""
        self._note(self._clock())

    def leave(self) -> None:
        """Note that this process is there no longer."""
        if not self.has_slept():
            self.note()

    def _note(self, at: int) -> None:
        self._last = at
        try:
            self._attendances.note(self._agents, at)
        except (OSError, StoreError) as error:
            log.warning("it could not be noted that turns are run: %s", error)

    def _are_others_here(self) -> bool:
        """Return True if another process of this machine has not ended. If none notes that it is there, it sleeps."""
        return any(not self._peers.gone(name) for name in self._peers.others())

    def _unattended(self, turn: OpenTurn, noted: Mapping[frozenset[str], int]) -> Iterator[tuple[Delivery, int]]:
        """Yield the delivery whose budget the turn uses up, and since when nobody was there for it."""
        try:
            session = self._load(turn.session_id)
        except DamagedEvent:  # one damaged session does not stop others
            return
        if session is None or turn.turn_id not in session.outstanding:
            return
        budgeted = session if session.parent is None else self._load(session.parent)
        if not isinstance(budgeted, Delivery):
            return
        wanted = self._wanted(session, turn)
        if wanted is None:
            return
        times = [until for names, until in noted.items() if not wanted or wanted in names]
        if times:
            yield budgeted, max(times)
        elif self._turns.held(turn.turn_id) is None:  # nobody has noted anything, as in logs of earlier versions
            yield budgeted, session.updated_at

    def _wanted(self, session: Session, turn: OpenTurn) -> str | None:
        """Return the agent that is needed, empty where any process will do; None if this team does not have it."""
        if turn.work != "ask" or session.scenario is not None or session.reuse is not None:
            return ""
        outstanding = session.outstanding[turn.turn_id]
        if place_of(session, outstanding.agent, outstanding.role, self._team) == "elsewhere":
            return None
        member = self._team.member_for(outstanding.agent, outstanding.role, session.crew)
        return member.name if member is not None else None


def _names(agents: str) -> frozenset[str]:
    try:
        return frozenset(map(str, json.loads(agents)))
    except (ValueError, TypeError):
        return frozenset()


def _envelope(session_id: str, since: int, until: int, why: Absence) -> CommandEnvelope:
    command = RecordUnattended(since=since, until=until, why=why)
    return CommandEnvelope(session_id, command, actor="clock", command_id=f"{session_id}!unattended-{until}")
