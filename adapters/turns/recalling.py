"""A fork recalls what its source was told, instead of asking again."""

from collections.abc import Iterator, Sequence

from adapters.store import Store
from adapters.turns.job import Job
from domain.kinds import command_of, fold
from domain.session.forking import renamed, same_request
from domain.session.forks import Diverge, Reuse
from domain.session.record import Recorded, RecordedCommand, Whole, commands_in
from domain.session.state import EventMetadata
from domain.session.turns import RecordReply, TurnAnswered, TurnFailed, TurnRequested
from domain.values.base import Command, DomainEvent, Usage

FREE = Usage(input_tokens=0, cached_tokens=0, output_tokens=0, reasoning_tokens=0, cost_micros=0)
"""What a recalled answer costs."""


def recall(job: Job, reuse: Reuse, store: Store, whole: Whole) -> Command:
    """The answer that the fork's source recorded to the same question, free; or that there is none."""
    history = store.history(reuse.source)
    found = _answer(job, history, source=reuse.source)
    if found is None:
        return Diverge(turn_id=job.lease.turn_id)
    command = command_of(found, fold(job.session.kind, _until(history, found)), whole)
    fenced: dict[str, object] = {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt}
    if isinstance(command, RecordReply):
        fenced |= {"usage": FREE, "base": job.session.tree}
    return command.model_copy(update=fenced)


def _answer(job: Job, history: Sequence[Recorded], *, source: str) -> RecordedCommand | None:
    """What settled the source's own turn of this name, or else the first in which the same was asked."""
    asked: dict[str, str] = {}
    for recorded in history:
        if isinstance(recorded.event, TurnRequested):
            ours = renamed(recorded.event, source=source, fork=job.session.id)
            if same_request(ours, job.request):
                asked[ours.turn_id] = recorded.event.turn_id
    turn_id = asked.get(job.request.turn_id) or next(iter(asked.values()), None)
    return next((decision for decision in commands_in(history) if _settles(decision, turn_id)), None)


def _settles(decision: RecordedCommand, turn_id: str | None) -> bool:
    first = decision.events[0]
    return isinstance(first, TurnAnswered | TurnFailed) and first.turn_id == turn_id


def _until(history: Sequence[Recorded], decision: RecordedCommand) -> Iterator[tuple[DomainEvent, EventMetadata]]:
    first = decision.recorded[0].version
    return ((recorded.event, recorded.metadata) for recorded in history if recorded.version < first)
