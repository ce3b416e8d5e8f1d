"""Views are built again without the fields that they do not read, and are the same."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from adapters.proof.transfer import take_in
from adapters.store.errors import DamagedEvent
from adapters.store.mapper import decode
from adapters.store.outline import outline_all
from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from domain.session.activity import ActivityRecorded
from domain.session.record import Omitted, Recorded, Sight
from domain.session.turns import TurnRequested
from projections.catalogue import dump
from projections.engine.ports import OMITTED, EventLog
from projections.follow import Follower
from tests.projections.walks import walked

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.jsonl"))


class Whole:
    """The log with all fields, whatever is omitted."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def head(self) -> int:
        return self._store.head()

    def sight(self, *positions: int) -> Sight:
        return self._store.sight(*positions)

    def gone_back(self, since: int) -> int:
        return self._store.gone_back(since)

    def log(self, *, after: int = 0, limit: int = 500, omitted: Omitted | None = None) -> Sequence[Recorded]:
        return self._store.log(after=after, limit=limit)


def folded(log: EventLog, path: Path) -> bytes:
    with closing(SqliteViews(path)) as views:
        follower = Follower(log, views)
        follower.rebuild()
        assert follower.problems() == []
        return dump(views)


def test_views_of_all_kinds_of_sessions_are_the_same_without_what_they_do_not_read(tmp_path: Path) -> None:
    with closing(walked(tmp_path, 5, 250)) as store:
        assert folded(store, tmp_path / "outline.db") == folded(Whole(store), tmp_path / "whole.db")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_views_of_older_logs_are_the_same_without_what_they_do_not_read(golden: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / "log.db"))) as store:
        take_in(store, golden.read_bytes().splitlines(keepends=True))
        assert folded(store, tmp_path / "outline.db") == folded(Whole(store), tmp_path / "whole.db")


def rows(tmp_path: Path) -> list[tuple[int, str, int, str, bytes]]:
    with closing(walked(tmp_path, 3, 60)) as store:
        return [row[:5] for row in store.rows.events()]


def test_a_trimmed_event_agrees_with_the_whole_event(tmp_path: Path) -> None:
    entries = rows(tmp_path)
    outlined = outline_all(entries, OMITTED)
    assert len(outlined) == len(entries)
    for recorded, (position, stream, version, topic, state) in zip(outlined, entries, strict=True):
        whole = decode(StoredEvent(stream, version, topic, state), position)
        assert recorded._replace(event=whole.event) == whole
        assert type(recorded.event) is type(whole.event)
        omitted = OMITTED.get(type(whole.event), frozenset())
        if omitted is not None:
            assert recorded.event.__dict__ == {
                name: value for name, value in whole.event.__dict__.items() if name not in omitted
            }


def test_an_omitted_field_cannot_be_read_by_mistake(tmp_path: Path) -> None:
    asked = next(result for result in outline_all(rows(tmp_path), OMITTED) if isinstance(result.event, TurnRequested))
    with pytest.raises(AttributeError):
        _ = asked.event.context


def test_an_unusual_row_is_left_to_the_full_reader(tmp_path: Path) -> None:
    entries = rows(tmp_path)
    place = next(index for index, row in enumerate(entries) if row[3] == ActivityRecorded.TOPIC)
    *name, state = entries[place]
    spaced = (*name, state.replace(b'{"at":', b'{ "at": ', 1))
    [recorded] = outline_all([spaced], OMITTED)  # type: ignore[list-item]  # a row
    assert recorded == decode(StoredEvent(*name[1:], state), name[0])
    damaged = (*name, b'{ "at": "never"}')
    with pytest.raises(DamagedEvent) as caught:
        outline_all([entries[0], damaged], OMITTED)  # type: ignore[list-item]  # a row
    assert [each.position for each in caught.value.readable] == [entries[0][0]]
