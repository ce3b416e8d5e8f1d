"""Which processes use the log."""

from typing import Final

from adapters.store.port import NODE_SECONDS, Node
from adapters.store.postgres.connection import PostgresConnection

NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_FORGOTTEN_MS: Final = 86_400_000


def attend(connection: PostgresConnection, name: str, role: str) -> None:
    connection.execute(
        f"INSERT INTO nodes VALUES (?, ?, {NOW}) ON CONFLICT (name) DO UPDATE SET last_seen = excluded.last_seen",
        (name, role),
    )
    connection.execute(f"DELETE FROM nodes WHERE last_seen < {NOW} - ?", [_FORGOTTEN_MS])


def leave(connection: PostgresConnection, name: str) -> None:
    connection.execute("DELETE FROM nodes WHERE name = ?", [name])


def live(connection: PostgresConnection) -> list[Node]:
    rows = connection.execute(
        f"SELECT name, role, last_seen FROM nodes WHERE last_seen > {NOW} - ? ORDER BY role, name",
        [round(NODE_SECONDS * 1000)],
    )
    return [Node(*row) for row in rows]
