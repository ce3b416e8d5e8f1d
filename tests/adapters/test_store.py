"""The log, as every store has to keep it (P1, P4, P6, P14, P23, P27), and what the file of SQLite promises besides."""

import contextlib
import hashlib
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.application import LocalNotificationLog
from eventsourcing.persistence import ApplicationRecorder, IntegrityError, StoredEvent

from adapters.store.blanks import blanked
from adapters.store.errors import Broken, Conflict, DamagedEvent, Fenced, Rewound, StoreError
from adapters.store.location import open_store
from adapters.store.mapper import encode
from adapters.store.port import NewEvent, Store, Write
from adapters.store.sqlite.store import SqliteStore
from domain.delivery.commands import CancelDelivery
from domain.kinds import fold
from domain.session.redaction import RedactedEvent, TextRedacted
from domain.session.turns import TurnAnswered
from domain.values.base import INLINE_BYTES, Blob, Text
from tests.adapters.audited import with_plain
from tests.adapters.stores_under_test import CAUSE, Database, chain, delivery_story, entries, moments, receipt, write
from tests.kit.claiming import claim
from tests.kit.stories import START, DeliveryStory

ROOT = Path(__file__).parents[2]


def nothing(store: Store) -> bool:
    """Whether a refused write left no trace."""
    return (store.head(), store.turns.count()) == (0, {"queued": 0, "running": 0}) and store.receipt("key") is None


# -- writing and reading -------------------------------------------------------------------------------------------


def test_what_is_appended_is_what_is_read(store: Store) -> None:
    story = delivery_story().in_review()
    story.approves(after=1_000)
    items = [
        NewEvent(metadata.session_id, version, metadata.at, CAUSE, event)
        for version, (event, metadata) in enumerate(story.history, start=1)
    ]
    # As it happened: the turns are settled by the attempt that holds them.
    for entry in items:
        if isinstance(entry.event, TurnAnswered):
            claim(store, "worker", now=entry.at, lease_ms=1_000)
        store.append([Write([entry])])
    run = store.history("delivery-1")
    assert [recorded.event for recorded in run] == story.events
    assert [recorded.version for recorded in run] == list(range(1, len(items) + 1))
    assert {recorded.causation for recorded in run} == {CAUSE}
    assert (run[0].at, run[-1].at) == (START, START + 1_000)
    assert fold("delivery", moments(store, "delivery-1")) == story.delivery


def test_appending_answers_with_the_recorded_events_of_each_write_in_order(store: Store) -> None:
    first, second = delivery_story(), delivery_story("delivery-2")
    [one, two] = store.append([write(first.begun), write(second.begun, session_id="delivery-2")])
    assert one + two == store.log()
    assert [(result.session_id, result.version) for result in one + two] == [
        *(("delivery-1", 1), ("delivery-1", 2), ("delivery-1", 3)),
        *(("delivery-2", 1), ("delivery-2", 2), ("delivery-2", 3)),
    ]


def test_an_empty_log_has_nothing(store: Store) -> None:
    assert (store.head(), store.log(), store.history("delivery-1"), store.version("delivery-1")) == (0, [], [], 0)
    assert store.append([]) == []


def test_a_history_is_read_in_parts(store: Store) -> None:
    store.append([write(delivery_story().begun)])

    def versions(**part: Any) -> list[int]:
        return [result.version for result in store.history("delivery-1", **part)]

    assert versions() == [1, 2, 3]
    assert versions(after=1) == [2, 3]
    assert versions(upto=2) == [1, 2]
    assert versions(after=1, upto=2) == [2]
    assert versions(limit=1) == [1]
    assert versions(after=3) == []
    assert versions(upto=0) == []
    assert versions(topics=("turn.requested", "delivery.session_started"), limit=2) == [1, 3]
    assert versions(topics=()) == []
    assert store.version("delivery-1") == 3


@pytest.fixture
def three(store: Store) -> Store:
    return filled(store)


def filled(store: Store) -> Store:
    """Positions 1–3 and 7–8 are delivery-1, the last two of how it was cancelled; 4–6 are delivery-2."""
    story = delivery_story()
    store.append([write(story.begun)])
    store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    [called_off, *_, finished] = story.when(CancelDelivery())
    store.append([write([called_off, finished], after=3)])
    return store


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"after": 6}, [7, 8]),
        ({"limit": 2}, [1, 2]),
        ({"after": 2, "limit": 2}, [3, 4]),
        ({"topic": "turn.requested"}, [3, 6]),
        ({"session_id": "delivery-2"}, [4, 5, 6]),
        ({"session_id": "delivery-1", "topic": "turn.cancelled"}, [7]),
        ({"kind": "delivery", "after": 7}, [8]),
        ({"kind": "review"}, []),
        ({"kind": "deliver"}, []),
        ({"topic": "turn."}, []),
        ({"after": 8}, []),
        ({"sessions": ["delivery-2"], "limit": 2}, [4, 5]),
        ({"sessions": ["delivery-2", "delivery-1", "delivery-9"], "after": 6}, [7, 8]),
        ({"sessions": []}, []),
    ],
)
def test_the_log_is_read_by_position_kind_type_and_session(
    three: Store, wanted: dict[str, Any], positions: list[int]
) -> None:
    assert [result.position for result in three.log(**wanted)] == positions
    assert three.head() == 8


def test_the_first_events_of_sessions_are_read_at_once(three: Store) -> None:
    firsts = three.beginnings(["delivery-2", "delivery-1", "delivery-9"])
    assert sorted((first.session_id, first.version) for first in firsts) == [("delivery-1", 1), ("delivery-2", 1)]


def test_an_event_of_another_version_is_refused_and_never_resolved_by_its_name(store: Store) -> None:
    """S10: a topic is looked up, nothing is imported."""
    envelope = b'{"at":1,"actor":"a","command":"c","correlation":"c","causation":"c","data":{}}'
    store.insert_events([StoredEvent("delivery-1", 1, "os:system", envelope)])
    with pytest.raises(DamagedEvent):
        store.history("delivery-1")
    assert "os:system" in [row.topic for row in store.select_notifications(1, 10)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("topic = 'foo.bar'", "There is no event type 'foo.bar'"),
        ("state = substr(plain(state), 1, 40)", "unexpected end of data: line 1 column 41 (char 40)"),
        ("state = cast('[]' AS BLOB)", "it is no object"),
        ("state = cast('{}' AS BLOB)", "it lacks 'data'"),
        ("state = cast(json_set(cast(plain(state) AS TEXT), '$.data', 3) AS BLOB)", "data: Input should be an object"),
        (
            "state = cast(json_set(cast(plain(state) AS TEXT), '$.at', 'noon') AS BLOB)",
            "at: Input should be a valid integer",
        ),
        (
            "state = cast(json_set(cast(plain(state) AS TEXT), '$.v', 2) AS BLOB)",
            "is there in version 2, this Hansard reads",
        ),
        ("state = cast(json_remove(cast(plain(state) AS TEXT), '$.actor') AS BLOB)", "actor: Field required"),
    ],
)
def test_an_unreadable_event_is_named_and_the_events_before_it_are_kept(tmp_path: Path, change: str, why: str) -> None:
    """The text exists, so "not found" would be wrong; and this does not change, so no one needs to ask again."""
    three = filled(SqliteStore(str(tmp_path / "log.db")))
    with three._transaction() as connection:
        with_plain(connection)
        connection.execute(f"UPDATE events SET {change} WHERE position = 3")
    [stream, version] = next(row[1:3] for row in three.rows.events() if row.position == 3)
    reads: tuple[Callable[[], object], ...] = (three.log, lambda: three.history(stream))
    for read in reads:
        with pytest.raises(DamagedEvent) as result:
            read()
        assert str(result.value).startswith(
            f"The event at position 3 (version {version} of {stream}) cannot be read: {result.value.why}. "
        )
        assert why in result.value.why
        assert result.value.position == 3
        assert isinstance(result.value, Broken) and isinstance(result.value, ValueError)
    with pytest.raises(DamagedEvent) as result:
        three.log()
    assert [recorded.position for recorded in result.value.readable] == [1, 2]
    assert [recorded.position for recorded in three.log(after=3)] == [4, 5, 6, 7, 8]


# -- all or nothing ------------------------------------------------------------------------------------------------


def test_a_version_that_is_taken_is_a_conflict_and_nothing_is_stored(store: Store) -> None:
    """P6."""
    story = delivery_story()
    store.append([write(story.begun)])
    before = store.log()
    for after in (0, 1, 2):
        with pytest.raises(Conflict):
            store.append([write(delivery_story("delivery-1").begun, after=after, key="key")])
        assert (store.log(), store.receipt("key")) == (before, None)


@pytest.mark.parametrize("after", [1, 2, 100])
def test_a_version_without_its_predecessor_is_a_conflict_and_nothing_is_stored(store: Store, after: int) -> None:
    with pytest.raises(Conflict):
        store.append([write(delivery_story().begun, after=after, key="key")])
    assert nothing(store)


def test_versions_begin_with_one(store: Store) -> None:
    for after in (-1, -2):
        with pytest.raises(Conflict):
            store.append([write(delivery_story().begun[:1], after=after, key="key")])
    assert nothing(store)


def test_a_gap_inside_a_write_is_a_conflict(store: Store) -> None:
    [one, _, three] = entries(delivery_story().begun)
    with pytest.raises(Conflict):
        store.append([Write([one, three])])
    assert nothing(store)


def test_several_streams_are_stored_together_or_not_at_all(store: Store) -> None:
    """P4: one write that conflicts takes back the events, texts, turns and receipts of all."""
    store.append([write(delivery_story("delivery-3").begun, session_id="delivery-3")])
    before = store.log()
    good = write(delivery_story().begun, key="key", blobs=[Blob(digest="d", content="long")])
    with pytest.raises(Conflict):
        store.append([good, write(delivery_story("delivery-3").begun, session_id="delivery-3")])
    assert (store.log(), store.text("d"), store.receipt("key")) == (before, None, None)
    assert store.turns.count() == {"queued": 1, "running": 0}
    store.append([good, write(delivery_story("delivery-4").begun, session_id="delivery-4")])
    assert (store.head(), store.text("d")) == (9, "long")
    assert store.turns.count() == {"queued": 3, "running": 0}


def test_a_fenced_answer_takes_back_its_whole_batch(store: Store) -> None:
    story = delivery_story()
    store.append([write(story.begun)])
    answered = story.answer("plan")
    other = write(delivery_story("delivery-2").begun, session_id="delivery-2")
    with pytest.raises(Fenced):
        store.append([other, write(answered, after=3)])
    assert (store.head(), store.version("delivery-2")) == (3, 0)


def test_positions_only_rise_whatever_failed_in_between(store: Store) -> None:
    positions = []
    for number in range(5):
        name = f"delivery-{number}"
        [recorded] = store.append([write(delivery_story(name).begun, session_id=name)])
        positions += [result.position for result in recorded]
        with pytest.raises(Conflict):
            store.append([write(delivery_story(name).begun, session_id=name)])
    assert all(earlier < later for earlier, later in itertools.pairwise(positions))
    assert [result.position for result in store.log()] == positions


# -- texts and receipts --------------------------------------------------------------------------------------------


def test_a_long_text_is_stored_once_and_found_by_its_digest(store: Store) -> None:
    words = "말 " * INLINE_BYTES
    text, [blob] = Text.of(words)
    assert text.digest == blob.digest
    first, second = delivery_story(task="a"), delivery_story("delivery-2", task="b")
    store.append([write(first.begun, blobs=[blob])])
    store.append([write(second.begun, session_id="delivery-2", blobs=[blob, blob])])
    assert store.text(blob.digest) == words
    assert store.text("0" * 64) is None


def test_a_text_of_any_characters_comes_back_as_it_was(store: Store) -> None:
    """NUL, line ends, and what only looks like a line end (F11)."""
    words = "a\0b\r\n\u2028🙂\ufeff" * 5_000
    _, [blob] = Text.of(words)
    store.append([write(delivery_story().begun, blobs=[blob])])
    assert store.text(blob.digest) == words
    short = delivery_story("delivery-2", task="a\0b\r\n\u2028🙂")
    store.append([write(short.begun, session_id="delivery-2")])
    assert [result.event for result in store.history("delivery-2")] == short.begun


def test_a_receipt_is_kept_with_the_events_and_names_their_last_position(store: Store) -> None:
    store.append([write(delivery_story().begun, key="key")])
    assert store.receipt("key") == receipt("key", position=3)
    assert store.receipt("other") is None


def test_a_receipt_without_events_names_the_head(store: Store) -> None:
    store.append([write(delivery_story().begun)])
    store.append([write(key="key")])
    assert store.receipt("key") == receipt("key", position=3)


def test_a_key_is_used_once(store: Store) -> None:
    """P7: the second command's events are not stored either."""
    store.append([write(delivery_story().begun, key="key")])
    with pytest.raises(Conflict):
        store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2", key="key")])
    assert (store.head(), store.receipt("key")) == (3, receipt("key", position=3))


# -- several at once -----------------------------------------------------------------------------------------------


def test_two_openings_of_one_log_see_each_others_events(database: Database) -> None:
    """P4, F8: `twoIndependentStorageEnginesShouldSeeEachOthersAppends`."""
    mine, theirs = database.open(), database.open()
    mine.append([write(delivery_story().begun)])
    assert [result.version for result in theirs.history("delivery-1")] == [1, 2, 3]
    theirs.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert (mine.head(), mine.version("delivery-2")) == (6, 3)
    with pytest.raises(Conflict):
        theirs.append([write(delivery_story().begun)])


def test_exactly_one_of_many_writers_of_the_same_version_wins(database: Database) -> None:
    """P6, each with a store of its own."""
    stores = [database.open() for _ in range(8)]
    barrier = threading.Barrier(8, timeout=10)

    def try_it(store: Store, name: str) -> bool:
        barrier.wait()
        try:
            store.append([write(delivery_story(name).begun, session_id=name)])
        except Conflict:
            return False
        return True

    for number in range(10):
        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(try_it, stores, itertools.repeat(f"delivery-{number}"))) == [False] * 7 + [True]
    assert [result.position for result in stores[0].log()] == sorted({result.position for result in stores[0].log()})
    assert all(stores[0].version(f"delivery-{number}") == 3 for number in range(10))


def test_readers_see_every_event_once_and_in_order_while_it_is_written(store: Store) -> None:
    """P10: eight threads follow the log while it grows; none misses, repeats or reorders an event."""
    sessions = 60
    done = threading.Event()

    def follow() -> list[tuple[int, str, int]]:
        seen: list[tuple[int, str, int]] = []
        while True:
            last = done.is_set()
            while page := store.log(after=seen[-1][0] if seen else 0, limit=7):
                seen += [(result.position, result.session_id, result.version) for result in page]
            if last:
                return seen

    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(follow) for _ in range(8)]
        try:
            for number in range(sessions):
                name = f"delivery-{number}"
                store.append([write(delivery_story(name).begun, session_id=name)])
        finally:
            done.set()
        written = [(result.position, result.session_id, result.version) for result in store.log()]
        assert len(written) == 3 * sessions
        assert all(reader.result() == written for reader in readers)


@pytest.mark.parametrize("times", [5, pytest.param(30, marks=pytest.mark.nightly)])
def test_a_new_log_is_opened_by_many_at_once(database: Database, tmp_path: Path, times: int) -> None:
    """P27: replicas that boot together, again and again."""
    barrier = threading.Barrier(8, timeout=10)

    def boot(path: Path) -> Store:
        barrier.wait()
        return database.opener(path)

    with ThreadPoolExecutor(8) as threads:
        for number in range(times):
            stores = list(threads.map(boot, [tmp_path / f"{number}"] * 8))
            stores[0].append([write(delivery_story().begun)])
            assert {store.head() for store in stores} == {3}
            for store in stores:
                store.close()


WRITING = """
import sys
from adapters.store.location import open_store
from tests.adapters.stores_under_test import delivery_story, write
store = open_store(sys.argv[1])
while True:
    name = f"delivery-{store.head()}"
    store.append([write(delivery_story(name).begun, session_id=name, key=name)])
    print(name, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    """P1: kill -9 in the middle of writing, three times; every acknowledged write is there, whole, and once."""
    url = f"sqlite:///{tmp_path / 'log.db'}"
    acknowledged: list[str] = []
    for kill_after in (5, 17, 40):
        with subprocess.Popen(
            [sys.executable, "-c", WRITING, url], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            acknowledged += [line.strip() for line in itertools.islice(writer.stdout, kill_after)]
            writer.send_signal(signal.SIGKILL)
            acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
        store = open_store(url)
        try:
            _whole(store, acknowledged)
        finally:
            store.close()
    with sqlite3.connect(tmp_path / "log.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    file.close()
    assert len(acknowledged) == len(set(acknowledged)) >= 62


def _whole(store: Store, acknowledged: list[str]) -> None:
    for name in acknowledged:
        assert [result.version for result in store.history(name)] == [1, 2, 3]
        assert store.receipt(name) is not None
    result = {recorded.session_id for recorded in store.log(limit=10_000)}
    assert set(acknowledged) <= result
    assert store.turns.count() == {"queued": len(result), "running": 0}
    assert store.head() == 3 * len(result)


# -- the library's recorder ----------------------------------------------------------------------------------------


def test_the_librarys_own_tools_read_the_log(three: Store) -> None:
    assert isinstance(three, ApplicationRecorder)
    section = LocalNotificationLog(three, section_size=5)["1,5"]
    assert [notification.id for notification in section.items] == [1, 2, 3, 4, 5]
    assert section.next_id == "6,10"


@pytest.mark.parametrize(
    ("given", "versions"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"gt": 2}, [3, 4, 5]),
        ({"lte": 2}, [1, 2]),
        ({"gt": 1, "lte": 3}, [2, 3]),
        ({"desc": True, "limit": 2}, [5, 4]),
        ({"limit": 0}, []),
    ],
)
def test_the_library_selects_the_events_of_a_stream(three: Store, given: dict[str, Any], versions: list[int]) -> None:
    assert [row.originator_version for row in three.select_events("delivery-1", **given)] == versions


@pytest.mark.parametrize(
    ("start", "given", "positions"),
    [
        (None, {}, [1, 2, 3, 4, 5, 6, 7, 8]),
        (1, {}, [1, 2, 3, 4, 5, 6, 7, 8]),
        (3, {}, [3, 4, 5, 6, 7, 8]),
        (3, {"inclusive_of_start": False}, [4, 5, 6, 7, 8]),
        (3, {"stop": 5}, [3, 4, 5]),
        (1, {"topics": ("turn.requested", "turn.cancelled")}, [3, 6, 7]),
    ],
)
def test_the_library_selects_notifications(
    three: Store, start: int | None, given: dict[str, Any], positions: list[int]
) -> None:
    assert [row.id for row in three.select_notifications(start, 100, **given)] == positions
    assert [row.id for row in three.select_notifications(start, 2, **given)] == positions[:2]


def test_the_library_inserts_and_gets_an_error_for_a_taken_version(store: Store) -> None:
    assert store.max_notification_id() is None
    rows = [encode(entry) for entry in entries(delivery_story().begun)]
    assert list(store.insert_events(rows)) == [1, 2, 3]
    assert store.max_notification_id() == 3
    assert list(store.select_events("delivery-1")) == rows
    for wrong in (rows, [StoredEvent("delivery-1", 5, "turn.requested", b"{}")]):
        with pytest.raises(IntegrityError):
            store.insert_events(wrong)
    assert store.head() == 3


def test_the_log_is_not_followed_by_subscription(store: Store) -> None:
    with pytest.raises(NotImplementedError):
        store.subscribe()


# -- errors of the world -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["", "log.db", "sqlite://log.db", "sqlite:///", "mysql://x"])
def test_a_store_that_does_not_exist_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(StoreError, match="HANSARD_DATABASE must be sqlite:///path"):
        open_store(url)


def test_a_log_that_cannot_be_opened_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("This is no database, however long it is made. " * 100)
    for path in (tmp_path / "folder", tmp_path / "file", tmp_path / "file" / "log.db"):
        with pytest.raises(StoreError, match=rf"^The log {path} cannot be opened: .+\.$"):
            open_store(f"sqlite:///{path}")


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("table", ["notes (text)", "events (id, name)"])
def test_another_programs_database_is_refused_and_not_changed(tmp_path: Path, mode: str, table: str) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode={mode}")
        other.execute(f"CREATE TABLE {table}")
    before = path.read_bytes()
    with pytest.raises(Broken, match=f"^{path} is another program's SQLite database, not a Hansard log"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "log.db").touch()
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    assert store.head() == 0
    store.close()


def test_a_log_in_a_read_only_folder_is_reported_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.db"
    SqliteStore(str(path)).close()

    def refused(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refused)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything, so modes prove nothing
    with pytest.raises(StoreError) as result:
        SqliteStore(str(path))
    sentence, advice = str(result.value).split("\n")
    assert sentence == (
        f"The log {path} cannot be opened: this user may not write to {tmp_path} (unable to open database file)."
    )
    assert "`hansard backup COPY`" in advice

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "new.db")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(StoreError, match=rf"may not write to {tmp_path} \(Permission denied\)") as result:
        SqliteStore(str(tmp_path / "new.db"))
    assert "Name a log in a folder that can be written" in str(result.value)


def test_a_locked_log_is_reported_stores_nothing_and_can_be_read(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "log.db"), busy_seconds=0.01)
    store.append([write(delivery_story().begun)])
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="does not take writes now: database is locked"):
        store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert store.head() == 3
    assert store.failure() is None, "somebody else writes, and will have written"
    other.execute("ROLLBACK")
    store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert store.head() == 6
    other.close()
    store.close()


def test_a_closed_store_says_so_and_blocks_no_caller(database: Database) -> None:
    store = database.open()
    store.append([write(delivery_story().begun)])
    store.close()
    store.close()
    for use in (store.head, store.log, lambda: store.append([write(delivery_story().begun)])):
        with pytest.raises(StoreError, match="is closed"):
            use()


def test_a_damaged_log_is_an_error_and_never_an_answer(tmp_path: Path) -> None:
    """P3."""
    path = tmp_path / "log.db"
    store = SqliteStore(str(path))
    store.append(
        [write(delivery_story(f"delivery-{n}", task="x" * 900).begun, session_id=f"delivery-{n}") for n in range(50)]
    )
    store.close()
    with path.open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * (path.stat().st_size - 8_192))
    store = SqliteStore(str(path))
    with pytest.raises(Broken, match="cannot be read: "):
        store.log()
    with pytest.raises(Broken, match="does not take writes: "):
        store.append([write(delivery_story().begun)])
    store.close()


def test_a_failed_write_is_remembered_until_the_problem_is_over(tmp_path: Path) -> None:
    """A full disk may have room again: that is tried. Damage is somewhere: other writes prove nothing about it."""
    store = SqliteStore(str(tmp_path / "log.db"))
    assert (store.failing, store.failure()) == (False, None)
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    with pytest.raises(StoreError, match="does not take writes now: database or disk is full"), store._transaction():
        raise full
    assert store.failing
    assert (store.failure(), store.failing) == (None, False)
    damaged = sqlite3.DatabaseError("database disk image is malformed")
    damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT_INDEX
    with pytest.raises(Broken), store._transaction():
        raise damaged
    for _ in range(2):
        assert "does not take writes: database disk image is malformed" in str(store.failure())
    store.append([write(delivery_story().begun)])
    assert (store.failure(), store.failing) == (None, False)
    store.close()


# -- the file of SQLite --------------------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[tuple[Store, sqlite3.Connection]]:
    """A store, and another way into its file."""
    store = SqliteStore(str(tmp_path / "log.db"))
    file = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    yield store, file
    file.close()
    store.close()


Connect = Callable[..., sqlite3.Connection]


def test_every_connection_syncs_before_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2, F6: WAL and synchronous=FULL, whatever the build's defaults are."""
    made: list[sqlite3.Connection] = []
    connect: Connect = sqlite3.connect

    def recording(*args: Any, **options: Any) -> sqlite3.Connection:
        made.append(connect(*args, **options))
        made[-1].execute("PRAGMA synchronous=OFF")
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", recording)
    store = SqliteStore(str(tmp_path / "log.db"))
    assert len(made) >= 2
    for connection in made:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)
        assert connection.execute("PRAGMA checkpoint_fullfsync").fetchone() == (1,)
    store.close()


class Forgetful(sqlite3.Connection):
    """A build that takes the order to sync and does not follow it."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous=FULL", "synchronous=NORMAL"), *parameters)


def test_a_file_that_does_not_sync_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect: Connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=Forgetful, **options))
    with pytest.raises(StoreError, match="journal_mode=wal, synchronous=1; not durable"):
        SqliteStore(str(tmp_path / "log.db"))


def test_a_log_in_memory_is_refused() -> None:
    with pytest.raises(StoreError, match="journal_mode=memory"):
        SqliteStore(":memory:")


def test_connections_that_read_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    connect: Connect = sqlite3.connect

    def recording(*args: Any, **options: Any) -> sqlite3.Connection:
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", recording)
    store = SqliteStore(str(tmp_path / "log.db"))
    assert sorted(connection.execute("PRAGMA query_only").fetchone()[0] for connection in made) == [0, 1, 1, 1, 1]
    store.close()


def test_each_row_carries_the_hash_over_itself_and_its_predecessor(
    sqlite: tuple[Store, sqlite3.Connection],
) -> None:
    """P23: recomputed from the contents of the file, stream by stream."""
    store, file = sqlite
    store.append([write(delivery_story().begun), write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    for stream in ("delivery-1", "delivery-2"):
        previous = b""
        for row in store.select_events(stream):
            previous = chain(previous, row)
            [stored] = file.execute(
                "SELECT hash FROM events WHERE stream = ? AND version = ?", (stream, row.originator_version)
            ).fetchone()
            assert stored == previous
            assert len(stored) == 32


ROW = StoredEvent("delivery-1", 2, "delivery.phase_started", b'{"at":1}')


@pytest.mark.parametrize(
    ("previous", "row"),
    [
        (b"other", ROW),
        (b"", StoredEvent("delivery-12", 2, "delivery.phase_started", b'{"at":1}')),
        (b"", StoredEvent("delivery-1", 3, "delivery.phase_started", b'{"at":1}')),
        (b"", StoredEvent("delivery-1", 2, "delivery.phase_failed", b'{"at":1}')),
        (b"", StoredEvent("delivery-1", 2, "delivery.phase_started", b'{"at":2}')),
        (b"", StoredEvent("delivery-1", 22, ".phase_started", b'{"at":1}')),
    ],
)
def test_the_hash_changes_with_every_part_of_the_row(previous: bytes, row: StoredEvent) -> None:
    assert chain(previous, row) != chain(b"", ROW)


def test_a_position_is_never_reused_even_if_the_newest_row_is_deleted(
    sqlite: tuple[Store, sqlite3.Connection],
) -> None:
    """F5."""
    store, file = sqlite
    store.append([write(delivery_story().begun)])
    file.execute("DELETE FROM events WHERE position = 3")
    second = write(delivery_story("delivery-2").begun, session_id="delivery-2")
    with pytest.raises(Rewound):
        store.append([second])
    [recorded] = store.append([second])
    assert [result.position for result in recorded] == [4, 5, 6]


def test_positions_survive_a_vacuum(sqlite: tuple[Store, sqlite3.Connection]) -> None:
    store, file = sqlite
    story = delivery_story()
    store.append([write(story.begun), write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    file.execute("DELETE FROM events WHERE stream = 'delivery-1'")
    file.execute("VACUUM")
    assert [result.position for result in store.log()] == [4, 5, 6]


def test_a_long_text_is_stored_once_and_not_in_the_events(
    sqlite: tuple[Store, sqlite3.Connection],
) -> None:
    store, file = sqlite
    story = DeliveryStory()
    store.append([write(story.begun)])
    words = "long " * INLINE_BYTES
    for attempt in (1, 2):
        claim(store, "worker", now=START, lease_ms=1_000)
        command = story.reply(words)
        recorded = story.when(command)
        store.append([write(recorded, after=len(story.history) - len(recorded), blobs=command.blobs)])
        assert file.execute("SELECT count(*) FROM texts").fetchone() == (1,), attempt
    [largest] = file.execute("SELECT max(length(state)) FROM events").fetchone()
    assert largest < len(words) / 2


def test_a_redacted_text_and_its_quotes_are_gone_and_everything_else_stays(store: Store) -> None:
    text, [blob] = Text.of("secret " * 5_000)
    *begun, request = delivery_story().begun
    store.append([write([*begun, request.model_copy(update={"context": {"material": text}})], blobs=[blob])])
    *_, before = store.rows.events()
    state = blanked(before.state, blob.digest, before.form)
    quoted = RedactedEvent(version=3, hash=hashlib.sha256(state).hexdigest())
    store.append([write([TextRedacted(digest=blob.digest, reason="It leaked.", events=(quoted,))], after=3)])
    *_, changed, last = store.rows.events()
    assert (changed.state, changed.hash) == (state, before.hash)
    assert last.chained(changed.hash) == last.hash
    *_, earlier, _, _ = store.rows.events()
    assert changed.chained(earlier.hash) == changed.hash, "a redaction changes no hash"
    assert store.text(blob.digest) == "[redacted]"
    assert b"secret" not in b"".join(row.state for row in store.rows.events())
    blank = text.model_copy(update={"head": "[redacted]"})
    assert store.log()[2].event == request.model_copy(update={"context": {"material": blank}})
