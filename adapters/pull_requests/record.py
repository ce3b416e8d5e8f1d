"""The needs of everything that works on a session's pull request: the record of the session, and its branches at the
forge."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import uuid4

from adapters.forge.port import Forge, ForgeAccount, ForgeRepository
from adapters.forge.settings import ForgeSettings
from adapters.pull_requests.claims import PullRequestClaims
from adapters.workspace import Workspaces
from adapters.workspace.remote_branches import RemoteBranches, has_login, remote_address
from adapters.writer.writer import CommandEnvelope, Writer
from domain.session.forge import ForgeCommand, RestPullRequest, RestReason
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.base import HansardError, Refused

_log = logging.getLogger(__name__)
Connect = Callable[[ForgeRepository], Awaitable[Forge | None]]


class OtherMachines(Protocol):
    """The workspaces of other machines."""

    def bring(self, session: Session, load: Callable[[str], Session | None], /) -> None:
        """Make sure that the session's workspace is here, with everything recorded in it. Raises HansardError."""

    def keep(self, session: Session, tree: str | None, /) -> None:
        """Let other machines have this state of the work. Raises HansardError."""


class Around(NamedTuple):
    """The parts of Hansard around a follower, with which it works."""

    writer: Writer
    clock: Callable[[], int]
    workspaces: Workspaces
    settings: ForgeSettings
    claims: PullRequestClaims
    connect: Connect
    """None where there is no token for the repository."""
    sharing: OtherMachines | None = None
    """The workspaces of other machines, if there are any."""


class PullRequestRecord:
    """One session: its state, what is recorded about its pull request, and its branches."""

    def __init__(self, around: Around, session_id: str) -> None:
        self.around, self.id = around, session_id

    async def session(self) -> Session | None:
        return await asyncio.to_thread(self.around.writer.load, self.id)

    async def do(self, command: ForgeCommand) -> bool:
        """Record it; False if that is known, or cannot be now."""
        session = await self.session()
        actor = session.forge.actor if session is not None and session.forge is not None else "forge"
        try:
            await self.around.writer.do(CommandEnvelope(self.id, command, actor=actor, command_id=str(uuid4())))
        except Refused as error:
            _log.debug("%s: %s", self.id, error)
            return False
        return True

    async def rest(self, why: RestReason, detail: str = "") -> bool:
        """Record that a person has to act first."""
        return await self.do(RestPullRequest(why=why, detail=detail[:2_000]))

    async def branches(self, session: Session) -> RemoteBranches | None:
        """The branches at the forge; None where the workspace cannot be had on this machine."""
        return await asyncio.to_thread(self._branches, session)

    def _branches(self, session: Session) -> RemoteBranches | None:
        if self.around.sharing is not None:
            try:
                self.around.sharing.bring(session, self.around.writer.load)
            except HansardError as error:
                _log.info("%s: its workspace cannot be had here: %s", self.id, error)
        return branches_of(self.around.workspaces, session)

    async def keep(self, session: Session, tree: str) -> None:
        """Give other machines this state of the work, before it is recorded."""
        if self.around.sharing is not None:
            await asyncio.to_thread(self.around.sharing.keep, session, tree)

    def is_elsewhere(self, session: Session) -> bool:
        """Return whether the person's repository is on another machine, which follows the pull request then."""
        repository = session.base.repository if session.base else None
        return self.around.sharing is not None and repository is not None and not Path(repository).is_dir()


def branches_of(workspaces: Workspaces, session: Session) -> RemoteBranches | None:
    """The branches at the forge of the session's repository; None where the workspace, the repository or its remote are
    not on this machine, or where the remote's address has a login in it."""
    base = session.base
    if base is None or base.repository is None or not workspaces.exists(session.id):
        return None
    try:
        url = remote_address(Path(base.repository))
        workspace = workspaces.existing(session.id)
    except (HansardError, OSError):
        return None
    return RemoteBranches(workspace, url) if url is not None and not has_login(url) else None


def named(pull: OwnPullRequest, account: ForgeAccount | None) -> str:
    """The account as the record names it: `github:ann`."""
    return f"{pull.forge}:{account.name if account is not None else 'somebody'}"
