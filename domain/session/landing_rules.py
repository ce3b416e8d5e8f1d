"""The rules for landings: a finished branch is merged, or the work goes back to its author."""

from typing import TypeVar, get_args

from domain.session.attempts import Failure, Waiting
from domain.session.decision import Events, Now, ask, end_attempt, settle
from domain.session.landing import (
    LANDING_ROLE,
    LandingNotTried,
    LandingRequested,
    LandSession,
    RecordLanding,
    WorkLanded,
    WorkSentBack,
)
from domain.session.state import Session
from domain.session.turns import TurnAnswered

S = TypeVar("S", bound=Session)


def request_landing(now: Now[S], command: LandSession) -> Events:
    """Only a published branch can land, and no agent may be working on it."""
    state = now.state
    if state.published is None or state.branch is None or state.unpublished:
        raise now.refusal(command.REFUSAL)
    if state.outstanding:
        raise now.refusal("is_at_work")
    yield LandingRequested(onto=command.onto, commit=state.published, steps=command.steps, by=command.actor)
    yield ask(now, role=LANDING_ROLE, work="land")


def record_landing(now: Now[S], command: RecordLanding) -> Events:
    """The branch was merged, or the work is sent back with the reason."""
    event = end_attempt(now, command, command.failure) if _waits(command.failure) else settle(now, command)
    yield event
    landing = now.state.landing
    if not isinstance(event, TurnAnswered) or landing is None:
        return
    if command.commit is not None:
        yield WorkLanded(
            onto=landing.onto,
            before=command.before,
            commit=command.commit,
            clean_room=command.clean_room,
            flaky=command.flaky,
        )
        return
    if command.not_tried is not None:
        yield LandingNotTried(
            onto=landing.onto,
            reason=command.not_tried,
            paths=command.paths,
            detail=command.detail,
            sentence=command.sentence,
        )
        return
    yield WorkSentBack(
        onto=landing.onto,
        before=command.before,
        reason=command.reason,
        author=command.author,
        paths=command.paths,
        reasons=command.reasons,
        detail=command.detail,
        flaky=command.flaky,
    )


def _waits(failure: Failure | None) -> bool:
    """True if the landing is tried again later: the set-up fails on the branch without the work, too."""
    return failure is not None and failure.code in get_args(Waiting)
