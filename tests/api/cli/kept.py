"""What many tests begin with: made once in this process, and for each test again as it was then, at the same place."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.kit.commands import Done, command

FILES = {"a.txt": "one\ntwo\nTHREE\n", "new/b.txt": "new\n"}
RUN = os.environ["XDG_STATE_HOME"]
"""The folder of this run of the tests; later, a test may have another one."""
Run = Callable[..., Done]


class Kept(NamedTuple):
    """The folder of a test, with `here` and the log, a copy of it, and the session's id."""

    place: Path
    copy: Path
    session: str

    def again(self) -> Path:
        """The folder as it was when it was made."""
        shutil.rmtree(self.place)
        shutil.copytree(self.copy, self.place, symlinks=True)
        return self.place


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.rstrip("\n")


def repository(folder: Path) -> Path:
    """A repository with two files and one commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.org")
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "other.txt").write_text("mine\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def settings(folder: Path) -> dict[str, str]:
    """The environment of a test in this folder."""
    return {
        "XDG_DATA_HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "TZ": "UTC",
        "HANSARD_RETRY_SECONDS": "0.01",
    }


@cache
def delivered() -> Kept:
    """A finished delivery with a branch, in a repository."""
    return _made(_delivered)


@cache
def blocked_once() -> Kept:
    """A delivery that the reviewer sends back once, in a new folder."""
    return _made(_blocked_once)


def _made(make: Callable[[Path, Run], str]) -> Kept:
    folder = Path(tempfile.mkdtemp(dir=RUN))
    place = folder / "test"
    (place / "here").mkdir(parents=True)
    environment = settings(place)
    with contextlib.chdir(place / "here"):
        session = make(place, lambda *words: command(*words, env=environment))
    shutil.copytree(place, folder / "copy", symlinks=True)
    return Kept(place, folder / "copy", session)


def _scenario(place: Path, replies: dict[str, Any]) -> str:
    path = place / "scenario.json"
    path.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    return str(path)


def _delivered(place: Path, run: Run) -> str:
    repository(place / "here")
    scenario = _scenario(place, {"dev": [{"text": "Wrote the third line large.", "files": FILES}]})
    result = run("run", "-t", "Shout the third line", "-f", "a.txt", "--test", "true", "--scenario", scenario)
    assert result.returncode == 0, result.stderr
    session_id = result.stderr.partition("Session ")[2].split()[0].rstrip(".")
    assert f"hansard/{session_id}" in result.stdout
    assert f"hansard merge {session_id}" in result.stderr
    assert "new/b.txt (+1 -0, added, not named)" in result.stdout
    return session_id


def _blocked_once(place: Path, run: Run) -> str:
    blocking = [{"id": "issue-0", "title": "No test", "detail": "it matters"}]
    answers = [
        json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "score": 50, "fixPlan": plan})
        for issues, plan in ((blocking, ["No test"]), ([], []))
    ]
    start = ("run", "-t", "t", "-f", "a.py", "--test", "true", "--fresh", "--no-baseline")
    result = run(*start, "--scenario", _scenario(place, {"reviewer": answers}))
    assert result.returncode == 0, result.stderr
    return result.stderr.splitlines()[0].removeprefix("Session ")


KEPT: dict[str, Callable[[], Kept]] = {"delivered": delivered, "blocked_once": blocked_once}
"""By the name of the fixture that a test asks for."""
