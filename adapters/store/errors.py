"""The errors of a store."""

from collections.abc import Iterable

from eventsourcing.persistence import IntegrityError, StoredEvent

from domain.session.record import Recorded
from domain.values.base import HansardError
from domain.values.sentences import Sentence


class StoreError(HansardError):
    """The store cannot be opened or does not answer."""


class Broken(StoreError):
    """It will not answer until a person repairs the file or its folder."""


class DamagedEvent(Broken, ValueError):
    """An event of the log that cannot be read: it was changed, or a newer Hansard wrote it."""

    def __init__(self, row: StoredEvent, position: int, why: str) -> None:
        session_id, version = str(row.originator_id), row.originator_version
        super().__init__(Sentence("event_unreadable", position=position, version=version, id=session_id, detail=why))
        self.position, self.why = position, why
        self.readable: list[Recorded] = []
        """The events before it that the same query read."""


class Conflict(StoreError, IntegrityError):
    """Another process wrote first: `streams` have newer versions, `keys` already have a receipt."""

    def __init__(self, sentence: str = "", *, streams: Iterable[str] = (), keys: Iterable[str] = ()) -> None:
        self.streams, self.keys = frozenset(streams), frozenset(keys)
        names = sorted(self.streams)[:5] or [Sentence("the_log")]
        super().__init__(sentence or Sentence("changed_by_another_process", names=names))


class Rewound(StoreError):
    """The log has gone back since this process last wrote to it: what it knows of the sessions may never have been."""

    def __init__(self) -> None:
        super().__init__(Sentence("log_gone_back"))


class Fenced(StoreError):
    """The attempt that answers the turn does not hold its lease, or not any more."""

    def __init__(self, turn_id: str, attempt: int) -> None:
        super().__init__(f"Turn {turn_id} is not held by attempt {attempt}; its answer changes nothing.")
        self.turn_id, self.attempt = turn_id, attempt
