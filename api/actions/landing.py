"""Merging the result of a session into a branch."""

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from adapters.workspace import WorkspaceError, Workspaces
from adapters.workspace.branch import NoBranch, commit_of_branch
from api.actions.answers import Receipt
from api.actions.bodies import Body
from api.actions.declaration import ActionCall, Intent, action
from api.actions.projects import read_project
from api.system import System
from domain.delivery.state import Delivery
from domain.kinds import allowed_actions
from domain.orchestration.state import Orchestration
from domain.session.actions import refusal
from domain.session.landing import LandSession
from domain.session.state import Session
from domain.values.base import Command, Invalid, Refused
from domain.values.sentences import Sentence, sentence_of


class Land(Body):
    """Merge the result into a branch, once it is validated there."""

    onto: Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\s\x00-\x1f\x7f-\x9f~^:?*\[\\]+$")] | None = (
        Field(default=None, description="the branch; without it the one that the session began with")
    )


@action(
    "/api/sessions/{id}/land",
    scope="decide",
    body=Land,
    answer=Receipt,
    summary="Merge the result into a branch",
    description="Merged with the current branch and validated; the branch moves only if that passes. The "
    "result is the event `session.landed` or `session.sent_back`.",
    example={"onto": "main"},
    status=202,
)
async def land_session(call: ActionCall[Land]) -> Intent:
    """Merge the result of a finished session into a branch, if its validation passes there."""
    return Intent(call.session, await asyncio.to_thread(_landing, call), status=202)


def _landing(call: ActionCall[Land]) -> Command:
    """A delivery's own commands must pass; for an orchestration, those of the repository."""
    session = call.system.sessions.get(call.session)
    onto = call.body.onto or (session.base.base_branch if session and session.base else None)
    if onto is None and isinstance(session, Delivery | Orchestration):  # the others have nothing to land anywhere
        raise Invalid({"/onto": Sentence("landing_without_target")})
    if (
        onto is not None
        and session is not None
        and session.base is not None
        and session.ended
        and not session.outstanding
    ):
        _check(call.system, session, onto)
    steps = session.steps if isinstance(session, Delivery) else ()
    if isinstance(session, Orchestration) and session.workspace is not None:
        steps = read_project(Path(session.workspace)).validation_steps()
    return LandSession(onto=onto or "", steps=steps, actor=call.actor)


def _check(system: System, session: Session, onto: str) -> None:
    """Refuses at once what the turn would only fail at, for a session whose workspace is on this machine. Raises
    Refused if there is nothing to land or no repository, and Invalid for a branch that is not there."""
    if session.changes is None or not session.changes.files:
        raise refusal(session, "nothing_to_land", allowed_actions(session))
    here = Workspaces(system.settings.node_dir / "workspaces").exists(session.id)
    if not here or not session.published or session.base is None or session.base.repository is None:
        return
    try:
        commit_of_branch(Path(session.base.repository), onto)
    except NoBranch as error:
        raise Invalid({"/onto": sentence_of(error)}) from None
    except WorkspaceError as error:
        raise Refused(sentence_of(error)) from None
