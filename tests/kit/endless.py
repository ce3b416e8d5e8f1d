"""Reviews that use all their rounds, with a real worker."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from adapters.agents.port import Reply, Turn
from adapters.agents.scripted import Scenario, Scripted
from adapters.agents.team import example
from adapters.clock import Clock
from adapters.store.sqlite.store import SqliteStore
from adapters.turns.lease.worker import Worker
from adapters.turns.live import Live
from adapters.turns.runner import TurnRunner
from adapters.turns.settings import WorkerSettings
from adapters.workspace import Workspaces
from adapters.writer.writer import CommandEnvelope, Writer
from domain.convergence.profiles import named
from domain.discussion.commands import StartDiscussion
from domain.discussion.state import Discussion
from domain.values.base import Text
from tests.kit.discussing import topic

NAME = "review-0123456789"
NEVER_OVER = named({"agreement": 1.0, "stability": 1.0, "stall": 0.0})
SUBJECT = "The parser reads lines. " * 20


class Disputing(Scripted):
    """Says something else each time, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(Scenario())
        self.asked: dict[str, str] = {}

    async def ask(self, turn: Turn) -> Reply:
        self.asked[turn.turn_id] = turn.prompt
        drawn = hashlib.sha512(turn.turn_id.encode()).hexdigest() * 2
        words = (drawn[at : at + 6] for at in range(0, 216, 6))
        return Reply(text=f"{' '.join(words)} <material> however", seconds=0.1)


def review(
    store: SqliteStore, folder: Path, rounds: int, agent: Disputing, done: Callable[[int], None] = lambda _: None
) -> Discussion:
    """A review with that many rounds, up to the person's decision; `done` hears of each."""
    writer, live, settings = Writer(store, Clock()), Live(Clock()), WorkerSettings(sandbox="off", poll=3_600)
    runner = TurnRunner(
        store=store,
        team=example(),
        workspaces=Workspaces(folder / "workspaces"),
        data_dir=folder,
        settings=settings,
        live=live,
        build=lambda _, __: agent,
    )
    worker = Worker(
        store=store,
        writer=writer,
        clock=Clock(),
        team=example(),
        data_dir=folder,
        settings=settings,
        live=live,
        runner=runner,
    )

    async def story() -> Discussion:
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(0.05)  # the worker waits
        subject = Text.of(SUBJECT)[0]
        command = StartDiscussion(topic=topic("review", rounds=rounds, profile=NEVER_OVER, subject=subject))
        await writer.do(CommandEnvelope(NAME, command, actor="t", command_id="c", starts=True))
        until = time.monotonic() + 60 + rounds
        seen = 0
        while time.monotonic() < until:
            result = writer.load(NAME)
            assert isinstance(result, Discussion)
            if len(result.rounds) > seen:
                seen = len(result.rounds)
                done(seen)
            if result.status == "waiting_for_decision":
                break
            await asyncio.sleep(0.002)
        worker.stop()
        await working
        return result

    return asyncio.run(story())
