"""Recalls, in a fork, the answers that its source recorded to the same questions."""

from collections.abc import Iterator, Sequence

from adapters.store.port import Store
from adapters.turns.job import Job
from domain.kinds import command_of, fold
from domain.session.fork_rules import renamed, same_request
from domain.session.forks import Diverge, Reuse
from domain.session.past_commands import RecordedCommand, Whole, commands_in
from domain.session.record import Recorded
from domain.session.state import EventMetadata, Session
from domain.session.turns import (
    RecordReply,
    TurnAnswered,
    TurnRequested,
    is_stand_in,
)
from domain.values.base import Command, DomainEvent, Usage

FREE = Usage(input_tokens=0, cached_tokens=0, output_tokens=0, reasoning_tokens=0, cost_micros=0)
"""The cost of a reused answer."""


def recall(job: Job, reuse: Reuse, store: Store, whole: Whole) -> Command:
    """The answer that the fork's source recorded to the same question, free of charge; or that there is none."""
    if _asked_otherwise(job):
        return Diverge(turn_id=job.lease.turn_id)
    history = store.history(reuse.source)
    recorded = _answer(job, history, source=reuse.source, whole=whole)
    if recorded is None:
        return Diverge(turn_id=job.lease.turn_id)
    before = fold(job.session.kind, _until(history, recorded))
    if _heard(before) != _heard(job.session):  # a person has told the agent something else
        return Diverge(turn_id=job.lease.turn_id)
    command = command_of(recorded, before, whole)
    if _is_asked_again(job, before, command):
        return Diverge(turn_id=job.lease.turn_id)
    ours: dict[str, object] = {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt}
    if isinstance(command, RecordReply):
        ours |= {"usage": FREE, "base": job.session.tree, "activity": None}
        if (derived := command.prompt.derived) is not None:  # our request is the same
            own = derived.changed(session_id=job.session.id, version=job.lease.version)
            ours["prompt"] = command.prompt.changed(derived=own)
    return command.model_copy(update=ours)


def _asked_otherwise(job: Job) -> bool:
    """Returns whether another agent, or another model, is to answer than in the source."""
    turn, session = job.turn, job.session
    agents = {turn.agent, session.crew.get(turn.agent, turn.agent)}
    return turn.work == "ask" and (turn.role in session.recast or not agents.isdisjoint(session.models))


def _is_asked_again(job: Job, before: Session | None, command: Command) -> bool:
    """Returns whether the agent is asked once more because a person's answer in its place could not be read: that is
    another question than the one that the source's answer was to."""
    if before is None or not isinstance(command, RecordReply):
        return False
    theirs = before.outstanding.get(command.turn_id)
    return job.turn.tries.repaired > (theirs.tries.repaired if theirs is not None else 0)


def _heard(session: Session | None) -> list[str]:
    """Returns what persons have said that no agent has been told before."""
    return [words.words for words in session.unheard] if session is not None else []


def _answer(job: Job, history: Sequence[Recorded], *, source: str, whole: Whole) -> RecordedCommand | None:
    """The outcome of the source's turn with this name, otherwise the first turn with the same question."""
    turn_ids: dict[str, str] = {}
    for recorded in history:
        if isinstance(recorded.event, TurnRequested):
            ours = renamed(recorded.event, source=source, fork=job.session.id)
            if same_request(ours, job.request, whole):
                turn_ids[ours.turn_id] = recorded.event.turn_id
    turn_id = turn_ids.get(job.request.turn_id) or next(iter(turn_ids.values()), None)
    return next((decision for decision in commands_in(history) if _settles(decision, turn_id)), None)


def _settles(decision: RecordedCommand, turn_id: str | None) -> bool:
    """Returns whether it ends that turn with an answer of the agent: what a person said instead is not repeated."""
    settled = decision.tail if decision.activity else decision
    first = settled.events[0] if settled else None
    return isinstance(first, TurnAnswered) and first.turn_id == turn_id and not is_stand_in(first)


def _until(history: Sequence[Recorded], decision: RecordedCommand) -> Iterator[tuple[DomainEvent, EventMetadata]]:
    first = decision.recorded[0].version
    return ((recorded.event, recorded.metadata) for recorded in history if recorded.version < first)
