"""Trying out a database: what is written is there afterwards, and notifications arrive."""

import secrets
from contextlib import closing
from typing import Final

from adapters.store.errors import StoreError
from adapters.store.postgres.connection import Connections
from domain.values.sentences import Sentence

_ARRIVAL_SECONDS: Final = 3.0
_SETTING: Final = "lock_timeout"
_VALUE: Final = "2500ms"
"""A setting of every connection of ours: a pooler that drops it drops all of them."""


def try_out(url: str, *, has_log: bool) -> None:
    """Raises StoreError with what does not work: the settings of a session, LISTEN, and writing, if it has a log."""
    name = f"doctor-{secrets.token_hex(8)}"
    with closing(Connections(url, size=1)) as here, closing(Connections(url, size=1)) as there:
        _settings(here)
        if has_log:
            _write_and_read(here, name)
        _notifications(here, there, f"hansard_{secrets.token_hex(8)}")


def _write_and_read(connections: Connections, name: str) -> None:
    """The row of a process that does not count as alive."""
    with connections.transaction() as connection:
        connection.execute("INSERT INTO nodes VALUES (?, 'server', 0)", [name])
    with connections.lent() as connection:
        row = connection.execute("SELECT role FROM nodes WHERE name = ?", [name]).fetchone()
    with connections.transaction() as connection:
        connection.execute("DELETE FROM nodes WHERE name = ?", [name])
    if row != ("server",):
        raise StoreError(Sentence("database_write", database=connections.name))


def _settings(connections: Connections) -> None:
    with connections.lent() as connection:
        if connection.execute("SELECT current_setting(?)", [_SETTING]).fetchone() != (_VALUE,):
            raise StoreError(Sentence("database_options", database=connections.name, setting=_SETTING))


def _notifications(here: Connections, there: Connections, channel: str) -> None:
    with here.lent() as listener, there.lent() as sender:
        listener.execute(f"LISTEN {channel}")
        sender.execute("SELECT pg_notify(?, '')", [channel])
        arrived = list(listener.raw.notifies(timeout=_ARRIVAL_SECONDS, stop_after=1))
        listener.execute(f"UNLISTEN {channel}")
    if not arrived:
        raise StoreError(Sentence("database_listen", database=here.name))
