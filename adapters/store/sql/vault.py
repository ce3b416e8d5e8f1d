"""Keeps who may use the log, for all nodes: keys by digest, the secret that signs sign-ins, links that work once."""

from typing import Final

from adapters.store.keys import CHECK, LINK, REVOKED, StoredKey, link_check, revocation_check
from adapters.store.port import Access, SqlConnection

_KEEP: Final = "INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING"


class SqlVault:
    """The tables `keys`, `secrets` and `links`. `aged` says in SQL which links are too old, `made` when one was made,
    as a whole number."""

    def __init__(self, reading: Access, writing: Access, *, aged: str, made: str) -> None:
        self._reading, self._writing, self._aged, self._made = reading, writing, aged, made

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
            aged = connection.execute(f"DELETE FROM links WHERE {self._aged} RETURNING digest").fetchall()
            for (old,) in aged:
                _forget_check(connection, old)
            [made] = connection.execute(
                f"INSERT INTO links (digest, name) VALUES (?, ?) RETURNING {self._made}", (digest, name)
            ).fetchone() or (0,)
            connection.execute(_KEEP, (f"{LINK}{digest}", link_check(digest, name, made)))

    def take_link(self, digest: str) -> str | None:
        with self._writing() as connection:
            row = connection.execute("DELETE FROM links WHERE digest = ? RETURNING name", [digest]).fetchone()
            _forget_check(connection, digest)
        return None if row is None else str(row[0])


def _forget_check(connection: SqlConnection, digest: str) -> None:
    connection.execute("DELETE FROM secrets WHERE name = ?", [f"{LINK}{digest}"])


def _bar(connection: SqlConnection, digest: str) -> None:
    name = f"{REVOKED}{digest}"
    connection.execute(_KEEP, (name, revocation_check(name)))
