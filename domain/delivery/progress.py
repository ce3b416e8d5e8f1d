"""Progress of a delivery: what an iteration that is sent back has in common with the one before (contract-2 §10)."""

from typing import Any, Literal

from domain.delivery.events import NoProgress
from domain.delivery.state import Delivery
from domain.delivery.steps import about, finish, next_iteration, skip
from domain.session.decision import Events, Now

Same = Literal["files", "failures", "issues"]


def repeated(delivery: Delivery, verdict: str) -> Same | None:
    """What the iteration that is sent back, by this verdict, has in common with the one before; None for progress.

    Changing no file is no progress either, where there is a workspace to write.
    """
    if delivery.workspace is not None and (delivery.patch is None or not delivery.patch.length):
        return "files"
    if delivery.verdict != (delivery.iteration - 1, verdict):
        return None
    return "failures" if verdict.startswith("failures ") else "issues"


def send_back(now: Now[Delivery], same: Same | None) -> Events:
    """The next iteration, unless too many in a row have made no progress."""
    state, limit = now.state, now.state.no_progress_limit
    if same is None or not limit:
        return (yield from next_iteration(now))
    last, count = state.stuck
    count = count + 1 if last == state.iteration - 1 else 1
    message = f"No progress in iteration {state.iteration}: the same {same}."
    fields: dict[str, Any] = {"message": message, "same": same, "iterations": count}
    fields |= about(now, state.phase, role="supervisor")
    if count < limit:
        yield now.stay(NoProgress, **fields)
        return (yield from next_iteration(now))
    yield now.move("exhaust", NoProgress, **fields)
    yield from skip(now, "pending")
    yield from finish(now, "failed", "failed_no_progress")
