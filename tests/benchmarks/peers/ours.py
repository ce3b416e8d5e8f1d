"""The same session in one process of ours, views and worker included: `python -m tests.benchmarks.peers.ours`, with the
folder, sessions and callers. Prints what the peers print, and the transactions of a session."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from uvicorn.loops.auto import auto_loop_factory

from adapters.writer.writer import CommandEnvelope
from api.cli import ALLOCATIONS
from api.node.settings import Settings
from api.system import System
from domain.convergence.profiles import named
from domain.discussion.commands import StartDiscussion
from domain.discussion.events import DecisionRequested
from domain.session.children import Decide
from domain.session.record import Recorded
from domain.values.base import Text
from tests.benchmarks.peers.story import REPLY, ROUNDS, SUBJECT, report
from tests.kit.discussing import topic

NEVER_OVER = named({"agreement": 1.0, "stability": 1.0, "stall": 0.0})
SCENARIO = {"replies": {role: [{"text": REPLY}] for role in ("reviewer", "coder", "synthesizer")}}
BRIEF = topic(
    "review",
    rounds=ROUNDS,
    profile=NEVER_OVER,
    subject=Text.of(SUBJECT)[0],
    scenario=Text.of(json.dumps(SCENARIO))[0],
)


class Reviews:
    """Sessions of a system, each held from its start to its decision."""

    def __init__(self, system: System) -> None:
        self._system, self._loop = system, asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Event] = {}
        system.writer.on_commit.append(self._seen)

    def _seen(self, page: Sequence[Recorded]) -> None:
        for recorded in page:
            if isinstance(recorded.event, DecisionRequested):
                self._loop.call_soon_threadsafe(self._waiting.pop(recorded.session_id).set)

    async def hold(self, name: str) -> None:
        asked = self._waiting[name] = asyncio.Event()
        subject = Text.of(f"{name}: {SUBJECT}")[0]  # no two sessions are about the same
        start = StartDiscussion(topic=BRIEF.changed(subject=subject))
        await self._system.writer.do(CommandEnvelope(name, start, actor="t", command_id=name, starts=True))
        await asked.wait()
        await self._system.writer.do(CommandEnvelope(name, Decide(choice="skip"), actor="t", command_id="decide"))


async def measured(folder: Path, count: int, callers: int) -> dict[str, float]:
    """Sessions a second, and of each the seconds of a core and the transactions."""
    settings = Settings(database=f"sqlite:///{folder / 'log.db'}", data_dir=folder, auth="off", sandbox="off")
    system = System(settings, actor="t")
    async with system.running(work=True, notify=False):
        reviews = Reviews(system)

        async def caller(number: int, each: int) -> None:
            for turn in range(each):
                await reviews.hold(f"review-{number:04}{turn:06}")

        await caller(9_999, 3)
        batches, cpu, began = system.writer.batches, time.process_time(), time.perf_counter()
        await asyncio.gather(*(caller(number, count // callers) for number in range(callers)))
        seconds, spent = time.perf_counter() - began, time.process_time() - cpu
        return {"rate": count / seconds, "cpu": spent / count, "flushes": (system.writer.batches - batches) / count}


if __name__ == "__main__":
    place, total = Path(sys.argv[1]), int(sys.argv[2])
    gc.set_threshold(ALLOCATIONS)  # this and the loop are what every process of ours has
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        figures = runner.run(measured(place, total, int(sys.argv[3])))
    report(place, figures, total + 3)
