"""The port of the log: what every store keeps, what it answers, and how it fails.

    StoreError                 the store cannot be opened or does not answer; a later try may succeed
    ├── Broken                 it will not answer until a person repairs the file or its folder
    │   └── DamagedEvent       an event cannot be read
    ├── Conflict               another process wrote first
    ├── Rewound                the log has gone back since this process last wrote to it
    └── Fenced                 the attempt that answers a turn does not hold its lease

A store runs in many threads, and several may share one log. An answer leaves after its bytes are safe.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, Protocol

from adapters.store.keys import Vault
from adapters.store.rows import SIZE, Row, Rows
from adapters.store.shares import Shares
from adapters.store.turns import Turns
from domain.session.record import Causation, Omitted, Recorded, Sight
from domain.values.base import Blob, DomainEvent

PAGE = 500
NODE_SECONDS: Final = 15.0
"""A process that was not seen for this long counts as gone."""
NO_LIMIT: Final = 2**62
Values = Sequence[Any] | Mapping[str, Any]
"""Parameters of a statement: `?` or `:name`."""


class SqlResult(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """A connection, or an object with the same methods."""

    def execute(self, sql: str, values: Values = (), /) -> SqlResult: ...


Access = Callable[[], AbstractContextManager[SqlConnection]]
"""Lends a connection. Errors of the database are raised as StoreError."""


class NewEvent(NamedTuple):
    """An event to be stored as version `version` of its session."""

    session_id: str
    version: int
    at: int
    causation: Causation
    event: DomainEvent

    def recorded(self, position: int) -> Recorded:
        return Recorded(position, self.session_id, self.version, self.at, self.causation, self.event)


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """The first answer to a command, stored with its events: the same key always gets the same bytes."""

    key: str
    fingerprint: str
    status: int
    body: bytes
    at: int

    @property
    def digest(self) -> bytes:
        """SHA-256 over all of it, each part with its length: stored with the receipt, so that damage is found."""
        texts = (self.key.encode(), self.fingerprint.encode(), self.body, b"%d,%d" % (self.status, self.at))
        return sha256(b"".join(SIZE(len(text)) + text for text in texts)).digest()


class Write(NamedTuple):
    """Everything that one command changes, stored as a whole or not at all. `receipt` gets the last position."""

    entries: Sequence[NewEvent] = ()
    blobs: Sequence[Blob] = ()
    receipt: Callable[[int], StoredReceipt] | None = None
    adopted: bool = False
    """The entries are another session's history: its turns ended there."""


class Texts(Protocol):
    """The store of long texts."""

    def text(self, digest: str) -> str | None:
        """A long text by its digest."""


class Log(Texts, Protocol):
    """The reading half of a log."""

    @property
    def rows(self) -> Rows: ...

    def head(self) -> int:
        """The newest position, 0 for an empty log."""

    def sight(self, *positions: int) -> Sight:
        """The end of the log, and the marks of its events at these positions, all of one moment."""

    def gone_back(self, since: int) -> int:
        """Note that the log has gone back since its epoch `since`, unless another process has; the epoch now."""

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> list[Recorded]:
        """The events of a session with versions `after`+1 … `upto`."""

    def beginnings(self, sessions: Sequence[str]) -> list[Recorded]:
        """The first event of each of these sessions."""

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        sessions: Sequence[str] | None = None,
        omitted: Omitted | None = None,
    ) -> list[Recorded]:
        """The events after a position, at most `limit`, perhaps of some sessions, perhaps without some fields."""


class SealedLog(Log, Protocol):
    """A log that is only read."""

    def turns_of(self, agent: str) -> dict[str, int]:
        """The numbers of the agent's turns that wait and that run."""


class Node(NamedTuple):
    """A process that uses the log; `last_seen` in milliseconds."""

    name: str
    role: Literal["server", "worker"]
    last_seen: int
    agents: str = ""
    """The agents that it announces; empty where it runs no turns, or is of a version that announces nothing."""


class Attendances(Protocol):
    """The times at which processes that run turns were last there, by the agents that they have, in milliseconds.
    Raises StoreError."""

    every: float
    """The seconds between two notes of a process."""

    def note(self, agents: str, at: int) -> None:
        """Note that a process with these agents is there."""

    def noted(self) -> Mapping[str, int]:
        """Return when processes with these agents were last there."""


class NameClaims(Protocol):
    """Names that one process of all machines holds at a time. What a process holds ends with it."""

    def take(self, name: str) -> bool:
        """Hold the name, or go on holding it. False while another process does, or if the store does not answer."""

    def give_back(self, name: str) -> None:
        """Let others hold the name."""


class Store(Log, Protocol):
    """One log. Safe for many threads."""

    @property
    def turns(self) -> Turns: ...

    @property
    def clock(self) -> Callable[[], int]:
        """Milliseconds since 1970, by the clock that leases and deadlines use."""

    @property
    def vault(self) -> Vault | None:
        """None if files on the single machine are enough."""

    @property
    def shares(self) -> Shares | None:
        """None if all workspaces are on the single machine."""

    @property
    def attendances(self) -> Attendances | None:
        """Returns when teams were last there; None if files on the single machine are enough."""

    @property
    def claims(self) -> NameClaims | None:
        """Names that one process of all machines holds; None if locked files on the single machine are enough."""

    @property
    def outbox(self) -> Access | None:
        """Lends the tables of unsent notifications, to one process at a time; None if a file on the single machine is
        enough."""

    def listen(self, woken: Callable[[], None]) -> None:
        """Call this soon after another process has written, if the store can tell. Only a hint: it may get lost."""

    def attend(self, name: str, role: Literal["server", "worker"], agents: str = "") -> None:
        """Report that this process is alive, and what it announces of its agents; repeat every few seconds."""

    def leave(self, name: str) -> None:
        """Report that this process has ended."""

    def nodes(self) -> list[Node]:
        """The processes that were there in the last `NODE_SECONDS`, as far as the store knows of others."""

    def append(self, writes: Sequence[Write]) -> list[list[Recorded]]:
        """Store the writes in one transaction; the recorded events of each, in order.

        Raises Conflict (with every stream and key that is taken), Fenced (the attempt that settles a turn does not hold
        it), Rewound (once; another try is based on the log as it is now) or StoreError; then nothing is stored.
        """

    def import_rows(self, rows: Sequence[Row], texts: Iterable[tuple[str, str]]) -> None:
        """Store histories of another log, all or nothing. Their open turns are not run. Raises Conflict."""

    def history(
        self,
        session_id: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        topics: Sequence[str] | None = None,
    ) -> list[Recorded]:
        """The events of a session with versions `after`+1 … `upto`, at most `limit`, perhaps of some types alone."""

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        kind: str | None = None,
        topic: str | None = None,
        session_id: str | None = None,
        sessions: Sequence[str] | None = None,
        omitted: Omitted | None = None,
    ) -> list[Recorded]:
        """The events after a position, at most `limit`: of the whole log, or of one kind or type, of one session or
        some; perhaps without some fields."""

    def version(self, session_id: str) -> int:
        """The newest version of a session, 0 if there is none."""

    def receipt(self, key: str) -> StoredReceipt | None:
        """The first answer that was given under this key."""

    def receipts(self, keys: Sequence[str]) -> dict[str, StoredReceipt]:
        """The first answers that were given under these keys."""

    @property
    def failing(self) -> bool:
        """True if the last write failed and no later one has succeeded."""

    def failure(self) -> str | None:
        """Returns why the last write failed. Tries again where that may be over (a full disk)."""

    def close(self) -> None:
        """Later use raises StoreError."""
