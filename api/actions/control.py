"""Ending a session, and letting it go on."""

import asyncio

from api.actions.answers import Receipt
from api.actions.bodies import Body, Reason
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from api.actions.fork import release
from api.actions.rights import may_permit
from api.node.scopes import require
from api.node.session_answers import allowed
from domain.discussion.state import Discussion
from domain.kinds import KINDS
from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration
from domain.session.actions import unfit
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.turns import RetryTurn
from domain.values.base import Command


class Empty(Body):
    """Nothing has to be said."""


class Cancel(Body):
    reason: Reason = ""


class Retry(Body):
    """Ask the turn that waits, or that has failed, again."""

    reason: Reason = ""


@action(
    "/api/sessions/{id}/cancel",
    scope="operate",
    body=Cancel,
    answer=Receipt,
    summary="End a session",
    example={"reason": "no longer needed"},
    form=FormOf(again=True, ends=True),
    tools=(Tool("cancel", "Cancel a session. Its record stays."),),
)
async def cancel_session(call: ActionCall[Cancel]) -> Intent:
    """Cancel a session of any kind."""
    kind = KINDS[kind_of(call.session)]
    if kind.state is Discussion:
        await asyncio.to_thread(_may_end_discussion, call)
    return Intent(call.session, kind.cancel(call.body.reason))


def _may_end_discussion(call: ActionCall[Cancel]) -> None:
    """Raises ScopeNeeded: the end of a review or debate that a session waits for decides for that session."""
    session = call.system.sessions.get(call.session)
    if isinstance(session, Discussion) and session.parent is not None and not session.ended:
        require("decide", call.scope)


@action(
    "/api/sessions/{id}/retry",
    scope="operate",
    body=Retry,
    answer=Receipt,
    summary="Retry a turn",
    description="A turn that waits for its next attempt is retried now; a failed turn is retried once more. "
    "Everything before it is kept.",
    example={"reason": "the provider is back"},
    status=202,
    form=FormOf(again=True),
    tools=(Tool("retry", "Retry the waiting or failed turn."),),
)
async def retry_turn(call: ActionCall[Retry]) -> Intent:
    """Ask a turn again that waits for its next attempt, or whose last attempt has failed."""
    return Intent(call.session, RetryTurn(reason=call.body.reason), status=202)


@action(
    "/api/sessions/{id}/continue",
    scope="operate",
    body=Empty,
    answer=Receipt,
    summary="Continue an orchestration or a held fork",
    description="From a checkpoint or when out of rounds, with a new round limit; the planner is asked again "
    "only if there is no valid plan. A held fork continues with the agents.",
    example={},
    form=FormOf(),
    tools=(
        Tool(
            "continue",
            "Continue a session that stopped at a checkpoint or after its last round, or a fork that is held.",
        ),
    ),
)
async def continue_session(call: ActionCall[Empty]) -> Intent:
    """Continue an orchestration that has paused, or release a held fork."""
    return Intent(call.session, await asyncio.to_thread(_continuation, call))


def _continuation(call: ActionCall[Empty]) -> Command:
    session = call.system.sessions.get(call.session)
    if session is not None and session.held:
        return release(call.system.store.history(call.session))
    may_permit(call, session)
    command = ContinueOrchestration()
    _check_allowed(call, session, command)
    return command


@action(
    "/api/sessions/{id}/reset",
    scope="operate",
    body=Cancel,
    answer=Receipt,
    summary="End an orchestration",
    example={"reason": "another way was found"},
    form=FormOf(again=True, ends=True),
    tools=(Tool("reset", "End an orchestration for good."),),
)
async def reset_session(call: ActionCall[Cancel]) -> Intent:
    """End an orchestration for good."""
    return Intent(call.session, await asyncio.to_thread(_reset, call))


def _reset(call: ActionCall[Cancel]) -> Command:
    command = ResetOrchestration(reason=call.body.reason)
    if kind_of(call.session) != "orchestration":
        _check_allowed(call, call.system.sessions.get(call.session), command)
    return command


def _check_allowed(
    call: ActionCall[Empty] | ActionCall[Cancel],
    session: Session | None,
    command: ContinueOrchestration | ResetOrchestration,
) -> None:
    """Raises Refused for what a parent does not allow now; only here it is known whether its discussion can be
    decided."""
    if session is None or not session.open_children or call.version not in (None, session.version):
        return
    actions = allowed(session, call.system.sessions.get)
    if ("continue" if isinstance(command, ContinueOrchestration) else "reset") not in actions:
        raise unfit(session, command, actions)
