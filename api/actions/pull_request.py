"""The pull request of a session's branch."""

import asyncio
from contextlib import suppress
from uuid import uuid4

from pydantic import Field, StrictBool

from adapters.forge.errors import ForgeError
from adapters.forge.settings import BadForge
from adapters.pull_requests.branch import changed_settings
from adapters.pull_requests.record import branches_of
from adapters.workspace import Workspaces
from adapters.writer.writer import CommandEnvelope
from api.actions.answers import Receipt
from api.actions.bodies import Body
from api.actions.declaration import ActionCall, FormOf, Intent, action
from api.node.forge import ForgePlace, connected, forge_of
from api.node.owner import forge_file
from api.system import System
from domain.kinds import allowed_actions
from domain.session.actions import refusal
from domain.session.forge import CiPaths, PullRequestReopened, RecordForgeFact, RequestPullRequest
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.base import Command, Refused, iso
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
    place = await _forge_place(call.system, session)
    follow = call.body.follow
    pull = session.forge
    return RequestPullRequest(
        forge=place.repository.kind,
        project=place.repository.path,
        host=place.repository.host,
        base=(pull.base if pull else "") or session.base.base_branch or "main",
        branch=(pull.branch if pull else "") or session.branch,
        follow=(pull.follow if pull else place.settings.follow) if follow is None else follow,
        unfollow=True if follow is False else None,
        rules=place.rules,
        actor=call.actor,
        ci=await asyncio.to_thread(_ci, call.system, session),
    )


async def _forge_place(system: System, session: Session) -> ForgePlace:
    """The forge of the session's repository, for which there is a token; where the pull request was closed, it is asked
    whether it is open again. Raises Refused."""
    try:
        place = await asyncio.to_thread(forge_of, forge_file(system.settings), session)
        forge = await connected(place, at_terminal=system.at_terminal)
    except BadForge as error:
        raise Refused(sentence_of(error)) from None
    if forge is None:
        raise Refused(Sentence("no_forge_token", host=place.repository.host))
    try:
        pull = session.forge
        if pull is not None and pull.state == "closed" and pull.number is not None:
            there = await forge.get(pull.number)
            if there.state == "open":
                await _reopened(system, session, pull, iso(there.updated_at))
    except ForgeError as error:
        raise Refused(error.sentence) from None
    finally:
        await forge.close()
    return place


async def _reopened(system: System, session: Session, pull: OwnPullRequest, at: str) -> None:
    """Record that somebody has opened it again, unless the follower was faster."""
    fact = PullRequestReopened(by=f"{pull.forge}:somebody", at=at)
    with suppress(Refused):
        command = RecordForgeFact(fact=fact)
        await system.writer.do(CommandEnvelope(session.id, command, actor=pull.actor, command_id=str(uuid4())))


def _ci(system: System, session: Session) -> CiPaths | None:
    branches = branches_of(Workspaces(system.settings.node_dir / "workspaces"), session)
    return changed_settings(branches, session) if branches is not None else None
