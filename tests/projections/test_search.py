"""The index of words: what is found, in which order, and that it follows the log like any view."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.session.redaction import RedactedEvent, RedactText
from domain.session.turns import TurnAnswered
from projections.catalogue import PROJECTIONS, dump
from projections.follow import Follower
from projections.sessions import overview, search
from projections.sessions.search import SEARCH, SEARCH_OMITS, matching
from tests.projections.stage import Stage, plan, verdicts
from tests.projections.walks import wander


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteViews]:
    with closing(SqliteViews(tmp_path / "search.db")) as views:
        yield views


def found(stage: Stage, index: SqliteViews, q: str) -> list[str]:
    """The ids of the sessions, newest first."""
    follower = Follower(stage.store, index, [SEARCH], omitted=SEARCH_OMITS)
    follower.catch_up()
    assert follower.problems() == []
    names = {each.position: each.session_id for each in stage.events() if each.version == 1}
    with index.reading() as db:
        return [names[begin] for begins in matching(db, q) for begin in begins]


def test_replies_titles_and_tasks_are_found_newest_session_first(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1").answers("orchestration-1", plan())
    stage.delivers("delivery-1").orchestrates("orchestration-2", "Remove the LOGIN")
    stage.answers("orchestration-1", "The parser now rounds half-even, 100% of the time.")
    assert found(stage, index, "rounds HALF-even") == ["orchestration-1"]
    assert found(stage, index, "100% of") == ["orchestration-1"] and found(stage, index, "100_ of") == []
    assert found(stage, index, "login") == ["orchestration-2", "orchestration-1"]
    assert found(stage, index, "delivery-1") == ["delivery-1"]
    assert found(stage, index, 'half"even') == [] and found(stage, index, "now half-even") == []


@pytest.mark.parametrize("q", ["오류", "반올림", "오류를 고쳤", "고쳤습니다. 반올림"])
def test_two_korean_syllables_are_enough(tmp_path: Path, index: SqliteViews, q: str) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1").answers("orchestration-1", plan())
    stage.answers("orchestration-1", "나눗셈 오류를 고쳤습니다. 반올림은 나중에 합니다.")
    assert found(stage, index, q) == ["orchestration-1"]


def test_part_of_a_syllable_is_not_found(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1", "요청을 기각했습니다")
    assert found(stage, index, "기각") == ["orchestration-1"] and found(stage, index, "기가") == []


def test_short_words_are_found(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1", "The UI of it").delivers("delivery-1")
    assert found(stage, index, "ui") == ["orchestration-1"] and found(stage, index, "곳") == []


def test_the_end_of_a_long_reply_is_not_searched(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1").answers("orchestration-1", plan())
    stage.answers("orchestration-1", "begin " + "x " * search.SAID + "end of it")
    assert found(stage, index, "begin") and not found(stage, index, "end of it")


def test_batches_name_each_session_once(tmp_path: Path, index: SqliteViews, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ROWS", 2)
    stage = Stage(tmp_path)
    for number in range(1, 6):
        name = f"orchestration-{number}"
        stage.orchestrates(name, "Write a poem").answers(name, plan())
        stage.answers(name, "The poem.").answers(name, verdicts(Backend=False)).answers(name, "Another poem.")
    assert found(stage, index, "poem") == [f"orchestration-{number}" for number in range(5, 0, -1)]


def test_other_filters_apply_too_and_pages_continue(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path)
    for number in range(1, 8):
        stage.orchestrates(f"orchestration-{number}", "Write a poem", labels=("even",) if number % 2 == 0 else ())
    stage.discusses("review-1", "A poem")
    middle = stage.events()[len(stage.events()) // 2].at
    found(stage, index, "poem")
    with closing(SqliteViews(tmp_path / "views.db")) as views:
        Follower(stage.store, views).catch_up()
        with views.reading() as db, index.reading() as words:

            def ids(**filters: object) -> list[str]:
                page = overview.page(db, q="POEM", index=words, **filters)  # type: ignore[arg-type]
                return [item.id for item in page.items]

            assert ids(label="even") == ["orchestration-6", "orchestration-4", "orchestration-2"]
            assert ids(kind="review") == ["review-1"] and ids(status="success") == []
            late, early = ids(since=middle), ids(until=middle)
            assert [*late, *early] == ids() and len(ids()) == 8 and late and early
            first = overview.page(db, q="poem", kind="orchestration", limit=3, index=words)
            rest = overview.page(db, q="poem", kind="orchestration", cursor=first.next_cursor, index=words)
            assert [item.id for item in (*first.items, *rest.items)] == ids(kind="orchestration")
            assert first.next_cursor and rest.next_cursor is None


def test_a_removed_text_is_not_found(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1", "Print the key").answers("orchestration-1", plan())
    stage.answers("orchestration-1", "sk-secret-123 " + "x" * 20_000)
    assert found(stage, index, "sk-secret-123") == ["orchestration-1"]
    reply = [each for each in stage.events() if isinstance(each.event, TurnAnswered)][-1]
    assert isinstance(reply.event, TurnAnswered) and reply.event.reply.digest
    quoting = (RedactedEvent(version=reply.version, hash="0" * 64),)
    stage.do("orchestration-1", RedactText(digest=reply.event.reply.digest, reason="leaked", events=quoting))
    assert found(stage, index, "sk-secret-123") == []
    assert found(stage, index, "print the key") == ["orchestration-1"]


@pytest.mark.parametrize("page", [1, 7, 100_000])
def test_the_index_is_the_same_however_it_is_built(tmp_path: Path, page: int) -> None:
    with closing(wander(tmp_path, 4, 120).store) as store:
        dumps = []
        for name, size in (("one.db", 13), ("other.db", page)):
            with closing(SqliteViews(tmp_path / name)) as views:
                follower = Follower(store, views, [SEARCH], omitted=SEARCH_OMITS, page=size)
                follower.catch_up()
                assert follower.problems() == []
                dumps.append(dump(views, [SEARCH]))
                follower.rebuild()
                dumps.append(dump(views, [SEARCH]))
        assert len(set(dumps)) == 1 and len(dumps[0]) > 1_000


def test_an_emptied_index_is_built_again(tmp_path: Path, index: SqliteViews) -> None:
    stage = Stage(tmp_path).orchestrates("orchestration-1", "Write a poem")
    assert found(stage, index, "poem") == ["orchestration-1"]
    Follower(stage.store, index, [SEARCH]).empty()
    with index.reading() as db:
        assert list(matching(db, "poem")) == [[]]
    assert found(stage, index, "poem") == ["orchestration-1"]


def test_the_index_is_not_part_of_the_views() -> None:
    assert SEARCH not in PROJECTIONS
