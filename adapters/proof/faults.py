"""Faults of a log, and what a verification found: events refer to earlier causes, and to long texts that are there.

The chains protect the order within each session; between sessions, positions protect what one transaction wrote. This
also holds for imports (a file keeps the order of its log) and forks, so an unchanged log has no faults.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from adapters.store.mapper import decode
from adapters.store.port import DamagedEvent, Log
from adapters.store.rows import Rows
from domain.session.history import TextRedacted
from domain.session.record import Recorded, mark
from domain.values.base import HansardError
from domain.values.sentences import Sentence


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """The number of events, the hash of the last one (hex), and the first missing or changed version, if any."""

    events: int
    hash: str
    broken: int | None

    @property
    def sound(self) -> bool:
        return self.broken is None


def check_chain(store: Log, session_id: str) -> ChainCheck:
    """Removing a text changes the events that the removal names; those do not count as broken."""
    previous, expected = b"", 1
    changed: dict[int, str] = {}
    missing: list[int] = []
    with store.rows.frozen() as rows:
        for row in rows.events([session_id]):
            if row.version != expected:
                missing.append(expected)
            if row.chained(previous) != row.hash:
                changed[row.version] = hashlib.sha256(row.state).hexdigest()
            if row.topic == TextRedacted.TOPIC:
                event = decode(row.stored(), row.position).event
                for named in event.events if isinstance(event, TextRedacted) else ():
                    if changed.get(named.version) == named.hash:
                        del changed[named.version]
            previous, expected = row.hash, row.version + 1
    return ChainCheck(expected - 1, previous.hex(), min((*missing, *changed), default=None))


Fault = tuple[int, str]
"""A position, and what is wrong there."""


def misplaced(rows: Rows, before: Recorded | None, recorded: Recorded) -> Iterator[Fault]:
    """What is wrong with the place of this event, which follows `before` in its session."""
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


# -- long texts ------------------------------------------------------------------------------------------------------


_DIGEST = re.compile(rb'"(?:digest|template)":"[0-9a-f]{64}"')
_TEXT = {"head", "length", "digest"}
_PROMPT = {"what", "sessionId", "version", "template", "language"}


def mentioned(state: bytes) -> Iterator[str]:
    """The digests of the texts in an event's row; none for a row that is not JSON."""
    if _DIGEST.search(state) is None:  # most events have none and need not be parsed
        return
    try:
        yield from _walk(orjson.loads(state))
    except orjson.JSONDecodeError:
        return


def _walk(value: Any) -> Iterator[str]:
    match value:
        case {"digest": str() as digest} if value.keys() == _TEXT:
            yield digest
        case {"template": str() as digest} if value.keys() == _PROMPT:
            yield digest
        case dict():
            for part in value.values():
                yield from _walk(part)
        case list():
            for part in value:
                yield from _walk(part)
        case _:
            return


# -- what a verification found -----------------------------------------------------------------------------------------


MOST: Final = 100
"""Faults that are reported; the rest of a log that has more is not read."""


class Unchecked(HansardError):
    """Something outside the log could not be checked; that says nothing about the log."""


@dataclass(frozen=True, slots=True)
class LogFault:
    """What is wrong, and where: a position of the log, or None for the file as a whole."""

    position: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class NamedRedaction:
    """A text that was removed from the log, and the event that says so."""

    digest: str
    session_id: str
    position: int
    actor: str
    reason: str


@dataclass(slots=True)
class Verification:
    """What a verification found; `root` is the tree head over all events (hex), `unchecked` why the views were not."""

    events: int = 0
    sessions: int = 0
    head: int = 0
    root: str = ""
    unchecked: str | None = None
    redacted: list[NamedRedaction] = field(default_factory=list)
    faults: list[LogFault] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults

    @property
    def full(self) -> bool:
        """Whether no more faults are reported."""
        return len(self.faults) >= MOST

    @property
    def first_bad(self) -> int | None:
        """The first position with a fault; None if none is known."""
        return min((fault.position for fault in self.faults if fault.position is not None), default=None)

    def blame(self, position: int | None, problem: str) -> None:
        if not self.full:
            self.faults.append(LogFault(position, problem))
