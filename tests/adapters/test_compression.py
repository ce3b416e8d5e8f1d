"""The states of longer events are packed in a SQLite file, and every reader gets their JSON."""

import hashlib
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.store.sql import compression
from adapters.store.sql.compression import DICTIONARY, MARK, SHORT, pack, plain, unpack
from adapters.store.sqlite.connection import FORMAT
from tests.adapters.audited import copied, exported, harmed, opened, rows, verified, written


@given(st.binary(max_size=5_000) | st.text(min_size=SHORT, max_size=5_000).map(str.encode))
def test_every_state_comes_back_as_it_was(state: bytes) -> None:
    assert unpack(pack(state)) == unpack(pack(MARK + state))[1:] == state


@pytest.mark.parametrize("size", [0, 1, SHORT, SHORT + 1, 2_999, 3_000, 3_001, 40_000, 400_000])
def test_a_state_of_any_size_comes_back(size: int) -> None:
    state = (orjson.dumps({"data": "The parser reads lines. "}) * (size // 30 + 1))[:size]
    assert unpack(pack(state)) == state
    assert (pack(state) == state) == (size <= SHORT)


def test_the_dictionary_never_changes() -> None:
    """Rows of every log were made with it."""
    assert hashlib.sha256(DICTIONARY).hexdigest() == "124921be2a954ee9907615ca052c228f2612d7181d409aa9f6cd3873ce484cd9"
    assert unpack(bytes.fromhex("0123bb1c85250d68c029392a8092ac9ec2283d386860dc0200")) == orjson.dumps(_STATE)


_STATE = {"at": 1764000000000, "actor": "agent:coder", "turn": "t1#1", "data": {"reply": "A line. " * 50}}


def test_what_cannot_be_unpacked_stays_as_it_is() -> None:
    whole = pack(b'{"data": ' + b"7" * SHORT + b"}")
    assert whole.startswith(MARK)
    for damaged in (whole[:-1], whole + b" ", MARK, MARK + b"\xff" * 9):
        assert unpack(damaged) == damaged
    odd = [(1, None), (2, "text"), (3, 7), (4, whole[:-1])]
    assert plain(odd, 1) == odd


def test_a_row_cannot_unpack_to_more_than_any_state(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(b"7" * 5_000)
    monkeypatch.setattr(compression, "_MOST", 4_999)
    assert unpack(packed) == packed


def test_a_log_of_an_older_version_has_the_same_content(tmp_path: Path) -> None:
    """There, states are not packed. Everything that leaves a log is about the JSON text."""
    log = written(tmp_path / "new", seed=3, steps=12)
    old = copied(log, tmp_path / "old")
    harmed(old, "UPDATE events SET state = plain(state)", "PRAGMA user_version = 1", "VACUUM")
    assert rows(log, "SELECT count(*) FROM events WHERE substr(state, 1, 1) = x'01'") > [(10,)]
    assert verified(old).sound and verified(log).sound
    assert exported(old) == exported(log)
    with opened(old) as store, opened(log) as other:
        assert store.log() == other.log()
        first = store.log(limit=1)[0]
        assert store.select_events(first.session_id) == other.select_events(first.session_id)
        assert store.select_notifications(1, 50) == other.select_notifications(1, 50)
    assert rows(old, "PRAGMA user_version") == [(FORMAT,)]
