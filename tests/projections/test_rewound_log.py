"""A log that goes back, as after a restore or a failover: views and listeners go back with it."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.session.record import Fingerprint, Recorded
from projections.engine.ports import Database, Projection, each
from projections.follow import Follower
from tests.projections.given import Twin, success

MOMENT = 1_000_000
"""Milliseconds by which the other history differs."""


def _note(db: Database, recorded: Recorded) -> None:
    db.execute("INSERT INTO seen VALUES (?, ?, ?)", (recorded.position, recorded.event_id, recorded.at))


SEEN = Projection(
    "seen", ("seen",), ("CREATE TABLE IF NOT EXISTS seen (n BIGINT PRIMARY KEY, id TEXT, at BIGINT)",), each(_note)
)


def seen(views: SqliteViews) -> list[tuple[int, str, int]]:
    with views.reading() as db:
        return [tuple(row) for row in db.execute("SELECT n, id, at FROM seen ORDER BY n").fetchall()]


def there(log: Twin) -> list[tuple[int, str, int]]:
    return [(recorded.position, recorded.event_id, recorded.at) for recorded in log.events]


def cut(log: Twin, position: int, later: Sequence[Recorded] = ()) -> None:
    """The log goes back to a position, and perhaps goes on otherwise."""
    del log.events[position:]
    log.add(later)


def otherwise(events: Sequence[Recorded]) -> list[Recorded]:
    """Events with the same names, at another time: what a session did instead."""
    return [recorded._replace(at=recorded.at + MOMENT) for recorded in events]


class Heard:
    """What a listener was told: the events after the log went back for the last time."""

    def __init__(self, follower: Follower) -> None:
        self.back: list[tuple[int, int]] = []
        self.positions: list[int] = []
        follower.listeners.append(lambda page: self.positions.extend(each.position for each in page))
        follower.rewound.append(self._rewound)

    def _rewound(self, position: int, head: int) -> None:
        self.back.append((position, head))
        self.positions.clear()


@contextmanager
def following(log: Twin, views: SqliteViews, page: int = 10) -> Iterator[tuple[Follower, Heard]]:
    follower = Follower(log, views, [SEEN], page=page)
    heard = Heard(follower)
    follower.catch_up()
    yield follower, heard


@pytest.mark.parametrize(
    ("left", "more"),
    [(40, 0), (40, 10), (40, 26), (40, 60), (0, 0), (0, 80), (65, 1), (65, 2), (1, 65)],
    ids=[
        "shorter",
        "shorter-again",
        "as-long",
        "longer",
        "empty",
        "another",
        "last-only",
        "last-and-more",
        "first-only",
    ],
)
def test_views_and_listeners_go_back_with_the_log(views: SqliteViews, left: int, more: int) -> None:
    """However far it has gone on since, and though its events have the same names."""
    log, events = Twin(), success().events
    with following(log, views) as (follower, heard):
        for begin in range(0, 66, 11):
            log.add(events[begin : begin + 11])
            follower.catch_up()
        assert heard.positions == list(range(1, 67))
        cut(log, left, otherwise([*events[left:], *success("delivery-2").events])[:more])
        assert follower.catch_up() == left + more == follower.position
        assert seen(views) == there(log)
        [(same, head)] = heard.back
        assert same <= left and left - same <= 10 and head == left + more
        assert heard.positions == list(range(same + 1, left + more + 1))
        assert (follower.epoch, log.epoch, follower.rewinding, follower.problems()) == (1, 1, False, [])
        log.add(success("delivery-3").events)
        follower.catch_up()
        assert seen(views) == there(log) and len(heard.back) == 1


class Witnessed(Twin):
    """A log whose events the views remember one by one."""

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> list[Fingerprint]:
        page = [each for each in self.events if after < each.position <= upto][:limit]
        marks = self.sight(*(each.position for each in page)).marks
        return [
            Fingerprint(each.position, each.session_id, each.version, mark or "", each.at)
            for each, mark in zip(page, marks, strict=True)
        ]


@pytest.mark.parametrize("left", [0, 7, 40, 65])
def test_how_far_it_went_back_is_known_to_the_event_however_far_it_has_gone_on_since(
    views: SqliteViews, left: int
) -> None:
    """All that it got meanwhile is told, and nothing twice."""
    log, events = Witnessed(), success().events
    log.add(events)
    follower = Follower(log, views, [SEEN], witnessed=log)
    heard = Heard(follower)
    follower.catch_up()
    cut(log, left, otherwise([*events[left:], *success("delivery-2").events]))
    follower.catch_up()
    assert heard.back == [(left, 132)]
    assert heard.positions == list(range(left + 1, 133))
    assert seen(views) == there(log)


def test_a_log_that_goes_on_has_not_gone_back(views: SqliteViews) -> None:
    log, events = Twin(), success().events
    with following(log, views) as (follower, heard):
        for recorded in events:
            log.add([recorded])
            follower.catch_up()
        assert (heard.back, follower.epoch, len(heard.positions)) == ([], 0, 66)


def test_it_may_go_back_again_and_again(views: SqliteViews) -> None:
    log, events = Twin(), success().events
    log.add(events)
    with following(log, views) as (follower, heard):
        for number in range(1, 5):
            cut(log, 60 - number, otherwise(events[:number]))
            follower.catch_up()
            assert (follower.epoch, len(heard.back)) == (number, number)
            assert seen(views) == there(log)


def test_views_of_before_are_folded_again_at_the_next_start(views: SqliteViews) -> None:
    log, events = Twin(), success().events
    log.add(events)
    with following(log, views):
        cut(log, 30, otherwise(events[30:]))
    with following(log, views) as (follower, _):
        assert seen(views) == there(log)
        assert (follower.epoch, log.epoch) == (1, 1)
    with following(log, views) as (follower, _):
        assert (follower.epoch, log.epoch) == (1, 1)


def test_two_servers_count_one_return_once(tmp_path: Path) -> None:
    log, events = Twin(), success().events
    log.add(events)
    with (
        closing(SqliteViews(tmp_path / "1")) as one,
        closing(SqliteViews(tmp_path / "2")) as two,
        following(log, one) as (first, _),
        following(log, two) as (second, heard),
    ):
        cut(log, 30)
        first.catch_up()
        log.add(otherwise(events[30:]))
        second.catch_up()
        assert (first.epoch, second.epoch, log.epoch, len(heard.back)) == (1, 1, 1, 1)
        assert seen(two) == there(log)


def test_a_server_that_lags_behind_hears_of_it_too(tmp_path: Path) -> None:
    """It has seen nothing that is gone, but its streams must count as those of the others."""
    log, events = Twin(), success().events
    log.add(events[:20])
    with (
        closing(SqliteViews(tmp_path / "1")) as one,
        closing(SqliteViews(tmp_path / "2")) as two,
        following(log, one) as (first, _),
        following(log, two) as (second, heard),
    ):
        log.add(events[20:])
        first.catch_up()
        cut(log, 30)
        first.catch_up()
        second.catch_up()
        assert (second.epoch, log.epoch, len(heard.back)) == (1, 1, 1)
        assert seen(two) == there(log)


def test_an_epoch_that_went_with_the_log_is_counted_on(views: SqliteViews) -> None:
    """The older log has not noted that it had gone back before."""
    log, events = Twin(), success().events
    log.add(events)
    with following(log, views) as (follower, _):
        cut(log, 40)
        follower.catch_up()
        cut(log, 30)
        log.epoch = 0
        follower.catch_up()
        assert (follower.epoch, log.epoch) == (2, 2)
        log.epoch = 0
    with following(log, views) as (follower, _):
        assert (follower.epoch, log.epoch) == (2, 2)


class ReadTwin(Twin):
    """A log that is only read: nobody notes in it that it has gone back."""

    def gone_back(self, since: int) -> int:
        return self.sight().epoch


@pytest.mark.parametrize("left", [0, 30, 65])
def test_a_log_that_is_only_read_is_followed_to_its_end_whatever_the_views_have_seen(
    views: SqliteViews, left: int
) -> None:
    log, events = Twin(), success().events
    log.add(events)
    with following(log, views) as (follower, _):
        for each in (60, 50):
            cut(log, each)
            follower.catch_up()
        assert follower.epoch == 2
    with following(ReadTwin(events[:left]), views) as (follower, _):
        assert (follower.epoch, follower.position) == (0, left)
        assert seen(views) == there(ReadTwin(events[:left]))
        follower.catch_up()


def test_a_view_of_another_release_is_no_log_that_has_gone_back(views: SqliteViews) -> None:
    log = Twin()
    log.add(success().events)
    with following(log, views):
        pass
    with views.transaction() as db:
        db.execute("UPDATE progress SET shape = 'older', event_id = 'delivery-1:66'")
    with following(log, views) as (follower, _):
        assert (follower.epoch, log.epoch, follower.rewinding) == (0, 0, False)
        assert seen(views) == there(log)
