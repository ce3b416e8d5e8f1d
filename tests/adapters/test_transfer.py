"""What is exported comes in elsewhere to the byte, or not at all."""

import hashlib
import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.proof.transfer import NotImported, export, take_in
from adapters.proof.verify import verify
from adapters.store.errors import StoreError
from adapters.store.port import Store
from adapters.store.rows import Row
from adapters.store.sqlite.sealed_log import sealed
from adapters.store.sqlite.store import SqliteStore
from adapters.writer.writer import CommandEnvelope, Writer
from domain.kinds import KINDS, fold
from domain.session.record import kind_of
from tests.adapters import audited
from tests.adapters.stores_under_test import chain
from tests.kit.claiming import claim
from tests.projections.given import NOON
from tests.projections.stage import Stage
from tests.projections.walks import wander

Lines = list[bytes]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited.written(tmp_path_factory.mktemp("transfer"), steps=60)


@pytest.fixture(scope="module")
def whole(log: Path) -> Lines:
    return audited.exported(log).splitlines(keepends=True)


@pytest.fixture
def empty(tmp_path: Path) -> Store:
    return SqliteStore(str(tmp_path / "empty.db"))


def streams(log: Path) -> list[str]:
    return [str(stream) for (stream,) in audited.rows(log, "SELECT DISTINCT stream FROM events ORDER BY stream")]


# -- there and back --------------------------------------------------------------------------------------------------


def test_the_whole_log_comes_in_and_goes_out_again_to_the_byte(log: Path, whole: Lines, empty: Store) -> None:
    sessions, events = take_in(empty, whole)
    named = [name for name in streams(log) if kind_of(name) in KINDS]
    assert (sessions, events) == (len(named), audited.verified(log).events)
    assert list(export(empty)) == whole
    assert verify(empty).faults == []
    assert {kind_of(name) for name in streams(log)} == {*KINDS, "channel"}
    assert sum(line.startswith(b'{"text":') for line in whole) > 1, "long texts were there"
    assert max(map(len, whole)) > 16_384


def test_every_session_comes_in_alone_and_goes_out_again_to_the_byte(log: Path, tmp_path: Path) -> None:
    for number, name in enumerate(streams(log)):
        lines = audited.exported(log, name).splitlines(keepends=True)
        with audited.opened(tmp_path / f"{number}.db") as store:
            take_in(store, lines)
            assert list(export(store, name)) == lines
            assert verify(store).faults == []


def test_a_session_brings_the_discussions_that_it_opened(log: Path) -> None:
    parent = next(
        str(stream)
        for (stream,) in audited.rows(log, "SELECT stream FROM events WHERE topic = 'session.child_requested'")
    )
    with audited.opened(log) as store:
        history = ((recorded.event, recorded.metadata) for recorded in store.history(parent))
        session = fold(kind_of(parent), history)
    assert session is not None and session.children
    exported = audited.exported(log, parent).splitlines()
    assert {json.loads(line).get("session") for line in exported[1:-1]} - {None} == {parent, *session.children}


def test_sessions_come_into_a_log_that_has_others(log: Path, tmp_path: Path) -> None:
    other = audited.written(tmp_path / "other", seed=4, steps=4)
    audited.harmed(other, "DELETE FROM turns", "DELETE FROM events", "DELETE FROM sqlite_sequence")
    names = [name for name in streams(log) if kind_of(name) == "delivery"][:2]
    with audited.opened(other) as store:
        for name in names:
            take_in(store, audited.exported(log, name).splitlines(keepends=True))
        assert verify(store).faults == []
        for name in names:
            assert b"".join(export(store, name)) == audited.exported(log, name)


def test_an_empty_log_is_exported_too(empty: Store, tmp_path: Path) -> None:
    lines = list(export(empty))
    assert len(lines) == 2
    with audited.opened(tmp_path / "other.db") as other:
        assert take_in(other, lines) == (0, 0)


def test_an_export_contains_no_half_written_command(tmp_path: Path) -> None:
    stage = wander(tmp_path, 1, 10)
    lines = export(stage.store)
    first = next(lines)
    stage.delivers("delivery-late", title="x" * 20)
    stage.answers("delivery-late", "y" * 20_000)
    rest = list(lines)
    with audited.opened(tmp_path / "other.db") as other:
        take_in(other, [first, *rest])
    stage.store.close()


# -- what is refused -------------------------------------------------------------------------------------------------


def refused(store: Store, lines: Lines) -> str:
    """Why; and nothing has changed."""
    before = [list(store.rows.events()), list(store.rows.texts()), store.rows.open_turns(), store.rows.last_given()]
    with pytest.raises(NotImported) as error:
        take_in(store, lines)
    after = [list(store.rows.events()), list(store.rows.texts()), store.rows.open_turns(), store.rows.last_given()]
    assert after == before
    return str(error.value)


def fitted(lines: Lines) -> Lines:
    """The same lines with a matching manifest, as a forger could make it."""
    events = [json.loads(line) for line in lines if line.startswith(b'{"session"')]
    manifest = json.loads(lines[-1])["manifest"] if lines[-1].startswith(b'{"manifest"') else {}
    body = [line for line in lines if not line.startswith(b'{"manifest"')]
    manifest |= {
        "texts": sum(line.startswith(b'{"text"') for line in body),
        "events": len(events),
        "sessions": len({event["session"] for event in events}),
        "sha256": hashlib.sha256(b"".join(body)).hexdigest(),
    }
    return [*body, orjson.dumps({"manifest": manifest}) + b"\n"]


def forged(lines: Lines, place: int, **changes: Any) -> Lines:
    """One event changed, and every hash of its session recomputed, as a forger would."""
    result = [json.loads(line) for line in lines]
    result[place] |= changes
    stream, previous = result[place]["session"], b""
    out = list(lines)
    for number, event in enumerate(result):
        if event.get("session") == stream:
            row = Row(0, stream, event["version"], event["type"], event["state"].encode(), b"")
            previous = chain(previous, row.stored())
            out[number] = orjson.dumps(event | {"hash": previous.hex()}) + b"\n"
    return fitted(out)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A delivery with one long text: a header, the text, the events, the manifest."""
    stage = Stage(tmp_path_factory.mktemp("alone"))
    stage.delivers().answers("delivery-1", "p" * 20_000).answers("delivery-1", "One module.")
    stage.store.close()
    return audited.exported(stage.store.path).splitlines(keepends=True)


def first_event(lines: Lines) -> int:
    return next(number for number, line in enumerate(lines) if line.startswith(b'{"session"'))


@pytest.mark.parametrize(
    "topic", ["os:system", "builtins.eval", "adapters.turns:TurnRunner", "", "turn.unknown", "x" * 5_000]
)
def test_an_invalid_topic_is_refused_and_never_looked_up(alone: Lines, empty: Store, topic: str) -> None:
    """S10: a name in a file never leads to code."""
    words = refused(empty, forged(alone, first_event(alone), type=topic))
    assert "cannot be read: There is no event type" in words
    assert len(words) < 6_000


Change = Callable[[Lines], Lines]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: [], "cut off"),
        (lambda lines: lines[:-1], "cut off"),
        (lambda lines: lines[:1], "cut off"),
        (lambda lines: [*lines[:-1], lines[-1][:40]], "not JSON"),
        (lambda lines: [*lines, lines[-1]], "nothing may follow"),
        (lambda lines: [*lines, b"\n"], "nothing may follow"),
        (lambda lines: [*lines[:-2], lines[-1]], "manifest does not match"),
        (lambda lines: [*lines[:3], *lines[4:]], "version 3 of delivery-1 follows version 1"),
        (lambda lines: [*lines[:4], lines[3], *lines[4:]], "version 2 of delivery-1 follows version 2"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "version 3 of delivery-1 follows version 1"),
        (lambda lines: [lines[0], *lines[2:]], "not those that its events mention"),
        (lambda lines: [lines[0], lines[1], lines[1], *lines[2:]], "each once"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "texts come before events"),
        (lambda lines: [lines[0].replace(b"1", b"2"), *lines[1:]], "not an export of format 1"),
        (lambda lines: [lines[0][:-2] + b',"x":1}\n', *lines[1:]], "not an export of format 1"),
        (lambda lines: lines[1:], "not an export of format 1"),
        (lambda lines: [lines[0], lines[0], *lines[1:]], "not a line of an export"),
        (lambda lines: [lines[0], b'{"x":1}\n', *lines[1:]], "not a line of an export"),
        (lambda lines: [lines[0], b"[]\n", *lines[1:]], "should be a JSON object"),
        (lambda lines: [lines[0], b"[" * 100_000 + b"\n", *lines[1:]], "nests more than"),
        (lambda lines: [lines[0], b'{"text":1e999}\n', *lines[1:]], "too large"),
        (lambda lines: [lines[0], b'{"a":1,"a":2}\n', *lines[1:]], "occurs twice"),
        (lambda lines: [lines[0], b"\xff\xfe\n", *lines[1:]], "not UTF-8"),
        (lambda lines: [lines[0], b"\n", *lines[1:]], "empty"),
        (lambda lines: [lines[0], lines[1].replace(b"ppp", b"ppq", 1), *lines[2:]], "does not match its digest"),
        (lambda lines: [*lines[:2], lines[2].replace(b"Session", b"Sessiom", 1), *lines[3:]], "has been changed"),
        (lambda lines: [*lines[:2], lines[2][:-2] + b',"x":1}\n', *lines[3:]], "writes this differently"),
        (lambda lines: [*lines[:2], lines[2].replace(b'":', b'": ', 1), *lines[3:]], "writes this differently"),
        (lambda lines: [*lines[:2], lines[2].replace(b'"version":1', b'"version":true'), *lines[3:]], "Line 3"),
        (lambda lines: [*lines[:2], lines[2].replace(b'"hash":"', b'"hash":"0'), *lines[3:]], "64 hexadecimal"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b'"texts":1', b'"texts":2')], "manifest does not match"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b'"root":"', b'"root":"A')], "manifest does not match"),
        (lambda lines: [*lines[:-1], lines[-1][:-3] + b',"x":1}}\n'], "manifest does not match"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_whole_and_unchanged_changes_nothing(
    alone: Lines, empty: Store, change: Change, why: str
) -> None:
    assert why in refused(empty, change(alone))
    assert take_in(empty, alone) == (1, len(alone) - 3), "the file itself is fine"


@pytest.mark.parametrize(
    "name",
    ["delivery-../../etc", "delivery-a/b", "delivery-a b", "delivery-", "../x", "delivery-a\n", "delivery-a.t1", ""],
)
def test_an_id_that_leads_elsewhere_is_refused(alone: Lines, empty: Store, name: str) -> None:
    start = first_event(alone)
    assert "is not the id of a session" in refused(empty, forged(alone, start, session=name))


def test_a_kind_that_does_not_exist_is_refused(alone: Lines, empty: Store) -> None:
    assert "no kind of session" in refused(empty, forged(alone, first_event(alone), session="thing-1"))


def test_a_history_that_makes_no_session_is_refused(alone: Lines, empty: Store) -> None:
    """Well hashed, well typed, and still nothing that can have happened."""
    start = first_event(alone)
    second = json.loads(alone[start + 1])
    lines = forged(alone, start, type=second["type"], state=second["state"])
    assert "cannot be read" in refused(empty, lines)


@pytest.mark.parametrize("state", ["{}", "[]", "null", '{"at":1}', "1", '"', '{"data":{}}', "[" * 2_000])
def test_a_state_that_is_not_an_event_is_refused(alone: Lines, empty: Store, state: str) -> None:
    assert "cannot be read" in refused(empty, forged(alone, first_event(alone), state=state))


def test_turns_of_other_sessions_are_out_of_reach(alone: Lines, empty: Store) -> None:
    """Otherwise a file could settle a turn that a worker here is running."""
    place = next(number for number, line in enumerate(alone) if b'"turn.requested"' in line)
    state = json.loads(alone[place])["state"].replace("delivery-1.t1", "delivery-2.t1")
    assert "'delivery-2.t1' is not a turn of delivery-1" in refused(empty, forged(alone, place, state=state))


def test_a_session_that_is_there_already_is_not_taken_in_again(alone: Lines, empty: Store) -> None:
    take_in(empty, alone)
    assert refused(empty, alone) == "The log already has delivery-1."


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_no_changed_byte_comes_in(alone: Lines, empty: Store, data: st.DataObject) -> None:
    raw = bytearray(b"".join(alone))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    refused(empty, bytes(raw).splitlines(keepends=True) if b"\n" in raw else [bytes(raw)])


# -- afterwards ------------------------------------------------------------------------------------------------------


@pytest.fixture
def imported(tmp_path: Path) -> Stage:
    """A log into which sessions with open turns came from elsewhere."""
    there = tmp_path / "there"
    there.mkdir()
    output = Stage(there)
    output.delivers("delivery-1").orchestrates("orchestration-1").discusses("review-1")
    output.delivers("delivery-2", review=None).answers("delivery-2", "A plan.")
    lines = list(export(output.store))
    output.store.close()
    here = Stage(tmp_path)
    here.at = output.at
    take_in(here.store, lines)
    return here


def test_imported_open_turns_are_never_run(imported: Stage) -> None:
    assert claim(imported.store, "worker", now=2**60, lease_ms=1) is None
    assert not imported.store.turns.waiting(2**60)
    assert imported.store.turns.overdue(2**60) == []
    assert len(imported.store.rows.open_turns()) == 4
    assert verify(imported.store).faults == []


@pytest.mark.parametrize("name", ["delivery-1", "delivery-2", "orchestration-1", "review-1"])
def test_sessions_that_came_in_can_be_cancelled(imported: Stage, name: str) -> None:
    imported.do(name, KINDS[kind_of(name)].cancel("not ours"))
    assert imported.session(name).outstanding == {}
    assert [turn for turn in imported.store.rows.open_turns() if turn.startswith(name)] == []
    assert verify(imported.store).faults == []
    imported.store.close()


def test_imported_sessions_without_parent_or_children_can_be_cancelled(tmp_path: Path) -> None:
    """A parent's discussions come along; a discussion's parent does not."""
    there = tmp_path / "there"
    there.mkdir()
    output = wander(there, 1, 100)
    waiting = [session for session in output.sessions() if session.parent and not session.ended]
    output.store.close()
    assert waiting, "a discussion about another session is open"
    here = Stage(tmp_path)
    for session in waiting[:3]:
        take_in(here.store, audited.exported(output.store.path, session.id).splitlines(keepends=True))
        here.do(session.id, KINDS[session.kind].cancel("not ours"))
        assert here.session(session.id).ended
    assert verify(here.store).faults == []
    here.store.close()


# -- backups ---------------------------------------------------------------------------------------------------------


def backed_up(folder: Path, count: int) -> int:
    """So many online backups while commands come in; each is whole, and has every command that was acknowledged before
    it began at the same position. How many sessions were acknowledged before the last one began."""
    stage = Stage(folder)
    ended, answered, backups = threading.Event(), list[tuple[str, int, int]](), list[tuple[int, Path]]()

    def write() -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            stage.delivers(f"delivery-{number}").answers(f"delivery-{number}", "z" * 20_000 + str(number))
            newest = stage.store.history(f"delivery-{number}")[-1]
            answered.append((newest.session_id, newest.version, newest.position))

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for number in range(count):
            while len(answered) <= number and writing.is_alive():  # something new was acknowledged since the last one
                ended.wait(0.001)
            known, target = len(answered), folder / f"backup-{number}.db"
            stage.store.rows.backup(target)
            backups.append((known, target))
    finally:
        ended.set()
        writing.join()
    rows = [(row.position, row.hash) for row in stage.store.rows.events()]
    for known, target in backups:
        assert audited.verified(target).faults == []
        with sealed(target) as copy:
            assert [(row.position, row.hash) for row in copy.rows.events()] == rows[: copy.head()]
            for session_id, version, position in answered[:known]:
                assert copy.history(session_id, after=version - 1, upto=version)[0].position == position
        target.unlink()
    stage.store.close()
    return max(known for known, _ in backups)


def test_ten_backups_under_load_contain_everything_acknowledged(tmp_path: Path) -> None:
    assert backed_up(tmp_path, 10) > 0


@pytest.mark.nightly
def test_fifty_backups_under_load_contain_everything_acknowledged(tmp_path: Path) -> None:
    assert backed_up(tmp_path, 50) > 0


def test_a_restored_backup_continues_where_it_ended(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.delivers()
    stage.store.rows.backup(tmp_path / "restored.db")
    head = stage.store.head()
    with audited.opened(tmp_path / "restored.db") as store:
        writer = Writer(store, lambda: NOON + 10_000)
        cancel = KINDS["delivery"].cancel("enough")
        writer.do_now(CommandEnvelope("delivery-1", cancel, actor="tester", command_id="later"))
        assert store.log(after=head)[0].position == head + 1
        assert verify(store).faults == []
    assert stage.store.head() == head
    stage.store.close()


def test_a_backup_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        stage.store.rows.backup(tmp_path / "nowhere" / "backup.db")
    assert not (tmp_path / "nowhere").exists()
    stage.store.close()


# -- while it is used -------------------------------------------------------------------------------------------------


def test_a_log_that_is_written_to_meanwhile_is_sound(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            stage.delivers(f"delivery-{number}")

    writing = threading.Thread(target=write)
    writing.start()
    try:
        result = [verify(stage.store).faults for _ in range(20)]
    finally:
        ended.set()
        writing.join()
    assert result == [[]] * 20
    stage.store.close()
