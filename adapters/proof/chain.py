"""The hash chain of one session."""

from dataclasses import dataclass

from adapters.proof.redactions import ChangedEvents, redaction_in
from adapters.store.port import Log


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
    """Check the chain of a session. Events that a redaction excuses do not count as broken."""
    previous, expected, form = b"", 1, 1
    missing: list[int] = []
    with store.rows.frozen() as rows:
        changed = ChangedEvents(rows.known_texts)
        for row in rows.events([session_id]):
            if row.version != expected:
                missing.append(expected)
            if row.chained(previous) != row.hash:
                changed.add(row, form=form)
            if (event := redaction_in(row)) is not None:
                changed.drop(session_id, event)
            previous, expected, form = row.hash, row.version + 1, max(form, row.form)
    return ChainCheck(expected - 1, previous.hex(), min((*missing, *changed.versions()), default=None))
