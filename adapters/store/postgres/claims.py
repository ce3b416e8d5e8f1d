"""Names that one process of all machines holds at a time. A claim ends with the connection that holds it, and so with
its process."""

import threading
from contextlib import ExitStack
from typing import Final

import psycopg

from adapters.store.errors import StoreError
from adapters.store.postgres.connection import Connections, PostgresConnection

_SPACE: Final = 32
"""Keeps these names apart from other locks in the database."""


class PostgresClaims:
    """Claims over one connection of their own. Safe for many threads."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._lending = ExitStack()
        self._connection: PostgresConnection | None = None
        self._held: set[str] = set()

    def take(self, name: str) -> bool:
        """Hold the name, or go on holding it. False while another process does, or if the database does not answer."""
        with self._lock:
            try:
                return self._taken(self._open(), name)
            except StoreError:
                return False

    def _taken(self, connection: PostgresConnection, name: str) -> bool:
        held = name in self._held
        sql = "SELECT true WHERE ? <> ''" if held else f"SELECT pg_try_advisory_lock(hashtextextended(?, {_SPACE}))"
        try:
            row = connection.execute(sql, (name,)).fetchone()
        except psycopg.Error as error:
            self._drop(error)
            return False
        is_ours = bool(row and row[0])
        if is_ours:
            self._held.add(name)
        return is_ours

    def _open(self) -> PostgresConnection:
        worn = self._connection is not None and self._connections.is_worn(self._connection)
        if worn or (self._connection is not None and self._connection.raw.closed):
            self._drop(None)
        if self._connection is None:
            self._connection = self._lending.enter_context(self._connections.lent())
        return self._connection

    def _drop(self, error: psycopg.Error | None) -> None:
        """Close the connection, and with it end every claim. Raises the error as a StoreError."""
        if self._connection is not None:
            self._connection.raw.close()
        self._connection, self._held = None, set()
        lending, self._lending = self._lending, ExitStack()
        lending.__exit__(None if error is None else type(error), error, None)

    def give_back(self, name: str) -> None:
        """Let others hold the name."""
        with self._lock:
            if name not in self._held or self._connection is None:
                return
            self._held.discard(name)
            try:
                sql = f"SELECT pg_advisory_unlock(hashtextextended(?, {_SPACE}))"
                self._connection.execute(sql, (name,))
            except psycopg.Error:  # the claim ends with the connection
                self._drop(None)

    def close(self) -> None:
        """End every claim."""
        with self._lock:
            self._drop(None)
            self._connections.close()
