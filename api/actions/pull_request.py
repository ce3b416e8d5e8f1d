"""The pull request of a session's branch."""

import asyncio

from pydantic import Field, StrictBool

from adapters.forge.settings import BadForge
from adapters.workspace import Workspaces
from adapters.workspace.remote_branches import RemoteBranches
from api.actions.answers import Receipt
from api.actions.bodies import Body
from api.actions.call import ActionCall, Intent
from api.actions.declaration import FormOf, action
from api.node.forge import connected, forge_of
from api.node.owner import forge_file
from api.node.pull_requests import branches_of
from api.system import System
from domain.kinds import allowed_actions
from domain.session.actions import refusal
from domain.session.forge import CiPaths, RequestPullRequest
from domain.session.forge_rules import is_ci
from domain.session.state import Session
from domain.values.base import Command, HansardError, Refused
from domain.values.sentences import Sentence, sentence_of


class OpenPullRequest(Body):
    """Push the session's branch, and open a pull request or bring it up to date."""

    follow: StrictBool | None = Field(
        default=None, description="keep at it until it is merged or closed; default: as the owner's settings say"
    )


@action(
    "/api/sessions/{id}/pull-request",
    scope="decide",
    body=OpenPullRequest,
    answer=Receipt,
    summary="Open a pull request, or bring it up to date",
    description="At GitHub or GitLab, place from the address of the repository's remote. What is done is recorded "
    "first. A push that changes settings of the CI waits until this is sent again. 409 where there is no such forge, "
    "or no token for it.",
    example={"follow": True},
    status=202,
    form=FormOf(bound=False),
)
async def open_pull_request(call: ActionCall[OpenPullRequest]) -> Intent:
    """Open a pull request for a session's branch, or let one that waits go on."""
    session = call.system.sessions.get(call.session)
    if session is None:
        return Intent(call.session, RequestPullRequest(forge="github", project="", base="", branch=""), status=202)
    return Intent(call.session, await _command(call, session), status=202)


async def _command(call: ActionCall[OpenPullRequest], session: Session) -> Command:
    if session.base is None or session.branch is None or session.published is None:
        raise refusal(session, RequestPullRequest.REFUSAL, allowed_actions(session))
    try:
        place = await asyncio.to_thread(forge_of, forge_file(call.system.settings), session)
        forge = await connected(place, at_terminal=call.system.at_terminal)
    except BadForge as error:
        raise Refused(sentence_of(error)) from None
    if forge is None:
        raise Refused(Sentence("no_forge_token", host=place.repository.host))
    await forge.close()
    follow = call.body.follow
    pull = session.forge
    return RequestPullRequest(
        forge=place.repository.kind,
        project=place.repository.path,
        host=place.repository.host,
        base=(pull.base if pull else "") or session.base.base_branch or "main",
        branch=(pull.branch if pull else "") or session.branch,
        follow=(pull.follow if pull else place.settings.follow) if follow is None else follow,
        rules=place.rules,
        actor=call.actor,
        ci=await asyncio.to_thread(_ci, call.system, session),
    )


def _ci(system: System, session: Session) -> CiPaths | None:
    """The settings of the CI that a push would change, compared with what the forge has."""
    branches: RemoteBranches | None = branches_of(Workspaces(system.settings.node_dir / "workspaces"), session)
    before = (session.forge.head if session.forge else None) or (session.base.base_commit if session.base else None)
    if branches is None or before is None or session.published is None:
        return None
    try:
        paths = branches.changed(before, session.published)
    except HansardError:
        return None
    return CiPaths(commit=session.published, paths=tuple(path for path in paths if is_ci(path)))
