"""Decides which changed events a redaction excuses: only those in which quotes of its text are blanked.

An event of the first form is hashed with what it quotes, so its hash cannot tell what a redaction has changed. It is
excused only if the redaction names a text that the log has or had and the event has a blanked quote of it. That more
was changed cannot be seen: such an event is "redacted, not provable". A checkpoint from before knows better.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from adapters.proof.verdict import NamedRedaction, UnprovableEvent, Verification
from adapters.store.errors import DamagedEvent
from adapters.store.mapper import decode
from adapters.store.rows import Row
from adapters.store.seal import FORM
from domain.session.redaction import REDACTED, TextRedacted
from domain.values.sentences import Sentence

_WHOLE = ""
"""In place of a digest: a value that was a whole text, and does not say which."""


class _ChangedEvent(NamedTuple):
    """An event whose hash does not fit."""

    position: int
    hash: str
    blanked: frozenset[str]


class ChangedEvents:
    """The events whose hashes do not fit, until a redaction excuses them."""

    def __init__(self, stored: Callable[[Sequence[str]], Set[str]]) -> None:
        """`stored`: those of these digests that the log has a text for, if only a blank one."""
        self._stored = stored
        self._changed: dict[tuple[str, int], _ChangedEvent] = {}

    def add(self, row: Row, *, form: int) -> None:
        """Note an event whose hash does not fit; `form` is the newest of its session so far. A redaction changes no
        hash from the second form on, and no session goes back to the first."""
        hashed = sha256(row.state).hexdigest()
        blanked = blanked_in(row.state) if max(form, row.form) < FORM else frozenset()
        self._changed[row.stream, row.version] = _ChangedEvent(row.position, hashed, blanked)

    def excuse(self, row: Row, verdict: Verification, covered: int, allowed: Set[str]) -> None:
        """Follow an event that may be a redaction. `covered`: the last position that a checkpoint covers; `allowed`:
        the texts that may be missing before it."""
        event = redaction_in(row)
        if event is None:
            return
        actor = decode(row.stored(), row.position).causation.actor
        newer = 0 < covered < row.position
        about = NamedRedaction(event.digest, row.stream, row.position, actor, event.reason, newer=newer)
        verdict.redacted.append(about)
        for version in self.excused(row.stream, event):
            position = self._changed.pop((row.stream, version)).position
            if position <= covered and event.digest not in allowed:
                fault = Sentence("fault_covered_changed", id=row.stream, number=version, digest=event.digest)
                verdict.blame(position, fault)
            else:
                verdict.unprovable.append(UnprovableEvent(row.stream, version, position, event.digest))

    def excused(self, stream: str, event: TextRedacted) -> list[int]:
        """The changed versions of the stream that the redaction excuses."""
        named = [
            each.version
            for each in event.events
            if (changed := self._changed.get((stream, each.version))) is not None
            and changed.hash == each.hash
            and {event.digest, _WHOLE} & changed.blanked
        ]
        return named if named and self._stored([event.digest]) else []

    def drop(self, stream: str, event: TextRedacted) -> list[int]:
        """Forget the events that the redaction excuses. Returns their positions."""
        return [self._changed.pop((stream, version)).position for version in self.excused(stream, event)]

    def blame(self, verdict: Verification) -> None:
        """Name those that nothing excuses."""
        for (stream, version), changed in self._changed.items():
            verdict.blame(changed.position, Sentence("fault_event_changed", id=stream, number=version))

    def versions(self) -> list[int]:
        return [version for _, version in self._changed]

    def first(self) -> int | None:
        """The position of the first that nothing excuses."""
        return min((changed.position for changed in self._changed.values()), default=None)


def redaction_in(row: Row) -> TextRedacted | None:
    """The redaction that this row records, if it is one that can be read."""
    if row.topic != TextRedacted.TOPIC:
        return None
    try:
        event = decode(row.stored(), row.position).event
    except DamagedEvent:
        return None  # reported where all events are read
    return event if isinstance(event, TextRedacted) else None


def blanked_in(state: bytes) -> frozenset[str]:
    """The digests of the texts whose quotes are blanked in an event; "" stands for a whole value that was blanked."""
    try:
        return frozenset(_blanked(orjson.loads(state)))
    except orjson.JSONDecodeError:
        return frozenset()


def _blanked(value: Any) -> Iterator[str]:
    match value:
        case {"digest": str() as digest, "head": head} if head == REDACTED:
            yield digest
        case dict():
            for part in value.values():
                yield from _blanked(part)
        case list():
            for part in value:
                yield from _blanked(part)
        case _:
            if value == REDACTED:
                yield _WHOLE
