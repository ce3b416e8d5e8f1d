"""One review session of eight durable steps, here and in other libraries: `./dev bench peers` makes the table.

The other libraries are installed into a temporary environment. Each holds the session in the way its documentation
shows, on SQLite with WAL and `synchronous=FULL`; their callers are threads, ours are tasks. Ours includes what theirs
have no part in: a worker with leases, views, receipts, and a chain of hashes.
"""

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.api.listening import Listener
from tests.api.server import ROOT, serving, until
from tests.benchmarks.measuring import Line, Place, Tell
from tests.benchmarks.peers.story import REPLY, ROUNDS, SUBJECT

pytestmark = [pytest.mark.benchmark, pytest.mark.nightly]

PACKAGES = ("burr==0.42.0", "langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "eventsourcing==9.5.6")
PEERS = {
    "one bare INSERT a step": "raw",
    "eventsourcing 9.5": "plain_eventsourcing",
    "Burr 0.42": "with_burr",
    "LangGraph 1.2": "with_langgraph",
}
SESSIONS, CALLERS, TIMES = 160, 16, 3
Figures = dict[str, float]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the other libraries."""
    folder = tmp_path_factory.mktemp("peers")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", *PACKAGES], check=True)
    return folder / "bin" / "python"


def run(words: list[str], folder: Path, callers: int) -> Figures:
    folder.mkdir(parents=True)
    command = [*words, str(folder), str(SESSIONS), str(callers)]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(answer.stdout)
    return figures


def best(words: list[str], folder: Path) -> Figures:
    """With one caller or many, whichever is faster: no library is to suffer from ours."""
    return max((run(words, folder / str(callers), callers) for callers in (1, CALLERS)), key=lambda each: each["rate"])


def over_http(folder: Path) -> Figures:
    """A server of ours: a client starts each session, hears of its question on one stream, and decides."""
    scenario = {"replies": {role: [REPLY] for role in ("reviewer", "coder", "synthesizer")}}
    never_over = {"agreement": 1.0, "stability": 1.0, "stall": 0.0}
    body = {"kind": "review", "subject": SUBJECT, "maxRounds": ROUNDS, "profile": never_over, "scenario": scenario}
    start, decision = json.dumps(body).encode(), json.dumps({"decision": "skip"}).encode()

    async def scene(port: int) -> float:
        stream = await Listener.open(port, "/api/events?type=review.decision_requested")
        loop = asyncio.get_running_loop()

        async def caller(each: int) -> None:
            line = await Line.open(port)
            for _ in range(each):
                status, answer = await line.post("/api/sessions", start)
                assert status == 202, answer
                name = json.loads(answer)["sessionId"].encode()
                while name not in stream.data:  # noqa: ASYNC110 - all callers wait for one stream
                    await asyncio.sleep(0.003)
                status, answer = await line.post(f"/api/sessions/{name.decode()}/decision", decision)
                assert status == 200, answer
            await line.close()

        began = loop.time()
        await asyncio.gather(*(caller(SESSIONS // CALLERS) for _ in range(CALLERS)))
        stream.close()
        return SESSIONS / (loop.time() - began)

    folder.mkdir()
    with serving(folder) as server:
        asyncio.run(scene(server.port))
        place = Place(server.port, server.pid)
        before = place.cpu_seconds()
        rate = asyncio.run(scene(server.port))
        cpu = (place.cpu_seconds() - before) / SESSIONS
        until(lambda: server.client.get("/readyz").status_code == 200, what="the views")
    return {"rate": rate, "cpu": cpu}


def medians(rounds: list[Figures]) -> Figures:
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


def test_a_review_compared_with_other_libraries(tmp_path: Path, python: Path, tell: Tell) -> None:
    """In turns, so that the machine treats all alike."""
    programs: Mapping[str, Callable[[Path], Figures]] = {
        **{
            name: lambda folder, file=file: best([str(python), f"tests/benchmarks/peers/{file}.py"], folder)
            for name, file in PEERS.items()
        },
        "Hansard in process": lambda folder: run(
            [sys.executable, "-m", "tests.benchmarks.peers.ours"], folder, CALLERS
        ),
        "Hansard over HTTP": over_http,
    }
    rounds: dict[str, list[Figures]] = {name: [] for name in programs}
    for number in range(TIMES):
        for name, program in programs.items():
            place = tmp_path / f"{number}-{name}"
            rounds[name].append(program(place))
    figures = {name: medians(result) for name, result in rounds.items()}
    burr = figures["Burr 0.42"]
    for name, each in figures.items():
        size = f", {each['bytes'] / 1000:.0f} KB" if "bytes" in each else ""
        flushes = f", {each['flushes']:.1f} transactions" if "flushes" in each else ""
        tell(
            f"{name}: {each['rate']:,.0f} sessions/s ({each['rate'] / burr['rate']:.2f} of Burr),"
            f" {each['cpu'] * 1000:.1f} ms of a core each ({burr['cpu'] / each['cpu']:.2f}){size}{flushes}"
        )
    assert burr["cpu"] / figures["Hansard in process"]["cpu"] > 0.3
    assert burr["cpu"] / figures["Hansard over HTTP"]["cpu"] > 0.15
