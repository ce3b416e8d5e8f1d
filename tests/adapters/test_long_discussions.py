"""Long discussions: prompts repeat all rounds, the log contains each of them once, and readers get every word."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import orjson
import pytest

from adapters.proof.transfer import export, take_in
from adapters.proof.verify import verify
from adapters.store.location import open_store
from adapters.store.spelling import spelled_out
from adapters.store.sqlite.store import SqliteStore
from adapters.store.texts import whole
from domain.discussion.events import RoundAdded
from domain.replay import first_difference
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnRequested
from domain.values.base import INLINE_BYTES
from tests.adapters.audited import with_plain
from tests.kit.endless import NAME, SUBJECT, Disputing, review

ROUNDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long")


@pytest.fixture(scope="module")
def agent() -> Disputing:
    return Disputing()


@pytest.fixture(scope="module")
def store(folder: Path, agent: Disputing) -> Iterator[SqliteStore]:
    result = open_store(f"sqlite:///{folder / 'log.db'}")
    assert isinstance(result, SqliteStore)
    with closing(result):
        assert len(review(result, folder, ROUNDS, agent).rounds) == ROUNDS
        yield result


def test_each_round_takes_as_much_room_as_the_one_before(store: SqliteStore, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "log.db")) as log:
        with_plain(log)
        [versions] = zip(*log.execute("SELECT version FROM events WHERE topic = 'review.round_added'"), strict=True)

        def size(first: int, last: int) -> int:
            between = (versions[first - 1], versions[last - 1])
            sizes = log.execute("SELECT length(plain(state)) FROM events WHERE version BETWEEN ? AND ?", between)
            return sum(int(row[0]) for row in sizes)

        assert size(50, ROUNDS) / size(10, 20) < 1.05
        assert log.execute("SELECT sum(length(content)) FROM texts").fetchone()[0] < 10_000, "the three templates"


def test_readers_get_the_prompts_that_the_agents_got(store: SqliteStore, agent: Disputing) -> None:
    history = store.history(NAME)
    answered = [each.event for each in history if isinstance(each.event, TurnAnswered)]
    assert {event.turn_id: whole(store, event.prompt) for event in answered} == agent.asked
    assert all(event.prompt.length == len(agent.asked[event.turn_id].encode()) for event in answered)
    assert "&lt;material> however" in agent.asked[answered[-1].turn_id]


def test_requests_name_all_earlier_rounds_in_order(store: SqliteStore) -> None:
    texts: list[str] = []
    for recorded in store.history(NAME):
        match recorded.event:
            case RoundAdded() as event:
                texts.append(f"[Round {event.round} - {event.role}]\n{event.content.head}")
            case TurnRequested() as event:
                between = "\n\n---\n\n" if event.role == "synthesizer" else "\n\n"
                rounds = event.context["rounds"]
                assert whole(store, rounds) == between.join(texts)
                assert rounds.length == len(between.join(texts).encode())
                assert whole(store, event.context["subject"]) == SUBJECT


def test_an_older_prompt_is_read_without_the_newer_rounds(store: SqliteStore, folder: Path, agent: Disputing) -> None:
    other = open_store(f"sqlite:///{folder / 'log.db'}")
    assert isinstance(other, SqliteStore)
    with closing(other):
        for recorded in reversed(other.history(NAME)):
            if isinstance(recorded.event, TurnAnswered):
                assert whole(other, recorded.event.prompt) == agent.asked[recorded.event.turn_id]


def test_single_events_begin_with_their_text(store: SqliteStore, agent: Disputing) -> None:
    def shown(recorded: Recorded) -> TurnAnswered | TurnRequested:
        event = spelled_out(store, recorded).event
        assert isinstance(event, TurnAnswered | TurnRequested)
        return event

    turns = [each for each in store.history(NAME) if isinstance(each.event, TurnAnswered | TurnRequested)]
    requested, answered = shown(turns[-2]), shown(turns[-1])
    assert isinstance(requested, TurnRequested) and isinstance(answered, TurnAnswered)
    assert answered.prompt.head == agent.asked[answered.turn_id].encode()[:INLINE_BYTES].decode(errors="ignore")
    assert requested.context["rounds"].head.startswith("[Round 1 - critique]\n")
    assert requested.context["subject"].head == SUBJECT


def test_todays_rules_decide_the_same(store: SqliteStore) -> None:
    assert first_difference(store.history(NAME), partial(whole, store)) is None


def test_a_missing_template_is_reported(store: SqliteStore, tmp_path: Path) -> None:
    store.rows.backup(tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "copy.db")) as log:
        log.execute("DELETE FROM texts WHERE digest = (SELECT min(digest) FROM texts)")
        log.commit()
    copy = open_store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert isinstance(copy, SqliteStore)
    with closing(copy):
        assert any("is missing" in fault.problem for fault in verify(copy).faults)


def test_an_export_contains_the_templates(store: SqliteStore, tmp_path: Path, agent: Disputing) -> None:
    lines = list(export(store))
    assert sum("text" in orjson.loads(line) for line in lines) == 3
    copy = open_store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert isinstance(copy, SqliteStore)
    with closing(copy):
        take_in(copy, lines)
        answered = [each.event for each in copy.history(NAME) if isinstance(each.event, TurnAnswered)]
        assert {event.turn_id: whole(copy, event.prompt) for event in answered} == agent.asked
