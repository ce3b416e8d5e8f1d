"""The orders by which what came of a turn gets into the log."""

from adapters.turns.job import Job
from adapters.writer.unit_of_work import CommandEnvelope
from domain.session.forks import Diverge
from domain.session.turns import ExpireTurn
from domain.values.base import Command


def outcome_of(job: Job, command: Command, worker: str) -> CommandEnvelope:
    """The outcome of a turn: by its agent where one was asked, else by the worker."""
    lease = job.lease
    return CommandEnvelope(
        lease.session_id,
        command,
        actor=f"agent:{lease.agent}" if lease.work == "ask" else f"worker:{worker}",
        command_id=f"{lease.turn_id}#{lease.attempt}" + ("/diverged" if isinstance(command, Diverge) else ""),
        causation_id=f"{lease.session_id}:{lease.version}",
    )


def deadline_of(session_id: str, turn_id: str) -> CommandEnvelope:
    """The end of a turn by its deadline; refused where that has not passed, or was extended meanwhile."""
    return CommandEnvelope(session_id, ExpireTurn(turn_id=turn_id), actor="clock", command_id=f"{turn_id}!deadline")
