"""What the activity of an agent costs the server, compared with the same turn while it is silent, and with a bare
program that reads the same lines in the same time (`-m benchmark`)."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.api.server import PATIENCE, Server, delivery, events, only, serving, start, until
from tests.benchmarks.measuring import Tell
from tests.benchmarks.test_live import cpu_seconds

pytestmark = pytest.mark.benchmark

RATE, SECONDS = 50, 12
FRAMES = RATE * SECONDS * 3 // 2
"""Every other line is a tool call, which also reports its usage."""
PACED = f"""
import json, pathlib, sys, time
sys.stdin.read()
given = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()][1:3]
for number in range({RATE} * {SECONDS}):
    if number == 0:
        began = time.monotonic()
    time.sleep(max(0.0, began + number / {RATE} - time.monotonic()))
    line = json.dumps(given[number % 2]).replace(given[0]["message"]["content"][0]["id"], f"call-{{number // 2}}")
    print(line, flush=True)
time.sleep(2 * {SECONDS})
print(json.dumps({{"type": "result", "result": "A plan."}}), flush=True)
"""
BARE = """
import asyncio, orjson, sys

async def main():
    program = await asyncio.create_subprocess_exec(
        sys.executable, *sys.argv[1:], stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async for line in program.stdout:
        orjson.loads(line)

asyncio.run(main())
"""
RECORDED = Path(__file__).parents[1] / "providers" / "recorded" / "claude.jsonl"


def _team(folder: Path) -> Path:
    """A planner that prints what Claude Code prints, at that rate, and is then silent for as long."""
    (folder / "paced.py").write_text(PACED)
    (folder / "claude.jsonl").write_text(RECORDED.read_text())
    argv = json.dumps([sys.executable, str(folder / "paced.py"), str(folder / "claude.jsonl")])
    path = folder / "team.toml"
    path.write_text(
        '[[agents]]\nname = "Claude"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        f'adapter = "command"\n[agents.settings]\nargv = {argv}\noutput = "json"\nstream = "claude"\n'
        'text_path = { path = "result", where = { type = "result" } }\n'
    )
    return path


class Reader(threading.Thread):
    """A person who reads along."""

    def __init__(self, server: Server, path: str) -> None:
        super().__init__(daemon=True)
        self._server, self._path, self.frames = server, path, 0

    def run(self) -> None:
        headers = {"Accept": "text/event-stream"}
        with self._server.client.stream("GET", self._path, headers=headers, timeout=60) as answer:
            for line in answer.iter_lines():
                self.frames += line.startswith("data:")


def shares(*pids: int) -> list[float]:
    """What the processes have of a core in the next seconds."""
    before, began = [cpu_seconds(pid) for pid in pids], time.perf_counter()
    time.sleep(SECONDS - 4)
    seconds = time.perf_counter() - began
    return [(cpu_seconds(pid) - spent) / seconds for pid, spent in zip(pids, before, strict=True)]


def test_the_activity_of_a_busy_agent_costs_at_most_a_fiftieth_of_a_core(tmp_path: Path, tell: Tell) -> None:
    with serving(tmp_path, team=_team(tmp_path)) as server:
        body = delivery()
        del body["scenario"]
        name = start(server.client, body)
        [turn] = until(lambda: only(events(server.client, name), "turn.requested"), what="the turn")
        floor = subprocess.Popen(
            [sys.executable, "-c", BARE, *map(str, (tmp_path / "paced.py", tmp_path / "claude.jsonl"))]
        )
        reader = Reader(server, f"/api/sessions/{name}/turns/{turn['turnId']}/activity")
        reader.start()
        until(lambda: reader.frames > RATE, what="the first frames")
        busy, bare = shares(server.pid, floor.pid)
        shown = reader.frames
        until(lambda: reader.frames >= FRAMES, what="all frames")
        silent, _ = shares(server.pid, floor.pid)
        assert FRAMES / 2 < shown < reader.frames == FRAMES
        floor.wait(2 * PATIENCE)
        own = busy - silent - bare
        tell(
            f"activity: {own:.2%} of a core at {RATE} lines a second ({bare:.2%} to read them, {silent:.2%} in silence)"
        )
        assert own <= 0.02
        assert server.client.post(f"/api/sessions/{name}/cancel", json={}).status_code == 200
        reader.join(PATIENCE)
