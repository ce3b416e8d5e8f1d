"""Who may use the log, for all nodes: keys by digest, the secret that signs sign-ins, links that work once."""

from typing import Final

from adapters.store.postgres.connection import Connections
from adapters.store.vault import StoredKey

_LINKS_FOR: Final = "interval '1 day'"


class PostgresVault:
    """The tables `keys`, `secrets` and `links`."""

    def __init__(self, readers: Connections, writers: Connections) -> None:
        self._readers, self._writers = readers, writers

    def all_keys(self) -> list[StoredKey]:
        with self._readers.lent() as connection:
            rows = connection.execute("SELECT name, digest, scope, expires FROM keys ORDER BY name").fetchall()
        return [StoredKey(*row) for row in rows]

    def add(self, key: StoredKey) -> bool:
        with self._writers.transaction() as connection:
            done = connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", key)
            return done.rowcount == 1

    def remove(self, name: str) -> bool:
        with self._writers.transaction() as connection:
            return connection.execute("DELETE FROM keys WHERE name = ?", [name]).rowcount == 1

    def secret(self, name: str, fresh: bytes) -> bytes:
        with self._writers.transaction() as connection:
            connection.execute("INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING", (name, fresh))
            [kept] = connection.execute("SELECT value FROM secrets WHERE name = ?", [name]).fetchone() or (b"",)
            return bytes(kept)

    def put_link(self, digest: str, name: str) -> None:
        with self._writers.transaction() as connection:
            connection.execute(f"DELETE FROM links WHERE made < now() - {_LINKS_FOR}")
            connection.execute("INSERT INTO links (digest, name) VALUES (?, ?)", (digest, name))

    def take_link(self, digest: str) -> str | None:
        with self._writers.transaction() as connection:
            row = connection.execute("DELETE FROM links WHERE digest = ? RETURNING name", [digest]).fetchone()
        return None if row is None else str(row[0])
