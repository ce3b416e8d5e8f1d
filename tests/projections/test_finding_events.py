"""What tells of findings is read once, and says the same as the whole history."""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from adapters.proof.transfer import take_in
from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.texts import whole
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered
from projections.record.finding_events import FindingEvents
from projections.record.moments import moments_of
from tests.kit.sweeps import sampled
from tests.projections.stage import Stage, critique
from tests.projections.test_outline import GOLDEN
from tests.projections.walks import walked


class Counting:
    """A log that knows how many events were read from it."""

    def __init__(self, store: Store) -> None:
        self._store, self.read = store, 0

    def history(
        self, session_id: str, *, after: int = 0, upto: int | None = None, topics: Sequence[str] | None = None
    ) -> Sequence[Recorded]:
        result = self._store.history(session_id, after=after, upto=upto, topics=topics)
        self.read += len(result)
        return result


def tell_the_same(store: Store) -> int:
    """Compare at every version of every session; how many moments there were."""
    kept, moments = FindingEvents(store), 0
    for name in store.rows.streams():
        history = store.history(name)
        for version in range(1, len(history) + 1):
            found = list(moments_of(kept.of(name, version), partial(whole, store)))
            assert found == list(moments_of(history[:version], partial(whole, store))), (name, version)
        moments += len(found)
    return moments


def test_they_say_what_the_whole_history_says(tmp_path: Path) -> None:
    with closing(walked(tmp_path, 5, 60)) as store:
        assert tell_the_same(store) > 3


@pytest.mark.parametrize("golden", sampled(GOLDEN, 0, -1), ids=lambda path: path.stem)
def test_they_say_what_the_whole_history_of_an_older_log_says(golden: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / "log.db"))) as store:
        take_in(store, golden.read_bytes().splitlines(keepends=True))
        tell_the_same(store)


def test_only_new_events_that_can_tell_are_read(tmp_path: Path) -> None:
    with closing(walked(tmp_path, 5, 60)) as store:
        name = max(store.rows.streams(), key=lambda stream: len(store.history(stream)))
        log, last = Counting(store), len(store.history(name))
        kept = FindingEvents(log)
        newest = [list(kept.of(name, version)) for version in (last - 1, last, last)][-1]
        read = log.read
        assert 0 < len(newest) <= read < last
        assert list(kept.of(name, 1)) == [each for each in newest if each.version == 1]
        kept.forget(name)
        assert list(kept.of(name, last)) == newest
        assert log.read == 2 * read


def test_a_text_that_is_taken_out_is_not_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses()
    with closing(stage.store):
        stage.answers("review-1", "a secret " + "x" * 20_000 + critique("NEEDS_FIX", "no index"))
        kept = FindingEvents(stage.store)
        before = kept.of("review-1", stage.session("review-1").version)
        [digest] = {each.event.reply.digest for each in before if isinstance(each.event, TurnAnswered)}
        assert digest is not None
        stage.redacts(digest)
        version = stage.session("review-1").version
        assert list(kept.of("review-1", version)) == list(FindingEvents(stage.store).of("review-1", version))
        assert list(kept.of("review-1", version))[: len(before)] != list(before)
