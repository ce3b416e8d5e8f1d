"""External agents: they claim turns, renew their leases and submit results (contract §4).

A claim is a lease in the same table as every worker's turns; an answer is recorded like any other agent's.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

from adapters.agents.port import Reply
from adapters.agents.team import Team
from adapters.store.errors import Fenced
from adapters.store.port import Store
from adapters.store.turns import Lease
from adapters.turns.external.leases import ExternalLeases, ExternalTurnSettings, LeaseLost
from adapters.turns.external.queue import TurnFilter, TurnQueue
from adapters.turns.job import Job
from adapters.turns.lease.record import outcome_of
from adapters.turns.lease.routing import Routing
from adapters.turns.live import Live
from adapters.turns.result.shared_workspaces import Sharing, near
from adapters.turns.runner import Prepared, TurnRunner, failed
from adapters.turns.settings import WorkerSettings
from adapters.workspace import Lasting, WorkspaceError, Workspaces
from adapters.workspace.shown_form import shower
from adapters.writer.writer import Busy, CommandAnswer, CommandEnvelope, Writer
from domain.session.attempts import Failure
from domain.session.record import Recorded
from domain.session.state import Moved
from domain.session.turns import RecordReply, TurnRequested
from domain.values.base import HansardError, Invalid, Refused, Unknown
from domain.values.sentences import Sentence, sentence_of

TRIES = 5
"""How often an answer is merged with what others have recorded meanwhile."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A claimed turn: the question, and the lease on it."""

    job: Job
    asked: Prepared

    @property
    def lease(self) -> Lease:
        return self.job.lease


@dataclass(frozen=True, slots=True)
class ResultKey:
    """The key and the expected version of a result, as in a `CommandEnvelope`."""

    key: str | None = None
    fingerprint: str = ""
    expected: int | None = None


def external_turns(
    *,
    store: Store,
    writer: Writer,
    clock: Callable[[], int],
    team: Team,
    data_dir: Path,
    settings: WorkerSettings,
    live: Live,
    sharing: Sharing | None,
) -> "ExternalTurns":
    """The service for the external workers of a team. `data_dir`: the folder that this machine has for the log."""
    runner = TurnRunner(
        store=store,
        team=team,
        workspaces=Workspaces(data_dir / "workspaces", settings.room, settings.log, shower(settings.sandbox)),
        data_dir=data_dir,
        settings=settings,
        live=live,
        sharing=sharing,
    )
    return ExternalTurns(
        store=store,
        writer=writer,
        clock=clock,
        team=team,
        runner=runner,
        sharing=sharing,
        settings=ExternalTurnSettings(lease=settings.lease, turn=team.limits.turn_seconds),
    )


class ExternalTurns:
    """The service for external workers. Belongs to one event loop, except for `seen`."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        clock: Callable[[], int],
        team: Team,
        runner: TurnRunner,
        settings: ExternalTurnSettings,
        sharing: Sharing | None = None,
    ) -> None:
        self._store, self._writer, self._clock, self._runner = store, writer, clock, runner
        self._leases = ExternalLeases(store=store, writer=writer, clock=clock, settings=settings)
        routing = Routing(team, writer.load, near(sharing, writer.load, clock), writer.cached)
        self._queue = TurnQueue(store.turns, routing, clock, self._leases.lease_ms)
        self._handing_in: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def seen(self, page: Sequence[Recorded]) -> None:
        """New events, from the follower's thread."""
        if any(isinstance(recorded.event, TurnRequested) for recorded in page):
            self._queue.wake()

    def rewound(self, _: int) -> None:
        """Look for turns from the oldest on, since the log has gone back. From the follower's thread."""
        self._queue.restart()

    def close(self) -> None:
        """Waiting workers get no turn; existing leases stay valid."""
        self._queue.close()

    def waiting(self) -> int:
        """The number of workers that wait for a turn now."""
        return self._queue.length

    # -- claiming --------------------------------------------------------------------------------------------------

    async def claim(self, worker: str, wanted: TurnFilter, seconds: float) -> Offer | None:
        """The first turn that fits, as soon as there is one; None after this many seconds. If cancelled, no turn is
        claimed."""
        until = time.monotonic() + seconds
        while True:
            lease = await self._queue.next(worker, wanted, max(0.0, until - time.monotonic()))
            if lease is None:
                return None
            try:
                offer = await asyncio.to_thread(self._prepared, lease)
            except asyncio.CancelledError:
                await self._queue.give_back(lease)
                raise
            if isinstance(offer, Offer):
                self._leases.begins(lease)
                return offer
            await self._settle(offer)

    def _prepared(self, lease: Lease) -> "Offer | CommandEnvelope":
        """The question of the turn; if it cannot be asked, the envelope that records why."""
        job = self._leases.job(lease)
        started = time.monotonic()
        try:
            return Offer(job, self._runner.prepared(job))
        except Lasting as error:
            failure = Failure.of("refused", sentence_of(error))
        except (HansardError, OSError) as error:
            failure = Failure.of("crash", sentence_of(error))
        return outcome_of(job, failed(job, failure, seconds=time.monotonic() - started), lease.worker)

    async def _settle(self, envelope: CommandEnvelope) -> None:
        with suppress(Refused, Fenced, Unknown):  # it has ended meanwhile
            await self._writer.do(envelope)

    # -- holding on ------------------------------------------------------------------------------------------------

    async def look_up(self, turn_id: str) -> None:
        """Raises Unknown for an unknown turn."""
        await asyncio.to_thread(self._leases.status_of, turn_id)

    async def heartbeat(self, worker: str, turn_id: str, attempt: int | None) -> Lease:
        """The extended lease. Raises Unknown or LeaseLost; an attempt that takes too long fails the turn."""
        lease = await self._leases.heartbeat(worker, turn_id, attempt)
        if not self._leases.overstays(lease):
            return lease
        job = await asyncio.to_thread(self._leases.job, lease)
        seconds = self._leases.seconds(job)
        failure = Failure.of("timeout", Sentence("no_answer_within", number=round(seconds)))
        await self._settle(outcome_of(job, failed(job, failure, seconds=seconds), worker))
        self._leases.ends(lease)
        raise LeaseLost(Sentence("turn_timed_out", turn=turn_id), "timeout")

    # -- handing in ------------------------------------------------------------------------------------------------

    async def result(
        self, worker: str, turn_id: str, attempt: int | None, reply: Reply, receipted: ResultKey
    ) -> CommandAnswer:
        """The answer to a submitted result, recorded once. Raises Unknown, Refused (LeaseLost), Stale or KeyReused, and
        Invalid for files that cannot be written; then nothing has changed."""
        session_id = turn_id.rpartition(".")[0]  # one after the other, because they are merged with each other
        lock = self._handing_in.setdefault(session_id, asyncio.Lock())
        async with lock:
            if receipted.key is not None and await asyncio.to_thread(self._store.receipt, receipted.key) is not None:
                return await self._writer.do(self._again(worker, turn_id, receipted))
            return await self._handed_in(worker, turn_id, attempt, reply, receipted)

    def _again(self, worker: str, turn_id: str, receipted: ResultKey) -> CommandEnvelope:
        """An envelope that only asks for the first answer to its key."""
        return CommandEnvelope(
            turn_id,
            RecordReply(turn_id=turn_id, attempt=0),
            actor=worker,
            command_id=turn_id,
            key=receipted.key,
            fingerprint=receipted.fingerprint,
        )

    async def _handed_in(
        self, worker: str, turn_id: str, attempt: int | None, reply: Reply, receipted: ResultKey
    ) -> CommandAnswer:
        lease = await asyncio.to_thread(self._leases.held, worker, turn_id, attempt)
        await self._leases.check_deadline(lease)
        job = await asyncio.to_thread(self._leases.job, lease)
        command = await asyncio.to_thread(self._command, job, reply)
        answer = await self._recorded(job, command, worker, receipted)
        self._leases.ends(lease)
        return answer

    def _command(self, job: Job, reply: Reply) -> RecordReply:
        """The outcome to record. A reply with an impossible change has failed, like any agent's; a refused file can
        be sent again.
        """
        answer = replace(
            reply, seconds=self._leases.seconds(job), agent_session=reply.agent_session or job.request.agent_session
        )
        if reply.files and job.request.access != "write":
            raise Invalid({"/files": Sentence("files_not_allowed", access=job.request.access)})
        try:
            return self._runner.answered(job, answer)
        except WorkspaceError as error:
            if reply.files:
                raise Invalid({"/files": sentence_of(error)}) from None
            failure = Failure.of("crash", sentence_of(error))
        return self._runner.answered(job, replace(answer, failure=failure))

    async def _recorded(self, job: Job, command: RecordReply, worker: str, receipted: ResultKey) -> CommandAnswer:
        """Other changes are merged first: under an idempotency key, even that refusal would be kept as the answer."""
        for _ in range(TRIES):
            command = await asyncio.to_thread(self._merged, job, command)
            envelope = outcome_of(job, command, worker)._replace(
                actor=f"agent:{job.lease.agent} via {worker.partition(':')[2]}",
                key=receipted.key,
                fingerprint=receipted.fingerprint,
                expected=receipted.expected,
            )
            try:
                return await self._writer.do(envelope)
            except Moved:
                if receipted.key is not None:
                    raise
            except Fenced:
                raise await asyncio.to_thread(self._leases.loss, job.lease) from None
        raise Busy(Sentence("workspace_busy", number=TRIES))

    def _merged(self, job: Job, command: RecordReply) -> RecordReply:
        session = self._writer.load(job.session.id)
        assert session is not None, "a session does not vanish"
        if command.tree is None or command.base == session.tree:
            return command
        return self._runner.merge(job, command, session)
