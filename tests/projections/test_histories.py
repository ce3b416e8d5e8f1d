"""Every prefix of every history loads, folds and renders (promise P14), and is decided the same way again (P16)."""

import hashlib
import locale
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.kinds import KINDS, fold
from domain.replay import first_difference
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.values.base import Text
from projections.catalogue import dump
from projections.follow import Follower
from projections.record import worklog
from projections.record.records import Record
from projections.record.session import view
from tests.projections.given import written
from tests.projections.stage import Stage
from tests.projections.walks import wander

ROOT = Path(__file__).parents[2]


def walked(folder: Path, seeds: range) -> int:
    """How many sessions there were in so many walks, each at every one of its versions."""
    sessions = 0
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        with closing((stage := wander(place, seed, 60)).store), closing(SqliteViews(place / "views.db")) as views:
            follower = Follower(stage.store, views)
            follower.catch_up()
            assert follower.problems() == []
            for name in stage.store.rows.streams():
                history = stage.store.history(name)
                if kind_of(name) in KINDS:
                    sessions += 1
                    _prefixes(history)
                result = first_difference(
                    history, lambda text: _whole(stage, text), lambda event_id: _event(stage, event_id)
                )
                assert result is None, (seed, name)
    return sessions


def _whole(stage: Stage, text: Text) -> str:
    return (stage.store.text(text.digest) if text.digest else None) or text.head


def _event(stage: Stage, event_id: str) -> Recorded | None:
    name, _, version = event_id.rpartition(":")
    result = stage.store.history(name, after=int(version) - 1, upto=int(version)) if version.isdecimal() else []
    return result[0] if result else None


def _prefixes(history: list[Recorded]) -> None:
    session: Session | None = None
    record = Record()
    for recorded in history:
        session = fold(recorded.kind, [(recorded.event, recorded.metadata)], session)
        assert session is not None and session.version == recorded.version
        assert view(session).wire()["version"] == recorded.version
        record.add(recorded)
        live = worklog.render(record.worklog, session)
        if recorded.version % 16 == 0 or recorded is history[-1]:
            assert live == written(history, recorded.version)


def test_all_prefixes_of_thirty_random_histories(tmp_path: Path) -> None:
    assert walked(tmp_path, range(1_000, 1_003)) >= 25


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_all_prefixes_of_two_thousand_random_histories(tmp_path: Path, part: int) -> None:
    begin = 2_000 + part * 46
    assert walked(tmp_path, range(begin, begin + 46)) >= 500


# -- elsewhere -------------------------------------------------------------------------------------------------------

PLACES = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Seoul", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "POSIX"},
    {"PYTHONHASHSEED": "77", "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"},
]


def decided() -> str:
    """A digest of everything that some walks decide, and of every view of it; replayed on the way."""
    locale.setlocale(locale.LC_ALL, "")
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        assert walked(Path(folder), range(1)) > 5
        for seed in range(2):
            place = Path(folder) / f"again-{seed}"
            place.mkdir()
            with closing((stage := wander(place, seed, 40)).store), closing(SqliteViews(place / "views.db")) as views:
                Follower(stage.store, views).catch_up()
                digest.update(dump(views))
                for row in stage.store.rows.events():
                    digest.update(row.hash)
    return digest.hexdigest()


@pytest.mark.parametrize("places", [PLACES[1:3], pytest.param(PLACES, marks=pytest.mark.nightly)])
@pytest.mark.nightly
def test_decisions_and_views_are_the_same_under_another_hash_seed_time_zone_and_locale(
    places: list[dict[str, str]],
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "HANSARD_"))}
    program = "from tests.projections.test_histories import decided; print(decided())"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, env=kept | place, stdout=subprocess.PIPE, encoding="ascii"
        )
        for place in places
    ]
    texts = [(process.communicate(timeout=120)[0], process.returncode) for process in running]
    assert [code for _, code in texts] == [0] * len(places)
    assert len({digest for digest, _ in texts}) == 1
