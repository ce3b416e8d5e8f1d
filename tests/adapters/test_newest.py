"""The newest events are kept as they were committed: those of the log, and none that may have changed since."""

from collections.abc import Sequence

import pytest

from adapters.store.port import Store
from adapters.writer.newest import KEPT_REQUESTS, NewestEvents
from domain.session.record import Recorded, Sight
from domain.session.turns import TurnRequested
from tests.projections.given import store_events, success


class Reading:
    """A store that counts how often its log is read."""

    def __init__(self, store: Store) -> None:
        self._store, self.times = store, 0

    def sight(self, *positions: int) -> Sight:
        return self._store.sight(*positions)

    def gone_back(self, since: int) -> int:
        return self._store.gone_back(since)

    def log(self, *, after: int = 0, limit: int = 500, omitted: object = None) -> Sequence[Recorded]:
        self.times += 1
        return self._store.log(after=after, limit=limit)


def newest_of(store: Store, most: int = 1_000) -> tuple[NewestEvents, Reading, list[Recorded]]:
    """Nothing is kept yet of a log with one session."""
    store_events(store, success().events)
    reading = Reading(store)
    return NewestEvents(reading, most=most), reading, store.log()  # type: ignore[arg-type]


def test_what_was_just_committed_is_not_read(store: Store) -> None:
    newest, reading, events = newest_of(store)
    newest.keep(events[:30])
    newest.keep(events[30:])
    assert newest.log(after=10, limit=40) == events[10:50]
    assert newest.log() == events
    asked = next(each for each in events if isinstance(each.event, TurnRequested))
    assert newest.request(asked.session_id, asked.version) == asked
    assert newest.request(events[0].session_id, events[0].version) is None
    assert reading.times == 0
    assert newest.log(after=events[-1].position) == []
    assert reading.times == 1


def test_events_that_left_the_cache_are_read(store: Store) -> None:
    newest, reading, events = newest_of(store, most=20)
    newest.keep(events)
    assert newest.log(after=len(events) - 20) == events[-20:]
    assert reading.times == 0
    assert newest.log() == events
    assert reading.times == 1


def test_the_log_is_read_if_another_process_wrote_in_between(store: Store) -> None:
    newest, reading, events = newest_of(store)
    newest.keep(events[:20])
    newest.keep(events[21:])
    assert newest.log(after=10) == events[10:]
    assert newest.log(after=20) == events[20:]
    assert reading.times == 2
    assert newest.log(after=21) == events[21:]
    assert reading.times == 2


def test_after_a_redaction_no_event_that_may_quote_the_text_stays_cached(store: Store) -> None:
    newest, reading, events = newest_of(store)
    newest.keep(events)
    newest.forget(events[-1].session_id)
    assert [each for each in events if newest.request(each.session_id, each.version)] == []
    assert newest.log() == events
    assert reading.times == 1


def test_only_the_latest_requests_are_kept(store: Store) -> None:
    newest, _, events = newest_of(store)
    asked = next(each for each in events if isinstance(each.event, TurnRequested))
    many = [asked._replace(position=number, session_id=f"delivery-{number}") for number in range(1, KEPT_REQUESTS + 3)]
    newest.keep(many)
    assert [newest.request(each.session_id, each.version) for each in many] == [None, None, *many[2:]]


@pytest.mark.parametrize("by_another", [False, True])
def test_nothing_of_a_log_that_has_gone_back_is_read_again(store: Store, by_another: bool) -> None:
    """Several follow the log of a process, and share what is kept: whoever notices first, nobody gets what is gone."""
    newest, reading, events = newest_of(store)
    newest.sight()
    newest.keep(events)
    if by_another:
        store.gone_back(0)
        newest.sight()
    else:
        newest.gone_back(0)
    newest.log(after=3)
    assert reading.times == 1
