"""When a machine dies, another continues with the workspace, or names the machine it waits for."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from adapters.proof.verify import verify
from adapters.store.location import reading
from api.cli.options import Where
from api.cli.session import details
from api.cli.session_list import list_sessions
from api.cli.verbs.clean import clean
from tests.api.seen import BROWSER
from tests.api.server import Json, Server, delivery, ended, inside, reached, session, start, until
from tests.kit.postgres import cluster, require

LOGIN = "def login():\n    return 'naïve'\r\n"
APPROVED = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 95, "fixPlan": []})
SLOW = 2_000


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    require()
    yield cluster().database(tmp_path)
    cluster().free(tmp_path)


def git(*args: str | Path) -> bytes:
    us = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(("git", *us, *args), check=True, capture_output=True).stdout


def repository(folder: Path) -> Path:
    git("init", "-q", "-b", "main", folder)
    for text in ("one\n", "two\n"):
        (folder / "readme").write_text(text)
        git("-C", folder, "add", ".")
        git("-C", folder, "commit", "-qm", text)
    return folder


def machine(folder: Path, name: str, url: str, **settings: Any) -> AbstractContextManager[TestClient]:
    """A server with a worker and a separate data folder."""
    return inside(folder, database=url, data_dir=folder / name, poll_seconds=0.05, **settings)


def work(**fields: Any) -> Json:
    """The developer writes a file at once; the reviewer takes longer than the first machine runs."""
    replies: Json = {
        "dev": [{"text": "Written.", "files": {"src/login.py": LOGIN}}],
        "reviewer": [{"text": APPROVED, "delayMs": SLOW}],
    }
    return delivery(replies, **fields)


def begun(client: TestClient, **fields: Any) -> str:
    """A running session whose developer has answered."""
    session_id = start(client, work(**fields))
    until(
        lambda: [each for each in reached(client, session_id, "turn.answered") if each["files"]],
        what="the developer's answer",
    )
    return session_id


def result(client: TestClient, session_id: str) -> Json:
    session = ended(client, session_id, seconds=60)
    assert session["status"] == "success", (session["reason"], session["lastError"])
    kept: Json = session["result"]
    return kept


def test_another_machine_goes_on_with_the_workspace_of_one_that_is_gone(url: str, tmp_path: Path) -> None:
    repo = repository(tmp_path / "project")
    with machine(tmp_path, "one", url) as one:
        session_id = begun(one, workspace=str(repo))
        before = session(one, session_id)["result"]
    shutil.rmtree(tmp_path / "one")
    with machine(tmp_path, "two", url) as two:
        value = result(two, session_id)
        assert (value["base"], value["commits"]) == (before["base"], before["commits"])
        patch = two.get(f"/api/sessions/{session_id}/changes").json()["patch"]
    assert git("-C", repo, "show", f"{value['branch']}:src/login.py") == LOGIN.encode()
    assert git("-C", repo, "rev-parse", value["branch"]).decode().strip() == before["head"]
    assert "+def login():" in patch and git("-C", repo, "status", "--porcelain") == b""
    assert not (repo / ".git" / "shallow").exists()


def test_another_machine_continues_without_the_repository(url: str, tmp_path: Path) -> None:
    repo = repository(tmp_path / "project")
    with machine(tmp_path, "one", url) as one:
        session_id = begun(one, workspace=str(repo))
    shutil.rmtree(tmp_path / "one")
    shutil.rmtree(repo)
    with machine(tmp_path, "two", url) as two:
        session = ended(two, session_id, seconds=60)
        assert session["status"] == "success", (session["reason"], session["lastError"])
        assert session["result"]["branch"] is None
    kept = tmp_path / "two" / "workspaces" / session_id / "repo.git"
    shown = [git("-C", kept, "show", f"{session['result']['head']}:{name}") for name in ("readme", "src/login.py")]
    assert shown == [b"two\n", LOGIN.encode()]


def test_a_fork_begins_on_a_machine_that_never_had_its_source(url: str, tmp_path: Path) -> None:
    repo = repository(tmp_path / "project")
    body = delivery({"dev": [{"text": "Written.", "files": {"src/login.py": LOGIN}}]}, workspace=str(repo))
    with machine(tmp_path, "one", url) as one:
        source = start(one, body)
        result(one, source)
        [answer] = [each for each in reached(one, source, "turn.answered") if each["files"]]
        versions = one.get(f"/api/sessions/{source}/events").json()["items"]
        at = next(each["version"] for each in versions if each["data"].get("turnId") == answer["turnId"])
    shutil.rmtree(tmp_path / "one")
    with machine(tmp_path, "two", url) as two:
        forked = two.post(f"/api/sessions/{source}/fork", json={"atVersion": at + 2, "snap": True})
        assert forked.status_code in (201, 202), forked.text
        value = result(two, forked.json()["sessionId"])
    assert git("-C", repo, "show", f"{value['branch']}:src/login.py") == LOGIN.encode()


@pytest.mark.parametrize("large", [False, True])
def test_unshareable_workspace_waits_for_its_machine(
    url: str, tmp_path: Path, large: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "project") if large else tmp_path / "project"
    folder.mkdir(exist_ok=True)
    with machine(tmp_path, "one", url, share_bytes=0) as one:
        session_id = begun(one, workspace=str(folder))
    monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "three"))
    with machine(tmp_path, "two", url) as two:
        turns = session(two, session_id)["outstandingTurns"]
        name = os.uname().nodename
        assert [(turn["waitingFor"], turn["machine"]) for turn in turns] == [("machine", name)]
        assert f"on the machine {name}" in dict(details(session(two, session_id), []))["waits for"]
        [listed] = two.get("/api/sessions").json()["items"]
        assert [(turn["waitingFor"], turn["machine"]) for turn in listed["outstandingTurns"]] == [("machine", name)]
        list_sessions(where=Where(database=url))
        assert f"running, waiting for the machine {name}" in capsys.readouterr().out
        tag = two.get(f"/api/sessions/{session_id}").headers["ETag"]
        page = two.get(f"/sessions/{session_id}").text
        assert f"waiting for the machine that has its workspace: {name}" in page
        assert f"waiting for the machine that has its workspace: {name}" in two.get("/", headers=BROWSER).text
        assert f"작업 폴더가 있는 컴퓨터를 기다리는 중: {name}" in two.get("/?lang=ko", headers=BROWSER).text
        assert list((tmp_path / "two" / "workspaces").glob("*/repo.git")) == []
        with machine(tmp_path, "one", url, share_bytes=0) as one:
            until(lambda: "machine" not in session(two, session_id)["outstandingTurns"][0], what="its machine")
            assert two.get(f"/api/sessions/{session_id}", headers={"If-None-Match": tag}).status_code == 200
            assert result(one, session_id)["files"][0]["path"] == "src/login.py"


@pytest.mark.nightly
def test_a_machine_is_killed_in_the_middle_of_a_turn(url: str, tmp_path: Path) -> None:
    repo = repository(tmp_path / "project")
    settings = {"database": url, "lease_seconds": 2, "poll_seconds": 0.1}
    one, two = (Server(tmp_path / name, **settings) for name in ("one", "two"))
    try:
        for server in (one, two):
            server.folder.mkdir()
        one.start()
        session_id = start(one.client, work(workspace=str(repo)))
        until(
            lambda: [each for each in reached(one.client, session_id, "turn.answered") if each["files"]],
            what="the developer's answer",
        )
        one.kill()
        shutil.rmtree(one.folder)
        two.start()
        session = ended(two.client, session_id, seconds=90)
        assert session["status"] == "success", (session["reason"], session["lastError"])
    finally:
        one.leave()
        two.leave()
    assert git("-C", repo, "show", f"{session['result']['branch']}:src/login.py") == LOGIN.encode()


def test_commits_of_ended_sessions_leave_the_database_by_clean_and_by_redact(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = repository(tmp_path / "project")
    replies = {"planner": ["A plan. " * 4_000], "dev": [{"text": "Written.", "files": {"src/login.py": LOGIN}}]}
    with machine(tmp_path, "one", url) as one:
        session_id = start(one, delivery(replies, workspace=str(repo)))
        result(one, session_id)
        [at] = [
            each["version"] for each in one.get(f"/api/sessions/{session_id}/events").json()["items"] if wrote(each)
        ]
        assert packs(url) == {(session_id, "git"): 1}
        monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "one"))
        clean(days=0, json=True, database=url)
        assert json.loads(capsys.readouterr().out)["databaseBytes"] > 0
        assert packs(url) == {(session_id, "kept"): 0}
        fork = one.post(f"/api/sessions/{session_id}/fork", json={"atVersion": at + 2, "snap": True}).json()[
            "sessionId"
        ]
        value = result(one, fork)
        assert git("-C", repo, "show", f"{value['branch']}:src/login.py") == LOGIN.encode()
        assert packs(url)[fork, "git"] >= 1
        [plan] = [each for each in reached(one, fork, "turn.answered") if each["role"] == "planner"]
        done = one.post("/api/redact", json={"digest": plan["reply"]["digest"], "reason": "A key was printed."}).json()
        assert (set(done["sessions"]), done["shared"]) == ({session_id, fork}, [])
        assert packs(url) == {(session_id, "kept"): 0, (fork, "kept"): 0}
        assert verified(url)


def wrote(event: Json) -> bool:
    return event["type"] == "turn.answered" and bool(event["data"]["files"])


def packs(url: str) -> dict[tuple[str, str], int]:
    """The number of packs by workspace and form; fails if stray parts are stored."""
    name = url.partition("?")[0].rpartition("/")[2]
    counted = "SELECT w.name, w.form, count(p.name) FROM hansard.workspaces w LEFT JOIN hansard.packs p USING (name)"
    stray = "SELECT count(*) FROM hansard.pack_parts WHERE upload NOT IN (SELECT upload FROM hansard.packs)"
    assert cluster().sql(stray, database=name) == [(0,)]
    return {(item[0], item[1]): item[2] for item in cluster().sql(f"{counted} GROUP BY 1, 2", database=name)}


def verified(url: str) -> bool:
    with reading(url) as log:
        return verify(log).sound
