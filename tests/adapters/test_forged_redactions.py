"""Given a log in which someone changed an event and appended a redaction that claims to be the reason."""

import json
import shutil
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
from adapters.store import seal
from adapters.store.blanks import blanked
from adapters.store.rows import Row
from adapters.store.seal import FORM
from adapters.store.sqlite.sealed_log import sealed
from domain.session.redaction import (
    REDACTED,
    TextRedacted,
)
from tests.adapters.audited import copied, exported, opened, with_plain, written

NOTHING = sha256(b"anything").hexdigest()


@pytest.fixture(scope="module")
def new_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("new"), seed=3, steps=60)


@pytest.fixture(scope="module")
def log(new_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same log as an older version wrote it: all of its events are of the first form."""
    path = Path(shutil.copy(new_log, tmp_path_factory.mktemp("log") / "log.db"))
    heads: dict[str, bytes] = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for row in rows_of(new_log):
            heads[row.stream] = row._replace(form=1).chained(heads.get(row.stream, b""))
            values = (heads[row.stream], row.position)
            connection.execute("UPDATE events SET form = 1, hash = ? WHERE position = ?", values)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


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


def quoted_words(value: object) -> str:
    match value:
        case {"digest": str(), "head": str() as head}:
            return head
        case dict():
            return next((found for part in value.values() if (found := quoted_words(part))), "")
        case list():
            return next((found for part in value if (found := quoted_words(part))), "")
        case _:
            return ""


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


WHOLE = "b" * 20_000
QUOTE = {"digest": sha256(WHOLE.encode()).hexdigest()}
FIRST_FORM = FORM - 1


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


def test_a_log_of_an_older_version_verifies(log: Path) -> None:
    assert checked(log).faults == []


def test_in_the_new_form_no_redaction_excuses_a_change_beside_a_blanked_quote(new_log: Path, tmp_path: Path) -> None:
    path = copied(new_log, tmp_path)
    victim, digest = with_long_text(path)
    assert victim.form == 2
    forged(path, victim, digest, blanked_and_rewritten(digest))
    assert victim.position in [each.position for each in checked(path).faults]


def test_a_new_event_that_claims_the_old_form_is_not_excused(new_log: Path, tmp_path: Path) -> None:
    """Neighbour: the forger takes the hash of the first form, which covers the quotes, for an event of the second."""
    path = copied(new_log, tmp_path)
    victim, digest = next(
        (row, found)
        for row in rows_of(path)
        if row.version > 1 and (found := quoted(orjson.loads(row.state))) is not None
    )
    forged(path, victim, digest, blanked_and_rewritten(digest))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET form = 1 WHERE position = ?", (victim.position,))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert victim.position in [each.position for each in checked(path).faults]


def test_in_the_new_form_a_quote_must_be_the_beginning_of_its_text(new_log: Path, tmp_path: Path) -> None:
    """No hash covers the quote, so another one would go unnoticed."""
    path = copied(new_log, tmp_path)
    victim, _ = with_long_text(path)
    words = quoted_words(orjson.loads(victim.state))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        now = victim.state.replace(orjson.dumps(words)[1:-1], b"I, the CTO, approve")
        assert now != victim.state
        connection.execute("UPDATE events SET state = ? WHERE position = ?", (now, victim.position))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert "fault_quote_changed" in problems(checked(path))
    with opened(tmp_path / "new.db") as store, pytest.raises(NotImported):
        take_in(store, exported(path).splitlines(keepends=True))


def test_in_the_new_form_a_blank_needs_a_redaction(new_log: Path, tmp_path: Path) -> None:
    path = copied(new_log, tmp_path)
    victim, _ = with_long_text(path)
    words = quoted_words(orjson.loads(victim.state))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        now = victim.state.replace(orjson.dumps(words)[1:-1], REDACTED.encode())
        connection.execute("UPDATE events SET state = ? WHERE position = ?", (now, victim.position))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert "fault_quote_changed" in problems(checked(path))


def test_a_form_cannot_be_exchanged(new_log: Path, tmp_path: Path) -> None:
    for form in (1, 3, 0):
        path = copied(new_log, tmp_path / str(form))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE events SET form = ? WHERE position = 6", (form,))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert [each.position for each in checked(path).faults] == [6], form


@pytest.mark.parametrize(
    "data",
    [
        {"text": {"head": "b" * 16_384, "length": 20_000, "digest": sha256(b"b" * 20_000).hexdigest()}},
        {"prompt": "b" * 20_000},
        {"prompts": ["a", {"deep/path": "b" * 20_000}], "text": {"head": "x", "length": 1, "digest": None}},
    ],
)
def test_a_redaction_changes_no_hash(data: dict[str, object]) -> None:
    digest = sha256(b"b" * 20_000).hexdigest()
    state = orjson.dumps({"at": 1, "actor": "person:ada", "data": data})
    gone = blanked(state, digest, FORM)
    assert b"bbbb" not in gone and REDACTED.encode() in gone
    assert seal.sealed(gone, FORM) == seal.sealed(state, FORM) != state
    assert blanked(gone, digest, FORM) == gone
    other = gone.replace(b"person:ada", b"person:eve")
    assert seal.sealed(other, FORM) != seal.sealed(state, FORM)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (QUOTE | {"head": "b" * 100}, QUOTE | {"head": REDACTED}),
        (
            {"texts": ["a", {"deep": QUOTE | {"head": "b" * 100}}]},
            {"texts": ["a", {"deep": QUOTE | {"head": REDACTED}}]},
        ),
        ({"prompt": WHOLE, "n": 1}, {"prompt": REDACTED, "n": 1}),
        ({"prompts": [WHOLE, "a", [WHOLE]]}, {"prompts": [REDACTED, "a", [REDACTED]]}),
        ({"prompt": WHOLE, "text": QUOTE | {"head": "b"}}, {"prompt": REDACTED, "text": QUOTE | {"head": REDACTED}}),
        (QUOTE | {"head": REDACTED}, None),
        (QUOTE | {"head": "b", "digest": "0" * 64}, None),
        ({"prompts": ["b", WHOLE + "b", 5, None]}, None),
        ([], None),
    ],
    ids=["quote", "deep-quote", "whole", "whole-in-lists", "both", "gone-already", "another", "nothing", "empty"],
)
def test_an_event_of_the_first_form_loses_the_text_wherever_it_is(before: object, after: object | None) -> None:
    """What has nothing of it stays as it is, byte by byte: with its blanks, too."""
    state = json.dumps(before).encode()
    gone = blanked(state, QUOTE["digest"], FIRST_FORM)
    assert gone == state if after is None else json.loads(gone) == after


def test_what_is_not_written_as_we_write_it_is_hashed_as_it_is() -> None:
    """Such as a name that is there twice: readers and hash might take different ones."""
    digest = "a" * 64
    state = b'{"data":{"head":"x","digest":"%s"},"actor":"a","actor":"b"}' % digest.encode()
    assert seal.sealed(state, FORM) == state
    assert seal.sealed(b"no json" * 1_000, FORM) == b"no json" * 1_000
