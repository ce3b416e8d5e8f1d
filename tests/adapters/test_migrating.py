"""A log moves to another store and back, and stays the same (contract-2 §14)."""

import random
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from adapters.proof import checkpoints
from adapters.proof.transfer import export
from adapters.proof.verify import verify
from adapters.store.location import open_store, reading
from adapters.store.migration import Moving, NotEmpty, Page, migrate
from adapters.store.port import NewEvent, Store, Write
from adapters.store.sql.log import SqlRecorder
from domain.values.base import INLINE_BYTES, Text
from tests.adapters.stores_under_test import CAUSE, delivery_story, receipt, write
from tests.kit.claiming import claim
from tests.kit.postgres import cluster, require
from tests.kit.stories import START


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """A file, a database, and another file."""
    require()
    yield f"sqlite:///{tmp_path / 'one.db'}", cluster().database(tmp_path), f"sqlite:///{tmp_path / 'two.db'}"
    cluster().free(tmp_path)


WORDS = "말 \0" * INLINE_BYTES


def fill(store: Store) -> None:
    """A long text, receipts, a running turn and a waiting one."""
    _, [blob] = Text.of(WORDS)
    store.append([write(delivery_story().begun, blobs=[blob], key="first")])
    store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2", key="second")])
    store.append([Write(receipt=lambda position: receipt("refused", position))])
    assert claim(store, "worker", now=START, lease_ms=60_000) is not None


def move(source: str, target: str) -> None:
    with reading(source) as log, closing(open_store(target)) as store:
        assert isinstance(store, SqlRecorder)
        migrate(log, store)


def lines(url: str) -> list[bytes]:
    with reading(url) as log:
        return list(export(log))


def test_a_log_that_goes_to_postgresql_and_back_is_the_same(places: tuple[str, str, str]) -> None:
    with closing(open_store(places[0])) as store:
        fill(store)
        before = [store.receipt(key) for key in ("first", "second", "refused")]
        signed = checkpoints.head(store)
    move(places[0], places[1])
    move(places[1], places[2])
    assert lines(places[0]) == lines(places[1]) == lines(places[2])
    for url in places[1:]:
        with reading(url) as log:
            assert verify(log).sound
            assert checkpoints.holds(log, signed) is None
        with closing(open_store(url)) as store:
            assert store.text(sha256(WORDS.encode()).hexdigest()) == WORDS
            assert [store.receipt(key) for key in ("first", "second", "refused")] == before
            # Both turns wait, and the attempt that was under way does not count as the next one.
            assert store.turns.count() == {"queued": 2, "running": 0}
            assert claim(store, "other", now=START, lease_ms=60_000).attempt == 2  # type: ignore[union-attr]
            [recorded] = store.append(
                [Write([NewEvent("delivery-3", 1, START, CAUSE, delivery_story("delivery-3").begun[0])])]
            )
            assert recorded[0].position == 7


def test_long_texts_move_a_few_at_a_time_and_take_their_time(
    places: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transcripts have megabytes: a page of hundreds of them is more than a statement, and memory, can take."""
    from adapters.store.postgres.connection import PatientConnection

    texts = [Text.of(f"{number} {random.Random(number).randbytes(1_000_000).hex()}") for number in range(12)]  # noqa: S311
    with closing(open_store(places[0])) as store:
        store.append([write(delivery_story().begun, blobs=[blob for _, blobs in texts for blob in blobs])])
    monkeypatch.setattr(PatientConnection, "patience", 0.2)
    move(places[0], places[1])
    pages: list[int] = []
    with reading(places[1]) as log, closing(open_store(places[2])) as store:
        assert isinstance(store, SqlRecorder)
        taken = store.take_over

        def take_over(source: Iterable[Page]) -> None:
            taken(pages.append(len(rows)) or (table, rows) for table, rows in source if table == "texts")  # type: ignore[func-returns-value]

        monkeypatch.setattr(store, "take_over", take_over)
        migrate(log, store)
    assert sum(pages) == len(texts) and max(pages) <= 3


@pytest.mark.parametrize("target", [1, 2])
def test_a_target_that_is_not_empty_is_refused_and_not_changed(places: tuple[str, str, str], target: int) -> None:
    for url in (places[0], places[target]):
        with closing(open_store(url)) as store:
            store.append([write(delivery_story().begun)])
    before = lines(places[target])
    with pytest.raises(NotEmpty, match="The target already holds a log"):
        move(places[0], places[target])
    assert lines(places[target]) == before


@pytest.mark.parametrize("target", [1, 2])
def test_a_source_that_is_written_to_meanwhile_is_not_copied(places: tuple[str, str, str], target: int) -> None:
    with (
        closing(open_store(places[0])) as busy,
        reading(places[0]) as log,
        closing(open_store(places[target])) as store,
    ):
        busy.append([write(delivery_story().begun)])
        assert isinstance(store, SqlRecorder)
        real = log.rows.last_given
        written = iter([delivery_story("delivery-2").begun])

        def last_given() -> int:
            for begun in written:
                busy.append([write(begun, session_id="delivery-2")])
            return real()

        log.rows.last_given = last_given  # type: ignore[method-assign]
        with pytest.raises(Moving, match="Something wrote to the source"):
            migrate(log, store)
        assert (store.head(), store.turns.count()) == (0, {"queued": 0, "running": 0})
