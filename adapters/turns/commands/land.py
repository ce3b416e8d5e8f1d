"""Lands a result (contract-2 §12): it is merged with the current branch, the merge is validated, and only then the
branch moves."""

import asyncio
import time
from typing import Final

from adapters.turns.commands.clock import BudgetClock
from adapters.turns.commands.prepare import CommandPlaces
from adapters.turns.commands.validate import WorkValidation, WorkVerdict
from adapters.turns.job import Job
from adapters.workspace.branch import NoBranch
from adapters.workspace.git import WorkspaceError
from adapters.workspace.merges import MergeConflict
from adapters.workspace.move import InTheWay
from adapters.workspace.shown_form import show_all
from domain.delivery.state import Delivery
from domain.session.attempts import Failure
from domain.session.landing import NotTriedReason, RecordLanding
from domain.values.sentences import Sentence, coded, sentence_of

_TRIES: Final = 3
"""How often the merge is repeated because the branch has moved."""


async def land(places: CommandPlaces, clock: BudgetClock) -> RecordLanding:
    """Merge, validate, move the branch. Raises WorkspaceError."""
    job, started = places.job, time.monotonic()
    landing = job.session.landing
    assert landing is not None, "a landing is recorded before its turn"
    workspace = await places.workspace()
    verdict = WorkVerdict()

    def record(**fields: object) -> RecordLanding:
        fence = verdict.place.fence() if verdict.place else None
        return RecordLanding(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            seconds=time.monotonic() - started,
            slot=job.slot,
            author=job.session.author if isinstance(job.session, Delivery) else "",
            fence=fence.level if fence else None,
            fence_gaps=fence.gaps if fence else (),
            refused_hosts=job.refusals.hosts(),
            clean_room=verdict.clean_room,
            flaky=verdict.flaky,
        ).model_copy(update=fields)

    def not_tried(reason: NotTriedReason, error: WorkspaceError, paths: tuple[str, ...] = ()) -> RecordLanding:
        why = sentence_of(error)
        return record(not_tried=reason, paths=paths, detail=str(why), sentence=coded(why))

    for _ in range(_TRIES):
        try:
            before = await asyncio.to_thread(workspace.tip, landing.onto)
        except NoBranch as error:
            return not_tried("branch", error)
        message = _message(job, landing.onto)
        try:
            merged = await asyncio.to_thread(workspace.integrate, onto=before, commit=landing.commit, message=message)
        except MergeConflict as conflict:
            detail = Sentence("merge_conflict", paths=", ".join(conflict.paths))
            return record(before=before, reason="conflict", paths=conflict.paths, detail=str(detail))
        if merged == before:
            return record(before=before, commit=before)
        if landing.steps:
            await asyncio.to_thread(show_all, workspace, [before, merged], places.fencing.around)
            verdict = await WorkValidation(places, clock, base=before).run(landing.steps, tree=merged)
        if verdict.failure is not None:
            return record(failure=verdict.failure)
        if landing.steps and not verdict.passed:
            return record(before=before, reason="validation", reasons=verdict.reasons, detail=verdict.result.summary)
        try:
            if await asyncio.to_thread(workspace.advance, landing.onto, before=before, after=merged):
                return record(before=before, commit=merged)
        except InTheWay as error:
            return not_tried("uncommitted" if error.obstacle == "edited" else error.obstacle, error, error.paths)
    detail = Sentence("branch_keeps_moving", branch=landing.onto)
    return record(failure=Failure.of("workspace", detail))


def _message(job: Job, onto: str) -> str:
    """The message of the merge commit."""
    session = job.session
    title = " ".join((session.title or getattr(session, "task", "") or getattr(session, "prompt", "")).split())
    subject = f"Merge {session.branch} into {onto}"
    return "\n".join([subject, "", *([title, ""] if title else []), f"Hansard-Session: {session.id}", ""])
