"""What every kind of session has in common, and how a decision grows event by event."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Self, TypeVar

from domain.base import Blob, Command, DomainEvent, Refused, Text, Usage, Value
from domain.budget import Spent, add
from domain.children import Child, ChildClosed, ChildRequested, CloseChild, child_id
from domain.discussion.topic import Link, Topic, Wish
from domain.forks import Reuse, SessionDiverged, SessionForked, SessionReleased
from domain.turns import (
    AgentSessionsCleared,
    RecordReply,
    Settled,
    TurnAnswered,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
    Work,
)

CHILDREN = 1_000
"""The folders of a session's own agents come before those of the discussions about it."""


class Moved(Refused):
    """The workspace has moved on while this turn ran; its changes have to be merged first, then recorded."""


class Outstanding(Value):
    """A turn that was requested and is not settled."""

    turn_id: str
    work: Work
    agent: str
    role: str
    phase: str | None = None
    round: int | None = None
    lane: int = 0
    requested_at: int

    def settled(self) -> dict[str, str]:
        """The fields that the event of its end repeats."""
        return {"turn_id": self.turn_id, "agent": self.agent, "role": self.role}


class Session(Value):
    """The state that the rules of any kind need. Instants are milliseconds; `state` is a state of the kind's chart.

    `home` is the session whose workspace this one looks at, where that is not its own.
    """

    id: str
    kind: str
    state: str
    version: int = 0
    created_at: int
    updated_at: int
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    scenario: Text | None = None
    workspace: str | None = None
    home: str | None = None
    crew: dict[str, str] = {}
    parent: str | None = None
    children: tuple[str, ...] = ()
    open_children: dict[str, Child] = {}
    last_choice: str | None = None
    forked_from: str | None = None
    reuse: Reuse | None = None
    held: bool = False
    outstanding: dict[str, Outstanding] = {}
    turns: int = 0
    asked: dict[str, int] = {}
    asked_roles: dict[str, int] = {}
    agent_sessions: dict[str, str] = {}
    tree: str | None = None
    slot: int = 0
    spent: Spent = Spent()
    last_error: str | None = None

    @property
    def status(self) -> str:
        """The word of its kind for how it stands."""
        raise NotImplementedError

    @property
    def ended(self) -> bool:
        """Whether nothing more happens unless a person says so."""
        raise NotImplementedError

    def receipt(self) -> dict[str, object]:
        """What the answer to a command says beyond id, kind, version and position."""
        return {}

    def turn(self, turn_id: str, *, allowed: tuple[str, ...] = ()) -> Outstanding:
        """The turn, while it is still waited for; Refused once it is settled (a late answer changes nothing)."""
        found = self.outstanding.get(turn_id)
        if found is None:
            sentence = f"Turn {turn_id} is settled or was never requested; its answer changes nothing."
            raise Refused(sentence, allowed=allowed)
        return found

    def accept_tree(self, command: RecordReply) -> None:
        """Raises Moved where the changes were made from a state of the workspace that is no longer the recorded one."""
        if command.tree is not None and command.base != self.tree:
            raise Moved("Another turn has changed the workspace meanwhile.")

    def stamped(self, at: int, **changes: object) -> Self:
        """The session one event later."""
        return self.changed(version=self.version + 1, updated_at=at, **changes)


S = TypeVar("S", bound=Session)
V = TypeVar("V")


class Moment(NamedTuple):
    """Which session, and when (milliseconds): what an event's envelope knows and its data does not repeat."""

    session_id: str
    at: int


Evolve = Callable[[S | None, DomainEvent, Moment], S]


@dataclass
class Draft(Generic[S]):
    """A decision in the making: each recorded event is folded at once, so that the next step sees it."""

    evolve: Evolve[S]
    moment: Moment
    before: S | None
    events: list[DomainEvent] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)

    @property
    def at(self) -> int:
        return self.moment.at

    @property
    def session(self) -> S:
        if self.before is None:
            raise Refused("There is no such session.")
        return self.before

    def record(self, *events: DomainEvent) -> None:
        for event in events:
            self.events.append(event)
            self.before = self.evolve(self.before, event, self.moment)

    def text(self, words: str) -> Text:
        """Words for an event; what is too long for it is kept to be stored beside."""
        text, blobs = Text.of(words)
        self.blobs.extend(blobs)
        return text


def content(command: Command, text: Text) -> str:
    """The whole of a text that came with a command."""
    if text.digest is None:
        return text.head
    return next(blob.content for blob in command.blobs if blob.digest == text.digest)


def evolve_turn(session: S, event: DomainEvent, at: int) -> S:
    """What the events change that every kind of session has; one that says nothing to it only counts."""
    match event:
        case TurnRequested():
            return session.stamped(
                at,
                turns=session.turns + 1,
                asked=_count(session.asked, event.agent),
                asked_roles=_count(session.asked_roles, event.role),
                outstanding=session.outstanding | {event.turn_id: _outstanding(event, at)},
            )
        case TurnAnswered():
            handles = {event.agent: event.agent_session} if event.agent_session else {}
            return session.stamped(
                at,
                outstanding=_without(session.outstanding, event.turn_id),
                agent_sessions=session.agent_sessions | handles,
                tree=event.tree or session.tree,
                slot=event.slot,
                spent=spend(session.spent, event.usage, asked=bool(event.prompt.length)),
            )
        case TurnFailed():
            return session.stamped(
                at,
                outstanding=_without(session.outstanding, event.turn_id),
                last_error=f"{event.agent}: {event.failure.code}: {event.failure.detail}".rstrip(": "),
                spent=spend(session.spent, event.usage, asked=bool(event.prompt.length)),
            )
        case TurnCancelled():
            return session.stamped(at, outstanding=_without(session.outstanding, event.turn_id))
        case AgentSessionsCleared():
            return session.stamped(at, agent_sessions={})
        case SessionForked():
            reuse = Reuse(source=event.source, version=event.source_version, mode=event.mode)
            return session.stamped(at, forked_from=event.source, reuse=reuse, parent=None)
        case SessionDiverged():
            return session.stamped(at, reuse=None, held=event.held)
        case SessionReleased():
            return session.stamped(at, held=False)
        case ChildRequested():
            child = Child(kind=event.child_kind, about=event.about, requested_at=at)
            opened = session.open_children | {event.child_id: child}
            return session.stamped(at, children=(*session.children, event.child_id), open_children=opened)
        case ChildClosed():
            left = _without(session.open_children, event.child_id)
            spent = _sum(session.spent, event.spent)
            return session.stamped(at, open_children=left, spent=spent, last_choice=event.choice)
        case _:
            return session.stamped(at)


def spend(spent: Spent, usage: Usage, *, asked: bool) -> Spent:
    """The sum after one more turn; of commands that were run (nobody was asked) no report is missed."""
    unknown = int(asked and usage.tokens is None and usage.cost_micros is None)
    return Spent(
        tokens=add(spent.tokens, usage.tokens),
        cost_micros=add(spent.cost_micros, usage.cost_micros),
        unknown=spent.unknown + unknown,
    )


def _sum(spent: Spent, more: Spent) -> Spent:
    return Spent(
        tokens=add(spent.tokens, more.tokens),
        cost_micros=add(spent.cost_micros, more.cost_micros),
        unknown=spent.unknown + more.unknown,
    )


def settle(draft: Draft[S], command: RecordReply) -> bool:
    """Record the end of the turn; whether it was answered."""
    turn = draft.session.turn(command.turn_id)
    draft.session.accept_tree(command)
    common: dict[str, Any] = {
        **turn.settled(),
        "attempt": command.attempt,
        "seconds": command.seconds,
        "usage": command.usage,
        "model": command.model,
        "prompt": command.prompt,
        "reply": command.reply,
    }
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, **common))
        return False
    draft.record(
        TurnAnswered(
            agent_session=command.agent_session,
            files=command.files,
            patch=command.patch,
            tree=command.tree,
            slot=command.slot,
            **common,
        )
    )
    return True


def cancel_turns(draft: Draft[S], reason: str) -> None:
    """Every turn that is still waited for is called off; whoever works on it is stopped, its answer refused."""
    for turn in tuple(draft.session.outstanding.values()):
        draft.record(cancelled(turn, reason))


def headline(words: str) -> str:
    """The first line that says something, short enough for a title."""
    return next((line.strip() for line in words.splitlines() if line.strip()), "")[:120]


def request_child(
    draft: Draft[S], *, kind: str, about: str, title: str, subject: str, wish: Wish, max_rounds: int
) -> None:
    """Have something discussed: by the same agents, over the same workspace as it is now, linked both ways."""
    session = draft.session
    number = len(session.children) + 1
    topic = Topic(
        subject=draft.text(subject),
        strategy=wish.strategy,
        max_rounds=max_rounds,
        profile=wish.profile,
        title=title,
        labels=session.labels,
        workspace=session.workspace,
        home=session.home or session.id,
        tree=session.tree,
        lane=CHILDREN + number,
        scenario=session.scenario,
        crew=session.crew,
        parent=Link(session_id=session.id, about=about),
        expires_ms=wish.expires_ms,
        expires_as=wish.expires_as,
    )
    name = child_id(session.id, kind, number)
    draft.record(
        ChildRequested(message=f"A {kind} of {about} begins.", child_id=name, child_kind=kind, about=about, topic=topic)
    )


def close_child(draft: Draft[S], command: CloseChild) -> Child | None:
    """Take down how a child ended; None when nobody waits for it any more."""
    child = draft.session.open_children.get(command.child_id)
    if child is None:
        return None
    said = f"The {child.kind} of {child.about} ended: {command.choice}."
    draft.record(ChildClosed(message=said, about=child.about, **command.model_dump(exclude={"blobs"})))
    return child


def clear_agents(draft: Draft[S], reason: str) -> None:
    """The decision to end the agents' conversations is an event, made in this one place (K-10)."""
    draft.record(AgentSessionsCleared(agent_sessions=draft.session.agent_sessions, reason=reason))


def cancelled(turn: Outstanding, reason: str) -> Settled:
    return TurnCancelled(attempt=0, reason=reason, **turn.settled())


def _outstanding(event: TurnRequested, at: int) -> Outstanding:
    return Outstanding(
        turn_id=event.turn_id,
        work=event.work,
        agent=event.agent,
        role=event.role,
        phase=event.phase,
        round=event.round,
        lane=event.lane,
        requested_at=at,
    )


def _count(counts: dict[str, int], key: str) -> dict[str, int]:
    return counts | {key: counts.get(key, 0) + 1}


def _without(waiting: dict[str, V], gone: str) -> dict[str, V]:
    return {key: value for key, value in waiting.items() if key != gone}
