"""Keeps at pull requests until they are merged or closed: records what happens at the forge, in order, and carries out
what was recorded as to be done there, once.

Each round of a session asks the forge, never a hook. Whatever was requested before a kill is looked for at the forge by
its branch or its marker before it is sent.
"""

import asyncio
import fcntl
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from adapters.files import private_folder
from adapters.forge.errors import ForgeAway, ForgeError, ForgeLimited, ForgeRefused
from adapters.forge.port import (
    Forge,
    ForgeAccount,
    ForgeComment,
    ForgeRepository,
    HeadChecks,
    NewPullRequest,
    PostPlace,
    PullRequest,
)
from adapters.forge.settings import ForgeSettings
from adapters.workspace import WorkspaceError, Workspaces
from adapters.workspace.merges import MergeConflict
from adapters.workspace.remote_branches import RemoteBranches, has_login, remote_address
from adapters.writer.writer import CommandEnvelope, Writer
from domain.session.comments import LONGEST_COMMENT, LONGEST_QUOTED, MOST_QUOTED, AddComment
from domain.session.forge import (
    ChecksEnded,
    CiPaths,
    CommitsTaken,
    Conflicted,
    EndedCheck,
    FollowUp,
    ForgeCommand,
    NoteForgeFound,
    NoteForgeLost,
    PostRequested,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    Pushed,
    PushRequested,
    RecordForgeFact,
    RecordPost,
    RestPullRequest,
    RestReason,
    ReviewCommented,
    TakeCommits,
)
from domain.session.forge_rules import is_ci, quiet_at
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.base import HansardError, Refused, iso
from domain.values.sentences import Sentence

_log = logging.getLogger(__name__)

_LONGEST_PAUSE: Final = 300.0
"""Seconds until a forge that is away is asked again, at most."""
_STEPS: Final = 50
"""How many things a round does in a row."""
_LOG_END: Final = 4_000

Connect = Callable[[ForgeRepository], Awaitable[Forge | None]]


class Around(NamedTuple):
    """What a follower works with."""

    writer: Writer
    clock: Callable[[], int]
    workspaces: Workspaces
    settings: ForgeSettings
    locks: Path
    """The folder with a file for each session that is followed."""
    connect: Connect
    """None where there is no token for the repository."""


class PullRequestRounds:
    """The rounds of one session: what to do now, and when to look again."""

    def __init__(self, around: Around, session_id: str) -> None:
        self._around, self._id = around, session_id
        self._forge: Forge | None = None
        self._failures = 0
        self._counts: dict[str, bool] = {}
        """Whether the words of each account count, as far as it was asked in this process."""

    async def close(self) -> None:
        """Close the connection."""
        if self._forge is not None:
            await self._forge.close()
            self._forge = None

    async def round(self) -> float | None:
        """Do what is to be done now. Returns the seconds until the next round; None once there is nothing left to do
        for this process."""
        session = await self._session()
        if session is None or session.forge is None or session.forge.is_over:
            if session is not None and session.forge is not None and session.forge.issue is not None:
                await self._steps()
            return None
        pull = session.forge
        if not (pull.follow or pull.push or pull.posts):
            return None
        forge = await self._connected(pull)
        if forge is None:
            return None
        try:
            await self._once(forge)
        except ForgeError as error:
            return await self._lost(error)
        self._failures = 0
        await self._is_back()
        return await self._pause()

    async def _pause(self) -> float | None:
        session = await self._session()
        if session is None or session.forge is None or session.forge.is_over:
            return None
        pull = session.forge
        busy = pull.push is not None or bool(pull.posts)
        if not pull.follow and not busy:
            return None
        seconds = self._around.settings.poll_seconds
        quiet = (quiet_at(pull) - self._around.clock()) / 1_000
        return min(seconds, quiet) if pull.commented_at and quiet > 0 else seconds

    async def _once(self, forge: Forge) -> None:
        """One round: what is to be done, what has happened, and what follows."""
        await self._steps(forge)
        session = await self._session()
        if session is not None and session.forge is not None and session.forge.follow and session.forge.number:
            await self._look(forge, session.forge.number)
            await self._steps(forge)

    async def _steps(self, forge: Forge | None = None) -> None:
        """Carry out what is requested, and what follows from it, until nothing does."""
        for _ in range(_STEPS):
            session = await self._session()
            if session is None or session.forge is None:
                return
            forge = forge or await self._connected(session.forge)
            if forge is None:
                return
            if await self._carry_out(forge, session, session.forge):
                continue
            if not await self._do(FollowUp(ci=await self._ci(session))):
                return

    async def _carry_out(self, forge: Forge, session: Session, pull: OwnPullRequest) -> bool:
        """Do one thing that is requested; False if there is nothing."""
        if pull.theirs is not None and not session.outstanding and pull.rested is None:
            return await self._take_theirs(session, pull)
        if pull.merging is None and pull.conflict is not None and not session.outstanding and pull.rest is None:
            return await self._take_base(session, pull)
        if pull.push is not None and pull.push.hold is None and not pull.is_over and pull.theirs is None:
            return await self._push(forge, session, pull, pull.push)
        post = next(iter(pull.posts.values()), None)
        return post is not None and await self._post(forge, session, pull, post)

    # -- pushes ----------------------------------------------------------------------------------------------------

    async def _push(self, forge: Forge, session: Session, pull: OwnPullRequest, push: PushRequested) -> bool:
        """Push, unless it was done before a kill; somebody else's commits are recorded first."""
        branches = await self._branches(session)
        if branches is None:
            return await self._rest("no_workspace")
        there = await forge.branch_head(push.branch)
        if there == push.commit:
            return await self._pushed(pull, push)
        if there is None and pull.head is not None:
            return await self._rest("branch_gone")
        if there is not None and there != pull.head:
            return await self._somebody_pushed(forge, session, pull, branches, there)
        end = await asyncio.to_thread(branches.push, push.commit, push.branch)
        match end.outcome:
            case "pushed":
                return await self._pushed(pull, push)
            case "refused":
                return await self._rest("refused", end.detail)
            case "overtaken":
                there = await forge.branch_head(push.branch)
                if there is None or there == pull.head:
                    return await self._rest("refused", end.detail)
                return await self._somebody_pushed(forge, session, pull, branches, there)
        raise ForgeAway(Sentence("git_failed", command="push", detail=end.detail))

    async def _pushed(self, pull: OwnPullRequest, push: PushRequested) -> bool:
        event = Pushed(by=pull.actor, commits=(push.commit,), head=push.commit, push_id=push.push_id)
        return await self._do(RecordForgeFact(fact=event))

    async def _somebody_pushed(
        self, forge: Forge, session: Session, pull: OwnPullRequest, branches: RemoteBranches, there: str
    ) -> bool:
        """Record that the branch has commits of somebody else, or lacks some that were there."""
        try:
            fetched = await asyncio.to_thread(branches.fetch, pull.branch)
        except WorkspaceError as error:
            return await self._rest("cannot_merge", str(error))
        before = pull.head
        ours = session.published or session.tree or ""
        forced = before is not None and not await asyncio.to_thread(branches.descends, fetched, before)
        commits = await asyncio.to_thread(branches.between, before or ours, fetched)
        by = await self._pusher(forge, pull, fetched)
        event = Pushed(by=by, commits=commits, head=fetched, forced=forced)
        return await self._do(RecordForgeFact(fact=event))

    async def _pusher(self, forge: Forge, pull: OwnPullRequest, head: str) -> str:
        """Who made the newest commit, as far as the forge knows."""
        if pull.number is None:
            return f"{pull.forge}:somebody"
        commits = await forge.commits(pull.number)
        account = next((each.by for each in reversed(commits) if each.id == head and each.by is not None), None)
        return _named(pull, account)

    async def _take_theirs(self, session: Session, pull: OwnPullRequest) -> bool:
        """Merge commits of somebody else with the work."""
        theirs, branches = pull.theirs, await self._branches(session)
        if theirs is None or branches is None or session.tree is None or session.made_of is not None:
            return await self._rest("no_workspace" if branches is None else "cannot_merge")
        try:
            fetched = await asyncio.to_thread(branches.fetch, pull.branch)
            if fetched != theirs.head:
                fresh = Pushed(by=theirs.by, commits=(), head=fetched)
                return await self._do(RecordForgeFact(fact=fresh))
            name = session.branch or pull.branch
            head, changes = await asyncio.to_thread(branches.merged, session.tree, fetched, name)
        except MergeConflict as conflict:
            return await self._rest("cannot_merge", ", ".join(conflict.paths))
        except WorkspaceError as error:
            return await self._rest("cannot_merge", str(error))
        taken = CommitsTaken(commits=theirs.commits, by=theirs.by, head=head, published=head, changes=changes)
        return await self._do(TakeCommits(taken=taken))

    async def _take_base(self, session: Session, pull: OwnPullRequest) -> bool:
        """Merge the base branch into the work, marked where both sides changed the same lines."""
        branches = await self._branches(session)
        if branches is None or session.tree is None or session.made_of is not None:
            return await self._rest("no_workspace" if branches is None else "cannot_merge")
        try:
            base = await asyncio.to_thread(branches.fetch, pull.base)
            merged = await asyncio.to_thread(branches.with_base, session.tree, base, pull.base)
        except WorkspaceError as error:
            return await self._rest("cannot_merge", str(error))
        taken = CommitsTaken(
            commits=(base,), by=pull.base, head=merged.head, base=base, paths=merged.paths, changes=merged.changes
        )
        return await self._do(TakeCommits(taken=taken))

    async def _ci(self, session: Session) -> CiPaths | None:
        """The settings of the CI that a push would change, compared with what the forge has."""
        pull, commit = session.forge, session.published
        before = (pull.head if pull else None) or (session.base.base_commit if session.base else None)
        if commit is None or before is None or commit == before:
            return None
        branches = await self._branches(session)
        if branches is None:
            return None
        with suppress(WorkspaceError):
            changed = await asyncio.to_thread(branches.changed, before, commit)
            return CiPaths(commit=commit, paths=tuple(path for path in changed if is_ci(path)))
        return None

    # -- posts -----------------------------------------------------------------------------------------------------

    async def _post(self, forge: Forge, session: Session, pull: OwnPullRequest, post: PostRequested) -> bool:
        try:
            match post.what:
                case "pull_request":
                    return await self._open(forge, pull, post)
                case "status":
                    return await self._say_status(forge, pull, post)
                case "reply":
                    return await self._reply(forge, pull, post)
        except ForgeRefused as error:
            return await self._refused(post, str(error))

    async def _refused(self, post: PostRequested, why: str) -> bool:
        """A pull request that cannot be opened waits for a person; an answer that cannot be posted is given up."""
        if post.what == "pull_request":
            await self._do(RecordPost(post_id=post.post_id, id=""))
            return await self._rest("refused", why)
        _log.warning("%s: not posted: %s", self._id, why)
        return await self._do(RecordPost(post_id=post.post_id, id=""))

    async def _open(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        there = await forge.find(pull.branch)
        if there is None or there.state != "open" or not there.same_repository:
            new = NewPullRequest(
                branch=pull.branch, base=pull.base, title=post.title, body=post.text, marker=post.post_id
            )
            there = await forge.open(new)
        event = PullRequestOpened(number=there.number, url=there.url, head=there.head, by=pull.actor)
        return await self._do(RecordForgeFact(fact=event))

    async def _reply(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        assert pull.number is not None, "only comments on a pull request are answered"
        place = PostPlace("pull_request", pull.number)
        made = await forge.find_post(place, post.post_id)
        if made is None:
            about = next((each for each in pull.comments if each.id == post.about), None)
            if about is not None and about.thread is not None:
                made = await forge.reply(pull.number, about.thread, post.text, post.post_id)
            else:
                quote = f"> {about.text.splitlines()[0][:200]}\n\n" if about and about.text.strip() else ""
                made = await forge.post(place, f"{quote}{post.text}", post.post_id)
        return await self._do(RecordPost(post_id=post.post_id, id=made.id, url=made.url))

    async def _say_status(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        assert pull.issue is not None, "the status is said at an issue"
        place, marker = PostPlace("issue", pull.issue.number), f"{self._id}.status"
        made = await forge.find_post(place, marker)
        if made is None:
            made = await forge.post(place, post.text, marker)
        elif made.text.strip() != post.text.strip():
            made = await forge.edit(place, made.id, post.text, marker)
        return await self._do(RecordPost(post_id=post.post_id, id=made.id, url=made.url))

    # -- what has happened -----------------------------------------------------------------------------------------

    async def _look(self, forge: Forge, number: int) -> None:
        """Record what has happened since."""
        there = await forge.get(number)
        session = await self._session()
        if session is None or session.forge is None:
            return
        pull = session.forge
        if there.state == "merged":
            by = _named(pull, there.merged_by)
            await self._do(RecordForgeFact(fact=PullRequestMerged(commit=there.merge_commit, by=by)))
            await self._free()
            return
        at = iso(there.updated_at)
        if there.state == "closed":
            if pull.state != "closed":
                event = PullRequestClosed(by=_named(pull, there.closed_by), at=at)
                await self._do(RecordForgeFact(fact=event))
            return
        if pull.state == "closed":
            await self._do(RecordForgeFact(fact=PullRequestReopened(by=_named(pull, None), at=at)))
        await self._comments(forge, number)
        if pull.rested in ("forced_push", "branch_gone"):
            return
        if there.head and there.head != pull.head and (pull.push is None or there.head != pull.push.commit):
            branches = await self._branches(session)
            if branches is not None:
                await self._somebody_pushed(forge, session, pull, branches, there.head)
            return
        await self._checks(await forge.checks(there.head, number), pull)
        await self._conflict(there, session, pull)

    async def _checks(self, checks: HeadChecks, pull: OwnPullRequest) -> None:
        conclusion = checks.conclusion
        if conclusion not in ("success", "failure") or checks.head != pull.head:
            return
        names = "\n".join(sorted(f"{each.id} {each.conclusion}" for each in checks.checks))
        event = ChecksEnded(
            id=hashlib.sha256(names.encode()).hexdigest()[:16],
            head=checks.head,
            conclusion="success" if conclusion == "success" else "failure",
            checks=tuple(
                EndedCheck(name=each.name, conclusion=each.conclusion, url=each.url, log=each.log[-_LOG_END:])
                for each in checks.checks[:100]
            ),
        )
        if event.fact not in pull.facts:
            await self._do(RecordForgeFact(fact=event))

    async def _conflict(self, there: PullRequest, session: Session, pull: OwnPullRequest) -> None:
        if there.mergeable != "conflicted" or there.head != pull.head or session.outstanding or pull.conflict:
            return
        await self._do(RecordForgeFact(fact=Conflicted(base=there.base_head or "", head=there.head)))

    async def _comments(self, forge: Forge, number: int) -> None:
        comments = await forge.comments(number)
        session = await self._session()
        if session is None or session.forge is None:
            return
        pull = session.forge
        for comment in comments.items:
            if f"comment:{comment.id}" in pull.facts or comment.marker is not None or not comment.text.strip():
                continue
            counts = await self._does_count(forge, comment)
            event = ReviewCommented(
                id=comment.id,
                by=_named(pull, comment.author),
                path=comment.path,
                line=comment.line,
                text=comment.text[:LONGEST_COMMENT],
                head=comment.head,
                counts=counts,
                account=comment.author.kind,
                thread=comment.thread,
                url=comment.url,
            )
            remark = await self._remark(session, comment, event.by) if counts else None
            await self._do(RecordForgeFact(fact=event, remark=remark))

    async def _does_count(self, forge: Forge, comment: ForgeComment) -> bool:
        """Return whether the words start work: those of people who may push, and of whom the owner allows."""
        author, settings = comment.author, self._around.settings
        if author.kind == "self":
            return False
        if settings.allows(author.name):
            return True
        if author.kind == "bot":
            return False
        if comment.may_push:
            return True
        if author.name not in self._counts:
            member = [await forge.is_member(author.name, team) for team in settings.teams]
            self._counts[author.name] = any(member)
        return self._counts[author.name]

    async def _remark(self, session: Session, comment: ForgeComment, by: str) -> AddComment:
        """The comment as one of the session's, with the lines that it is about where the commit is known here."""
        text = comment.text[:LONGEST_COMMENT]
        if comment.path is None:
            return AddComment(text=text, actor=by)
        head = comment.head if comment.head in session.commits else None
        branches = await self._branches(session)
        if head is None or branches is None or comment.line is None or comment.side == "old":
            return AddComment(text=text, path=comment.path, head=head, actor=by)
        lines = await asyncio.to_thread(branches.file_lines, head, comment.path)
        if lines is None:
            return AddComment(text=text, actor=by)
        first, last = sorted((comment.line, comment.end_line or comment.line))
        if last > len(lines):
            return AddComment(text=text, path=comment.path, head=head, actor=by)
        quote = tuple(each[:LONGEST_QUOTED] for each in lines[first - 1 : last][:MOST_QUOTED])
        return AddComment(
            text=text, path=comment.path, line=first, end_line=first + len(quote) - 1, quote=quote, head=head, actor=by
        )

    async def _free(self) -> None:
        """Free the folders of a session whose work is merged. What is recorded stays."""
        session = await self._session()
        if session is not None and not session.outstanding:
            with suppress(HansardError, OSError):
                await asyncio.to_thread(self._around.workspaces.put_away, self._id)

    # -- the forge, away and back ----------------------------------------------------------------------------------

    async def _lost(self, error: ForgeError) -> float:
        """Note that the forge does not answer. Returns the seconds until it is asked again."""
        self._failures += 1
        seconds = min(self._around.settings.poll_seconds * float(2 ** min(self._failures - 1, 6)), _LONGEST_PAUSE)
        if isinstance(error, ForgeLimited):
            seconds = max(0.0, (error.until - self._around.clock()) / 1_000)
        at = iso(self._around.clock() + round(seconds * 1_000))
        await self._do(NoteForgeLost(why=str(error), retry_at=at))
        return seconds

    async def _is_back(self) -> None:
        session = await self._session()
        if session is not None and session.forge is not None and session.forge.lost is not None:
            await self._do(NoteForgeFound())

    async def _connected(self, pull: OwnPullRequest) -> Forge | None:
        if self._forge is None:
            self._forge = await self._around.connect(ForgeRepository(pull.forge, pull.host, pull.project))
        return self._forge

    # -- the record ------------------------------------------------------------------------------------------------

    async def _session(self) -> Session | None:
        return await asyncio.to_thread(self._around.writer.load, self._id)

    async def _do(self, command: ForgeCommand) -> bool:
        """Record it; False if that is known, or cannot be now."""
        session = await self._session()
        actor = session.forge.actor if session is not None and session.forge is not None else "forge"
        try:
            await self._around.writer.do(CommandEnvelope(self._id, command, actor=actor, command_id=str(uuid4())))
        except Refused as error:
            _log.debug("%s: %s", self._id, error)
            return False
        return True

    async def _rest(self, why: RestReason, detail: str = "") -> bool:
        return await self._do(RestPullRequest(why=why, detail=detail[:2_000]))

    async def _branches(self, session: Session) -> RemoteBranches | None:
        """The branches at the forge; None where the workspace is not on this machine."""
        return await asyncio.to_thread(branches_of, self._around.workspaces, session)


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


def _named(pull: OwnPullRequest, account: ForgeAccount | None) -> str:
    return f"{pull.forge}:{account.name if account is not None else 'somebody'}"


@contextmanager
def alone(folder: Path, session_id: str) -> Iterator[bool]:
    """Give whether this process is the only one of the machine that follows the session's pull request."""
    private_folder(folder)
    with (folder / f"{session_id}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
