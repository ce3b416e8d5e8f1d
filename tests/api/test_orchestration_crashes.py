"""A crash anywhere in an orchestration leads to the same end (P1, P4; K-8, K-9).

One run is watched from its first to its last event: after every commit, and whenever a turn is taken in hand, its log
and its folders are copied as they are at that moment. Each copy is what a machine would find after a crash there; a new
life goes on from it. Some lives end in earnest, with kill -9.
"""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.testclient import TestClient

from adapters.store.sqlite.store import SqliteStore
from tests.api.orchestrating import agent, orchestration, rested
from tests.api.server import Json, Server, events, inside, only, serving, session, system, until
from tests.kit.replies import plan, subtask, verdicts

T = TypeVar("T")

PARALLEL = {
    name: subtask(name, 3, 5, parallel=True, verification={"affected_files": [f"{name}.txt"]})
    for name in ("Backend", "Frontend")
}
REPLIES: dict[str, Any] = {
    "planner": [plan(*PARALLEL.values(), subtask("Docs", 1, 5))],
    "Backend": [
        {"text": "one", "files": {"Backend.txt": "1\n"}},
        "two",
        {"text": "3", "files": {"Backend.txt": "3\n"}},
    ],
    "Frontend": [{"text": "one", "files": {"Frontend.txt": "1\n"}}, "two", "three"],
    "Docs": ["one", "two", "three"],
    "judge": [
        verdicts(Backend=True, Frontend=True, Docs=True),
        "I cannot say.",
        verdicts(Backend=True, Frontend=False, Docs=True),
        verdicts(words="Three rounds.", Backend=True, Frontend=True, Docs=True, all_done=True),
    ],
}
"""Three agents, three rounds: two at once and one after them, a verdict that is repaired in the same turn, an end."""


def turns(history: list[Json]) -> list[tuple[str, str, str]]:
    """Every turn's end: which one, whose, and whether it was answered."""
    ends = [event for event in history if event["type"] in ("turn.answered", "turn.failed", "turn.cancelled")]
    return sorted((event["data"]["turnId"], event["data"]["agent"], event["type"]) for event in ends)


def essence(client: TestClient | Any, session_id: str) -> Json:
    """The result of a run without times and attempts; parallel agents may finish in any order."""
    history, log = session(client, session_id), events(client, session_id)
    kept = ("status", "mode", "plan", "planVersion", "round", "lastRound", "agents", "summary", "warnings", "reason")
    files: dict[str, list[list[str]]] = {}
    for answered in only(log, "turn.answered"):
        files.setdefault(answered["agent"], []).append(answered["files"])
    return {name: history[name] for name in kept} | {
        "types": sorted(event["type"] for event in log),
        "verdicts": [
            (v["round"], v["agent"], v["judged"], v["pass"]) for v in only(log, "orchestration.verdict_given")
        ],
        "reports": sorted(
            (report["round"], report["agent"], report["result"], report["report"]["head"])
            for report in only(log, "orchestration.work_reported")
        ),
        "turns": turns(log),
        "files": files,
        "versions": [event["version"] for event in log] == list(range(1, len(log) + 1)),
    }


class Watch:
    """Copies the log and the folders of a running system."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.copies = folder, 0
        self._copying = threading.Lock()

    def copy(self) -> None:
        """Called by the threads of writer and worker, one at a time."""
        with self._copying:
            self._copy()

    def _copy(self) -> None:
        place = self.folder / f"copy-{self.copies}"
        place.mkdir()
        with (
            closing(sqlite3.connect(self.folder / "hansard.db")) as source,
            closing(sqlite3.connect(place / "hansard.db")) as target,
        ):
            source.backup(target)
        shutil.copytree(self.folder / "node", place / "node", symlinks=True)
        self.copies += 1


@contextmanager
def watched(folder: Path) -> Iterator[tuple[TestClient, Watch]]:
    """A system that is copied after every commit, before anyone is notified, and whenever a turn is taken in hand.

    It works on one turn at a time, so that nothing moves while it is copied.
    """
    watch = Watch(folder)
    with pytest.MonkeyPatch.context() as patch, inside(folder, worker_slots=1) as client:
        store = system(client).store
        patch.setattr(store, "append", _then(watch.copy, store.append))
        patch.setattr(store.turns, "take_all", _then(watch.copy, store.turns.take_all))
        yield client, watch


def _then(act: Callable[[], None], call: Callable[..., T]) -> Callable[..., T]:
    def both(*args: Any, **fields: Any) -> T:
        result = call(*args, **fields)
        if result:
            act()
        return result

    return both


@pytest.fixture(scope="module")
def watched_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Json, list[Path]]:
    """The run that nothing disturbed, and what a crash would have left at every step."""
    folder = tmp_path_factory.mktemp("watched")
    with watched(folder) as (client, watch):
        session_id = client.post("/api/sessions", json=orchestration(REPLIES)).json()["sessionId"]
        rested(client, session_id)
        result = essence(client, session_id)
    return session_id, result, [folder / f"copy-{number}" for number in range(watch.copies)]


def test_crash_test_watches_the_intended_run(watched_run: tuple[str, Json, list[Path]]) -> None:
    session_id, result, copies = watched_run
    assert (result["status"], result["round"], result["summary"]) == ("done", 3, "Three rounds.")
    assert [entry["pass"] for entry in agent(result, "Frontend")["history"]] == [True, False, True]
    assert [agent(result, name)["currentPhase"] for name in ("Backend", "Frontend", "Docs")] == [5, 5, 5]
    asked = 1 + 3 * 3 + 4
    assert len(result["turns"]) == asked - 1, "one of them was asked twice"
    assert len(copies) == 1 + 2 * asked, "one for the start; for each turn one in hand and one when it is recorded"
    versions = [version_of(copy, session_id) for copy in copies]
    assert versions == sorted(versions)
    assert len(set(versions)) == 1 + asked, "every commit is there"


def version_of(copy: Path, session_id: str) -> int:
    store = SqliteStore(str(copy / "hansard.db"))
    try:
        return store.version(session_id)
    finally:
        store.close()


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_crash_after_any_event_leads_to_the_same_end(watched_run: tuple[str, Json, list[Path]], every: int) -> None:
    """No recorded turn is asked again: only the leased one has a second attempt."""
    session_id, expected, copies = watched_run
    in_hand = 0
    for copy in copies[::every]:
        before, held = version_of(copy, session_id), turns_in(copy, "running")
        with inside(copy, worker_slots=1) as client:  # the order of the agents decides who gets which reply
            rested(client, session_id)
            assert essence(client, session_id) == expected, f"{copy.name}, at version {before}"
            history = events(client, session_id)
        repaired = [event["turnId"] for event in only(history, "turn.attempt_failed")]
        answered = only(history, "turn.answered")
        assert {turn["turnId"] for turn in answered if turn["attempt"] > 1 + repaired.count(turn["turnId"])} == held
        in_hand += len(held)
    assert in_hand == 14 if every == 1 else in_hand > 1, "every turn was in hand once"


def turns_in(copy: Path, state: str) -> set[str]:
    with closing(sqlite3.connect(copy / "hansard.db")) as database:
        return {row[0] for row in database.execute("SELECT turn_id FROM turns WHERE state = ?", (state,))}


# -- kill -9 -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One log that survives all the kills."""
    with serving(tmp_path_factory.mktemp("killed")) as result:
        yield result


def grown(server: Server, session_id: str, version: int) -> int:
    """The session's version, once it is above that one."""

    def beyond() -> int:
        view: int = session(server.client, session_id)["version"]
        return view if view > version else 0

    return until(beyond, what="the next event")


@pytest.mark.nightly
def test_killed_again_and_again_a_run_comes_to_the_same_end(
    watched_run: tuple[str, Json, list[Path]], server: Server
) -> None:
    other_id, expected, _ = watched_run
    body = orchestration(scenario={"replies": REPLIES, "delayMs": 60})
    session_id = server.client.post("/api/sessions", json=body).json()["sessionId"]
    version = 0
    for _ in range(3):
        version = grown(server, session_id, version + 12)
        assert session(server.client, session_id)["status"] == "active"
        server.kill()
        server.start()
    rested(server.client, session_id)
    result = essence(server.client, session_id)
    mine = [(turn.replace(session_id, other_id), who, end) for turn, who, end in result["turns"]]
    assert result | {"turns": mine} == expected


def test_a_checkpoint_and_its_conversations_survive_a_crash(server: Server) -> None:
    """S1 §2: kept until a person decides, however often the machine crashes."""
    body = orchestration({"planner": [plan(subtask("Backend", checkpoint=True))]}, origin="kept")
    session_id = server.client.post("/api/sessions", json=body).json()["sessionId"]
    before = rested(server.client, session_id)
    server.kill()
    server.start()
    assert session(server.client, session_id) == before
    assert server.client.post("/api/orchestrate/continue", json={"origin": "kept"}).status_code == 200
    over = rested(server.client, session_id)
    assert [entry["phase"] for entry in agent(over, "Backend")["history"]] == [3, 4, 5]
    asked = only(events(server.client, session_id), "turn.requested")
    assert [turn["agentSession"] for turn in asked if turn["agent"] == "Backend"][1] == "scripted:Backend"


def test_reset_survives_a_crash_and_no_turn_follows(server: Server) -> None:
    replies = {"planner": [{"text": "late", "delayMs": 60_000}]}
    session_id = server.client.post("/api/sessions", json=orchestration(replies)).json()["sessionId"]
    assert server.client.post(f"/api/sessions/{session_id}/reset", json={}).status_code == 200
    before = events(server.client, session_id)
    server.kill()
    server.start()
    assert session(server.client, session_id)["status"] == "reset"
    assert events(server.client, session_id) == before
    with closing(sqlite3.connect(server.database)) as database:
        result = database.execute("SELECT DISTINCT state FROM turns WHERE stream = ?", (session_id,)).fetchall()
    assert result == [("cancelled",)]
