"""A secret that the team file names never gets into the work: not recorded, not shown to others, not published."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.server import Json, delivery, ended, events, inside, only, start
from tests.kit.sweeps import sampled

KEY = 'sk-sesame-"0123456789'
PROGRAM = r"""
import json, os, pathlib, sys

role, how, calls = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
prompt = sys.stdin.read()
with (calls.parent / "prompts").open("a") as prompts:
    print(prompt, file=prompts)
if role == "reviewer":
    sys.exit(print('{"blockingIssues": [], "nonBlockingIssues": [], "score": 90}'))
if role != "dev":
    sys.exit(print("Here is the plan."))
again = calls.exists() and how[-1] != "!"
calls.touch()
key = "the key" if again else os.environ["MY_KEY"]
pathlib.Path("shop.py").write_text("TOTAL = 1\n")
match how.rstrip("!"):
    case "text":
        pathlib.Path("shop.py").write_text(f"KEY = '{key}'\n")
    case "json":
        pathlib.Path("key.json").write_text(json.dumps({"key": key}))
    case "binary":
        pathlib.Path("key.bin").write_bytes(b"\0\xff" + key.encode())
    case "name":
        pathlib.Path(f"{key}.txt").write_text("x")
    case "link":
        pathlib.Path("link.txt").symlink_to(key)
    case "changes":
        sys.exit(print(json.dumps({"changes": [{"path": "key.txt", "content": key}]})))
print(f"I wrote the client with {key} in it.")
"""
TEAM = """
[[agents]]
name = "Ada"
roles = ["planner", "architect", "designer", "dev", "reviewer"]
adapter = "command"
[agents.settings]
argv = ["{python}", "{program}", "{{role}}", "{how}", "{folder}/called"]
env = {{ MY_KEY = "env:THE_KEY" }}
"""


def git(folder: Path, *words: str) -> bytes:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True).stdout


def run(folder: Path, how: str, *, repository: bool = True) -> tuple[Json, list[Json]]:
    """A delivery whose developer writes the key into its first answer (with `!`, into each)."""
    (folder / "program.py").write_text(PROGRAM)
    words = {"python": sys.executable, "program": folder / "program.py", "how": how, "folder": folder}
    (folder / "team.toml").write_text(TEAM.format(**words))
    work = folder / "work"
    work.mkdir()
    (work / "shop.py").write_text("TOTAL = 0\n")
    if repository:
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
            git(work, *command)
    with inside(folder, team=folder / "team.toml", sandbox="off") as client:
        body = delivery(workspace=str(work), filePaths=["shop.py"])
        del body["scenario"]
        session_id = start(client, body)
        return ended(client, session_id), events(client, session_id)


def objects(repository: Path) -> bytes:
    return git(repository, "cat-file", "--batch", "--batch-all-objects")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", KEY)


@pytest.mark.parametrize(
    ("how", "file"),
    sampled(
        [
            ("text", "shop.py"),
            ("json", "key.json"),
            ("binary", "key.bin"),
            ("name", "***.txt"),
            ("link", "link.txt"),
            ("changes", "key.txt"),
        ],
        0,
        -1,
    ),
)
def test_an_answer_that_writes_a_secret_is_asked_for_again(tmp_path: Path, how: str, file: str) -> None:
    session, history = run(tmp_path, how)
    assert session["status"] == "success"
    [failed] = only(history, "turn.attempt_failed")
    assert (failed["failure"]["code"], failed["next"]) == ("unreadable", "repair")
    assert "MY_KEY" in failed["failure"]["detail"]
    assert file in failed["failure"]["detail"]
    prompts = (tmp_path / "prompts").read_text()
    assert failed["failure"]["detail"] in prompts
    spellings = (KEY, json.dumps(KEY)[1:-1])
    branch = git(tmp_path / "work", "log", "--stat", "--patch", "--text", "--all").decode(errors="replace")
    kept = objects(tmp_path / "node" / "workspaces" / session["id"] / "repo.git").decode(errors="replace")
    for spelling in spellings:
        assert spelling not in json.dumps(history, ensure_ascii=False)
        assert spelling not in json.dumps(history, ensure_ascii=False).replace("\\\\", "\\").replace('\\"', '"')
        assert spelling not in prompts
        assert spelling not in branch
        assert spelling not in kept


def test_a_second_answer_with_the_secret_fails_the_turn(tmp_path: Path) -> None:
    session, history = run(tmp_path, "text!")
    assert (session["status"], session["phaseStatuses"]["implementation"]) == ("failed", "failed")
    assert [failed["failure"]["code"] for failed in only(history, "turn.failed")] == ["unreadable"]
    assert "MY_KEY" in session["lastError"]
    assert KEY.encode() not in git(tmp_path / "work", "log", "--patch", "--all")


def test_a_folder_without_git_gets_no_file_with_the_secret_that_an_answer_contains(tmp_path: Path) -> None:
    run(tmp_path, "changes", repository=False)
    assert (tmp_path / "work" / "key.txt").read_text() == "the key"


def test_a_value_that_was_in_the_file_before_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "TOTAL = ")
    session, history = run(tmp_path, "text")
    assert session["status"] == "success"
    assert only(history, "turn.attempt_failed") == []


def test_a_value_that_every_program_gets_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setenv("THE_KEY", "en_US.UTF-8")
    assert only(run(tmp_path, "text")[1], "turn.attempt_failed") == []
