"""The views remember which events they were made from: a rewritten event is told from a log that has gone back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.session.record import Fingerprint
from projections.engine import witness
from projections.engine.fold import Folding
from projections.engine.ports import Database

LENGTH = 2 * witness.PAGE + 10


class Written:
    """A log of two sessions whose events follow each other in turn."""

    def __init__(self, length: int = LENGTH) -> None:
        self.events = [
            Fingerprint(position, f"review-{position % 2}", (position + 1) // 2, f"{position:064x}"[::-1], position)
            for position in range(1, length + 1)
        ]

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> Sequence[Fingerprint]:
        return [each for each in self.events if after < each.position <= upto][:limit]

    def change(self, *positions: int, at: int | None = None) -> None:
        """Other events at these positions, perhaps recorded at another time."""
        for position in positions:
            old = self.events[position - 1]
            self.events[position - 1] = old._replace(hash="f" * 64, at=old.at if at is None else at)


@contextmanager
def remembering(views: SqliteViews, log: Written) -> Iterator[Database]:
    with views.transaction() as db:
        Folding.lay_out(db)
        witness.prepare(db, log, len(log.events))
        witness.follow(db, log, len(log.events))
        yield db


def named(db: Database, log: Written) -> list[tuple[str, int]]:
    return [(each.session_id, each.version) for each in witness.rewritten(db, log, len(log.events))]


def test_an_untouched_log_has_no_rewritten_event(views: SqliteViews) -> None:
    log = Written()
    with remembering(views, log) as db:
        assert named(db, log) == []


@pytest.mark.parametrize("position", [1, 2, witness.PAGE, witness.PAGE + 1, LENGTH])
def test_the_first_rewritten_event_of_a_session_is_named(views: SqliteViews, position: int) -> None:
    log = Written()
    with remembering(views, log) as db:
        log.change(*range(position, LENGTH + 1, 2))
        witness.prepare(db, log, LENGTH)
        assert named(db, log) == [(f"review-{position % 2}", (position + 1) // 2)]


def test_what_is_remembered_stays_when_the_log_is_followed_again(views: SqliteViews) -> None:
    log = Written()
    with remembering(views, log) as db:
        log.change(7)
        witness.follow(db, log, LENGTH)
        assert named(db, log) == [("review-1", 4)]


@pytest.mark.parametrize(("at", "goes_on"), [(None, True), (10 * LENGTH, False)], ids=["rewritten", "another-log"])
def test_views_go_on_from_their_last_event_where_it_was_rewritten(
    views: SqliteViews, at: int | None, goes_on: bool
) -> None:
    """Only the event there is compared: one of another time is of another log."""
    log = Written()
    with remembering(views, log) as db:
        last = log.events[-1].hash
        db.execute("INSERT INTO progress (view, shape, position, event_id) VALUES ('some', '', ?, ?)", (LENGTH, last))
        log.change(LENGTH, at=at)
        witness.prepare(db, log, LENGTH)
        [(mark,)] = db.execute("SELECT event_id FROM progress WHERE view = 'some'").fetchall()
        assert mark == ("f" * 64 if goes_on else last)


@pytest.mark.parametrize("lost", [1, 5, witness.PAGE, witness.PAGE + 5, LENGTH])
def test_events_of_other_times_at_the_end_are_those_of_a_log_that_went_back(views: SqliteViews, lost: int) -> None:
    log = Written()
    with remembering(views, log) as db:
        log.change(*range(LENGTH - lost + 1, LENGTH + 1), at=10 * LENGTH)
        witness.prepare(db, log, LENGTH)
        witness.follow(db, log, LENGTH)
        assert named(db, log) == []


def test_a_rewritten_event_before_the_end_that_went_back_is_still_named(views: SqliteViews) -> None:
    log = Written()
    with remembering(views, log) as db:
        log.change(5)
        log.change(*range(LENGTH - 9, LENGTH + 1), at=10 * LENGTH)
        witness.prepare(db, log, LENGTH)
        assert named(db, log) == [("review-1", 3)]


def test_a_shorter_log_has_gone_back(views: SqliteViews) -> None:
    log = Written()
    with remembering(views, log) as db:
        del log.events[20:]
        witness.prepare(db, log, 20)
        assert db.execute("SELECT max(position) FROM witness").fetchone() == (20,)
        assert named(db, log) == []
