"""Steps that the rules of several kinds share: discussions about a session, retries, and the branch of its changes."""

from typing import Any

from domain.session.attempts import ONCE, Outstanding
from domain.session.children import (
    ChildClosed,
    ChildRequested,
    CloseChild,
    DiscussionBrief,
    OpenChild,
    ParentLink,
    ReviewSettings,
    child_id,
)
from domain.session.decision import Events, Now, S, ask, moved_deadline, turn_identity
from domain.session.turns import RetryTurn, TurnRetried
from domain.values.base import iso

CHILDREN = 1_000
"""Folders of a session's own agents, before those of its discussions."""


def request_child(
    now: Now[S],
    *,
    kind: str,
    about: str,
    title: str,
    subject: str,
    settings: ReviewSettings,
    max_rounds: int,
    authors: tuple[str, ...] = (),
) -> ChildRequested:
    """Start a discussion: with the same agents, on the same workspace as it is now, linked in both directions.

    `authors` wrote what is discussed.
    """
    state = now.state
    number = len(state.children) + 1
    brief = DiscussionBrief(
        subject=now.text(subject),
        strategy=settings.strategy,
        max_rounds=max_rounds,
        profile=settings.profile,
        title=title,
        labels=state.labels,
        workspace=state.workspace,
        home=state.home or state.id,
        tree=state.tree,
        lane=CHILDREN + number,
        scenario=state.scenario,
        crew=state.crew,
        recast=state.recast or None,
        models=state.models or None,
        parent=ParentLink(session_id=state.id, about=about),
        expires_ms=settings.expires_ms,
        expires_as=settings.expires_as,
        retry=state.retry,
        decisions=state.decisions,
        authors=() if state.retry == ONCE else authors,  # no agent took over a turn before
    )
    name = child_id(state.id, kind, number)
    return ChildRequested(
        message=f"A {kind} of {about} begins.", child_id=name, child_kind=kind, about=about, topic=brief
    )


def close_child(child: OpenChild, command: CloseChild) -> ChildClosed:
    """Record how a discussion ended."""
    fields = {name: getattr(command, name) for name in CloseChild.model_fields if name != "blobs"}
    return ChildClosed(
        message=f"The {child.kind} of {child.about} ended: {command.choice}.", about=child.about, **fields
    )


def headline(words: str) -> str:
    """The first line with text, short enough for a title."""
    return next((line.strip() for line in words.splitlines() if line.strip()), "")[:120]


# -- a retry: a waiting turn is asked at once, a failed one once more --------------------------------------------------


def retry_waiting(now: Now[S], command: RetryTurn) -> tuple[TurnRetried, ...]:
    """Ask the turns that wait for their next attempt at once; none where none waits."""
    waiting = (turn for turn in now.state.outstanding.values() if (turn.tries.until or 0) > now.at)
    return tuple(_at_once(now, command, turn) for turn in waiting)


def _at_once(now: Now[S], command: RetryTurn, turn: Outstanding) -> TurnRetried:
    left = now.at - turn.provider_wait if turn.provider_wait else 0
    return TurnRetried(
        reason=command.reason, deadline=moved_deadline(turn.deadline, left), **_request(turn, turn.tries.ended)
    )


def retry_failed(now: Now[S], command: RetryTurn, deadline: int | None) -> TurnRetried:
    """Ask the failed turn once more."""
    turn = now.state.failed_turn
    if turn is None:
        raise now.refusal(command.REFUSAL)
    until = None if deadline is None else iso(deadline)
    return TurnRetried(reason=command.reason, deadline=until, **_request(turn, turn.tries.ended + 1))


def _request(turn: Outstanding, attempts: int) -> dict[str, Any]:
    """The fields of a request that a retry repeats."""
    fields = {"work": turn.work, "phase": turn.phase, "round": turn.round, "attempts": attempts}
    return {**turn_identity(turn), **fields}


# -- the branch with a session's changes -------------------------------------------------------------------------------


def hand_over(now: Now[S], round: int) -> Events:
    """Request a branch for changes that have none yet. The session's status does not wait for it."""
    waiting = any(turn.work == "package" for turn in now.state.outstanding.values())
    if now.state.unpublished and not waiting:
        yield ask(now, role="supervisor", work="package", round=round or None)
