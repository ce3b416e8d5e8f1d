"""Deciding a command where it stands: the sessions as a batch sees them, and all that follows from one command."""

from collections import deque
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple

from adapters.store import Entry, Fenced
from domain.discussion.commands import CancelDiscussion
from domain.kinds import CHANNEL, carry_out, fold
from domain.policy import Reaction, react
from domain.session.children import CloseChild
from domain.session.forking import renamed
from domain.session.forks import ForkSession
from domain.session.record import Causation, Recorded, kind_of
from domain.session.state import EventMetadata, Session
from domain.session.turns import Settled, TurnCancelled
from domain.values.base import Blob, Command, Refused, Stale, Unknown

_BETWEEN = (CloseChild, CancelDiscussion)
"""What a discussion and its parent tell each other."""


class Order(NamedTuple):
    """A command on its way: on which session, from whom, under which key, seen at which version."""

    session_id: str
    command: Command
    actor: str
    command_id: str
    starts: bool = False
    status: int = 200
    causation_id: str | None = None
    correlation_id: str | None = None
    expected: int | None = None
    key: str | None = None
    fingerprint: str = ""


@dataclass(slots=True)
class Seat:
    """A session in the scene: `fresh` when just read from the log, `changed` when this batch has moved it on."""

    session: Session | None
    fresh: bool
    changed: bool = False


@dataclass(slots=True)
class Outcome:
    """All that one command leads to, in every session it touches; `session` is the one it was for."""

    entries: list[Entry] = field(default_factory=list)
    blobs: dict[str, Blob] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    adopted: bool = False


class _Step(NamedTuple):
    """A command in the chain that an order sets off: what it follows from, and the version it is bound to.

    Nobody sees the version of a channel: what is expected is passed on to the session that the channel turns to.
    """

    reaction: Reaction
    caused_by: str
    expected: int | None

    @property
    def to_channel(self) -> bool:
        return kind_of(self.reaction.session_id) == CHANNEL.name

    @property
    def passed_on(self) -> int | None:
        return self.expected if self.to_channel else None


class Scene:
    """The sessions as they stand while a batch is decided: its own changes, then the cache, then the log."""

    def __init__(
        self,
        cache: MutableMapping[str, Session],
        load: Callable[[str, Session | None], Session | None],
        history: Callable[[str, int], list[Recorded]],
        clock: Callable[[], int],
        attempts: Mapping[str, int | None],
    ) -> None:
        """`attempts` are those that hold the turns which the batch may settle."""
        self._cache, self._load, self._history, self._clock = cache, load, history, clock
        self._attempts = attempts
        self._seats: dict[str, Seat] = {}

    def play(self, order: Order) -> Outcome:
        """Decide an order and what follows from it; all of it or, with Refused, Stale, Unknown or Fenced, nothing.

        Another process may have moved a session on: a refusal is only given on what the log says now.
        """
        while True:
            touched: dict[str, Session | None] = {}
            try:
                return self._play(order, touched)
            except (Refused, Stale, Unknown, Fenced):
                self._undo(touched)
                stale = [name for name in touched if not (self._seats[name].fresh or self._seats[name].changed)]
                if not stale:
                    raise
                for name in stale:
                    self._refresh(name)

    def _refresh(self, name: str) -> None:
        """Read what the log has beyond the cached session."""
        known = self._cache.pop(name, None)
        seat = self._seats[name] = Seat(self._load(name, known), fresh=True)
        if seat.session is not None:
            self._cache[name] = seat.session

    def _undo(self, touched: dict[str, Session | None]) -> None:
        for name, session in touched.items():
            self._seats[name].session = session

    def _play(self, order: Order, touched: dict[str, Session | None]) -> Outcome:
        outcome = Outcome()
        first = Reaction(order.session_id, order.command, starts=order.starts, actor=order.actor)
        waiting = deque([_Step(first, order.causation_id or order.command_id, order.expected)])
        while waiting:
            step = waiting.popleft()
            for entry in self._carry_out(order, step, touched, outcome):
                self._check_fence(entry)
                event_id = f"{entry.session_id}:{entry.version}"
                follow = react(entry.session_id, entry.event)
                waiting.extend(_Step(reaction, event_id, step.passed_on) for reaction in follow)
        for name in outcome.sessions:
            self._seats[name].changed = True
        return outcome

    def _carry_out(
        self, order: Order, step: "_Step", touched: dict[str, Session | None], outcome: Outcome
    ) -> list[Entry]:
        reaction, name = step.reaction, step.reaction.session_id
        seat = self._seat(name)
        before = touched.setdefault(name, seat.session) if name not in touched else seat.session
        if isinstance(reaction.command, ForkSession) and before is None:
            before = self._adopt(name, reaction.command, outcome)
        version = before.version if before else 0
        if before is None and reaction.command is not order.command and isinstance(reaction.command, _BETWEEN):
            return []  # the other one was not imported with it
        if before is None and not reaction.starts:
            raise Unknown(f"There is no session {name!r}.")
        if step.expected not in (None, version) and not step.to_channel:
            raise Stale(expected=step.expected, actual=version)
        at = max(self._clock(), before.updated_at if before else 0)
        decision = carry_out(kind_of(name), before, reaction.command, EventMetadata(name, at))
        correlation = order.correlation_id or decision.session.parent or name
        causation = Causation(reaction.actor or order.actor, order.command_id, correlation, step.caused_by)
        entries = [
            Entry(name, version + number, at, causation, event) for number, event in enumerate(decision.events, start=1)
        ]
        seat.session = outcome.sessions[name] = decision.session
        outcome.entries.extend(entries)
        outcome.blobs.update((blob.digest, blob) for blob in decision.blobs)
        return entries

    def _check_fence(self, entry: Entry) -> None:
        """Raises Fenced for an answer that comes late. The store checks again: leases may move until the commit."""
        match entry.event:
            case TurnCancelled():
                return
            case Settled() as event if self._attempts.get(event.turn_id, event.attempt) != event.attempt:
                raise Fenced(event.turn_id, event.attempt)
            case _:
                return

    def _adopt(self, name: str, command: ForkSession, outcome: Outcome) -> Session | None:
        """The source's history up to the version, as the fork's own; what it caused elsewhere is not caused again."""
        history = self._history(command.source, command.at_version)
        if len(history) != command.at_version or kind_of(name) != kind_of(command.source):
            raise Unknown(f"Session {command.source} has no version {command.at_version}.")
        outcome.adopted = True
        events = [renamed(recorded.event, source=command.source, fork=name) for recorded in history]
        for recorded, event in zip(history, events, strict=True):
            causation = recorded.causation._replace(correlation_id=name)
            outcome.entries.append(Entry(name, recorded.version, recorded.at, causation, event))
        moments = (EventMetadata(name, recorded.at) for recorded in history)
        return fold(kind_of(name), zip(events, moments, strict=True))

    def _seat(self, name: str) -> Seat:
        if name not in self._seats:
            cached = self._cache.get(name)
            fresh = cached is None
            self._seats[name] = Seat(self._load(name, None) if fresh else cached, fresh=fresh)
        return self._seats[name]
