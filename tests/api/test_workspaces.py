"""Every endpoint refuses an unusable folder before any agent runs."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from tests.api.server import Json, delivery, ended, events, inside, start

BODIES: dict[str, Json] = {
    "delivery": delivery(),
    "orchestration": {"kind": "orchestration", "prompt": "Build it"},
    "review": {"kind": "review", "subject": "It is done"},
    "debate": {"kind": "debate", "plan": "1. Do it."},
}
ONE = "choose the folder of one project"
GITS = "is inside a .git folder; choose the working tree that contains it"
DATA = "is inside Hansard's own data folder; choose a folder elsewhere"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "data").mkdir()
    with inside(tmp_path / "data", workspace_files=3, workspace_bytes=100) as result:
        yield result


def refused(client: httpx.Client, folder: Path, path: str = "/api/sessions", **body: Any) -> str:
    """The reason of the refusal; nothing was started."""
    answer = client.post(path, json={**body, "workspace": str(folder)})
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/workspace"
    assert client.get("/api/sessions", headers={"Read-After": "0"}).json()["items"] == []
    return str(error["detail"])


def git(*args: str | Path) -> None:
    subprocess.run(("git", *args), check=True, capture_output=True)


def a_git_folder(tmp_path: Path) -> Path:
    git("init", "-q", tmp_path / "project")
    return tmp_path / "project" / ".git"


def a_large_one(tmp_path: Path) -> Path:
    (tmp_path / "large").mkdir()
    for name in "abcd":
        (tmp_path / "large" / name).touch()
    return tmp_path / "large"


CASES: tuple[tuple[Callable[[Path], Path], str], ...] = (
    (a_git_folder, GITS),
    (lambda _: Path("/"), f"is the whole file system; {ONE}"),
    (lambda _: Path("/etc"), f"belongs to the operating system; {ONE}"),
    (lambda tmp_path: tmp_path / "data" / "node", DATA),
    (lambda tmp_path: tmp_path / "nowhere", "should be an existing folder"),
    (lambda tmp_path: tmp_path / ("x" * 300), "should be an existing folder"),
    (
        a_large_one,
        f"holds more than 3 files, more than Hansard copies; {ONE}, or make it a git repository (then only "
        "committed files are used)",
    ),
)


@pytest.mark.parametrize(("make", "expected"), CASES)
def test_unusable_workspace_is_refused_with_a_hint(
    client: TestClient, tmp_path: Path, make: Callable[[Path], Path], expected: str
) -> None:
    folder = make(tmp_path)
    (tmp_path / "linked").symlink_to(folder)
    for workspace in (folder, tmp_path / "linked"):
        assert refused(client, workspace, **BODIES["delivery"]) == expected


def test_a_log_that_is_kept_in_the_folder_itself_is_no_part_of_the_work(client: TestClient, tmp_path: Path) -> None:
    """It is neither counted nor copied nor taken as an agent's work."""
    body = delivery({"dev": [{"text": "done", "files": {"src/login.py": "x = 1\n"}}]}, workspace=str(tmp_path / "data"))
    session_id = start(client, body)
    assert ended(client, session_id)["status"] == "success"
    [answered] = [e for e in events(client, session_id) if e["type"] == "turn.answered" and e["data"]["files"]]
    assert answered["data"]["files"] == ["src/login.py"]
    recorded = tmp_path / "data" / "node" / "workspaces" / session_id / "repo.git"
    command = ("git", "-C", recorded, "ls-tree", "-r", "--name-only", answered["data"]["tree"])
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"src/login.py\n"


@pytest.mark.parametrize("kind", BODIES)
def test_every_kind_of_session_is_refused_so(client: TestClient, tmp_path: Path, kind: str) -> None:
    assert refused(client, a_git_folder(tmp_path), **BODIES[kind]) == GITS


def test_message_with_an_unusable_workspace_is_refused(client: TestClient, tmp_path: Path) -> None:
    assert refused(client, a_git_folder(tmp_path), "/api/message", prompt="Build it") == GITS


def test_small_folders_and_large_checkouts_are_usable(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    large = a_large_one(tmp_path)
    git("init", "-q", large)
    for folder in (tmp_path / "small", large):
        session = ended(client, start(client, delivery(workspace=str(folder))))
        assert (session["status"], session["workspace"]) == ("success", str(folder))
