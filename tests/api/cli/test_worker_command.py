"""`hansard worker`: processes that run turns next to a server that does not."""

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from adapters.store.location import open_store
from api.cli.progress import summary
from api.cli.session import details
from tests.api.cli.conftest import Hansard
from tests.api.pulling import begin, claim, team
from tests.api.server import (
    PATIENCE,
    Server,
    delivery,
    ended,
    events,
    inside,
    only,
    session,
    start,
    until,
)
from tests.kit import programs

BUSY = {"dev": [{"text": "Done.", "files": {"src/login.py": "x = 1\n"}, "delayMs": 50}]}
SILENT = {"planner": [{"text": "late", "delayMs": 600_000}]}


class Idle(Server):
    """`hansard serve --no-work`; `name` is the name of the newest worker, and `said` what it says after that."""

    name = ""
    said: TextIO

    def start(self) -> float:
        with self.log.open("ab") as log:
            words = ("serve", "--port", str(self.port), "--no-work")
            self._process = programs.started(words, env=self._environment(), output=log)
        until(self._ready, what="/readyz", pause=0.005)
        return 0.0

    @contextlib.contextmanager
    def worker(self, *words: str) -> Iterator[programs.Program]:
        """A worker on the same log, once it has reported that it is ready."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as self.said:
            nowhere = subprocess.DEVNULL
            process = programs.started(("worker", *words), env=self._environment(), output=nowhere, error=writing)
            os.close(writing)
            try:
                self.name = self.said.readline().rpartition(" ")[2].strip()
                yield process
            finally:
                process.kill()
                process.wait()

    def held_by(self) -> set[str]:
        """The workers that run turns now."""
        store = open_store(f"sqlite:///{self.database}")
        try:
            return set(store.turns.workers())
        finally:
            store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Idle]:
    process = Idle(tmp_path, poll_seconds=0.1)
    try:
        process.start()
        yield process
    finally:
        process.leave()


def doubled(history: list[dict[str, Any]]) -> list[str]:
    """The turns that ended more than once."""
    settled = Counter(e["data"]["turnId"] for e in history if e["type"] in ("turn.answered", "turn.failed"))
    return [turn_id for turn_id, count in settled.items() if count > 1]


@pytest.mark.parametrize("count", [20])
def test_deliveries_end_once_though_one_of_two_workers_is_killed(server: Idle, count: int) -> None:
    """The server runs no turns; the second worker takes over those of the dead one."""
    with server.worker("--slots", "4") as first, server.worker("--slots", "4") as second:
        ids = [start(server.client, delivery(BUSY)) for _ in range(count)]
        until(lambda: len(server.held_by()) == 2, what="two workers at work")
        os.kill(first.pid, signal.SIGKILL)
        for session_id in ids:
            assert ended(server.client, session_id, seconds=60)["status"] == "success"
        second.send_signal(signal.SIGTERM)
        assert second.wait(timeout=PATIENCE) == 0
    for session_id in ids:
        history = events(server.client, session_id)
        assert doubled(history) == []
        assert [event["type"] for event in history].count("delivery.session_finished") == 1
        assert len(only(history, "turn.requested")) == len(only(history, "turn.answered"))


def test_server_without_work_runs_no_turns(server: Idle) -> None:
    session_id = start(server.client, delivery())
    with server.worker() as process:
        assert ended(server.client, session_id)["status"] == "success"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
    waiting = start(server.client, delivery())
    assert len(session(server.client, waiting)["outstandingTurns"]) == 1
    assert server.client.post("/api/turns/claim", json={}).status_code == 204  # its agents are not external
    assert server.held_by() == set()
    assert "Not running turns" in server.log.read_text()


def test_stopping_worker_returns_its_turns(server: Idle) -> None:
    session_id = start(server.client, delivery(SILENT))
    with server.worker("--slots", "1") as process:
        until(lambda: server.held_by() == {server.name}, what="the turn in hand")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
        assert server.said.read().endswith("Stopped.\n")
    assert server.held_by() == set()
    assert [turn["agent"] for turn in session(server.client, session_id)["outstandingTurns"]] == ["planner"]


def test_a_worker_has_no_more_turns_in_hand_than_slots(server: Idle) -> None:
    ids = [start(server.client, delivery(SILENT)) for _ in range(4)]
    with server.worker("--slots", "2"):
        store = open_store(f"sqlite:///{server.database}")
        try:
            until(lambda: store.turns.count() == {"queued": 2, "running": 2}, what="two turns in hand")
        finally:
            store.close()
        for session_id in ids[:2]:
            assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        until(lambda: set(started(server)) == set(ids[2:]), what="the next two")


def started(server: Idle) -> list[str]:
    """The sessions of the leased turns."""
    store = open_store(f"sqlite:///{server.database}")
    try:
        ids = [item["id"] for item in server.client.get("/api/sessions").json()["items"]]
        return [session_id for session_id in ids if store.turns.held(f"{session_id}.t1") is not None]
    finally:
        store.close()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--slots", "0"), "--slots: 0 is too small; the minimum is 1."),
        (("--database", "postgresql://x:y/z"), "the port should be a number"),
    ],
)
def test_invalid_worker_options_are_a_usage_error(hansard: Hansard, words: tuple[str, ...], sentence: str) -> None:
    result = hansard("worker", *words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


def test_broken_team_file_is_reported(hansard: Hansard, tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text("agents = 3")
    result = hansard("worker", "--team", str(tmp_path / "team.toml"))
    assert result.code == 1
    assert "agents: Input should be a valid array" in result.err


def test_doctor_and_show_name_turns_waiting_for_an_external_worker(hansard: Hansard, tmp_path: Path) -> None:
    place = ("--database", str(tmp_path / "hansard.db"))
    file = team(tmp_path, "planner")

    def examined() -> dict[str, str]:
        [result] = [
            f for f in hansard("doctor", *place, "--team", str(file), "--json").json["items"] if "Remote" in f["name"]
        ]
        return {"mark": result["mark"], "found": result["found"]}

    assert examined() == {"mark": "ok", "found": "external; turns waiting: 0, claimed by its worker: 0"}
    with inside(tmp_path, team=file) as client:
        begin(client)
        assert examined() == {"mark": "warn", "found": "external; turns waiting: 1, claimed by its worker: 0"}
        claim(client)
        assert examined() == {"mark": "ok", "found": "external; turns waiting: 0, claimed by its worker: 1"}
        [item] = client.get("/api/sessions", headers={"Read-After": "3"}).json()["items"]
        view = session(client, item["id"])
    assert [turn["external"] for turn in view["outstandingTurns"]] == [True]
    assert summary(view).plain.endswith("Remote waiting for an external worker")
    assert ("at work", "Remote (planning, by an external worker)") in details(view, [])
    view["outstandingTurns"][0] = {**view["outstandingTurns"][0], "external": False, "elsewhere": True}
    pairs = details(view, [])
    assert ("at work", "") in pairs and ("waits for", "Remote (planning, not in this team)") in pairs
