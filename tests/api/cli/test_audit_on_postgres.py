"""A log on PostgreSQL whose events are rewritten by someone who can write to the database: `verify` names them,
`rebuild` does not paper over them, and no later event excuses them, whatever it says."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
import psycopg
import pytest

from adapters.store.location import open_store
from adapters.store.rows import chained
from adapters.store.sql.compression import pack, unpack
from domain.session.redaction import TextRedacted
from tests.api.cli.conftest import Hansard
from tests.kit.postgres import cluster, require
from tests.projections.stage import Stage

Row = tuple[int, int, str, bytes, int, bytes]
"""Position, version, topic, state, form and hash."""


@pytest.fixture
def url(hansard: Hansard, own_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A log with a delivery and a decided debate, moved to PostgreSQL; its views are made."""
    require()
    own_log.parent.mkdir()
    stage = Stage(own_log.parent)
    stage.delivers().answers("delivery-1", "One module.")
    stage.orchestrates().discusses()
    stage.store.close()
    stage.store.path.rename(own_log)
    result = cluster().database(tmp_path)
    moved = hansard("migrate", str(own_log), result)
    assert moved.code == 0, moved.err
    monkeypatch.setenv("HANSARD_DATABASE", result)
    assert hansard("list").code == 0
    yield result
    cluster().free(tmp_path)


def of_stream(connection: psycopg.Connection, stream: str) -> list[Row]:
    asked = "SELECT position, version, topic, state, form, hash FROM hansard.events WHERE stream = %s ORDER BY version"
    return connection.execute(asked, (stream,)).fetchall()


def rewrite(url: str, stream: str, version: int, *, chain: bool) -> tuple[int, bytes]:
    """Change who did it; compute all hashes again, or leave them. The position, and what the event says now."""
    with psycopg.connect(url) as connection:
        rows = of_stream(connection, stream)
        place, _, _, state, *_ = rows[version - 1]
        changed = orjson.dumps(orjson.loads(unpack(state)) | {"actor": "person:the-cto"})
        connection.execute("UPDATE hansard.events SET state = %s WHERE position = %s", (pack(changed), place))
        previous = rows[version - 2][5]
        for position, number, topic, state, form, _ in of_stream(connection, stream)[version - 1 :] if chain else ():
            previous = chained(previous, stream, number, topic, unpack(state), form)
            connection.execute("UPDATE hansard.events SET hash = %s WHERE position = %s", (previous, position))
    return place, changed


def excuse(url: str, stream: str, version: int, state: bytes) -> None:
    """Append a redaction of a text that never was, chained, which names what the event says now."""
    named = [{"version": version, "hash": hashlib.sha256(state).hexdigest()}]
    data = {"digest": "0" * 64, "reason": "a key was printed", "events": named}
    words = orjson.dumps({"at": 1, "actor": "person:root", "command": "c1", "data": data})
    with psycopg.connect(url) as connection:
        position, number, _, _, form, previous = of_stream(connection, stream)[-1]
        digest = chained(previous, stream, number + 1, TextRedacted.TOPIC, words, form)
        [(position,)] = connection.execute("SELECT max(position) + 1 FROM hansard.events").fetchall()
        connection.execute(
            "INSERT INTO hansard.events (position, stream, version, topic, state, form, hash)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (position, stream, number + 1, TextRedacted.TOPIC, words, form, digest),
        )
        connection.execute("UPDATE hansard.log SET position = %s", (position,))


def test_an_event_that_was_rewritten_with_its_hashes_is_named(hansard: Hansard, url: str, tmp_path: Path) -> None:
    kept = tmp_path / "checkpoint"
    kept.write_text(hansard("checkpoint").out)
    place, _ = rewrite(url, "delivery-1", 3, chain=True)
    for words in (("verify",), ("verify", "--checkpoint", str(kept)), ("rebuild",)):
        result = hansard(*words)
        assert result.code == 8
        assert f"position {place}: delivery-1 version 3 was rewritten" in result.out, words
    assert "Nothing was rebuilt" in result.err


def test_no_redaction_excuses_a_rewritten_event(hansard: Hansard, url: str, tmp_path: Path) -> None:
    kept = tmp_path / "checkpoint"
    kept.write_text(hansard("checkpoint").out)
    place, state = rewrite(url, "delivery-1", 3, chain=False)
    excuse(url, "delivery-1", 3, state)
    for words in (("verify",), ("verify", "--checkpoint", str(kept)), ("rebuild",)):
        result = hansard(*words)
        assert result.code == 8
        assert result.out.startswith(f"position {place}: "), words
    assert hansard("export", "--output", str(tmp_path / "out.jsonl")).code != 0


def test_an_export_is_restored_beside_the_keys_and_links_that_the_database_has(
    url: str, hansard: Hansard, tmp_path: Path
) -> None:
    export = tmp_path / "log.jsonl"
    export.write_text(hansard("export").out, encoding="utf-8")
    assert hansard("key", "new", "ada").code == 0
    with closing(open_store(url)) as store:
        assert store.vault is not None
        store.vault.put_link("a" * 64, "ada")
    done = hansard("restore", str(export))
    assert done.code == 0, done.err
    verified = hansard("verify")
    assert verified.code == 0, verified.out
    assert "ada" in hansard("key", "list").out
    with closing(open_store(url)) as store:
        assert store.vault is not None
        assert store.vault.take_link("a" * 64) == "ada"
    assert hansard("verify").code == 0
