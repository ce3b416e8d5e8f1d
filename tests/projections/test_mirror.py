"""Worklogs as files in a folder."""

import logging
import threading
from pathlib import Path

import pytest

from adapters.store.sqlite.views import SqliteViews
from projections.follow import Follower
from projections.record.mirror import Mirror, file_name
from projections.record.records import Records
from projections.record.sessions import Sessions
from tests.projections.given import SECOND, written
from tests.projections.stage import DEBATE, Stage, plan


class Mirrored:
    """A stage whose worklogs are kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stage = folder / "worklogs", Stage(folder)
        self.views = SqliteViews(folder / "views.db")
        self.follower = Follower(self.stage.store, self.views)
        self.mirror = self.another()
        self.follower.listeners.append(self.mirror.seen)

    def follow(self) -> int:
        self.follower.catch_up()
        return self.mirror.write()

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def another(self) -> Mirror:
        return Mirror(self.folder, self.views, Sessions(self.stage.store), Records(self.stage.store))

    def worklog(self, session_id: str) -> str:
        return written(self.stage.store.history(session_id))


@pytest.mark.parametrize(
    ("title", "twin", "expected"),
    [
        ("Add a --json flag", 0, "20261121T120000_Add_a___json_flag.md"),
        ("로그인 페이지", 0, "20261121T120000_로그인_페이지.md"),
        ("\u1100\u1161", 0, "20261121T120000_가.md"),
        ("../../etc/passwd\0", 0, "20261121T120000_______etc_passwd_.md"),
        ("x" * 31, 1, f"20261121T120000_{'x' * 30}_2.md"),
        ("", 0, "20261121T120000_.md"),
    ],
)
def test_a_file_is_named_by_the_second_and_the_first_30_characters(title: str, twin: int, expected: str) -> None:
    assert file_name("2026-11-21T12:00:00.123Z", title, twin) == expected


def test_a_file_follows_its_session_and_latest_points_to_the_newest(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    result.stage.orchestrates(prompt="Add a login")
    assert result.follow() == 0
    name = "20261121T120000_Add_a_login.md"
    assert result.names() == [name, "latest.md"]
    assert "- Status: planning\n" in (result.folder / "latest.md").read_text("utf-8")
    result.stage.answers("orchestration-1", plan())
    result.follow()
    assert "- Status: round_1\n" in (result.folder / name).read_text("utf-8")
    assert (result.folder / name).read_text("utf-8") == result.worklog("orchestration-1")
    result.stage.discusses("review-1", "Something else")
    result.stage.answers("orchestration-1", "Done.")
    result.follow()
    assert (result.folder / "latest.md").readlink() == Path("20261121T120002_Something_else.md")


def test_a_discussion_of_a_run_has_its_file_but_is_not_the_latest(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    result.stage.orchestrates(title="Run", plan_review=DEBATE).answers("orchestration-1", plan())
    result.follow()
    assert result.names() == ["20261121T120000_Run.md", "20261121T120001_Plan__Run.md", "latest.md"]
    assert (result.folder / "latest.md").readlink() == Path("20261121T120000_Run.md")


def test_sessions_of_the_same_second_and_title_have_a_file_each(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    for number in range(3):
        result.stage.at = 1_795_262_400_000 + number * 100
        result.stage.orchestrates(f"orchestration-{number}", "Same")
    result.follow()
    names = [f"20261121T120000_Same{twin}.md" for twin in ("", "_2", "_3")]
    assert result.names() == sorted([*names, "latest.md"])
    result.stage.answers("orchestration-1", {"direct_answer": "42"})
    result.follow()
    assert [("42" in (result.folder / name).read_text("utf-8")) for name in names] == [False, True, False]


def test_a_folder_that_cannot_be_written_is_logged_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = Mirrored(tmp_path)
    result.folder.write_text("in the way")
    result.stage.orchestrates()
    with caplog.at_level(logging.ERROR):
        assert result.follow() == 1
    assert "the worklog of orchestration-1 cannot be written" in caplog.text
    assert result.follower.problems() == []
    result.folder.unlink()
    assert result.mirror.write() == 0
    assert result.names() == ["20261121T120000_Add_a_login.md", "latest.md"]


def test_a_new_life_writes_what_the_last_one_did_not(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    result.stage.orchestrates()
    result.follow()
    result.stage.orchestrates("orchestration-2", "Another").answers("orchestration-1", plan())
    result.follower.listeners.clear()
    result.follower.catch_up()
    untouched = (result.folder / "20261121T120000_Add_a_login.md").read_text("utf-8")
    assert "planning" in untouched
    again = result.another()
    again.start()
    again.stop()
    assert "round_1" in (result.folder / "20261121T120000_Add_a_login.md").read_text("utf-8")
    assert (result.folder / "latest.md").readlink() == Path("20261121T120001_Another.md")


def test_after_the_log_has_gone_back_only_what_differs_is_written(tmp_path: Path) -> None:
    """What was told before may be of sessions that are gone."""
    result = Mirrored(tmp_path)
    result.stage.orchestrates()
    result.follower.catch_up()
    result.mirror.rewound(1)
    assert result.mirror.write() == 0
    assert not result.folder.exists()
    result.mirror.start()
    result.mirror.stop()
    assert (result.folder / "latest.md").read_text("utf-8") == result.worklog("orchestration-1")


def test_a_file_that_is_as_it_should_be_is_left_alone(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    result.stage.orchestrates()
    result.follow()
    path = result.folder / "20261121T120000_Add_a_login.md"
    before = path.stat()
    again = result.another()
    again.start()
    again.stop()
    assert path.stat().st_ino == before.st_ino
    assert before.st_mtime_ns == 1_795_262_400 * SECOND * 1_000_000


def test_the_mirror_follows_in_a_thread_of_its_own(tmp_path: Path) -> None:
    result = Mirrored(tmp_path)
    result.mirror.start()
    assert "worklog mirror" in [thread.name for thread in threading.enumerate()]
    result.stage.orchestrates()
    result.follower.catch_up()
    result.mirror.stop()
    assert result.names() == ["20261121T120000_Add_a_login.md", "latest.md"]
