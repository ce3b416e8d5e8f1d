"""Who may use the log, for all nodes: keys by digest, the secret that signs sign-ins, links that work once."""

from typing import Final

from adapters.store.keys import CHECK, REVOKED, StoredKey, revocation_check
from adapters.store.port import Access, SqlConnection

_KEEP: Final = "INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING"


class SqlVault:
    """The tables `keys`, `secrets` and `links`. `aged` says in SQL which links are too old."""

    def __init__(self, reading: Access, writing: Access, *, aged: str) -> None:
        self._reading, self._writing, self._aged = reading, writing, aged

    def all_keys(self) -> list[StoredKey]:
        with self._reading() as connection:
            rows = connection.execute("SELECT name, digest, scope, expires FROM keys ORDER BY name").fetchall()
        return [StoredKey(*row) for row in rows]

    def add(self, key: StoredKey) -> bool:
        with self._writing() as connection:
            done = connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", key)
            if done.rowcount == 1:
                connection.execute(_KEEP, (f"{CHECK}{key.name}", key.check))
            return done.rowcount == 1

    def remove(self, name: str) -> bool:
        with self._writing() as connection:
            [digest] = connection.execute("SELECT digest FROM keys WHERE name = ?", [name]).fetchone() or ("",)
            if not digest:
                return False
            connection.execute("DELETE FROM keys WHERE name = ?", [name])
            connection.execute("DELETE FROM secrets WHERE name = ?", [f"{CHECK}{name}"])
            _bar(connection, digest)
            return True

    def bar(self, digest: str) -> None:
        with self._writing() as connection:
            _bar(connection, digest)

    def was_revoked(self, digest: str) -> bool:
        return self._secret(f"{REVOKED}{digest}") is not None

    def secret(self, name: str, fresh: bytes) -> bytes:
        existing = self._secret(name)
        if existing is not None:
            return existing
        with self._writing() as connection:
            connection.execute(_KEEP, (name, fresh))
        return self._secret(name) or b""

    def _secret(self, name: str) -> bytes | None:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM secrets WHERE name = ?", [name]).fetchone()
        return None if row is None else bytes(row[0])

    def put_link(self, digest: str, name: str) -> None:
        with self._writing() as connection:
            connection.execute(f"DELETE FROM links WHERE {self._aged}")
            connection.execute("INSERT INTO links (digest, name) VALUES (?, ?)", (digest, name))

    def take_link(self, digest: str) -> str | None:
        with self._writing() as connection:
            row = connection.execute("DELETE FROM links WHERE digest = ? RETURNING name", [digest]).fetchone()
        return None if row is None else str(row[0])


def _bar(connection: SqlConnection, digest: str) -> None:
    name = f"{REVOKED}{digest}"
    connection.execute(_KEEP, (name, revocation_check(name)))
