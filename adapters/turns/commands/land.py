"""Landing a result (contract-2 §12): it is merged with the current branch, the merge is validated, and only then the
branch moves."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.prepare import Observe, ready_to_validate
from adapters.turns.commands.validate import (
    CommandPlace,
    ValidationSettings,
    outcomes,
    output_of,
)
from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspaces
from adapters.workspace.branch import CheckoutInTheWay
from adapters.workspace.merges import MergeConflict
from domain.delivery.state import Delivery
from domain.delivery.validation import Baseline, reasons, unready
from domain.session.attempts import Failure
from domain.session.landing import RecordLanding
from domain.session.validation import ValidationStep, outcome
from domain.values.sentences import Sentence

_TRIES: Final = 3
"""How often the merge is repeated because the branch has moved."""


async def land(
    job: Job, *, workspaces: Workspaces, home: Path, fencing: Fencing, settings: ValidationSettings, observe: Observe
) -> RecordLanding:
    """Merge, validate, move the branch. Raises WorkspaceError."""
    landing, started = job.session.landing, time.monotonic()
    assert landing is not None, "a landing is recorded before its turn"
    workspace = await asyncio.to_thread(workspace_of, job, workspaces)
    place: CommandPlace | None = None

    def record(**fields: object) -> RecordLanding:
        fence = place.fence() if place else None
        return RecordLanding(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            seconds=time.monotonic() - started,
            slot=job.slot,
            author=job.session.author if isinstance(job.session, Delivery) else "",
            fence=fence.level if fence else None,
            fence_gaps=fence.gaps if fence else (),
        ).model_copy(update=fields)

    for _ in range(_TRIES):
        before = await asyncio.to_thread(workspace.tip, landing.onto)
        message = _message(job, landing.onto)
        try:
            merged = await asyncio.to_thread(workspace.integrate, onto=before, commit=landing.commit, message=message)
        except MergeConflict as conflict:
            detail = Sentence("merge_conflict", paths=", ".join(conflict.paths))
            return record(before=before, reason="conflict", paths=conflict.paths, detail=str(detail))
        if merged == before:
            return record(before=before, commit=before)
        place, setup = await ready_to_validate(
            job,
            workspaces=workspaces,
            home=home,
            fencing=fencing,
            settings=settings,
            observe=observe,
            tree=merged,
        )
        if failure := unready(Baseline(setup=setup)):
            return record(failure=failure)
        if failed := await _failed(landing.steps, place, settings):
            return record(before=before, reason="validation", reasons=failed[1], detail=failed[0])
        try:
            if await asyncio.to_thread(workspace.advance, landing.onto, before=before, after=merged):
                return record(before=before, commit=merged)
        except CheckoutInTheWay as error:
            return record(before=before, reason="checkout", detail=str(error))
    detail = Sentence("branch_keeps_moving", branch=landing.onto)
    return record(failure=Failure.of("workspace", detail))


async def _failed(
    steps: Sequence[ValidationStep], place: CommandPlace, settings: ValidationSettings
) -> tuple[str, tuple[str, ...]] | None:
    """Why the commands failed on the merge: a few sentences, and the relevant lines."""
    if not steps:
        return None
    runs, outputs = await outcomes(steps, place, settings)
    result = outcome(runs)
    return None if result.passed else (result.summary, reasons(output_of(outputs[-1])))


def _message(job: Job, onto: str) -> str:
    """The message of the merge commit."""
    session = job.session
    title = " ".join((session.title or getattr(session, "task", "") or getattr(session, "prompt", "")).split())
    subject = f"Merge {session.branch} into {onto}"
    return "\n".join([subject, "", *([title, ""] if title else []), f"Hansard-Session: {session.id}", ""])
