"""What a turn costs besides its agent: flushes, and waiting."""

import asyncio
import time
from pathlib import Path

import pytest

from adapters.agents.team import example
from adapters.clock import Clock
from adapters.store.location import open_store
from adapters.store.sqlite.store import SqliteStore
from adapters.turns.job import Job
from adapters.turns.lease.worker import Worker
from adapters.turns.live import Live
from adapters.turns.result.shared_workspaces import Sharing
from adapters.turns.runner import TurnRunner
from adapters.turns.settings import WorkerSettings
from adapters.workspace import Workspaces
from adapters.writer.writer import CommandEnvelope, Writer
from domain.discussion.commands import StartDiscussion
from domain.discussion.state import Discussion
from domain.session.state import Session
from domain.session.turns import RecordReply, TurnRequested
from domain.session.workspace import WorkspacePrepared
from domain.values.base import Command, Text
from tests.adapters.many_turns import LEASE, begin, taken
from tests.kit.discussing import topic
from tests.kit.stories import START


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    result = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    assert isinstance(result, SqliteStore)
    return result


def test_the_turns_of_a_session_follow_each_other_without_waiting_for_the_log_to_be_read(
    store: SqliteStore, tmp_path: Path
) -> None:
    """Nothing follows the log here, and the worker polls only once an hour: commits wake it."""
    writer = Writer(store, Clock())
    worker = Worker(
        store=store,
        writer=writer,
        clock=Clock(),
        team=example(),
        data_dir=tmp_path / "data",
        settings=WorkerSettings(sandbox="off", poll=3_600),
    )

    async def story() -> Discussion:
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(0.05)  # the worker waits
        command = StartDiscussion(topic=topic("debate"))
        await writer.do(CommandEnvelope("debate-1", command, actor="t", command_id="c", starts=True))
        until = time.monotonic() + 60
        result = writer.load("debate-1")
        while (result is None or result.status != "waiting_for_decision") and time.monotonic() < until:
            await asyncio.sleep(0.01)
            result = writer.load("debate-1")
        worker.stop()
        await working
        assert isinstance(result, Discussion)
        return result

    result = asyncio.run(story())
    store.close()
    assert (result.status, len(result.rounds)) == ("waiting_for_decision", 20)


def test_only_leases_of_external_agents_are_flushed(store: SqliteStore) -> None:
    """A lease is no fact. But an agent elsewhere outlives a power cut here, and its attempt has a number."""
    begin(store, "delivery-1", "delivery-2")
    texts: list[str] = []
    store._writer.set_trace_callback(texts.append)
    [lease] = store.turns.take_all(["delivery-1.t1"], "me", now=START, lease_ms=LEASE)
    assert lease.attempt == 1
    [begun, ended] = [texts.index(f"PRAGMA synchronous={mode}") for mode in ("NORMAL", "FULL")]
    assert begun < texts.index("COMMIT") < ended
    texts.clear()
    assert taken(store, "delivery-2.t1").attempt == 1
    assert not [statement for statement in texts if "synchronous" in statement]
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_every_outcome_is_kept_for_other_machines_not_only_the_first(store: SqliteStore, tmp_path: Path) -> None:
    """The base of a workspace is recorded once; what was done there is shared each time."""
    kept: list[str | None] = []

    class Keeps(Sharing):
        def __init__(self) -> None: ...

        def keep(self, session: Session, tree: str | None) -> None:
            kept.append(tree)

    runner = TurnRunner(
        store=store,
        team=example(),
        workspaces=Workspaces(tmp_path / "workspaces"),
        data_dir=tmp_path,
        settings=WorkerSettings(sandbox="off"),
        live=Live(Clock()),
        sharing=Keeps(),
    )
    begin(store, "delivery-1")
    session, lease = Writer(store, Clock()).load("delivery-1"), taken(store, "delivery-1.t1")
    assert session is not None
    session.base = WorkspacePrepared(repository=None, base_branch=None, base_commit="0" * 40, dirty=False)
    [request] = [each.event for each in store.history("delivery-1") if isinstance(each.event, TurnRequested)]
    answers = [RecordReply(turn_id=lease.turn_id, attempt=1, reply=Text(), prompt=Text(), tree=tree) for tree in "ab"]

    async def story() -> None:
        for answer in answers:

            async def outcome(_: Job, answer: Command = answer) -> Command:
                return answer

            runner._outcome = outcome  # type: ignore[method-assign]
            assert await runner.do(Job(lease, request, session)) == answer

    asyncio.run(story())
    store.close()
    assert kept == ["a", "b"]
