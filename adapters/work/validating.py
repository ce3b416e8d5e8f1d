"""Validating: the delivery's commands, one after another until one fails, and the report of what they said."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import orjson

from adapters import processes
from adapters.work.job import Job, checkout
from adapters.workspace import Workspaces
from domain.base import Text
from domain.delivery.commands import RecordValidation
from domain.delivery.state import Delivery
from domain.validation import CommandRun, Ended, Outcome, Step, outcome

_ENDS: Mapping[str, Ended] = {"exit": "exited", "output": "limit", "timeout": "timeout", "idle": "idle"}
_TAIL = 4_000


async def validate(
    job: Job, *, workspaces: Workspaces, home: Path, seconds: float, output_bytes: int
) -> RecordValidation:
    """`seconds` and `output_bytes` bound each command, `home` is where they find their own."""
    assert isinstance(job.session, Delivery), "only deliveries validate"
    started = time.monotonic()
    folder = await asyncio.to_thread(checkout, job, workspaces)
    runs: list[CommandRun] = []
    outputs: list[processes.Finished] = []
    for step in job.session.steps:
        finished = await processes.run(
            step.argv,
            cwd=folder,
            env=_environment(home),
            wall_seconds=seconds,
            output_bytes=output_bytes,
        )
        runs.append(_run_of(step, finished))
        outputs.append(finished)
        if not runs[-1].passed:
            break
    result = outcome(runs)
    report, blobs = Text.of(_report(result, outputs))
    return RecordValidation(
        turn_id=job.lease.turn_id,
        attempt=job.lease.attempt,
        passed=result.passed,
        classification=result.failure_class,
        summary=result.summary,
        report=report,
        seconds=time.monotonic() - started,
        slot=job.slot,
        blobs=blobs,
    )


def _environment(home: Path) -> dict[str, str]:
    home.mkdir(parents=True, exist_ok=True)  # for each command: one may have removed it
    return processes.clean_environment(home=home)


def _run_of(step: Step, finished: processes.Finished) -> CommandRun:
    return CommandRun(
        stage=step.stage,
        command=step.command,
        argv=step.argv,
        exit_code=finished.exit_code if finished.exit_code is not None else -1,
        seconds=round(finished.seconds, 3),
        ended=_ENDS.get(finished.ended, "not_started"),
        stdout=Text.of(finished.stdout)[0],
        stderr=Text.of(finished.stderr or finished.detail)[0],
        truncated=finished.truncated,
        tail=(finished.stdout + finished.stderr)[-_TAIL:],
    )


def _report(result: Outcome, outputs: list[processes.Finished]) -> str:
    """The validation as an artifact (JSON): every command with its whole output, up to the output limit."""
    runs = [
        {
            "stage": run.stage,
            "command": run.command,
            "argv": run.argv,
            "exitCode": run.exit_code,
            "seconds": run.seconds,
            "ended": run.ended,
            "truncated": run.truncated,
            "detail": finished.detail,
            "stdout": finished.stdout,
            "stderr": finished.stderr,
        }
        for run, finished in zip(result.runs, outputs, strict=True)
    ]
    whole = {"passed": result.passed, "classification": result.failure_class, "summary": result.summary, "runs": runs}
    return orjson.dumps(whole).decode()
