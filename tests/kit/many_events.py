"""A log of as many events as wanted, made of copies of a small one: all kinds of sessions, side by side."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from adapters.store.rows import Row
from adapters.store.sql.compression import pack, unpack
from adapters.store.sqlite.store import SqliteStore


class _Event(NamedTuple):
    """An event of the small log. `parts` are of its state, with the name of a session between each two."""

    stream: str
    version: int
    topic: str
    parts: list[bytes]


def multiply(small: Path, big: Path, events: int) -> int:
    """Write copies of the small log, each with its own names, until there are so many events. Returns how many."""
    SqliteStore(str(big)).close()
    with closing(sqlite3.connect(big, isolation_level=None)) as log:
        log.execute("PRAGMA synchronous=OFF")
        log.execute("ATTACH ? AS small", (str(small),))
        log.execute("BEGIN")
        log.execute("INSERT INTO main.texts SELECT * FROM small.texts")
        result = _events(log)
        copies = -(-events // len(result))
        for number in range(copies):
            log.executemany("INSERT INTO main.events VALUES (?, ?, ?, ?, ?, ?, ?)", _copied(result, number))
            _copy_turns(log, number)
        log.execute("COMMIT")
    return copies * len(result)


def _events(log: sqlite3.Connection) -> list[_Event]:
    rows = log.execute("SELECT stream, version, topic, state FROM small.events ORDER BY position").fetchall()
    names = sorted({row[0] for row in rows}, key=len, reverse=True)
    named = re.compile(rb"(" + b"|".join(re.escape(name.encode()) for name in names) + rb")(?![0-9a-z])")
    return [_Event(stream, version, topic, named.split(unpack(state))) for stream, version, topic, state in rows]


def _copied(found: list[_Event], number: int) -> list[Row]:
    """The events of one copy, chained."""
    suffix, heads, rows = b"x%d" % number, dict[str, bytes](), list[Row]()
    for place, event in enumerate(found, start=1):
        parts = [part + suffix if odd % 2 else part for odd, part in enumerate(event.parts)]
        stream = f"{event.stream}x{number}"
        row = Row(number * len(found) + place, stream, event.version, event.topic, b"".join(parts), b"")
        row = row._replace(hash=row.chained(heads.get(stream, b"")))
        heads[stream] = row.hash
        rows.append(row._replace(state=pack(row.state)))
    return rows


def _copy_turns(log: sqlite3.Connection, number: int) -> None:
    """A turn is named after its session."""
    log.execute(
        "INSERT INTO main.turns SELECT replace(turn_id, stream, stream || 'x' || :n), stream || 'x' || :n, version,"
        " work, agent, role, state, attempt, worker, lease_until, deadline, requested_at, owner, rank, NULL"
        " FROM small.turns",
        {"n": number},
    )
