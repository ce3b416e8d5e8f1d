"""How long a command waits for a log that takes no writes, or for agents no team has."""

import asyncio
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.turns.lease.presence import Presence
from api.cli import stall
from api.cli.exits import Failed
from api.cli.stall import ABSENT, FAILING, StallWatch
from api.system import System
from tests.api.cli.conftest import Hansard


class Store:
    """A log whose last write failed or succeeded, and whose next write fails for this reason or succeeds."""

    def __init__(self, *, failing: bool = False, why: str | None = None) -> None:
        self.failing, self.why = failing, why

    def failure(self) -> str | None:
        return self.why


class Waiting:
    """A waiting command that checks once a second."""

    def __init__(
        self, folder: Path, *, store: Store | None = None, follower: str | None = None, works: bool = True
    ) -> None:
        self.store, self.follower = store or Store(), SimpleNamespace(failing=follower)
        self.settings = SimpleNamespace(database="sqlite:///x.db", node_dir=folder)
        (folder / "workers").mkdir(exist_ok=True)
        self.now, self.works = 0.0, works
        self._patience = StallWatch(cast(System, self), lambda: self.now)

    def looks(self, times: int, *turns: dict[str, Any], moved: bool = False) -> None:
        for _ in range(times):
            self.now += 1
            session = {"id": "delivery-1", "outstandingTurns": turns}
            asyncio.run(self._patience.check([session], moved=moved))


def turn(agent: str = "planner", role: str = "planner", work: str = "ask", **more: bool) -> dict[str, Any]:
    return {"agent": agent, "role": role, "work": work, **more}


ABSENT_ONE = turn(elsewhere=True)


def test_a_log_that_takes_no_writes_is_given_up_after_a_minute(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, store=Store(failing=True, why="The disk is full."))
    waiting.looks(FAILING - 1)
    with pytest.raises(Failed) as failed:
        waiting.looks(1)
    assert failed.value.code == 1
    assert failed.value.sentences == (
        "Could not write to the log for a minute. The disk is full.",
        "The record is safe. Once that is fixed, `hansard worker` (or `serve`) continues delivery-1.",
    )


def test_failing_large_writes_count_though_small_ones_fit(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, store=Store(failing=True, why=None))
    with pytest.raises(Failed, match="Could not write to the log"):
        waiting.looks(FAILING)


def test_views_that_do_not_follow_are_given_up_too(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"The views are gone\."):
        Waiting(tmp_path, follower="The views are gone.").looks(FAILING)


def test_progress_restarts_the_wait(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, store=Store(failing=True, why="The disk is full."))
    for _ in range(3):
        waiting.looks(FAILING - 1)
        waiting.looks(1, moved=True)


def test_a_long_turn_is_waited_for(tmp_path: Path) -> None:
    Waiting(tmp_path).looks(10 * FAILING, turn())


def test_agents_outside_every_team_are_not_waited_for(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path)
    waiting.looks(ABSENT - 1, ABSENT_ONE, turn("", "", work="wait"))
    with pytest.raises(Failed) as failed:
        waiting.looks(1, ABSENT_ONE, turn("Ada", "reviewer", elsewhere=True))
    assert failed.value.code == 1
    assert failed.value.sentences[0] == (
        "delivery-1 is waiting for planner, Ada (reviewer), not in this team; no other worker on this log has it."
    )


@pytest.mark.parametrize("other", [turn("dev", "dev"), turn("test", "", work="validate")])
def test_absent_agents_are_fine_while_local_work_runs(tmp_path: Path, other: dict[str, Any]) -> None:
    Waiting(tmp_path).looks(2 * ABSENT, ABSENT_ONE, other)


def test_another_worker_on_the_log_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Waiting(tmp_path)
    other = Presence(tmp_path / "workers")
    monkeypatch.setattr("os.getpid", lambda: 0)  # from here on the process counts as another one
    waiting.looks(2 * ABSENT, ABSENT_ONE)
    assert capsys.readouterr().err == (
        "Waiting for planner, not in this team; other workers are running on this log.\n"
    )
    other.leave()
    with pytest.raises(Failed):
        waiting.looks(ABSENT, ABSENT_ONE)


def test_own_presence_counts_as_no_other_worker(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path)
    ours = Presence(tmp_path / "workers")
    with closing(ours._file), pytest.raises(Failed):
        waiting.looks(ABSENT, ABSENT_ONE)


def test_waiting_for_an_external_agent_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Waiting(tmp_path).looks(2 * ABSENT, ABSENT_ONE, turn("Remote", "dev", external=True))
    assert capsys.readouterr().err == (
        "Waiting for Remote (dev): its worker claims the turn from `hansard serve` on this log.\n"
    )


def test_a_server_has_its_own_patience() -> None:
    asyncio.run(StallWatch(None).check([], moved=False))


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-t", "x", "-f", "a", "--test", "true"),
        ("orchestrate", "x", "--triage", "direct"),
        ("message", "x", "--triage", "direct"),
    ],
)
def test_a_command_whose_team_lacks_a_role_ends_and_its_session_goes_on_with_a_team_that_has_it(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(stall, "_LOOK_SECONDS", 0.0)
    team = tmp_path / "team.toml"
    team.write_text('[[agents]]\nname = "Solo"\nroles = ["dev"]\nadapter = "scripted"\n')
    result = hansard(*words, "--team", str(team))
    assert (result.code, result.out) == (1, "")
    session_id = hansard("list", "--json").json["items"][0]["id"]
    assert f"hansard: {session_id} is waiting for " in result.err
    assert "run `hansard worker --team FILE`." in result.err
    assert hansard("show", session_id, "--json").json["session"]["status"] in ("running", "active")


def test_who_only_watches_is_told_once_that_no_worker_has_the_agents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands are run by any worker; the turn after them is not."""
    waiting = Waiting(tmp_path, works=False)
    waiting.looks(3 * ABSENT, turn("test", "test", work="validate"))
    waiting.looks(ABSENT - 1, turn("Ada", "reviewer"))
    assert capsys.readouterr().err == ""
    waiting.looks(3 * ABSENT, turn("Ada", "reviewer"))
    nobody = "No worker on this log has Ada (reviewer). To run it here: `hansard resume delivery-1`.\n"
    assert capsys.readouterr().err == nobody
