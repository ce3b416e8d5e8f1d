"""Decides a command: the rules of a kind yield events, and each is folded at once.

A kind's `decide` is a generator. Between two events it reads `now.state`, which is always current. Its chart gives the
state that a transition leads to, in `Now.move`; no rule names a state itself.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from domain.session.actions import refusal, unfit, with_shared
from domain.session.attempts import PROVIDER_WAITS, Failure, Outstanding, Work, step_after, unreadable
from domain.session.chart import ChartTable
from domain.session.past_commands import RecordedCommand
from domain.session.state import EventMetadata, Moved, Session
from domain.session.turns import (
    Access,
    AgentSessionsCleared,
    AttemptEnd,
    RecordReply,
    RecordTurn,
    TurnAnswered,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
)
from domain.values.base import Blob, Command, DomainEvent, Refused, StartCommand, Text, Unreadable, iso, milliseconds
from domain.values.sentences import Sentence
from domain.values.words import thread_name

S = TypeVar("S", bound=Session)
V = TypeVar("V")
E = TypeVar("E", bound=DomainEvent)
Events = Iterator[DomainEvent]


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """One kind of session: its state, its rules, and how its history is read back."""

    name: str
    state: type[S]
    statuses: tuple[str, ...]
    events: tuple[type[DomainEvent], ...]
    chart: ChartTable | None
    starts: type[Command]
    """The commands that a session of this kind may begin with."""
    from_people: tuple[type[Command], ...]
    """The commands that a person may send after the start, in the order in which they are listed."""
    decide: "Callable[[Now[S], Command], Events]"
    evolve: Callable[[S | None, DomainEvent, EventMetadata], S]
    actions: Callable[[S], tuple[str, ...]]
    command_of: Callable[[RecordedCommand, S | None], Command | None]
    """The command that led to these events, if it is one of this kind's own."""
    cancel: Callable[[str], Command]
    """The command that ends a session of this kind at once, with a reason."""

    def allowed_actions(self, state: S) -> tuple[str, ...]:
        """The actions that a person may take now."""
        return with_shared(state, self.actions(state))


class Outcome(NamedTuple):
    """The outcome of a command: events in order, the long texts that they refer to, and the session afterwards."""

    events: tuple[DomainEvent, ...]
    blobs: tuple[Blob, ...]
    session: Session


class Now(Generic[S]):
    """The session while a command is decided. `state` is current after every event; it is None before the first."""

    state: S

    def __init__(self, kind: Kind[S], state: S | None, metadata: EventMetadata) -> None:
        self.kind, self.id, self.at = kind, metadata.session_id, metadata.at
        self.begun = state is not None
        self.blobs: list[Blob] = []
        """The long texts that the events refer to."""
        if state is not None:
            self.state = state

    def check(self, command: Command) -> None:
        """Raises Refused for a command to a session that does not exist, or for a second start."""
        if not self.begun and not isinstance(command, self.kind.starts):
            raise Refused(Sentence("no_such_session"))
        if self.begun and isinstance(command, StartCommand):
            raise Refused(Sentence("already_started"), allowed=self.allowed())

    def text(self, words: str) -> Text:
        """A text for an event; one that is too long is stored separately."""
        text, blobs = Text.of(words)
        self.blobs.extend(blobs)
        return text

    def move(self, by: str, event: type[E], **fields: Any) -> E:
        """A transition: the event, with the state from the chart. Refused if the chart has no such step."""
        return event(state=self.next(by), **fields)

    def stay(self, event: type[E], **fields: Any) -> E:
        """An event that names the state which another event of the same command led to."""
        return event(state=self.state.state, **fields)

    def begin(self, event: type[E], *, by: str = "", passing: Collection[str] = (), **fields: Any) -> E:
        """The first event: in the chart's first state, or where `by` leads from there, past the states of
        `passing`."""
        chart = self._chart()
        state = chart.initial
        if by:
            state = chart.next(state, by, lambda _: False, sentence=f"Nothing begins by {by!r}.")
        while state in passing:
            state = chart.next(state, by, lambda _: False, sentence=f"Nothing goes on by {by!r}.")
        return event(state=state, **fields)

    def next(self, by: str, *, refusal: str = "not_allowed_in_state", **around: Sentence | None) -> str:
        """The state that a step of the chart leads to, past those that the session leaves out. Refused with the code
        `refusal` if it leads nowhere."""
        state, chart = self.state, self._chart()
        target = chart.target(state.state, by, state.guard)
        while target is not None and target in state.passing:
            target = chart.target(target, by, state.guard)
        if target is None:
            params = {"action": by} if refusal == "not_allowed_in_state" else {}
            raise self.refusal(refusal, **params, **around)
        return target

    def allowed(self) -> tuple[str, ...]:
        """The actions that a person may take now."""
        return self.kind.allowed_actions(self.state) if self.begun else ()

    def refusal(self, code: str, **params: object) -> Refused:
        """The sentence of the code about this session; `before` and `after` are sentences around it."""
        return refusal(self.state, code, self.allowed(), **params)

    def unfit(self, command: Command) -> Refused:
        """The refusal of a command that this kind of session never takes."""
        return unfit(self.state, command, self.allowed())

    def turn(self, turn_id: str) -> Outstanding:
        """The turn, while it is outstanding. Refused once it is settled: a late answer changes nothing."""
        turn = self.state.outstanding.get(turn_id)
        return turn if turn is not None else self.state.turn(turn_id, allowed=self.allowed())

    def _chart(self) -> ChartTable:
        assert self.kind.chart is not None, f"a {self.kind.name} has no chart"
        return self.kind.chart


# -- turns ---------------------------------------------------------------------------------------------------------


def ask(
    now: Now[S],
    *,
    role: str,
    agent: str | None = None,
    work: Work = "ask",
    prompt: str = "",
    context: Mapping[str, str | Text] | None = None,
    reads: str = "text",
    expects: tuple[str, ...] = (),
    lane: int = 0,
    access: Access = "none",
    deadline: str | None = None,
    phase: str | None = None,
    iteration: int | None = None,
    round: int | None = None,
) -> TurnRequested:
    """Request a turn. Unless an agent is named, the crew says who has the role, or the fork that gave it to another."""
    state = now.state
    name = agent or state.recast.get(role) or state.crew.get(role, role)
    places = (context or {}).items()
    return TurnRequested(
        turn_id=f"{state.id}.t{state.turns + 1}",
        work=work,
        agent=name,
        role=role,
        prompt=prompt,
        context={place: text if isinstance(text, Text) else now.text(text) for place, text in places},
        reads=reads,
        expects=expects,
        lane=lane,
        access=access,
        ordinal=state.asked.get(name, 0),
        role_ordinal=state.asked_roles.get(role, 0),
        agent_session=state.agent_sessions.get(thread_name(name, role)),
        deadline=deadline,
        phase=phase,
        iteration=iteration,
        round=round,
    )


def read(command: RecordReply, reader: Callable[[str], V]) -> V | Failure:
    """The contents of the reply, or why it is unreadable."""
    if command.failure is not None:
        return command.failure
    try:
        return reader(content(command, command.reply))
    except Unreadable as problem:
        return unreadable(problem)


def end_attempt(
    now: Now[S], command: RecordTurn, failure: Failure | None, *, barred: tuple[str, ...] = ()
) -> AttemptEnd:
    """The end of an attempt: answered, failed with another attempt to come, or failed for good.

    `barred` agents do not take over the turn.
    """
    turn, policy = now.turn(command.turn_id), now.state.retry
    step = step_after(failure, turn.tries, policy, agent=turn.agent, at=now.at, barred=barred) if failure else None
    if failure is None or step is None:
        return settle(now, command if failure is command.failure else command.changed(failure=failure))
    waits = step.at is not None and failure.code in PROVIDER_WAITS
    fields = _fields(now, command, turn)
    if step.next == "repair" and isinstance(command, RecordReply):
        fields["agent_session"] = command.agent_session
    return TurnAttemptFailed(
        failure=failure,
        next=step.next,
        retry_at=None if step.at is None else iso(step.at),
        fallback_agent=step.agent,
        deadline=moved_deadline(turn.deadline, step.at - now.at) if waits and step.at else turn.deadline,
        **fields,
    )


def moved_deadline(deadline: str | None, by: int) -> str | None:
    return None if deadline is None else iso(milliseconds(deadline) + by)


def settle(now: Now[S], command: RecordTurn) -> TurnAnswered | TurnFailed:
    """The end of a turn. Only an outcome of its own kind of work ends it: a reply does not end a validation."""
    turn = now.turn(command.turn_id)
    if turn.work != command.WORK:
        sentence = Sentence("turn_of_another_work", turn=turn.turn_id, work=turn.work, given=command.WORK)
        raise Refused(sentence, allowed=now.allowed())
    fields = _fields(now, command, turn)
    if command.failure is not None:
        return TurnFailed(failure=command.failure, **fields)
    if isinstance(command, RecordReply):
        fields |= {"agent_session": command.agent_session, "resumed": command.resumed}
        fields |= {"new_conversation": command.new_conversation, "files": command.files}
        fields |= {"patch": command.patch, "tree": command.tree, "changes": command.changes}
        fields |= {"reviewed": command.reviewed}
    return TurnAnswered(slot=command.slot, **fields)


def _fields(now: Now[S], command: RecordTurn, turn: Outstanding) -> dict[str, Any]:
    """Returns what is recorded at the end of every attempt."""
    fields: dict[str, Any] = {**turn_identity(turn), "attempt": command.attempt, "seconds": command.seconds}
    fields |= {"fence": command.fence, "fence_gaps": command.fence_gaps, "refused_hosts": command.refused_hosts}
    if isinstance(command, RecordReply):
        _accept_tree(now.state, command)
        fields |= {"usage": command.usage, "model": command.model, "prompt": command.prompt, "reply": command.reply}
    return fields


def turn_identity(turn: Outstanding) -> dict[str, str]:
    """The fields of a request that the event at its end repeats."""
    return {"turn_id": turn.turn_id, "agent": turn.agent, "role": turn.role}


def _accept_tree(state: Session, command: RecordReply) -> None:
    """Raises Moved if the changes are based on a state of the workspace that is no longer the recorded one."""
    if command.tree is not None and command.base != state.tree:
        raise Moved(Sentence("workspace_changed"))


def content(command: Command, text: Text) -> str:
    """The whole of a text that came with the command."""
    if text.digest is None:
        return text.head
    return next(blob.content for blob in command.blobs if blob.digest == text.digest)


def cancel_turn(turn: Outstanding, reason: str) -> TurnCancelled:
    return TurnCancelled(attempt=0, reason=reason, **turn_identity(turn))


def cancel_turns(now: Now[S], reason: str) -> Events:
    """Cancel every outstanding turn: its work stops, and a late answer is refused."""
    for turn in tuple(now.state.outstanding.values()):
        yield cancel_turn(turn, reason)


def clear_agents(now: Now[S], reason: str) -> AgentSessionsCleared:
    """End the agents' conversations. This decision is an event, and it is made only here (K-10)."""
    return AgentSessionsCleared(agent_sessions=now.state.agent_sessions, reason=reason)
