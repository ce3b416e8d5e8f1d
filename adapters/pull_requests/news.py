"""News of a session's pull request at the forge: asked of the forge, and recorded once."""

import asyncio
import hashlib
from contextlib import suppress
from typing import Final

from adapters.forge.port import Forge, ForgeComment, HeadChecks, PullRequest
from adapters.pull_requests.branch import BranchAtForge
from adapters.pull_requests.record import PullRequestRecord, named
from domain.session.comments import LONGEST_COMMENT, LONGEST_QUOTED, MOST_QUOTED, AddComment
from domain.session.forge import (
    ChecksEnded,
    Conflicted,
    EndedCheck,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestReopened,
    RecordForgeFact,
    ReviewCommented,
)
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.values.base import HansardError, iso

_LOG_END: Final = 4_000


class NewsFromForge:
    """The facts about one session's pull request."""

    def __init__(self, record: PullRequestRecord, branch: BranchAtForge) -> None:
        self._record, self._branch = record, branch

    async def look(self, forge: Forge, number: int) -> None:
        """Record what has happened since."""
        there = await forge.get(number)
        session = await self._record.session()
        if session is None or session.forge is None:
            return
        pull = session.forge
        if there.state == "merged":
            by = named(pull, there.merged_by)
            await self._free()
            await self._record.do(RecordForgeFact(fact=PullRequestMerged(commit=there.merge_commit, by=by)))
            return
        at = iso(there.updated_at)
        if there.state == "closed":
            if pull.state != "closed":
                event = PullRequestClosed(by=named(pull, there.closed_by), at=at)
                await self._record.do(RecordForgeFact(fact=event))
            return
        if pull.state == "closed":
            await self._record.do(RecordForgeFact(fact=PullRequestReopened(by=named(pull, None), at=at)))
        await self._comments(forge, number)
        if pull.rested in ("forced_push", "branch_gone"):
            return
        if there.head and there.head != pull.head and (pull.push is None or there.head != pull.push.commit):
            branches = await self._record.branches(session)
            if branches is not None:
                await self._branch.note_push(forge, session, pull, branches)
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
            await self._record.do(RecordForgeFact(fact=event))

    async def _conflict(self, there: PullRequest, session: Session, pull: OwnPullRequest) -> None:
        if there.mergeable != "conflicted" or there.head != pull.head or session.outstanding or pull.conflict:
            return
        await self._record.do(RecordForgeFact(fact=Conflicted(base=there.base_head or "", head=there.head)))

    async def _comments(self, forge: Forge, number: int) -> None:
        comments = await forge.comments(number)
        session = await self._record.session()
        if session is None or session.forge is None:
            return
        pull = session.forge
        for comment in comments.items:
            if f"comment:{comment.id}" in pull.facts or comment.marker is not None or not comment.text.strip():
                continue
            counts = await self._does_count(forge, comment)
            event = ReviewCommented(
                id=comment.id,
                by=named(pull, comment.author),
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
            await self._record.do(RecordForgeFact(fact=event, remark=remark))

    async def _does_count(self, forge: Forge, comment: ForgeComment) -> bool:
        """Return whether the words start work: those of people who may push, and of whom the owner allows."""
        author, settings = comment.author, self._record.around.settings
        if author.kind == "self":
            return False
        if settings.allows(author.name):
            return True
        if author.kind == "bot":
            return False
        if comment.may_push:
            return True
        return any([await forge.is_member(author.name, team) for team in settings.teams])

    async def _remark(self, session: Session, comment: ForgeComment, by: str) -> AddComment:
        """The comment as one of the session's, with the lines that it is about where the commit is known here."""
        text = comment.text[:LONGEST_COMMENT]
        if comment.path is None:
            return AddComment(text=text, actor=by)
        head = comment.head if comment.head in session.commits else None
        branches = await self._record.branches(session)
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
        session = await self._record.session()
        if session is not None and not session.outstanding:
            with suppress(HansardError, OSError):
                await asyncio.to_thread(self._record.around.workspaces.put_away, self._record.id)
