"""Goes with the last kind that records instead of yielding: `Now` with a `record` that folds at once."""

from collections.abc import Callable
from typing import TypeVar

from domain.session import decision
from domain.session.children import Child, CloseChild, ReviewSettings
from domain.session.decision import Events, Now
from domain.session.state import EventMetadata, Outstanding, Session, evolve_shared
from domain.session.turns import RecordReply, TurnCancelled
from domain.values.base import Command, DomainEvent

S = TypeVar("S", bound=Session)


class Draft(Now[S]):
    def __init__(self, now: Now[S]) -> None:
        super().__init__(now.kind, now._before, now._metadata)
        self._blobs = now._blobs
        self.metadata = now._metadata
        self.events: list[DomainEvent] = []

    @property
    def before(self) -> S | None:
        return self.state if self.begun else None

    @property
    def session(self) -> S:
        return self.state

    def record(self, *events: DomainEvent) -> None:
        for event in events:
            self.state = self.kind.evolve(self.before, event, self.metadata)
            self.begun = True
            self.events.append(event)


def recorded(decide: Callable[[Draft[S], Command], None]) -> Callable[[Now[S], Command], Events]:
    def rules(now: Now[S], command: Command) -> Events:
        draft = Draft(now)
        decide(draft, command)
        yield from draft.events

    return rules


def settle(draft: Draft[S], command: RecordReply) -> bool:
    draft.record(decision.settle(draft, command))
    return command.failure is None


def cancel_turns(draft: Draft[S], reason: str) -> None:
    for turn in tuple(draft.state.outstanding.values()):
        draft.record(cancelled(turn, reason))


def cancelled(turn: Outstanding, reason: str) -> TurnCancelled:
    return decision.cancel_turn(turn, reason)


def clear_agents(draft: Draft[S], reason: str) -> None:
    draft.record(decision.clear_agents(draft, reason))


def request_child(
    draft: Draft[S], *, kind: str, about: str, title: str, subject: str, wish: ReviewSettings, max_rounds: int
) -> None:
    draft.record(
        decision.request_child(
            draft, kind=kind, about=about, title=title, subject=subject, settings=wish, max_rounds=max_rounds
        )
    )


def close_child(draft: Draft[S], command: CloseChild) -> Child | None:
    child = draft.session.open_children.get(command.child_id)
    if child is not None:
        draft.record(decision.close_child(child, command))
    return child


def stamped(session: S, at: int, **changes: object) -> S:
    return changed(session.next(EventMetadata(session.id, at)), **changes)


def evolve_turn(session: S, event: DomainEvent, at: int) -> S:
    turned = session.next(EventMetadata(session.id, at))
    evolve_shared(turned, event, at)
    return turned


def changed(session: S, **changes: object) -> S:
    session.__dict__.update(changes)
    return session
