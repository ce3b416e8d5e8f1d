"""What an agent or a validation command prints is seen by a reader within 0.3 s."""

import json
import re
import statistics
import sys
import time
from pathlib import Path

import pytest

from tests.api.server import Json, Server, delivery, serving, start, until

pytestmark = pytest.mark.alone

LINES = 20
SECONDS = 0.3
MORE_SECONDS = 0.5
"""For the slowest frame: the machine may be busy for a moment."""
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
    """How long ago each time was printed when it was read. The text of a frame may hold several."""

    def turn() -> list[Json]:
        items = server.client.get(f"/api/sessions/{session_id}/turns").json()["items"]
        return [item for item in items if item["role"] == role]

    [found] = until(turn, what="the turn")
    address = f"/api/sessions/{session_id}/turns/{found['turnId']}/activity"
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


def test_a_reader_sees_at_once_what_an_agent_prints(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    argv = json.dumps([sys.executable, str(tmp_path / "agent.py")])
    (tmp_path / "team.toml").write_text(
        '[[agents]]\nname = "Claude"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        f'adapter = "command"\n[agents.settings]\nargv = {argv}\noutput = "json"\nstream = "claude"\n'
        'text_path = { path = "result", where = { type = "result" } }\n'
    )
    with serving(tmp_path, team=tmp_path / "team.toml") as server:
        body = delivery()
        del body["scenario"]
        check(delays(server, start(server.client, body), "planner"))


def test_a_reader_sees_at_once_what_a_validation_command_prints(tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(COMMAND)
    with serving(tmp_path, sandbox="off") as server:
        body = delivery(validationCommands=[[sys.executable, str(tmp_path / "command.py")]])
        check(delays(server, start(server.client, body), "validation"))
