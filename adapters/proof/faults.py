"""Finds events that are in the wrong place: each refers to an earlier cause.

The chains protect the order within each session; between sessions, positions protect what one transaction wrote. This
also holds for imports (a file keeps the order of its log) and forks, so an unchanged log has no faults.
"""

from collections.abc import Iterator
from contextlib import suppress

from adapters.store.errors import DamagedEvent
from adapters.store.mapper import decode
from adapters.store.rows import Rows
from domain.session.past_commands import mark
from domain.session.record import Recorded
from domain.values.sentences import Sentence

Fault = tuple[int, str]
"""A position, and what is wrong there."""


def misplaced(rows: Rows, before: Recorded | None, recorded: Recorded) -> Iterator[Fault]:
    """The fault in the place of this event, which follows `before` in its session."""
    if before is None or mark(before) != mark(recorded):
        yield from _before_its_cause(rows, recorded)
    elif recorded.position != before.position + 1 and recorded.version == before.version + 1:
        yield before.position + 1, Sentence("fault_place", id=recorded.event_id, number=recorded.position)


def _before_its_cause(rows: Rows, recorded: Recorded) -> Iterator[Fault]:
    """Only the effects of one command are compared, in streams that existed: others may be imported later."""
    stream, _, version = recorded.causation.causation_id.rpartition(":")
    if stream == recorded.session_id or not version.isdecimal():
        return
    cause, first = rows.row(stream, int(version)), rows.row(stream, 1)
    if cause is None or cause.position < recorded.position or first is None or first.position > recorded.position:
        return
    with suppress(DamagedEvent):
        decoded = decode(cause.stored(), cause.position)
        if decoded.causation.command_id == recorded.causation.command_id:
            yield recorded.position, Sentence("fault_before_cause", id=recorded.event_id, cause=decoded.event_id)
