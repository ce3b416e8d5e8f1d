"""Notes which processes use the log."""

from typing import Final

from adapters.store.port import NODE_SECONDS, Access, Node
from adapters.store.postgres.connection import PostgresConnection

NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_FORGOTTEN_MS: Final = 86_400_000


ANNOUNCEMENTS: Final = """
CREATE TABLE IF NOT EXISTS announcements (name text COLLATE "C" PRIMARY KEY, agents text NOT NULL);
"""


ATTENDED: Final = """
CREATE TABLE IF NOT EXISTS attended (agents text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
"""


class PostgresAttendances:
    """The times at which teams were last there, on any machine."""

    every = 5.0

    def __init__(self, reading: Access, transaction: Access) -> None:
        self._reading, self._transaction = reading, transaction

    def note(self, agents: str, at: int) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO attended VALUES (?, ?) ON CONFLICT (agents)"
                " DO UPDATE SET until = greatest(attended.until, excluded.until)",
                (agents, at),
            )

    def noted(self) -> dict[str, int]:
        with self._reading() as connection:
            return dict(connection.execute("SELECT agents, until FROM attended").fetchall())


def attend(connection: PostgresConnection, name: str, role: str, agents: str) -> None:
    connection.execute(
        f"INSERT INTO nodes VALUES (?, ?, {NOW}) ON CONFLICT (name) DO UPDATE SET last_seen = excluded.last_seen",
        (name, role),
    )
    connection.execute(
        "INSERT INTO announcements VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET agents = excluded.agents"
        " WHERE announcements.agents <> excluded.agents",
        (name, agents),
    )
    connection.execute(f"DELETE FROM nodes WHERE last_seen < {NOW} - ?", [_FORGOTTEN_MS])
    connection.execute("DELETE FROM announcements WHERE name NOT IN (SELECT name FROM nodes)")


def leave(connection: PostgresConnection, name: str) -> None:
    connection.execute("DELETE FROM nodes WHERE name = ?", [name])
    connection.execute("DELETE FROM announcements WHERE name = ?", [name])


def live(connection: PostgresConnection) -> list[Node]:
    rows = connection.execute(
        "SELECT name, role, last_seen, coalesce(agents, '') FROM nodes LEFT JOIN announcements USING (name)"
        f" WHERE last_seen > {NOW} - ? ORDER BY role, name",
        [round(NODE_SECONDS * 1000)],
    )
    return [Node(*row) for row in rows]
