"""Output of an agent or a validation command reaches readers within 0.3 s."""

import json
import os
import pty
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.api.server import Json, Server, delivery, serving, start, until

pytestmark = pytest.mark.alone

LINES = 20
SECONDS = 0.3
MORE_SECONDS = 0.5
"""Limit for the slowest frame, as the machine may be busy for a moment."""
AGENT = f"""
import json, random, sys, time
chance = random.Random(7)
sys.stdin.read()
for number in range({LINES}):
    time.sleep(chance.uniform(0.01, 0.25))
    part = {{"type": "text", "text": f"<{{time.time()}}>"}}
    print(json.dumps({{"type": "assistant", "message": {{"content": [part]}}}}), flush=True)
time.sleep(1)
print(json.dumps({{"type": "result", "result": "A plan."}}), flush=True)
"""
COMMAND = f"""
import time
for number in range({LINES}):
    time.sleep(0.4)
    print(f"<{{time.time()}}>", end="", flush=True)
time.sleep(1)
"""
"""Its line never ends, so every frame waits for the end as long as it may."""


def delays(server: Server, session_id: str, role: str) -> list[float]:
    """The delay of each printed time when it was read. A frame may hold several."""

    def turn() -> list[Json]:
        items = server.client.get(f"/api/sessions/{session_id}/turns").json()["items"]
        return [item for item in items if item["role"] == role]

    [result] = until(turn, what="the turn")
    address = f"/api/sessions/{session_id}/turns/{result['turnId']}/activity"
    ago = []
    with server.client.stream("GET", address, headers={"Accept": "text/event-stream"}, timeout=60) as answer:
        for line in answer.iter_lines():
            now = time.time()
            if line.startswith("data:"):
                text = json.loads(line.removeprefix("data:")).get("text") or ""
                ago += [now - float(printed) for printed in re.findall(r"<([\d.]+)>", text)]
    return ago


def check(ago: list[float]) -> None:
    assert len(ago) == LINES
    assert statistics.median(ago) <= SECONDS
    assert max(ago) <= SECONDS + MORE_SECONDS


def team(folder: Path) -> Path:
    """A planner that prints the time."""
    (folder / "agent.py").write_text(AGENT)
    argv = json.dumps([sys.executable, str(folder / "agent.py")])
    path = folder / "team.toml"
    path.write_text(
        '[[agents]]\nname = "Claude"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        f'adapter = "command"\n[agents.settings]\nargv = {argv}\noutput = "json"\nstream = "claude"\n'
        'text_path = { path = "result", where = { type = "result" } }\n'
    )
    return path


def test_agent_output_reaches_readers_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, team=team(tmp_path)) as server:
        body = delivery()
        del body["scenario"]
        check(delays(server, start(server.client, body), "planner"))


@pytest.mark.parametrize("remote", [False, True], ids=["run", "watch"])
def test_agent_output_reaches_the_terminal_at_once(tmp_path: Path, remote: bool) -> None:
    with serving(tmp_path, team=team(tmp_path)) as server:
        body = delivery()
        del body["scenario"]
        words = ["watch", start(server.client, body), "--server", server.url]
        if not remote:
            words = ["run", "-t", "Fix it", "-f", "a.py", "--test", "true", "--team", str(tmp_path / "team.toml")]
        screen, terminal = pty.openpty()
        here = tmp_path / "here"
        here.mkdir()
        env = {**os.environ, "HANSARD_DATABASE": f"sqlite:///{tmp_path}/mine.db", "TERM": "xterm", "COLUMNS": "200"}
        command = [sys.executable, "-m", "api", *words]
        shown = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=here)
        try:
            ago: dict[str, float] = {}
            while len(ago) < LINES:
                text = os.read(screen, 65_536).decode(errors="replace")
                for printed in re.findall(r"<(\d+\.\d+)>", text):
                    ago.setdefault(printed, time.time() - float(printed))
        finally:
            shown.kill()
            shown.wait()
    check(list(ago.values())[:LINES])


def test_validation_output_reaches_readers_at_once(tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(COMMAND)
    with serving(tmp_path, sandbox="off") as server:
        body = delivery(validationCommands=[[sys.executable, str(tmp_path / "command.py")]])
        check(delays(server, start(server.client, body), "validation"))
