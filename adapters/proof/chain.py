"""The chain of one session: whether each of its events is the one that was hashed when it was written."""

import hashlib
from dataclasses import dataclass

from adapters.store.mapper import decode
from adapters.store.port import Log
from domain.session.redaction import TextRedacted


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """So many events, the hash of the last (hex), and the first version that is missing or was changed, if any."""

    events: int
    hash: str
    broken: int | None

    @property
    def sound(self) -> bool:
        return self.broken is None


def check_chain(store: Log, session_id: str) -> ChainCheck:
    """A text that was removed by name leaves the events that its removal names; those are not broken."""
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
