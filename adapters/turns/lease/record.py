"""Records the outcome of a turn, or its end by its deadline."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from adapters.store.errors import Fenced, StoreError
from adapters.turns.job import Job
from adapters.writer.unit_of_work import CommandEnvelope
from adapters.writer.writer import Busy, CommandAnswer, Writer
from domain.session.forks import Diverge
from domain.session.state import Moved, Session
from domain.session.turns import ExpireTurn, RecordReply
from domain.values.base import Command, Refused, Unknown

log = logging.getLogger(__name__)


class RecordingSettings(Protocol):
    """Seconds: the length of the lease, and the pause before recording is tried again."""

    @property
    def lease(self) -> float: ...
    @property
    def retry(self) -> float: ...


def outcome_of(job: Job, command: Command, worker: str) -> CommandEnvelope:
    """The outcome of a turn: by its agent if one was asked, otherwise by the worker."""
    lease = job.lease
    return CommandEnvelope(
        lease.session_id,
        command,
        actor=f"agent:{lease.agent}" if lease.work == "ask" else f"worker:{worker}",
        command_id=f"{lease.turn_id}#{lease.attempt}" + ("/diverged" if isinstance(command, Diverge) else ""),
        causation_id=f"{lease.session_id}:{lease.version}",
    )


def deadline_of(session_id: str, turn_id: str) -> CommandEnvelope:
    """The end of a turn by its deadline; refused if that has not passed, or was extended meanwhile."""
    return CommandEnvelope(session_id, ExpireTurn(turn_id=turn_id), actor="clock", command_id=f"{turn_id}!deadline")


async def record(
    job: Job,
    command: Command,
    *,
    writer: Writer,
    merge: Callable[[Job, RecordReply, Session], Command],
    settings: RecordingSettings,
    by: str,
) -> None:
    """Record the outcome once. A late one is dropped; if the store does not respond, it is tried again."""
    lease = job.lease
    now = asyncio.get_running_loop().time
    started = now()
    while now() - started < settings.lease:
        try:
            recording = writer.begin(outcome_of(job, command, by))
            recording.add_done_callback(_mark_retrieved)
            await asyncio.shield(recording)
            return
        except Moved:
            assert isinstance(command, RecordReply), "only answers bring changes"
            session = await asyncio.to_thread(writer.load, lease.session_id)
            assert session is not None, "a session does not vanish"
            command = await asyncio.to_thread(merge, job, command, session)
        except (Refused, Fenced, Unknown) as late:
            log.info("the answer of %s came too late: %s", lease.turn_id, late)
            return
        except (StoreError, Busy) as error:
            log.warning("the answer of %s is not recorded yet: %s", lease.turn_id, error)
            await asyncio.sleep(settings.retry)
    log.error("the answer of %s is lost: it could not be recorded while the turn was ours", lease.turn_id)


def _mark_retrieved(recording: "asyncio.Future[CommandAnswer]") -> None:
    """If the caller was cancelled, nothing else reads the result, and asyncio would warn about it."""
    if not recording.cancelled():
        recording.exception()
