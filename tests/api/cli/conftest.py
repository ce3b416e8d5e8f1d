"""Run the command line in this process, on its own log, isolated from the user's environment."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import carry_out
from tests.api.cli import kept
from tests.api.cli.kept import KEPT, settings


@dataclass(frozen=True)
class Result:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Hansard = Callable[..., Result]


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The test's own folder; with what the test begins with, if that is kept."""
    wanted = next((KEPT[name] for name in request.fixturenames if name in KEPT), None)
    return wanted().again() if wanted is not None else tmp_path


@pytest.fixture
def delivered() -> str:
    """A finished delivery with a branch, in the repository that is the working directory."""
    return kept.delivered().session


@pytest.fixture
def blocked_once() -> str:
    """A delivery that the reviewer sent back once."""
    return kept.blocked_once().session


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test its own log and a working directory outside any repository."""
    for name in [name for name in os.environ if name.startswith("HANSARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HANSARD_EXAMPLE", "1")
    path = tmp_path / "hansard" / "hansard.db"
    for name, value in settings(tmp_path).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "here").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    return path


@pytest.fixture
def hansard(capsys: pytest.CaptureFixture[str]) -> Hansard:
    def call(*words: str) -> Result:
        capsys.readouterr()
        code = carry_out(words)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[..., str]:
    """Write a scenario file: the replies of each role and their delay."""

    def write(replies: dict[str, list[Any]] | None = None, *, delay_ms: int = 0) -> str:
        path = tmp_path / "scenario.json"
        path.write_text(json.dumps({"replies": replies or {}, "delayMs": delay_ms}), encoding="utf-8")
        return str(path)

    return write


def review(*blocking: str) -> str:
    """A reviewer's answer with these blocking issues."""
    issues = [{"id": f"issue-{n}", "title": title, "detail": "it matters"} for n, title in enumerate(blocking)]
    return json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "score": 50, "fixPlan": list(blocking)})


def plan(*subtasks: dict[str, Any]) -> str:
    """A planner's answer with these subtasks."""
    return json.dumps({"subtasks": subtasks}, ensure_ascii=False)


def subtask(agent: str, role: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "role": role, "task": f"{agent}의 일", "start_phase": start, "end_phase": end} | more


def judged(words: str = "", all_done: bool = False, /, **passed: bool) -> str:
    """A judge's answer: text and a verdict for each of these agents."""
    verdicts = [{"agent": name, "pass": good, "feedback": "ok" if good else "no"} for name, good in passed.items()]
    return f"{words}\n{json.dumps({'verdicts': verdicts, 'allDone': all_done})}"


def critique(verdict: str = "NEEDS_FIX", *issues: tuple[str, str]) -> str:
    """A reviewer's answer with these issues: severity and description."""
    results = [{"severity": severity, "description": words, "suggestion": "mend it"} for severity, words in issues]
    return (
        f"# Critique\nThis is what I think.\n{json.dumps({'verdict': verdict, 'summary': '요약', 'issues': results})}"
    )


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
    answer = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return answer.stdout
