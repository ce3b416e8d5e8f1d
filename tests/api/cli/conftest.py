"""The command line under test: in this process, on a log of its own; nothing of the person's environment comes in."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.cli.app import carry_out


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Hansard = Callable[..., Said]


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has its own log, and stands in a folder that is no repository."""
    for name in [name for name in os.environ if name.startswith("HANSARD_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "log" / "hansard.db"
    monkeypatch.setenv("HANSARD_DATABASE", f"sqlite:///{path}")
    monkeypatch.setenv("TZ", "UTC")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return path


@pytest.fixture
def hansard(capsys: pytest.CaptureFixture[str]) -> Hansard:
    def call(*words: str) -> Said:
        capsys.readouterr()
        code = carry_out(words)
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[..., str]:
    """A scenario file: what each role says, and after how many milliseconds."""

    def write(replies: dict[str, list[Any]] | None = None, *, delay_ms: int = 0) -> str:
        path = tmp_path / "scenario.json"
        path.write_text(json.dumps({"replies": replies or {}, "delayMs": delay_ms}), encoding="utf-8")
        return str(path)

    return write


def review(*blocking: str) -> str:
    """A reviewer's answer with these blocking issues."""
    issues = [{"id": f"issue-{n}", "title": title, "detail": "it matters"} for n, title in enumerate(blocking)]
    return json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "score": 50, "fixPlan": list(blocking)})
