"""Verification finds every manipulation of a log, and says where (promise P23)."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.proof import checkpoints
from adapters.proof.merkle import Tree
from adapters.proof.verify import verify
from adapters.store.errors import StoreError
from adapters.writer.unit_of_work import CommandEnvelope
from domain.delivery.commands import StartDelivery
from domain.session.turns import RetryTurn
from domain.session.validation import ValidationStep
from domain.values.base import Command
from domain.values.budget import BudgetLimits
from tests.adapters.audited import copied, exported, harmed, opened, rows, verified, written
from tests.adapters.flips import Outcome, outcomes
from tests.projections.stage import Stage


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("verify"))


@pytest.fixture
def harm(log: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the log after these statements."""

    def harm(*statements: str) -> Path:
        path = copied(log, tmp_path)
        harmed(path, *statements)
        return path

    return harm


def a_stream_with(log: Path, versions: int) -> str:
    [(stream,), *_] = rows(log, f"SELECT stream FROM events GROUP BY stream HAVING count(*) >= {versions}")
    return str(stream)


def position(log: Path, stream: str, version: int) -> int:
    [(result,)] = rows(log, f"SELECT position FROM events WHERE stream = '{stream}' AND version = {version}")
    assert isinstance(result, int)
    return result


# -- an untouched log -----------------------------------------------------------------------------------------------


def test_an_untouched_log_is_sound_and_its_figures_are_those_of_the_tables(log: Path) -> None:
    report = verified(log)
    assert report.faults == []
    [(events, sessions, head)] = rows(log, "SELECT count(*), count(DISTINCT stream), max(position) FROM events")
    assert (report.events, report.sessions, report.head) == (events, sessions, head)
    with opened(log) as store:
        assert report.root == checkpoints.head(store).root.hex()


def test_turns_may_come_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL gives the rows of a session as they lie in the table, which changes with every update."""
    stage = Stage(tmp_path)
    steps = (ValidationStep(stage="test", command="pytest", argv=("pytest",)),)
    work = StartDelivery(task="Add a flag", steps=steps, limits=BudgetLimits(max_iterations=2))
    stage.do("delivery-1", work, starts=True, actor="person:ann").answers("delivery-1", "A plan.")
    inner = type(stage.store.rows).turns
    assert len([*inner(stage.store.rows, "delivery-1")]) == 2
    monkeypatch.setattr(type(stage.store.rows), "turns", lambda *given: iter([*inner(*given)][::-1]))
    assert verify(stage.store).faults == []
    stage.store.close()


def test_the_log_under_test_has_every_kind_of_row(log: Path) -> None:
    [(kinds,)] = rows(log, "SELECT count(DISTINCT substr(stream, 1, instr(stream, '-'))) FROM events")
    assert kinds == 5
    for table in ("texts", "turns"):
        [(count,)] = rows(log, f"SELECT count(*) FROM {table}")
        assert isinstance(count, int) and count > 0, table


def test_an_empty_log_is_sound(tmp_path: Path) -> None:
    with opened(tmp_path / "new.db"):
        pass
    report = verified(tmp_path / "new.db")
    assert (report.sound, report.events, report.head) == (True, 0, 0)


# -- bits ------------------------------------------------------------------------------------------------------------


def counted(log: Path, folder: Path, seed: int, count: int) -> Counter[Outcome]:
    """What became of so many flipped bits."""
    result = Counter[Outcome]()
    for bit, done in outcomes(copied(log, folder), seed, count):
        assert done != "silent", f"bit {bit} was changed silently"
        result[done] += 1
    return result


def test_a_single_flipped_bit_is_found_or_changes_nothing(log: Path, tmp_path: Path) -> None:
    result = counted(log, tmp_path, 23, 150)
    assert result["found"] >= 90, result


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_flipped_bits_are_found_or_change_nothing(log: Path, tmp_path: Path, seed: int) -> None:
    result = counted(log, tmp_path, seed, 1_000)
    assert result["found"] >= 600, result


def test_a_damaged_time_is_reported_at_its_position(log: Path, harm: Callable[..., Path]) -> None:
    [(place,)] = rows(
        log,
        "SELECT min(position) FROM events WHERE topic = 'turn.requested'"
        " AND json_extract(CAST(plain(state) AS TEXT), '$.data.deadline') IS NOT NULL",
    )
    changed = "json_set(CAST(plain(state) AS TEXT), '$.data.deadline', '2026-11-21T!2:45:06.000Z')"
    report = verified(harm(f"UPDATE events SET state = CAST({changed} AS BLOB) WHERE position = {place}"))
    assert (report.sound, report.first_bad) == (False, place)
    assert any("Invalid isoformat string" in str(fault) for fault in report.faults)


def test_a_turn_whose_attempt_is_lost_is_found(log: Path, harm: Callable[..., Path]) -> None:
    """A flipped bit in the head of a row takes the value of a column, whatever the schema demands."""
    nullable = "UPDATE sqlite_schema SET sql = replace(sql, 'attempt INTEGER NOT NULL', 'attempt INTEGER')"
    path = harm("PRAGMA writable_schema = ON", f"{nullable} WHERE name = 'turns'")
    harmed(path, "UPDATE turns SET attempt = NULL WHERE turn_id = (SELECT max(turn_id) FROM turns)")
    assert any("the lease table and the log differ" in fault.problem for fault in verified(path).faults)


# -- rows ------------------------------------------------------------------------------------------------------------


def test_a_deleted_row_is_found_at_its_position(log: Path, harm: Callable[..., Path]) -> None:
    stream = a_stream_with(log, 5)
    place = position(log, stream, 3)
    report = verified(harm(f"DELETE FROM events WHERE position = {place}"))
    assert report.first_bad == place


def test_a_deleted_last_row_of_a_stream_is_noticed_although_its_chain_is_intact(
    log: Path, harm: Callable[..., Path]
) -> None:
    """Nothing in the stream comes after it, but its position is gone."""
    sql = "SELECT max(position) FROM events GROUP BY stream ORDER BY 1 LIMIT 1"
    [(place,)] = rows(log, sql)
    report = verified(harm(f"DELETE FROM events WHERE position = {place}"))
    assert report.first_bad == place


def test_two_swapped_rows_are_found(log: Path, harm: Callable[..., Path]) -> None:
    stream = a_stream_with(log, 5)
    first, second = position(log, stream, 2), position(log, stream, 4)
    report = verified(
        harm(
            f"UPDATE events SET position = -1 WHERE position = {first}",
            f"UPDATE events SET position = {first} WHERE position = {second}",
            f"UPDATE events SET position = {second} WHERE position = -1",
        )
    )
    assert report.first_bad == first


def test_swapped_contents_are_found(log: Path, harm: Callable[..., Path]) -> None:
    stream = a_stream_with(log, 5)
    first, second = position(log, stream, 2), position(log, stream, 4)
    swap = (
        f"UPDATE events SET (topic, state) = (SELECT topic, state FROM before WHERE position = {{}})"
        f" WHERE stream = '{stream}' AND position = {{}}"
    )
    report = verified(
        harm(
            "CREATE TABLE before AS SELECT * FROM events",
            swap.format(first, second),
            swap.format(second, first),
            "DROP TABLE before",
        )
    )
    assert report.first_bad == first


def test_an_inserted_row_is_found(log: Path, harm: Callable[..., Path]) -> None:
    [(stream, versions, head)] = rows(
        log, "SELECT stream, version, position FROM events ORDER BY position DESC LIMIT 1"
    )
    report = verified(
        harm(
            "INSERT INTO events (stream, version, topic, state, hash)"
            f" SELECT stream, {versions} + 1, topic, state, hash FROM events"
            f" WHERE stream = '{stream}' AND version = {versions}"
        )
    )
    assert report.first_bad == head + 1


@pytest.mark.parametrize(
    "change",
    [
        "topic = 'turn.failed'",
        "topic = 'os:system'",
        'state = cast(replace(cast(state AS TEXT), \'"actor":"\', \'"actor":"x\') AS BLOB)',
        "state = x'80'",
        "state = x''",
        "hash = randomblob(32)",
        "hash = x''",
        "stream = 'delivery-other'",
        "version = 77",
    ],
)
def test_a_changed_row_is_found_at_its_position(log: Path, harm: Callable[..., Path], change: str) -> None:
    [(place,), *_] = rows(
        log,
        "SELECT position FROM events WHERE version > 2 AND topic != 'turn.failed'"
        ' AND cast(state AS TEXT) LIKE \'%"actor":"%\' ORDER BY position',
    )
    report = verified(harm(f"UPDATE events SET {change} WHERE position = {place}"))
    assert report.first_bad == place


@pytest.mark.parametrize("column", ["stream", "topic", "state", "hash", "version", "form"])
@pytest.mark.parametrize("value", ["NULL", "x'ff'", "'words'", "1.5", "cast(x'ff' AS TEXT)"])
def test_values_of_another_type_are_found_and_later_rows_are_read(
    log: Path, harm: Callable[..., Path], column: str, value: str
) -> None:
    place = position(log, a_stream_with(log, 5), 3)
    loose = (
        "CREATE TABLE events2 (position INTEGER PRIMARY KEY AUTOINCREMENT, stream, version, topic, state, hash, form)",
        "INSERT INTO events2 SELECT * FROM events",
        f"UPDATE events2 SET {column} = {value} WHERE position = {place}",
        "DROP TABLE events",
        "ALTER TABLE events2 RENAME TO events",
    )
    path = harm(*loose)
    report = verified(path)
    assert report.first_bad == place
    assert report.head == rows(path, "SELECT max(position) FROM events")[0][0], "the rest was read"


# -- the tail --------------------------------------------------------------------------------------------------------


def note(log: Path) -> checkpoints.SignedHead:
    with opened(log) as store:
        return checkpoints.head(store)


def test_a_tail_that_was_cut_off_is_found_by_the_sequence(log: Path, harm: Callable[..., Path]) -> None:
    head = note(log).size
    report = verified(harm(f"DELETE FROM events WHERE position > {head - 3}"))
    problems = [fault.problem for fault in report.faults if fault.position == head - 2]
    assert problems == [f"the log ends at position {head - 3}, but positions up to {head} were assigned"]


def test_a_tail_that_was_cut_off_with_its_traces_is_found_by_a_checkpoint_only(
    tmp_path: Path,
) -> None:
    """The last event of a finished session leaves no open turn."""
    log = written(tmp_path / "two", seed=3, steps=6)
    before = note(log)
    path = copied(log, tmp_path)
    cut = _harmless_cut(path)
    harmed(
        path,
        f"DELETE FROM events WHERE position > {cut}",
        f"UPDATE sqlite_sequence SET seq = {cut} WHERE name = 'events'",
        "DELETE FROM turns WHERE turn_id NOT IN (SELECT json_extract(plain(state), '$.data.turnId') FROM events"
        " WHERE json_extract(plain(state), '$.data.turnId') IS NOT NULL)",
        "UPDATE turns SET state = 'running' WHERE turn_id NOT IN (SELECT json_extract(plain(state), '$.data.turnId')"
        " FROM events WHERE topic <> 'turn.requested' AND json_extract(plain(state), '$.data.turnId') IS NOT NULL)",
    )
    with opened(path) as store:
        assert verify(store).faults == []
        assert (
            checkpoints.holds(store, before)
            == f"the log has been cut: {before.size} events were signed, {cut} are there"
        )


def _harmless_cut(path: Path) -> int:
    [(head,)] = rows(path, "SELECT max(position) FROM events")
    assert isinstance(head, int)
    return head - 1


def test_a_rewritten_history_is_found_by_a_checkpoint_only(log: Path, tmp_path: Path) -> None:
    """A log with recomputed hashes is consistent in itself."""
    before, other = note(log), written(tmp_path / "other", seed=2)
    with opened(other) as store:
        assert verify(store).sound
        size = min(before.size, checkpoints.head(store).size)
        signed = checkpoints.SignedHead(before.origin, size, _root(log, size))
        assert checkpoints.holds(store, signed) == f"the first {size} events are not those that were signed"
    with opened(log) as store:
        assert checkpoints.holds(store, signed) is None
        assert checkpoints.holds(store, before) is None


def _root(log: Path, size: int) -> bytes:
    tree = Tree()
    with opened(log) as store:
        for row in store.rows.events():
            if tree.size < size:
                tree.add(row.hash)
    return tree.root()


def test_a_turn_that_a_person_retried_is_not_a_fault(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.delivers().fails("delivery-1").do("delivery-1", RetryTurn())
    assert verify(stage.store).faults == []
    stage.store.close()


# -- what is stored next to the events---------------------------------------------------------------------------------


def test_a_changed_text_is_found(harm: Callable[..., Path]) -> None:
    path = harm("UPDATE texts SET content = content || '.' WHERE digest = (SELECT min(digest) FROM texts)")
    [(digest,)] = rows(path, "SELECT min(digest) FROM texts")
    [fault] = verified(path).faults
    assert fault.problem == f"the text {digest} has been changed"
    assert fault.position is not None


def test_a_missing_text_is_found_where_it_is_mentioned(log: Path, harm: Callable[..., Path]) -> None:
    [(digest,)] = rows(log, "SELECT max(digest) FROM texts")
    [(place,)] = rows(log, f"SELECT min(position) FROM events WHERE instr(plain(state), cast('{digest}' AS BLOB))")
    path = harm(f"DELETE FROM texts WHERE digest = '{digest}'")
    [fault] = verified(path).faults
    assert (fault.position, fault.problem) == (place, f"the text {digest} is missing")
    with pytest.raises(StoreError, match="has no text"):
        exported(path)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM turns WHERE turn_id = '{turn}'", "{turn} is open in the log, but not in the lease table"),
        (
            "UPDATE turns SET state = 'done' WHERE turn_id = '{turn}'",
            "{turn} is open in the log, but not in the lease table",
        ),
        (
            "UPDATE turns SET agent = 'Mallory' WHERE turn_id = '{turn}'",
            "the lease table and the log differ about {turn}",
        ),
        (
            "UPDATE turns SET deadline = deadline + 1 WHERE turn_id = '{turn}'",
            "the lease table and the log differ about {turn}",
        ),
        (
            "UPDATE turns SET requested_at = requested_at + 1 WHERE turn_id = '{turn}'",
            "the lease table and the log differ about {turn}",
        ),
        *(
            (f"UPDATE turns SET {change} WHERE turn_id = '{{turn}}'", "the lease table and the log differ about {turn}")
            for change in (
                "owner = 'person:mallory'",
                "owner = owner || ' '",
                "owner = ''",
                "rank = rank + 1",
                "rank = 0",
                "rank = requested_at - 600000",
                "rank = rank + 600000 * 3000",
                "worker = 'w', attempt = 0",
                "worker = '', attempt = 1",
            )
        ),
        ("UPDATE turns SET turn_id = 'x' WHERE turn_id = '{turn}'", "x is open in the lease table, but not in the log"),
    ],
)
def test_a_lease_table_that_does_not_fit_is_found(
    log: Path, harm: Callable[..., Path], statement: str, problem: str
) -> None:
    [(turn,), *_] = rows(
        log, "SELECT turn_id FROM turns WHERE state IN ('queued', 'running') ORDER BY deadline IS NULL"
    )
    report = verified(harm(statement.format(turn=turn)))
    assert problem.format(turn=turn) in [fault.problem for fault in report.faults]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE links SET name = 'mallory' WHERE name = 'alice'", "a link that signs in mallory has been changed"),
        ("UPDATE links SET made = made + 86400 WHERE name = 'alice'", "a link that signs in alice has been changed"),
        ("DELETE FROM links WHERE name = 'alice'", f"the link with the digest {'d' * 64} is missing"),
    ],
)
def test_a_changed_link_is_found(harm: Callable[..., Path], change: str, problem: str) -> None:
    path = harm("SELECT 1")
    with opened(path) as store:
        assert store.vault is not None
        store.vault.put_link("d" * 64, "alice")
    assert verified(path).faults == []
    harmed(path, change)
    assert [fault.problem for fault in verified(path).faults] == [problem]


def test_a_link_that_was_used_leaves_nothing(harm: Callable[..., Path]) -> None:
    path = harm("SELECT 1")
    with opened(path) as store:
        assert store.vault is not None
        store.vault.put_link("d" * 64, "alice")
        assert store.vault.take_link("d" * 64) == "alice"
    assert verified(path).faults == []
    assert rows(path, "SELECT name FROM secrets WHERE name LIKE 'link:d%'") == []


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "CREATE TRIGGER quiet AFTER INSERT ON events BEGIN DELETE FROM texts; END",
            "SQLite: it has a trigger that is not ours: quiet",
        ),
        ("CREATE TABLE more (n INTEGER)", "SQLite: it has a table that is not ours: more"),
        ("CREATE VIEW seen AS SELECT 1", "SQLite: it has a view that is not ours: seen"),
        ("DROP TABLE receipts", "SQLite: the table receipts is missing"),
    ],
)
def test_what_is_not_of_our_schema_is_found(harm: Callable[..., Path], statement: str, problem: str) -> None:
    assert problem in [fault.problem for fault in verified(harm(statement)).faults]


def test_a_turn_that_waits_again_is_found(log: Path, harm: Callable[..., Path]) -> None:
    [(turn,), *_] = rows(log, "SELECT turn_id FROM turns WHERE state = 'done'")
    report = verified(harm(f"UPDATE turns SET state = 'queued' WHERE turn_id = '{turn}'"))
    assert [fault.problem for fault in report.faults] == [f"{turn} is open in the lease table, but not in the log"]


def test_views_are_asked_only_of_a_sound_log(log: Path, harm: Callable[..., Path]) -> None:
    with opened(log) as store:
        assert [fault.problem for fault in verify(store, lambda: "the views differ").faults] == ["the views differ"]
    with opened(harm("DELETE FROM events WHERE position = 2")) as store:
        assert "the views differ" not in [fault.problem for fault in verify(store, lambda: "the views differ").faults]


def test_at_most_a_hundred_faults_are_reported(harm: Callable[..., Path]) -> None:
    assert len(verified(harm("UPDATE events SET hash = randomblob(32)")).faults) == 100


def test_a_turn_that_another_worker_recorded_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_worker(session_id: str, command: Command, **more: Any) -> CommandEnvelope:
        return CommandEnvelope(session_id, command, **{**more, "actor": "worker:worker"})

    monkeypatch.setattr("tests.projections.stage.CommandEnvelope", by_worker)
    stage = Stage(tmp_path)
    stage.delivers().answers("delivery-1", "A plan.")
    stage.store.close()
    log = tmp_path / "log.db"
    assert verified(log).faults == []
    harmed(log, "UPDATE turns SET worker = 'another' WHERE turn_id = 'delivery-1.t1'")
    faults = [fault.problem for fault in verified(log).faults]
    assert faults == ["the lease table and the log differ about delivery-1.t1"]
