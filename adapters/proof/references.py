"""What events refer to: their causes, which must come earlier, and their long texts.

The chains protect the order within each session; between sessions, positions protect what one transaction wrote. This
also holds for imports (a file keeps the order of its log) and forks, so an unchanged log has no faults.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from domain.session.record import Recorded, mark

Fault = tuple[int, str]
"""A position, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class _Last:
    """The newest event of a stream: its position, command, cause and time."""

    position: int
    version: int
    decision: tuple[str, str, int]


class PositionOrder:
    """The order so far; events are added by position."""

    def __init__(self) -> None:
        self._last: dict[str, _Last] = {}
        self._early: dict[tuple[str, str], Recorded] = {}

    def follow(self, recorded: Recorded) -> Iterator[Fault]:
        """What is wrong with the place of this event, or now turns out to be wrong with an earlier one."""
        yield from self._apart(recorded)
        yield from self._before_its_cause(recorded)
        self._last[recorded.session_id] = _Last(recorded.position, recorded.version, mark(recorded))

    def _apart(self, recorded: Recorded) -> Iterator[Fault]:
        last = self._last.get(recorded.session_id)
        if last is None or last.decision != mark(recorded):
            return
        if recorded.position != last.position + 1 and recorded.version == last.version + 1:
            place = f"it stands at position {recorded.position}"
            yield last.position + 1, f"{recorded.event_id} belongs here, with the events of its command; {place}"

    def _before_its_cause(self, recorded: Recorded) -> Iterator[Fault]:
        """Only the effects of one command are compared, in streams that existed: others may be imported later."""
        effect = self._early.pop((recorded.event_id, recorded.causation.command_id), None)
        if effect is not None:
            yield effect.position, f"{effect.event_id} stands before {recorded.event_id}, which is its cause"
        stream, _, version = recorded.causation.causation_id.rpartition(":")
        last = self._last.get(stream)
        if last is not None and stream != recorded.session_id and version.isdecimal() and last.version < int(version):
            self._early[recorded.causation.causation_id, recorded.causation.command_id] = recorded


# -- long texts ------------------------------------------------------------------------------------------------------


_DIGEST = re.compile(rb'"digest":"[0-9a-f]{64}"')
_TEXT = {"head", "length", "digest"}


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
        case dict():
            for part in value.values():
                yield from _walk(part)
        case list():
            for part in value:
                yield from _walk(part)
        case _:
            return
