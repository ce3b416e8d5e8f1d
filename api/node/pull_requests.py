"""Keeps at pull requests until they are merged or closed: records what happens at the forge, in order, and carries out
what was recorded as to be done there, once.

Each round of a session asks the forge, never a hook. Whatever was requested before a kill is looked for at the forge by
its branch or its marker before it is sent.
"""

from typing import Final

from adapters.forge.errors import ForgeError, ForgeLimited
from adapters.forge.port import Forge, ForgeRepository
from adapters.pull_requests.branch import BranchAtForge
from adapters.pull_requests.news import NewsFromForge
from adapters.pull_requests.posts import PostsAtForge
from adapters.pull_requests.record import Around, PullRequestRecord
from domain.session.forge import BeginFollowing, FollowUp, NoteForgeFound, NoteForgeLost
from domain.session.forge_rules import quiet_at
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.base import iso

_LONGEST_PAUSE: Final = 300.0
"""Seconds until a forge that is away is asked again, at most."""
_STEPS: Final = 50
"""Things that a round does in a row."""
_CLOSED_PAUSE: Final = 10
"""A closed pull request is looked at so much less often than an open one: somebody may open it again."""
_CLOSED_FOR: Final = 30 * 86_400_000
"""Milliseconds after which nobody looks any more."""


class PullRequestRounds:
    """The rounds of one session: what to do now, and when to look again."""

    def __init__(self, around: Around, session_id: str) -> None:
        self._around = around
        self._record = PullRequestRecord(around, session_id)
        self._branch = BranchAtForge(self._record)
        self._posts = PostsAtForge(self._record)
        self._news = NewsFromForge(self._record, self._branch)
        self._forge: Forge | None = None
        self._failures = 0

    async def close(self) -> None:
        """Close the connection."""
        if self._forge is not None:
            await self._forge.close()
            self._forge = None

    async def round(self) -> float | None:
        """Do what is to be done now. Returns the seconds until the next round; None once there is nothing left to do
        for this process."""
        session = await self._record.session()
        if session is None or session.forge is None or self._record.is_elsewhere(session):
            return None
        if not await self._is_followed(session.forge):
            return None
        forge = await self._connected(session.forge)
        if forge is None:
            return None
        try:
            await self._once(forge)
        except ForgeError as error:
            return await self._lost(error)
        self._failures = 0
        await self._is_back()
        return await self._pause()

    async def _is_followed(self, pull: OwnPullRequest) -> bool:
        """Return whether there is anything to do; an open one is followed from now on where the owner says so."""
        if pull.state == "merged":
            return pull.issue is not None
        if pull.state == "closed":
            return bool(pull.follow and self._around.clock() - pull.closed_at < _CLOSED_FOR)
        if self._around.settings.follow and not (pull.follow or pull.unfollow) and pull.number is not None:
            return await self._record.do(BeginFollowing(actor=pull.actor))
        return bool(pull.follow or pull.push or pull.posts or pull.push_again or (pull.wanted and pull.number is None))

    async def _pause(self) -> float | None:
        session = await self._record.session()
        if session is None or session.forge is None or session.forge.state == "merged":
            return None
        pull, seconds = session.forge, self._around.settings.poll_seconds
        if pull.state == "closed":
            return seconds * _CLOSED_PAUSE if pull.follow else None
        busy = pull.push is not None or bool(pull.posts) or pull.push_again
        if not pull.follow and not busy:
            return None
        quiet = (quiet_at(pull) - self._around.clock()) / 1_000
        return min(seconds, quiet) if pull.commented_at and quiet > 0 else seconds

    async def _once(self, forge: Forge) -> None:
        """One round: what is to be done, what has happened, and what follows."""
        await self._steps(forge)
        session = await self._record.session()
        pull = session.forge if session is not None else None
        if pull is not None and pull.follow and pull.number and pull.state != "merged":
            await self._news.look(forge, pull.number)
            await self._steps(forge)

    async def _steps(self, forge: Forge) -> None:
        """Carry out what is requested, and what follows from it, until nothing does."""
        for _ in range(_STEPS):
            session = await self._record.session()
            if session is None or session.forge is None:
                return
            if await self._carry_out(forge, session, session.forge):
                continue
            if not await self._record.do(FollowUp(ci=await self._branch.ci(session))):
                return

    async def _carry_out(self, forge: Forge, session: Session, pull: OwnPullRequest) -> bool:
        """Do one thing that is requested; False if there is nothing."""
        if pull.theirs is not None and not session.outstanding and pull.rested is None and not pull.is_over:
            return await self._branch.take_theirs(forge, session, pull)
        if pull.merging is None and pull.conflict is not None and not session.outstanding and pull.rest is None:
            return await self._branch.take_base(session, pull)
        if pull.push is not None and pull.push.hold is None and not pull.is_over and pull.theirs is None:
            return await self._branch.push(forge, session, pull, pull.push)
        post = next(iter(pull.posts.values()), None)
        return post is not None and await self._posts.post(forge, pull, post)

    # -- the forge, away and back ----------------------------------------------------------------------------------

    async def _lost(self, error: ForgeError) -> float:
        """Note that the forge does not answer. Returns the seconds until it is asked again."""
        self._failures += 1
        seconds = min(self._around.settings.poll_seconds * float(2 ** min(self._failures - 1, 6)), _LONGEST_PAUSE)
        if isinstance(error, ForgeLimited):
            seconds = max(0.0, (error.until - self._around.clock()) / 1_000)
        at = iso(self._around.clock() + round(seconds * 1_000))
        await self._record.do(NoteForgeLost(why=str(error), retry_at=at))
        return seconds

    async def _is_back(self) -> None:
        session = await self._record.session()
        if session is not None and session.forge is not None and session.forge.lost is not None:
            await self._record.do(NoteForgeFound())

    async def _connected(self, pull: OwnPullRequest) -> Forge | None:
        if self._forge is None:
            self._forge = await self._around.connect(ForgeRepository(pull.forge, pull.host, pull.project))
        return self._forge
