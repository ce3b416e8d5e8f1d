"""Given a log in which someone changed an event and appended a redaction that claims to be the reason."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from adapters.proof.transfer import NotImported, take_in
from adapters.proof.verdict import Verification
from adapters.proof.verify import verify
from adapters.store.rows import Row
from adapters.store.sqlite.sealed import sealed
from domain.session.redaction import (
    REDACTED,
    TextRedacted,
)
from tests.adapters.audited import copied, exported, opened, with_plain, written

NOTHING = sha256(b"anything").hexdigest()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("log"), seed=3, steps=60)


def rows_of(path: Path) -> list[Row]:
    with sealed(path) as store:
        return list(store.rows.events())


def with_long_text(path: Path) -> tuple[Row, str]:
    """An event that quotes the beginning of a long text, and the digest of the text."""
    for row in rows_of(path):
        if digest := quoted(orjson.loads(row.state)):
            return row, digest
    raise AssertionError("no event has a long text")


def quoted(value: object) -> str | None:
    match value:
        case {"digest": str() as digest, "head": str()}:
            return digest
        case dict():
            return next((found for part in value.values() if (found := quoted(part))), None)
        case list():
            return next((found for part in value if (found := quoted(part))), None)
        case _:
            return None


def forged(path: Path, victim: Row, digest: str, change: Callable[[bytes], bytes]) -> None:
    """Change an event, leave its hash, and append a chained redaction that names it."""
    now = change(victim.state)
    assert now != victim.state
    last = [row for row in rows_of(path) if row.stream == victim.stream][-1]
    named = [{"version": victim.version, "hash": sha256(now).hexdigest()}]
    data = {"digest": digest, "reason": "a key was printed", "events": named}
    state = orjson.dumps({"at": 1, "actor": "person:root", "command": "c1", "data": data})
    row = Row(0, victim.stream, last.version + 1, TextRedacted.TOPIC, state, b"")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with_plain(connection)
        connection.execute("UPDATE events SET state = ? WHERE position = ?", (now, victim.position))
        connection.execute(
            "INSERT INTO events (stream, version, topic, state, hash) VALUES (?, ?, ?, ?, ?)",
            (row.stream, row.version, row.topic, row.state, row.chained(last.hash)),
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def rewritten(state: bytes) -> bytes:
    """The event with another actor: nothing of it is a quote."""
    event = orjson.loads(state)
    return orjson.dumps(event | {"actor": "person:the-cto"})


def blanked_and_rewritten(digest: str) -> Callable[[bytes], bytes]:
    def change(state: bytes) -> bytes:
        def blank(value: object) -> object:
            match value:
                case {"digest": found, "head": str()} if found == digest:
                    return {**value, "head": REDACTED}
                case dict():
                    return {name: blank(part) for name, part in value.items()}
                case list():
                    return [blank(part) for part in value]
                case _:
                    return value

        return orjson.dumps(blank(orjson.loads(rewritten(state))))

    return change


def problems(verdict: Verification) -> list[str]:
    return [getattr(fault.problem, "code", "") for fault in verdict.faults]


def checked(path: Path, *, covered: int = 0, allowed: frozenset[str] = frozenset()) -> Verification:
    with sealed(path) as store:
        return verify(store, covered=covered, allowed=allowed)


def test_a_redaction_of_a_text_that_never_was_excuses_nothing(log: Path, tmp_path: Path) -> None:
    path = copied(log, tmp_path)
    forged(path, victim := rows_of(path)[5], NOTHING, rewritten)
    assert "fault_event_changed" in problems(verdict := checked(path))
    assert victim.position in [fault.position for fault in verdict.faults]
    assert verdict.unprovable == []


def test_a_redaction_of_another_text_of_the_log_excuses_nothing(log: Path, tmp_path: Path) -> None:
    """Neighbour: the digest is real, but the changed event has no blanked quote of it."""
    path = copied(log, tmp_path)
    _, digest = with_long_text(path)
    other = next(row for row in rows_of(path) if digest.encode() not in row.state)
    forged(path, other, digest, rewritten)
    assert "fault_event_changed" in problems(checked(path))


def test_a_blank_that_no_text_of_the_log_has_excuses_nothing(log: Path, tmp_path: Path) -> None:
    """Neighbour: the forger adds a blanked quote of a text that never was."""
    path = copied(log, tmp_path)

    def change(state: bytes) -> bytes:
        return orjson.dumps(orjson.loads(state) | {"x": {"head": REDACTED, "length": 9, "digest": NOTHING}})

    forged(path, rows_of(path)[5], NOTHING, change)
    assert "fault_event_changed" in problems(checked(path))


def test_what_is_rewritten_beside_a_blanked_quote_is_not_provable_without_a_checkpoint(
    log: Path, tmp_path: Path
) -> None:
    """Neighbour: the text and the quote are real. The hash of the first form cannot tell what else was changed."""
    path = copied(log, tmp_path)
    victim, digest = with_long_text(path)
    size = len(rows_of(path))
    forged(path, victim, digest, blanked_and_rewritten(digest))
    verdict = checked(path)
    assert "fault_event_changed" not in problems(verdict)
    assert [(each.session_id, each.version, each.digest) for each in verdict.unprovable] == [
        (victim.stream, victim.version, digest)
    ]
    covered = checked(path, covered=size)
    assert "fault_covered_changed" in problems(covered) and covered.unprovable == []
    assert [each.newer for each in covered.redacted if each.digest == digest] == [True]
    allowed = checked(path, covered=size, allowed=frozenset({digest}))
    assert "fault_covered_changed" not in problems(allowed) and len(allowed.unprovable) == 1
    assert "fault_covered_changed" in problems(checked(path, covered=size, allowed=frozenset({NOTHING})))


def test_an_import_accepts_no_forged_redaction(log: Path, tmp_path: Path) -> None:
    path = copied(log, tmp_path)
    forged(path, rows_of(path)[5], NOTHING, rewritten)
    with opened(tmp_path / "new.db") as store, pytest.raises(NotImported):
        take_in(store, exported(path).splitlines(keepends=True))
