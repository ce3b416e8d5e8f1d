"""The branch of a session at its forge: what is recorded is pushed, once and as a fast-forward, and what others have
pushed becomes part of the work."""

import asyncio
import logging

from adapters.forge.errors import ForgeAway
from adapters.forge.port import Forge
from adapters.pull_requests.record import PullRequestRecord, named
from adapters.workspace import WorkspaceError
from adapters.workspace.merges import MergeConflict
from adapters.workspace.remote_branches import RemoteBranches
from domain.session.forge import (
    CiPaths,
    CommitsTaken,
    Pushed,
    PushRequested,
    RecordForgeFact,
    TakeCommits,
)
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.sentences import Sentence, sentence_of

_log = logging.getLogger(__name__)


class BranchAtForge:
    """The pushes and merges of one session."""

    def __init__(self, record: PullRequestRecord) -> None:
        self._record = record

    async def push(self, forge: Forge, session: Session, pull: OwnPullRequest, push: PushRequested) -> bool:
        """Push, unless it was done before a kill; somebody else's commits are recorded first."""
        branches = await self._record.branches(session)
        if branches is None:
            return await self._record.rest("no_workspace")
        there = await forge.branch_head(push.branch)
        if there == push.commit:
            return await self._pushed(pull, push)
        if there is None and pull.head is not None:
            return await self._record.rest("branch_gone")
        if there is not None and there != pull.head:
            return await self.note_push(forge, session, pull, branches)
        end = await asyncio.to_thread(branches.push, push.commit, push.branch)
        match end.outcome:
            case "pushed":
                return await self._pushed(pull, push)
            case "refused":
                return await self._record.rest("refused", end.detail)
            case "overtaken":
                there = await forge.branch_head(push.branch)
                if there is None or there == pull.head:
                    return await self._record.rest("refused", end.detail)
                return await self.note_push(forge, session, pull, branches)
        raise ForgeAway(Sentence("git_failed", command="push", detail=end.detail))

    async def _pushed(self, pull: OwnPullRequest, push: PushRequested) -> bool:
        event = Pushed(by=pull.actor, commits=(push.commit,), head=push.commit, push_id=push.push_id)
        return await self._record.do(RecordForgeFact(fact=event))

    async def note_push(self, forge: Forge, session: Session, pull: OwnPullRequest, branches: RemoteBranches) -> bool:
        """Record that the branch has commits of somebody else, or lacks some that were there."""
        return await self._note(forge, session, pull, branches, await _fetched(branches, pull.branch))

    async def _note(
        self, forge: Forge, session: Session, pull: OwnPullRequest, branches: RemoteBranches, fetched: str
    ) -> bool:
        before = pull.head
        ours = session.published or session.tree or ""
        forced = before is not None and not await asyncio.to_thread(branches.descends, fetched, before)
        commits = await asyncio.to_thread(branches.between, before or ours, fetched)
        by = await self._pusher(forge, pull, fetched)
        event = Pushed(by=by, commits=commits, head=fetched, forced=forced)
        return await self._record.do(RecordForgeFact(fact=event))

    async def _pusher(self, forge: Forge, pull: OwnPullRequest, head: str) -> str:
        """Names who made the newest commit, as far as the forge knows."""
        if pull.number is None:
            return f"{pull.forge}:somebody"
        commits = await forge.commits(pull.number)
        account = next((each.by for each in reversed(commits) if each.id == head and each.by is not None), None)
        return named(pull, account)

    async def take_theirs(self, forge: Forge, session: Session, pull: OwnPullRequest) -> bool:
        """Merge commits of somebody else with the work."""
        theirs, branches = pull.theirs, await self._record.branches(session)
        if theirs is None or branches is None or session.tree is None or session.made_of is not None:
            return await self._record.rest("no_workspace" if branches is None else "cannot_merge")
        fetched = await _fetched(branches, pull.branch)
        if fetched != theirs.head:
            return await self._note(forge, session, pull, branches, fetched)
        try:
            name = session.branch or pull.branch
            head, changes = await asyncio.to_thread(branches.merged, session.tree, fetched, name)
        except MergeConflict as conflict:
            return await self._record.rest("cannot_merge", ", ".join(conflict.paths))
        except WorkspaceError as error:
            return await self._record.rest("cannot_merge", str(error))
        await self._record.keep(session, head)
        taken = CommitsTaken(commits=theirs.commits, by=theirs.by, head=head, published=head, changes=changes)
        return await self._record.do(TakeCommits(taken=taken))

    async def take_base(self, session: Session, pull: OwnPullRequest) -> bool:
        """Merge the base branch into the work, marked where both sides changed the same lines."""
        branches = await self._record.branches(session)
        if branches is None or session.tree is None or session.made_of is not None:
            return await self._record.rest("no_workspace" if branches is None else "cannot_merge")
        base = await _fetched(branches, pull.base)
        try:
            both, paths = await asyncio.to_thread(branches.with_base, session.tree, base, pull.base)
            await self._record.keep(session, both)
            changes = await asyncio.to_thread(branches.based_on, base, both)
        except WorkspaceError as error:
            return await self._record.rest("cannot_merge", str(error))
        taken = CommitsTaken(commits=(base,), by=pull.base, head=both, base=base, paths=paths, changes=changes)
        return await self._record.do(TakeCommits(taken=taken))

    async def ci(self, session: Session) -> CiPaths | None:
        """The settings of the CI that a push would change, compared with what the forge has."""
        branches = await self._record.branches(session) if session.published is not None else None
        return None if branches is None else await asyncio.to_thread(changed_settings, branches, session)


def changed_settings(branches: RemoteBranches, session: Session) -> CiPaths | None:
    """The settings of the CI that a push of the session's result changes: at the branch as the forge has it, and not
    as the base branch has them. None where that cannot be said."""
    base, commit = session.base.base_commit if session.base else None, session.published
    before = (session.forge.head if session.forge else None) or base
    if commit is None or before is None or commit == before:
        return None
    try:
        return CiPaths(commit=commit, paths=branches.changed_settings(before, commit, base or before))
    except WorkspaceError as error:
        _log.warning("%s: what a push would change cannot be said: %s", session.id, error)
        return None


async def _fetched(branches: RemoteBranches, branch: str) -> str:
    """The commit of a branch at the forge, which is here now. Raises ForgeAway."""
    try:
        return await asyncio.to_thread(branches.fetch, branch)
    except WorkspaceError as error:
        detail = sentence_of(error)
        raise ForgeAway(
            detail if isinstance(detail, Sentence) else Sentence("git_failed", command="fetch", detail=detail)
        ) from None
