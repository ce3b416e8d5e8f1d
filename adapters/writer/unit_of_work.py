"""Deciding the commands of a batch: the sessions as the batch sees them, and everything that follows from a command."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple

from adapters.store.errors import Fenced
from adapters.store.port import NewEvent
from domain.discussion.commands import CancelDiscussion
from domain.kinds import CHANNEL, fold, kind
from domain.policy import Reaction, react
from domain.session.attempt_ends import SoFar, nothing
from domain.session.children import CloseChild
from domain.session.fork_rules import renamed
from domain.session.forks import ForkSession
from domain.session.permissions import PermissionRequested
from domain.session.record import Causation, Recorded, kind_of
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.session.turns import RecordTurn, Settled, TurnCancelled
from domain.values.base import Blob, Command, Refused, Stale, Unknown
from domain.values.sentences import Sentence

_BETWEEN = (CloseChild, CancelDiscussion)
"""Commands between a discussion and its parent."""


class CommandEnvelope(NamedTuple):
    """A command with its session, its actor, its key and the version that the caller saw."""

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
    trace: str = ""


@dataclass(slots=True)
class Loaded:
    """A session in the batch: `fresh` if just read from the log, `changed` if the batch has changed it."""

    session: Session | None
    fresh: bool
    changed: bool = False


@dataclass(slots=True)
class Effects:
    """Everything that one command changes, in every session it touches."""

    entries: list[NewEvent] = field(default_factory=list)
    blobs: dict[str, Blob] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    adopted: bool = False


class _Step(NamedTuple):
    """One command of the chain that an envelope starts, with its cause and the expected version.

    A channel's version is internal, so the expected version is checked on the session that the channel chooses.
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


class UnitOfWork:
    """The sessions while a batch is decided: first the batch's own changes, then the cache, then the log."""

    def __init__(
        self,
        cache: MutableMapping[str, Session],
        load: Callable[[str, Session | None], Session | None],
        history: Callable[[str, int], list[Recorded]],
        clock: Callable[[], int],
        attempts: Mapping[str, int | None],
        so_far: SoFar = nothing,
    ) -> None:
        """`attempts` are those that hold the turns that the batch may settle; `so_far` knows what they have done."""
        self._so_far = so_far
        self._cache, self._load, self._history, self._clock = cache, load, history, clock
        self._attempts = attempts
        self._sessions: dict[str, Loaded] = {}

    def play(self, envelope: CommandEnvelope) -> Effects:
        """Decide a command and what follows from it: all of it or, with Refused, Stale, Unknown or Fenced, nothing.

        Another process may have changed a session, so refusals are only based on the current log.
        """
        while True:
            touched: dict[str, Session | None] = {}
            try:
                return self._play(envelope, touched)
            except (Refused, Stale, Unknown, Fenced) as error:
                self._undo(touched)
                if isinstance(error, Fenced) and getattr(envelope.command, "attempt", None) == error.attempt:
                    raise  # the command names its attempt, so it is late whatever the state of the session
                stale = [name for name in touched if not (self._sessions[name].fresh or self._sessions[name].changed)]
                if not stale:
                    raise
                for name in stale:
                    self._refresh(name)

    def _refresh(self, name: str) -> None:
        """Read what the log has beyond the cached session."""
        cached = self._cache.pop(name, None)
        loaded = self._sessions[name] = Loaded(self._load(name, cached), fresh=True)
        if loaded.session is not None:
            self._cache[name] = loaded.session

    def _undo(self, touched: dict[str, Session | None]) -> None:
        for name, session in touched.items():
            self._sessions[name].session = session

    def _play(self, envelope: CommandEnvelope, touched: dict[str, Session | None]) -> Effects:
        effects = Effects()
        self._check_attempt(envelope, touched)
        first = Reaction(envelope.session_id, envelope.command, starts=envelope.starts, actor=envelope.actor)
        steps = [_Step(first, envelope.causation_id or envelope.command_id, envelope.expected)]
        for step in steps:  # which become more on the way
            for entry in self._carry_out(envelope, step, touched, effects):
                self._check_fence(entry)
                for reaction in react(entry.session_id, entry.event):
                    steps.append(_Step(reaction, f"{entry.session_id}:{entry.version}", step.passed_on))
        for name in effects.sessions:
            self._sessions[name].changed = True
        return effects

    def _carry_out(
        self, envelope: CommandEnvelope, step: "_Step", touched: dict[str, Session | None], effects: Effects
    ) -> list[NewEvent]:
        reaction, name = step.reaction, step.reaction.session_id
        loaded = self._session(name)
        before = loaded.session
        touched.setdefault(name, before)
        if isinstance(reaction.command, ForkSession) and before is None:
            before = self._adopt(name, reaction.command, effects)
        version = before.version if before else 0
        if before is None and reaction.command is not envelope.command and isinstance(reaction.command, _BETWEEN):
            return []  # the other one was not imported with it
        if before is None and not reaction.starts:
            raise Unknown(Sentence("session_not_found", id=name))
        if step.expected not in (None, version) and not step.to_channel:
            raise Stale(expected=step.expected, actual=version)
        at = max(self._clock(), before.updated_at if before else 0)
        decision = carry_out(kind(kind_of(name)), before, reaction.command, EventMetadata(name, at), self._so_far)
        correlation = envelope.correlation_id or decision.session.parent or name
        actor = reaction.actor or envelope.actor
        causation = Causation(actor, envelope.command_id, correlation, step.caused_by, envelope.trace)
        entries = [
            NewEvent(name, version + number, at, causation, event)
            for number, event in enumerate(decision.events, start=1)
        ]
        loaded.session = effects.sessions[name] = decision.session
        effects.entries.extend(entries)
        for blob in decision.blobs:
            effects.blobs[blob.digest] = blob
        return entries

    def _check_attempt(self, envelope: CommandEnvelope, touched: dict[str, Session | None]) -> None:
        """Raises Fenced for the outcome of a turn that another attempt holds, before it is decided: that costs more
        than most commands."""
        command = envelope.command
        if not isinstance(command, RecordTurn):
            return
        if self._attempts.get(command.turn_id, command.attempt) == command.attempt:
            return
        session = touched[envelope.session_id] = self._session(envelope.session_id).session
        if session is not None and command.turn_id in session.outstanding:
            raise Fenced(command.turn_id, command.attempt)

    def _check_fence(self, entry: NewEvent) -> None:
        """Raises Fenced for an answer that comes late. The store checks again: leases may move until the commit."""
        match entry.event:
            case TurnCancelled():
                return
            case (Settled() | PermissionRequested()) as event if (
                self._attempts.get(event.turn_id, event.attempt) != event.attempt
            ):
                raise Fenced(event.turn_id, event.attempt)
            case _:
                return

    def _adopt(self, name: str, command: ForkSession, effects: Effects) -> Session | None:
        """Take over the source's history up to the version as the fork's own, without what it caused elsewhere."""
        history = self._history(command.source, command.at_version)
        if len(history) != command.at_version or kind_of(name) != kind_of(command.source):
            raise Unknown(Sentence("session_version_not_found", id=command.source, number=command.at_version))
        effects.adopted = True
        events = [renamed(recorded.event, source=command.source, fork=name) for recorded in history]
        for recorded, event in zip(history, events, strict=True):
            causation = recorded.causation._replace(correlation_id=name)
            effects.entries.append(NewEvent(name, recorded.version, recorded.at, causation, event))
        moments = (EventMetadata(name, recorded.at) for recorded in history)
        return fold(kind_of(name), zip(events, moments, strict=True))

    def _session(self, name: str) -> Loaded:
        if name not in self._sessions:
            cached = self._cache.get(name)
            fresh = cached is None
            self._sessions[name] = Loaded(self._load(name, None) if fresh else cached, fresh=fresh)
        return self._sessions[name]
