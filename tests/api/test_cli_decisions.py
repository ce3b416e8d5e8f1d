"""Reviews, debates and orchestrations with the program itself: at a terminal, in pipes, through a server."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import serving
from tests.kit import programs
from tests.kit.commands import Done, command

LONGEST = 30.0
QUESTION = "(add a reason after the letter) "
ISSUES = [{"severity": "critical", "description": "자료를 잃는다", "suggestion": "잠근다"}]
SCENARIO = {
    "replies": {
        "reviewer": [f"생각\n{json.dumps({'verdict': 'NEEDS_FIX', 'summary': '요약', 'issues': ISSUES})}"],
        "synthesizer": ["모두 고치자"],
        "planner": [json.dumps({"subtasks": [{"agent": "A", "role": "custom", "task": "t"}]})],
    }
}
Program = Callable[..., subprocess.CompletedProcess[str]]
Here = Callable[..., Done]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "scenario.json").write_text(json.dumps(SCENARIO))
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("HANSARD_", "GIT_"))}
    return ours | {
        "HANSARD_DATABASE": f"sqlite:///{tmp_path}/hansard.db",
        "HANSARD_EXAMPLE": "1",
        "NO_COLOR": "1",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "HOME": str(tmp_path),
    }


@pytest.fixture
def hansard(environment: dict[str, str], tmp_path: Path) -> Program:
    def call(*words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return programs.done(words, env=environment | more, folder=tmp_path, given=given, seconds=LONGEST)

    return call


@pytest.fixture
def here(environment: dict[str, str]) -> Here:
    """A command on the same log in this process, to prepare or to look at what the program does."""

    def call(*words: str, **more: str) -> Done:
        return command(*words, env=environment | more)

    return call


class Terminal:
    """A program on a terminal of 100 columns, and all its output."""

    def __init__(self, leader: int, process: programs.Program) -> None:
        self._leader, self.process = leader, process
        self._shown, self._read_up_to = b"", 0

    @property
    def shown(self) -> str:
        return self._shown.decode(errors="replace").replace("\r\n", "\n")

    def until(self, words: str) -> None:
        """Read until this text appears after the text awaited before."""
        while (result := self._shown.find(words.encode(), self._read_up_to)) < 0:
            chunk = self._read()
            assert chunk, f"{words!r} was not shown, but:\n{self.shown}"
            self._shown += chunk
        self._read_up_to = result + len(words.encode())

    def type(self, line: bytes) -> None:
        os.write(self._leader, line)

    def end(self) -> int:
        while chunk := self._read():
            self._shown += chunk
        return self.process.wait(LONGEST)

    def _read(self) -> bytes:
        try:
            return os.read(self._leader, 65_536)
        except OSError:  # how a terminal signals that the other end is closed
            return b""


@contextlib.contextmanager
def on_a_terminal(words: list[str], environment: dict[str, str], folder: Path) -> Iterator[Terminal]:
    leader, follower = pty.openpty()
    process = programs.started(
        words, env=environment | {"COLUMNS": "100"}, output=follower, given=follower, folder=folder
    )
    os.close(follower)
    watchdog = threading.Timer(LONGEST, process.kill)
    watchdog.start()
    try:
        yield Terminal(leader, process)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        os.close(leader)


def decision(here: Here, session_id: str) -> dict[str, str] | None:
    view: dict[str, str] | None = session(here, session_id)["decision"]
    return view


def session(here: Here, session_id: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(here("show", session_id, "--json").stdout)["session"]
    return body


def waiting(here: Here) -> list[str]:
    return [str(item["sessionId"]) for item in json.loads(here("inbox", "--json").stdout)["items"]]


# --- at a terminal --------------------------------------------------------------------------------------------------


def test_at_a_terminal_the_result_is_shown_and_the_decision_asked_for(
    here: Here, environment: dict[str, str], tmp_path: Path
) -> None:
    with on_a_terminal(["review", "x", "--scenario", "scenario.json"], environment, tmp_path) as terminal:
        terminal.until(QUESTION)
        assert "[critical] 자료를 잃는다 → 잠근다" in terminal.shown
        assert "synthesis    모두 고치자" in terminal.shown
        assert "[a] Apply fix   [s] Skip   Enter: decide later" in terminal.shown
        terminal.type("모름\n".encode())
        terminal.until("Not one of apply_fix, skip.")
        terminal.until(QUESTION)
        terminal.type("a 꼭 고친다\n".encode())
        assert terminal.end() == 0
    assert "Decided: Apply fix." in terminal.shown
    session_id = terminal.shown.split("Session ")[1].split()[0]
    result = decision(here, session_id)
    assert result is not None
    assert (result["choice"], result["rationale"]) == ("apply_fix", "꼭 고친다")


@pytest.mark.parametrize("typed", [b"\n", b"\x04"])
def test_enter_or_the_end_of_input_leaves_it_waiting(
    here: Here, environment: dict[str, str], tmp_path: Path, typed: bytes
) -> None:
    with on_a_terminal(["debate", "x"], environment, tmp_path) as terminal:
        terminal.until(QUESTION)
        terminal.type(typed)
        assert terminal.end() == 6
    assert "[r] Revise plan   [a] Accept as is" in terminal.shown
    (session_id,) = waiting(here)
    assert f"hansard decide {session_id} revise" in terminal.shown


def test_interrupted_at_the_question_nothing_is_decided(
    here: Here, environment: dict[str, str], tmp_path: Path
) -> None:
    with on_a_terminal(["review", "x"], environment, tmp_path) as terminal:
        terminal.until(QUESTION)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
    assert "was not cancelled" in terminal.shown
    assert len(waiting(here)) == 1


def test_another_person_may_decide_first(here: Here, environment: dict[str, str], tmp_path: Path) -> None:
    """An answer counts only for the version the person saw (behaviour §5)."""
    with on_a_terminal(["review", "x"], environment, tmp_path) as terminal:
        terminal.until(QUESTION)
        (session_id,) = waiting(here)
        assert here("decide", session_id, "skip").returncode == 0
        terminal.type(b"a\n")
        assert terminal.end() == 0
    result = decision(here, session_id)
    assert result is not None
    assert result["choice"] == "skip"
    assert "decision  skip" in terminal.shown


def test_an_orchestration_goes_on_with_each_decision_at_the_terminal(
    environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["orchestrate", "x", "--triage", "orchestrate", "-e", "A:custom", "--plan-review", "--work-review"]
    with on_a_terminal([*words, "--fresh", "--scenario", "scenario.json"], environment, tmp_path) as terminal:
        terminal.until("[r] Revise plan")
        terminal.until(QUESTION)
        terminal.type(b"a\n")
        terminal.until("[s] Skip")
        terminal.until(QUESTION)
        terminal.type(b"skip\n")
        assert terminal.end() == 0
    assert "agents   A  custom  ✓3  ✅ done  PASS" in terminal.shown
    assert "status   done" in terminal.shown


# --- in pipes -------------------------------------------------------------------------------------------------------


def test_a_diff_is_reviewed_in_one_command(hansard: Program, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "값.py").write_text("한 줄\n")
    subprocess.run(["git", "add", "값.py"], check=True, cwd=tmp_path)
    result = hansard("review", "--diff", "--scenario", "-", given=json.dumps(SCENARIO))
    assert result.returncode == 6, result.stderr
    assert "[critical] 자료를 잃는다 → 잠근다\n" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_json_is_all_that_is_on_stdout(hansard: Program) -> None:
    result = hansard("debate", "-", "--json", given="계획")
    assert result.returncode == 6
    assert json.loads(result.stdout)["plan"] == "계획"


def test_piped_input_must_be_text(hansard: Program) -> None:
    result = hansard("review", "-", given="a\0b")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "hansard: stdin is not text: it contains a NUL character.\n"


# --- through a server -----------------------------------------------------------------------------------------------


def test_through_a_server_the_same_commands_do_the_same(hansard: Program, here: Here, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as server:
        there = {"HANSARD_SERVER": str(server.url)}
        start = ("orchestrate", "x", "--triage", "orchestrate", "-e", "A:custom", "--scenario", "scenario.json")
        first = hansard(*start, "--fresh", "--plan-review", "--json", **there)
        assert first.returncode == 6, first.stderr
        parent = json.loads(first.stdout)
        assert json.loads(here("inbox", "--json", **there).stdout)["items"][0]["parent"] == parent["id"]
        done = here("decide", parent["id"], "accept", **there)
        assert done.returncode == 0, done.stderr
        assert "status   done\n" in done.stdout
        result = here("message", "안녕", "--origin", "방", "--json", **there)
        assert (result.returncode, json.loads(result.stdout)["summary"]) == (0, "ok")
        assert here("continue", "--origin", "방", **there).returncode == 4
        assert here("show", parent["children"][0], **there).stdout.splitlines()[1] == "kind         debate"
    assert json.loads(here("list", "--json").stdout)["items"] == [], "nothing was done here"
