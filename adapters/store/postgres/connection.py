"""Connections to PostgreSQL that give up in time, so that no caller waits long for an unreachable database.

A stopped server answers with an error, a frozen one does not answer at all. Both end a statement within `PATIENCE`
seconds, and for a moment no other connection tries.
"""

import math
import queue
import re
import select
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from adapters.store.errors import Broken, StoreError
from adapters.store.port import Values
from adapters.store.postgres.address import address_of
from adapters.store.postgres.primary import Primaries, without
from domain.values.sentences import Sentence

PATIENCE: Final = 3.0
"""Seconds for one statement, or for opening a connection."""
LONG: Final = 600.0
"""Seconds for a statement of a tool that reads or writes the whole log."""
BYTES_PER_SECOND: Final = 2_000_000
"""A database that gives or takes less of a long text is one that does not answer."""
_FREE_SECONDS: Final = 2.5
"""Seconds that callers wait for a connection if all are in use."""
_PAUSE: Final = 0.5
"""After a connection could not be opened, or did not answer, no connection tries for this many seconds."""
_DAMAGED: Final = ("XX001", "XX002")
_READ_ONLY: Final = "25006"
_TURN_SECONDS: Final = 5.0
"""Connections are all opened again at most as often because the database says that it is read-only."""
_SESSION: Final = {
    "search_path": "hansard",
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "synchronous_commit": "on",
    "lock_timeout": "2500ms",
    "statement_timeout": "5s",
    "idle_in_transaction_session_timeout": "5s",
}
"""An answer leaves after the commit is safe, whatever the database's own default is. The last three release what a
frozen process holds, so that others do not wait longer for it."""
_TCP: Final = {"keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "2", "tcp_user_timeout": "5000"}


class Unconfirmed(StoreError):
    """The database did not say whether it committed."""


def _parts(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:  # its text quotes the URL, with the password
        raise StoreError(Sentence("database_url")) from None


def name_of(url: str) -> str:
    """The database's display name: without password and options. Raises StoreError if it is not a URL."""
    try:
        return str(address_of(url))
    except ValueError:
        raise StoreError(Sentence("database_url")) from None


class PatientConnection(psycopg.Connection[TupleRow]):
    """A connection that is closed if a statement takes too long."""

    patience = PATIENCE
    epoch = 0
    """The outage's, when it was opened."""
    looked_at = -math.inf
    """The time at which the database was last seen to keep its promises."""

    @contextmanager
    def slower(self, seconds: float) -> Iterator[None]:
        """A statement may take so much longer."""
        before = self.patience
        self.patience += seconds
        try:
            yield
        finally:
            self.patience = before

    def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.patience)
        except psycopg.OperationalError as error:
            if error.sqlstate is not None:
                raise
            self.close()  # no answer: whatever follows would wait as long
            if isinstance(error, psycopg.errors._WaitTimeout):
                raise psycopg.OperationalError(f"no answer for {self.patience:g} seconds") from error
            raise


class PostgresConnection:
    """The interface that the common SQL uses: parameters are `?` or `:name`."""

    def __init__(self, raw: PatientConnection) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Values = (), /) -> psycopg.Cursor[TupleRow]:
        return self.raw.execute(_translated(sql), values or None)


@lru_cache
def _translated(sql: str) -> str:
    """Our parameters in psycopg's format."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", sql).replace("?", "%s")


class Outage:
    """An unresponsive database, as known to all its connections; for a moment none of them tries."""

    def __init__(self) -> None:
        self._until = 0.0
        self._why: StoreError | None = None
        self.epoch = 0
        """How often connections became worthless that still answer."""
        self._turned = -math.inf
        self._is_read_only = False
        self._primaries = Primaries()

    def is_former(self, connection: "PatientConnection") -> bool:
        """Returns whether another server has taken over from this one. If this one has just taken over, what was opened
        before is closed instead of being used again: it may still be to the other one."""
        result = self._primaries.compare(connection)
        if result > 0:
            self.epoch += 1
        return result < 0

    def turn(self) -> None:
        """The database is read-only, so perhaps it is not the primary any more: what was opened before is closed
        instead of being used again."""
        self._is_read_only = True
        if time.monotonic() - self._turned > _TURN_SECONDS:
            self.epoch, self._turned = self.epoch + 1, time.monotonic()

    def settle(self, connection: "PatientConnection") -> None:
        """This connection takes changes. If others did not, all but this one are closed: those that were opened in the
        meantime may still be to the old primary."""
        if self._is_read_only:
            self._is_read_only = False
            self.epoch += 1
            connection.epoch = self.epoch

    def begin(self, why: StoreError) -> None:
        self._why, self._until = why, time.monotonic() + _PAUSE

    def check(self) -> None:
        """Raise the error again, without trying."""
        if self._why is not None and time.monotonic() < self._until:
            raise StoreError(*self._why.args)


class Connections:
    """Up to `size` connections, opened when they are needed, for any thread."""

    def __init__(
        self, url: str, *, size: int, read_only: bool = False, outage: Outage | None = None, **instead: str
    ) -> None:
        """`instead` overrides parts of the URL."""
        self.name = name_of(url)
        parameters = _parts(url) | instead
        options = " ".join(
            [parameters.get("options") or "", *(f"-c {name}={value}" for name, value in _SESSION.items())]
        )
        self._parameters = {
            "application_name": "hansard",
            "connect_timeout": round(PATIENCE),
            **_TCP,
            **parameters,
            "options": options,
        }
        self._slots: queue.LifoQueue[PatientConnection | None] = queue.LifoQueue()
        for _ in range(size):
            self._slots.put(None)
        self._closed, self._outage, self._is_read_only = False, outage or Outage(), read_only
        self._epoch = self._outage.epoch

    def close(self) -> None:
        """Close the connections, those in use when they are returned; later use raises StoreError."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        taken = []
        with suppress(queue.Empty):
            while True:
                taken.append(self._slots.get_nowait())
        for connection in taken:
            if connection is not None:
                connection.close()
            self._slots.put(None)

    @contextmanager
    def lent(self) -> Iterator[PostgresConnection]:
        """A connection outside of any transaction. Errors leave it as StoreError, except for IntegrityError: only who
        writes knows what that means."""
        self._check()
        if self._epoch != self._outage.epoch:
            self._epoch = self._outage.epoch
            self._close_idle()
        try:
            connection = self._slots.get(timeout=_FREE_SECONDS)
        except queue.Empty:
            raise StoreError(Sentence("database_busy", database=self.name)) from None
        try:
            self._check()
            if connection is None or connection.epoch != self._outage.epoch or not _is_sound(connection):
                connection = self._opened(connection)
            yield PostgresConnection(connection)
        except psycopg.IntegrityError:
            raise
        except psycopg.Error as error:
            if error.sqlstate == _READ_ONLY and not self._is_read_only and connection is not None:
                raise self.refuse_read_only(connection) from error
            raise self._failed(error, lost=connection is None or connection.closed) from error
        finally:
            self._put_back(connection)

    @contextmanager
    def transaction(self, begin: str = "BEGIN", *, longer: float = 0.0) -> Iterator[PostgresConnection]:
        """A connection in a transaction: committed at the end, rolled back at an error. Each of its statements may take
        so many seconds longer. Raises Unconfirmed where only the commit failed."""
        committing = False
        try:
            with self.lent() as connection, connection.raw.slower(longer):
                connection.raw.execute(begin)
                if longer:
                    connection.raw.execute(f"SET LOCAL statement_timeout = '{5 + round(longer)}s'".encode())
                try:
                    yield connection
                    committing = True
                    connection.raw.execute("COMMIT")
                except BaseException:
                    if not connection.raw.closed:
                        connection.raw.execute("ROLLBACK")
                    raise
        except StoreError as error:
            if committing:
                raise Unconfirmed(*error.args) from error
            raise

    def _check(self) -> None:
        """Raise what is known to be the case without trying."""
        if self._closed:
            raise StoreError(Sentence("database_closed", database=self.name))
        self._outage.check()

    def _opened(self, worn: PatientConnection | None) -> PatientConnection:
        if worn is not None:
            worn.close()
        parameters: dict[str, Any] | None = self._parameters
        while parameters is not None:
            # Prepared by the driver, a statement of a pipeline that failed would be thought to be there.
            connection = PatientConnection.connect(make_conninfo(**parameters), autocommit=True, prepare_threshold=None)
            if not self._outage.is_former(connection):
                break
            parameters = without(parameters, connection)
            connection.close()
        else:
            raise StoreError(Sentence("database_former", database=self.name))
        connection.epoch = self._outage.epoch
        if self._is_read_only:  # not as an option: to `target_session_attrs=read-write` the primary would be read-only
            connection.execute("SET default_transaction_read_only = on")
        return connection

    def refuse_read_only(self, connection: PatientConnection) -> StoreError:
        """Close a connection to a read-only database, so that the next try finds the primary where that is another one
        now. Returns the error to raise."""
        connection.close()
        self._outage.turn()
        return StoreError(Sentence("database_read_only", database=self.name))

    def is_worn(self, connection: PostgresConnection) -> bool:
        """Returns whether a connection that is lent for long should be given back."""
        return connection.raw.epoch != self._outage.epoch

    def _put_back(self, connection: PatientConnection | None) -> None:
        if connection is not None and (
            self._closed or connection.closed or connection.info.transaction_status != TransactionStatus.IDLE
        ):
            connection.close()
            connection = None
        self._slots.put(connection)

    def _failed(self, error: psycopg.Error, *, lost: bool) -> StoreError:
        """The failure as an error of ours."""
        detail = " ".join(str(error).split()).rstrip(".")
        if error.sqlstate in _DAMAGED:
            return Broken(Sentence("database_damaged", database=self.name, detail=detail))
        if not lost:
            return StoreError(Sentence("database_refused", database=self.name, detail=detail))
        failure = StoreError(Sentence("database_away", database=self.name, detail=detail))
        self._outage.begin(failure)
        return failure


def _is_sound(connection: PatientConnection) -> bool:
    """True if an idle connection may be used: only a server that ends it sends anything unasked."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)
