"""Given: logs with sessions of every kind, long texts, children and channels, closed and in one file."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from adapters.proof.transfer import export
from adapters.proof.verdict import Verification
from adapters.proof.verify import verify
from adapters.store.keys import LOGIN, StoredKey
from adapters.store.port import Store, StoredReceipt, Write
from adapters.store.rows import chained
from adapters.store.sql.compression import pack, unpack
from adapters.store.sqlite.sealed_log import sealed
from adapters.store.sqlite.store import SqliteStore
from tests.projections.given import NOON
from tests.projections.walks import wander


def written(folder: Path, *, seed: int = 1, steps: int = 40) -> Path:
    """A log of some hundred events, in a file with no other files next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    stage = wander(folder, seed, steps)
    _add_receipts_keys_and_a_link(stage.store)
    stage.store.close()
    assert not (folder / "log.db-wal").exists()
    return folder / "log.db"


def _add_receipts_keys_and_a_link(store: Store) -> None:
    answers = [StoredReceipt(f"key-{number}", f"{number:064x}", 202, b'{"version":1}', NOON) for number in range(20)]
    store.append([Write(receipt=lambda _, receipt=receipt: receipt) for receipt in answers])  # type: ignore[misc]
    assert store.vault is not None
    for number in range(5):
        store.vault.add(StoredKey(f"person-{number}", f"{number:064x}", "operate", NOON + number))
    store.vault.remove("person-4")
    store.vault.bar("f" * 64)
    store.vault.secret(LOGIN, b"signs")
    store.vault.put_link("e" * 64, "person-1")


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    with closing(SqliteStore(str(path))) as store:
        yield store


def copied(path: Path, folder: Path) -> Path:
    """A copy to do harm to."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, folder / "harmed.db"))


def harmed(path: Path, *statements: str) -> None:
    """Change a closed log without its knowledge."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with_plain(connection)
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def verified(path: Path) -> Verification:
    """As the command line does it: the file is only read."""
    with sealed(path) as log:
        return verify(log)


def exported(path: Path, session_id: str | None = None) -> bytes:
    with sealed(path) as log:
        return b"".join(export(log, session_id))


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        with_plain(connection)
        return connection.execute(statement).fetchall()


def with_plain(connection: sqlite3.Connection) -> None:
    """Statements may say `plain(state)`: the JSON of an event, which the file may hold packed."""
    connection.create_function("plain", 1, unpack, deterministic=True)


def rewritten(path: Path, position: int, old: str, new: str) -> tuple[str, int]:
    """Change what an event says and compute all hashes again, as someone who knows how would. Its session and
    version."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        asked = "SELECT stream, version, topic, state, form FROM events WHERE position = ?"
        stream, version, topic, state, form = connection.execute(asked, (position,)).fetchone()
        words = unpack(state)
        assert old.encode() in words
        changed = pack(words.replace(old.encode(), new.encode()))
        connection.execute("UPDATE events SET state = ? WHERE position = ?", (changed, position))
        asked = "SELECT position, version, topic, state, form, hash FROM events WHERE stream = ? ORDER BY version"
        previous = b""
        for place, number, topic, state, form, digest in connection.execute(asked, (stream,)).fetchall():
            previous = digest if number < version else chained(previous, stream, number, topic, unpack(state), form)
            connection.execute("UPDATE events SET hash = ? WHERE position = ?", (previous, place))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return stream, version
