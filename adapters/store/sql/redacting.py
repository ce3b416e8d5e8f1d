"""Removing a text from the log: the text itself, and its beginning in the events that quote it."""

from collections.abc import Sequence

from adapters.store.append import Redaction
from adapters.store.mapper import blanked
from adapters.store.sql.connection import SqlConnection

_OF_EVENT = "WHERE stream = ? AND version = ?"


def redact(connection: SqlConnection, redactions: Sequence[Redaction], content: str | bytes) -> None:
    """In the transaction that records it. `content` replaces the text, in the column type of the table."""
    for redaction in redactions:
        connection.execute("UPDATE texts SET content = ? WHERE digest = ?", (content, redaction.digest))
        for version in redaction.versions:
            place = (redaction.stream, version)
            row = connection.execute(f"SELECT state FROM events {_OF_EVENT}", place).fetchone()
            if row is not None:
                state = blanked(bytes(row[0]), redaction.digest)
                connection.execute(f"UPDATE events SET state = ? {_OF_EVENT}", (state, *place))
