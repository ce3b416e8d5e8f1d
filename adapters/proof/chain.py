"""The hash chain of one session."""

import hashlib
from dataclasses import dataclass

from adapters.store.mapper import decode
from adapters.store.port import Log
from domain.session.history import TextRedacted


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
