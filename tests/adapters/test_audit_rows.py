"""Rows that were deleted, inserted, moved or retyped in the file: all of them are found (promise P23)."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.proof import checkpoints
from adapters.proof.transfer import export, take_in
from domain.session.forks import ForkSession
from domain.session.record import Recorded
from tests.adapters.audited import copied, harmed, opened, rows, verified, written
from tests.projections.stage import Stage

Harm = tuple[str, ...]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("rows"), seed=7, steps=50)


def deleted(log: Path, chance: random.Random) -> Harm:
    return (f"DELETE FROM events WHERE position = {chance.randint(1, size(log))}",)


def inserted(log: Path, chance: random.Random) -> Harm:
    """A copy of a row, as the next version of its session or of another."""
    source, [(stream, versions)] = chance.randint(1, size(log)), chance.sample(lengths(log), 1)
    values = f"SELECT '{stream}', {versions} + 1, topic, state, hash FROM events WHERE position = {source}"
    return (f"INSERT INTO events (stream, version, topic, state, hash) {values}",)


def swapped(log: Path, chance: random.Random) -> Harm:
    """Two rows of different sessions change places."""
    streams = dict(rows(log, "SELECT position, stream FROM events"))
    while True:
        first, second = sorted(chance.sample(sorted(streams), 2))
        if streams[first] != streams[second]:
            return exchange(first, second)


def exchange(first: int, second: int) -> Harm:
    return (
        f"UPDATE events SET position = -1 WHERE position = {first}",
        f"UPDATE events SET position = {first} WHERE position = {second}",
        f"UPDATE events SET position = {second} WHERE position = -1",
    )


def retyped(log: Path, chance: random.Random) -> Harm:
    """Another type, among those that there are."""
    place = chance.randint(1, size(log))
    [(topic,)] = rows(log, f"SELECT topic FROM events WHERE position = {place}")
    others = [other for (other,) in rows(log, "SELECT DISTINCT topic FROM events ORDER BY topic") if other != topic]
    return (f"UPDATE events SET topic = '{chance.choice(others)}' WHERE position = {place}",)


def size(log: Path) -> int:
    [(count,)] = rows(log, "SELECT count(*) FROM events")
    assert isinstance(count, int)
    return count


def lengths(log: Path) -> list[tuple[object, ...]]:
    return rows(log, "SELECT stream, max(version) FROM events GROUP BY stream ORDER BY stream")


def unfound(log: Path, folder: Path, harm: object, seed: int, count: int) -> list[Harm]:
    """What of so many harms of a kind is not found."""
    assert callable(harm)
    chance, missed = random.Random(seed), []  # noqa: S311 - the same harms again
    for _ in range(count):
        path, done = copied(log, folder), harm(log, chance)
        harmed(path, *done)
        if verified(path).sound:
            missed.append(done)
    return missed


@pytest.mark.parametrize("harm", [deleted, inserted, swapped, retyped])
def test_every_damaged_row_is_found(log: Path, tmp_path: Path, harm: object) -> None:
    assert unfound(log, tmp_path, harm, 1, 25) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("harm", [deleted, inserted, swapped, retyped])
def test_a_thousand_damaged_rows_of_each_kind_are_found(log: Path, tmp_path: Path, harm: object, seed: int) -> None:
    assert unfound(log, tmp_path, harm, 100 + seed, 250) == []


# -- the order between sessions ------------------------------------------------------------------------------------


def recorded(log: Path) -> list[Recorded]:
    with opened(log) as store:
        return store.log(limit=100_000)


def test_the_order_of_an_untouched_log_has_no_fault(log: Path) -> None:
    assert verified(log).faults == []


def test_separated_events_of_one_command_are_reported(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.delivers("delivery-1").delivers("delivery-2")
    stage.store.close()
    log = tmp_path / "log.db"
    assert [event.event_id for event in recorded(log)[2:4]] == ["delivery-1:3", "delivery-2:1"]
    harmed(log, *exchange(3, 4))
    report = verified(log)
    assert [(fault.position, fault.problem) for fault in report.faults] == [
        (3, "delivery-1:3 belongs here, with the events of its command; it is at position 4"),
        (4, "delivery-2:2 belongs here, with the events of its command; it is at position 5"),
    ]


def test_an_event_before_its_cause_is_reported(tmp_path: Path) -> None:
    """An orchestration that ends notifies its channel: each of the two events is a whole decision of its session."""
    stage = Stage(tmp_path)
    stage.orchestrates("orchestration-1", "hello", triage="direct", origin="telegram")
    stage.answers("orchestration-1", "Hello.")
    stage.store.close()
    log = tmp_path / "log.db"
    last, noted = recorded(log)[-2:]
    assert (noted.kind, noted.causation.causation_id) == ("channel", last.event_id)
    harmed(log, *exchange(last.position, noted.position))
    texts = [fault.problem for fault in verified(log).faults]
    assert f"{noted.event_id} comes before {last.event_id}, which is its cause" in texts


def test_swapped_commands_are_found_only_with_a_checkpoint(tmp_path: Path) -> None:
    """Two deliveries that begin with as many events: nothing in the log says which was first."""
    stage = Stage(tmp_path)
    stage.delivers("delivery-1").delivers("delivery-2")
    stage.store.close()
    log = tmp_path / "log.db"
    with opened(log) as store:
        before = checkpoints.head(store)
    harmed(log, *(statement for place in (1, 2, 3) for statement in exchange(place, place + 3)))
    with opened(log) as store:
        assert verified(log).sound
        assert checkpoints.holds(store, before) == "the first 6 events are not those that were signed"


# -- what was imported, in whatever order ------------------------------------------------------------------------


def carried(folder: Path, source: Path, *names: str) -> Path:
    """A log into which these sessions came one after another, each for itself."""
    target = folder / "other.db"
    for name in names:
        with opened(source) as store:
            lines = list(alone(store.path, folder, name))
        with opened(target) as store:
            take_in(store, lines)
    return target


def alone(path: Path, folder: Path, name: str) -> Iterator[bytes]:
    """The export of one stream without those that it opened."""
    single = copied(path, folder / "single")
    with closing(sqlite3.connect(single)) as connection:
        connection.execute("DELETE FROM events WHERE stream <> ?", (name,))
        connection.commit()
    with opened(single) as store:
        yield from export(store)
    single.unlink()


def test_sessions_imported_before_their_cause_are_not_a_fault(log: Path, tmp_path: Path) -> None:
    names = [str(name) for (name,) in rows(log, "SELECT DISTINCT stream FROM events ORDER BY stream DESC")]
    assert verified(carried(tmp_path, log, *names)).faults == []


def test_forks_before_their_source_are_not_a_fault(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    stage = Stage(tmp_path / "one")
    stage.delivers("delivery-1").answers("delivery-1", "A plan.").answers("delivery-1", "Modules.")
    at = next(event.version for event in stage.events() if event.event.TOPIC == "turn.requested")
    stage.do("delivery-2", ForkSession(source="delivery-1", at_version=at), starts=True)
    stage.store.close()
    log = tmp_path / "one" / "log.db"
    assert verified(log).faults == []
    assert verified(carried(tmp_path, log, "delivery-2", "delivery-1")).faults == []
