"""Logs of every version that was ever released still load, fold, render and replay (promise P15)."""

import hashlib
import json
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from adapters.proof.transfer import export, take_in
from adapters.proof.verify import verify
from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from adapters.store.texts import whole
from domain.kinds import EVENTS, KINDS, fold
from domain.replay import first_difference
from domain.session.record import Recorded, kind_of
from projections.follow import Follower
from projections.record.session import view
from tests.golden.make import PLACE, SUMS
from tests.projections.given import written

LOGS = sorted(PLACE.glob("*.jsonl"))
SUMMED = dict(reversed(line.split("  ")) for line in SUMS.read_text("utf-8").splitlines())


def test_golden_files_are_never_edited() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PLACE.glob("*.json*")}
    assert found == SUMMED, "a golden file is somebody's log: change the code that reads it, or add new ones"


def every(field: str) -> set[str]:
    """The values of this field in all golden logs."""
    lines = (json.loads(line) for path in LOGS for line in path.read_bytes().splitlines())
    return {line[field] for line in lines if field in line}


def test_every_kind_of_session_is_among_them() -> None:
    assert {kind_of(session) for session in every("session")} == {*KINDS, "channel"}


def test_every_event_is_among_them() -> None:
    missing = sorted({event.TOPIC for event in EVENTS} - every("type"))
    assert missing == [], "add a scene in which these events happen, and make a new golden file of it"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_golden_log_loads_folds_renders_and_replays(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    states = json.loads(path.with_name(f"{path.stem}.states.json").read_text("utf-8"))
    with (
        closing(SqliteStore(str(tmp_path / "log.db"))) as store,
        closing(SqliteViews(tmp_path / "views.db")) as views,
    ):
        take_in(store, lines)
        assert list(export(store)) == lines
        assert verify(store).faults == []
        follower = Follower(store, views)
        follower.catch_up()
        assert follower.problems() == []
        for session_id, expected in states.items():
            _still_what_it_was(store, session_id, expected)
        for stream in store.rows.streams():
            _decided_the_same_way(store, stream)


def _still_what_it_was(store: Store, session_id: str, expected: list[object]) -> None:
    history = store.history(session_id)
    session = fold(kind_of(session_id), ((recorded.event, recorded.metadata) for recorded in history))
    assert session is not None
    assert [session.version, session.state] == expected
    assert view(session).id == session_id
    assert written(history)


def _decided_the_same_way(store: Store, stream: str) -> None:
    """Channels, too; and what followed from other sessions still does."""

    def find(event_id: str) -> Recorded | None:
        name, _, version = event_id.rpartition(":")
        found = store.history(name, after=int(version) - 1, upto=int(version)) if version.isdecimal() else []
        return found[0] if found else None

    assert first_difference(store.history(stream), partial(whole, store), find) is None, stream
