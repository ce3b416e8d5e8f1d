"""Posts at the forge for a session: the pull request, answers to comments, the status at an issue. Each is looked for
by its marker before it is sent, so that nothing is posted twice."""

import logging
from typing import Final

from adapters.forge.errors import ForgeRefused
from adapters.forge.port import Forge, NewPullRequest, PostPlace, PullRequest
from adapters.pull_requests.record import PullRequestRecord
from domain.session.forge import PostRequested, PullRequestOpened, RecordForgeFact, RecordPost
from domain.session.pull_request import OwnPullRequest

_log = logging.getLogger(__name__)
_UNAUTHORIZED: Final = 401


class PostsAtForge:
    """The posts of one session."""

    def __init__(self, record: PullRequestRecord) -> None:
        self._record = record

    async def post(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        try:
            match post.what:
                case "pull_request":
                    return await self._open(forge, pull, post)
                case "status":
                    return await self._say_status(forge, pull, post)
                case "reply":
                    return await self._reply(forge, pull, post)
        except ForgeRefused as error:
            if error.status == _UNAUTHORIZED:  # the token is bad now, not the post
                raise
            return await self._refused(post, str(error))

    async def _refused(self, post: PostRequested, why: str) -> bool:
        """A pull request that cannot be opened waits for a person; an answer that cannot be posted is given up."""
        if post.what == "pull_request":
            await self._record.do(RecordPost(post_id=post.post_id, id=""))
            return await self._record.rest("refused", why)
        _log.warning("%s: not posted: %s", self._record.id, why)
        return await self._record.do(RecordPost(post_id=post.post_id, id=""))

    async def _open(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        there = await forge.find(pull.branch)
        if there is None or there.state != "open" or not there.same_repository:
            new = NewPullRequest(
                branch=pull.branch, base=pull.base, title=post.title, body=post.text, marker=post.post_id
            )
            there = await self._opened(forge, new)
        event = PullRequestOpened(number=there.number, url=there.url, head=there.head, by=pull.actor)
        return await self._record.do(RecordForgeFact(fact=event))

    async def _opened(self, forge: Forge, new: NewPullRequest) -> PullRequest:
        """Open it, unless somebody was faster."""
        try:
            return await forge.open(new)
        except ForgeRefused:
            there = await forge.find(new.branch)
            if there is None or there.state != "open":
                raise
            return there

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
        return await self._record.do(RecordPost(post_id=post.post_id, id=made.id, url=made.url))

    async def _say_status(self, forge: Forge, pull: OwnPullRequest, post: PostRequested) -> bool:
        assert pull.issue is not None, "the status is said at an issue"
        place, marker = PostPlace("issue", pull.issue.number), f"{self._record.id}.status"
        made = await forge.find_post(place, marker)
        if made is None:
            made = await forge.post(place, post.text, marker)
        elif made.text.strip() != post.text.strip():
            made = await forge.edit(place, made.id, post.text, marker)
        return await self._record.do(RecordPost(post_id=post.post_id, id=made.id, url=made.url))
