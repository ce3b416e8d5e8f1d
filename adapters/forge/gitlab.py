"""GitLab, gitlab.com or self-hosted, by REST (v4)."""

import re
from collections.abc import Mapping
from typing import Final

from adapters.forge.documents import log_end
from adapters.forge.errors import ForgeError, ForgeRefused
from adapters.forge.gitlab_documents import (
    GitlabBranch,
    GitlabCommit,
    GitlabDiscussion,
    GitlabIssue,
    GitlabJob,
    GitlabMember,
    GitlabMergeRequest,
    GitlabNote,
    GitlabPipeline,
    GitlabProject,
    GitlabStatus,
    GitlabUser,
)
from adapters.forge.http import ForgeHttp, path_of
from adapters.forge.marks import marked_text, marker_in, unmarked_text
from adapters.forge.memory import Memory
from adapters.forge.port import (
    LOG_CHARACTERS,
    AuthorKind,
    Conclusion,
    ForgeAccount,
    ForgeCheck,
    ForgeComment,
    ForgeComments,
    ForgeCommit,
    ForgeIssue,
    ForgePost,
    ForgeRepository,
    HeadChecks,
    Mergeable,
    NewPullRequest,
    PostPlace,
    PullRequest,
    PullRequestState,
    RepositoryFacts,
)
from adapters.forge.rest import MOST_COMMIT_PAGES, RestForge, comments_since, own_words, with_logs

_MOST_PIPELINES: Final = 5
_DEVELOPER: Final = 30
"""The least access level that may push."""
_DRAFT: Final = "Draft: "
_BOT: Final = re.compile(r"(?:project|group)_\d+_bot(?:_\w+)?|(?:[\w.-]+[-_])?bot\d*|ghost\d*|service_account_\w+")
_JOBS: Final[Mapping[str, Conclusion]] = {
    "success": "success",
    "failed": "failure",
    "canceled": "neutral",
    "skipped": "neutral",
    "manual": "neutral",
    "scheduled": "neutral",
}
"""The ends of jobs and pipelines; every other status is of one that has not ended."""
_CHECKING: Final = ("unchecked", "checking", "preparing", "cannot_be_merged_recheck")


class GitlabForge(RestForge):
    """One project at GitLab."""

    def __init__(self, repository: ForgeRepository, http: ForgeHttp) -> None:
        super().__init__(repository, http, path_of("projects", repository.path))
        self._web = http.api.removesuffix("/api/v4")
        self._kinds = Memory[AuthorKind]()
        self._ids = Memory[int | None]()

    async def _asked_account(self) -> ForgeAccount:
        user = await self._get(GitlabUser, "/user")
        return ForgeAccount(user.username, user.id, "self")

    async def facts(self) -> RepositoryFacts:
        data = await self._get(GitlabProject, self._path)
        may_push = data.permissions.level >= _DEVELOPER
        return RepositoryFacts(data.default_branch, may_push, data.archived, data.web_url)

    async def branch_head(self, branch: str) -> str | None:
        tip = await self._get_if_there(GitlabBranch, f"{self._path}/repository/branches{path_of(branch)}")
        return tip.commit.id if tip is not None else None

    # -- merge requests ------------------------------------------------------------------------------------------------

    async def find(self, branch: str) -> PullRequest | None:
        query = {"source_branch": branch, "state": "all", "order_by": "created_at", "sort": "desc"}
        requests, _ = await self._list(GitlabMergeRequest, f"{self._path}/merge_requests", query, most=1)
        ours = [each for each in requests if each.source_branch == branch and each.same_repository]
        best = next((each for each in ours if each.state == "opened"), ours[0] if ours else None)
        return await self._pull_request(best) if best else None

    async def get(self, number: int) -> PullRequest:
        return await self._pull_request(await self._merge_request(number))

    async def open(self, new: NewPullRequest) -> PullRequest:
        body = {
            "source_branch": new.branch,
            "target_branch": new.base,
            "title": f"{_DRAFT}{new.title}" if new.draft else new.title,
            "description": marked_text(new.body, new.marker),
        }
        path = f"{self._path}/merge_requests"
        return await self._pull_request(await self._send(GitlabMergeRequest, "POST", path, body))

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        change = {} if title is None else {"title": title}
        if body is not None:
            marker = marker_in((await self._merge_request(number)).description)
            change["description"] = marked_text(body, marker) if marker else body
        path = f"{self._path}/merge_requests/{number}"
        return await self._pull_request(await self._send(GitlabMergeRequest, "PUT", path, change))

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        path = f"{self._path}/merge_requests/{number}/commits"
        data, _ = await self._list(GitlabCommit, path, most=MOST_COMMIT_PAGES)
        return tuple(ForgeCommit(each.id, each.title, each.written_by, None) for each in reversed(data))

    async def _merge_request(self, number: int) -> GitlabMergeRequest:
        return await self._get(GitlabMergeRequest, f"{self._path}/merge_requests/{number}")

    async def _pull_request(self, data: GitlabMergeRequest) -> PullRequest:
        author, state = await self._person(data.author), _STATES.get(data.state, "open")
        ended = data.merge_user or data.merged_by
        return PullRequest(
            number=data.iid,
            url=data.web_url,
            state=state,
            title=data.title.removeprefix(_DRAFT) if data.draft else data.title,
            body=unmarked_text(data.description),
            marker=own_words(data.description, author).marker,
            author=author,
            draft=data.draft,
            branch=data.source_branch,
            head=data.sha,
            same_repository=data.same_repository,
            base=data.target_branch,
            base_head=data.diff_refs.start_sha if data.diff_refs else None,
            mergeable=_mergeable(data),
            merge_commit=data.merge_commit if state == "merged" else None,
            merged_by=await self._person(ended) if state == "merged" and ended else None,
            closed_by=await self._person(data.closed_by) if state == "closed" and data.closed_by else None,
            updated_at=data.updated_at,
        )

    # -- checks --------------------------------------------------------------------------------------------------------

    async def checks(self, head: str, number: int | None = None) -> HeadChecks:
        pipelines, complete = await self._pipelines(head, number)
        checks = dict[str, ForgeCheck]()
        for pipeline in pipelines[:_MOST_PIPELINES]:
            jobs = await self._list(GitlabJob, f"{self._path}/pipelines/{pipeline.id}/jobs")
            made = [_job_check(each) for each in jobs.items]
            complete = complete and jobs.complete
            if not any(each.conclusion == _conclusion(pipeline.status) for each in made):
                made.append(await self._pipeline_check(pipeline))
            checks |= {each.id: each for each in made}
        statuses = await self._list(GitlabStatus, f"{self._path}/repository/commits{path_of(head)}/statuses")
        for status in statuses.items:
            if f"job:{status.id}" not in checks and status.id not in {each.id for each in pipelines}:
                checks[f"status:{status.id}"] = _status_check(status)
        named = _without_jobs(list(checks.values()))
        jobs_of = [each.id for each in named if each.id.startswith("job:")]
        return await with_logs(head, named, self._log, of=jobs_of, complete=complete and statuses.complete)

    async def _pipelines(self, head: str, number: int | None) -> tuple[list[GitlabPipeline], bool]:
        """The newest pipeline of each source for the commit. A merge request has those of its merged result, too."""
        query = {"sha": head, "order_by": "id", "sort": "desc"}
        pages = await self._list(GitlabPipeline, f"{self._path}/pipelines", query)
        pipelines = [*pages.items]
        if number is not None:
            request = await self._merge_request(number)
            if request.head_pipeline is not None and request.sha == head:
                pipelines.append(request.head_pipeline)
        newest_of = dict[str, GitlabPipeline]()
        for each in sorted(pipelines, key=lambda one: one.id):
            newest_of[each.source] = each
        return sorted(newest_of.values(), key=lambda one: -one.id), pages.complete

    async def _pipeline_check(self, pipeline: GitlabPipeline) -> ForgeCheck:
        """The pipeline itself, where none of its jobs tells how it stands: such as one whose settings are wrong."""
        conclusion, log = _conclusion(pipeline.status), ""
        if conclusion == "failure":
            log = (await self._get(GitlabPipeline, f"{self._path}/pipelines/{pipeline.id}")).yaml_errors
        return ForgeCheck(f"pipeline:{pipeline.id}", "pipeline", conclusion, pipeline.status, pipeline.web_url, log)

    async def _log(self, check: str) -> str:
        job = check.removeprefix("job:")
        try:
            return log_end(await self._http.read_end(f"{self._path}/jobs/{job}/trace", 4 * LOG_CHARACTERS))
        except ForgeError:
            return ""

    # -- comments ------------------------------------------------------------------------------------------------------

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        discussions = await self._list(GitlabDiscussion, f"{self._path}/merge_requests/{number}/discussions")
        made = [
            await self._comment(number, discussion.id, note)
            for discussion in discussions.items
            for note in discussion.notes
            if not note.system and (since is None or note.updated_at >= since)
        ]
        return comments_since(made, since, complete=discussions.complete)

    async def _comment(self, number: int, thread: str, note: GitlabNote) -> ForgeComment:
        author, place = await self._person(note.author), note.position
        words = own_words(note.body, author)
        if place is not None and (place.position_type != "text" or place.line is None or place.path is None):
            place = None
        return ForgeComment(
            id=f"note:{note.id}",
            kind="review_comment" if place else "comment",
            thread=thread,
            author=author,
            may_push=await self._may_push(author),
            text=words.text,
            marker=words.marker,
            at=note.created_at,
            edited_at=note.updated_at,
            url=self._url("pull_request", number, note.id),
            path=place.path if place else None,
            line=place.first_line if place else None,
            end_line=place.line if place else None,
            side=place.side if place else "new",
            head=place.head_sha if place else None,
            resolved=note.resolved,
        )

    def _url(self, kind: str, number: int, note: int) -> str:
        return f"{self._web}/{self._repository.path}/-/{_ROOMS[kind]}/{number}#note_{note}"

    # -- posts ---------------------------------------------------------------------------------------------------------

    async def reply(self, number: int, thread: str, text: str, marker: str) -> ForgePost:
        path = f"{self._path}/merge_requests/{number}/discussions{path_of(thread)}/notes"
        return await self._posted(PostPlace("pull_request", number), "POST", path, text, marker)

    async def post(self, place: PostPlace, text: str, marker: str) -> ForgePost:
        return await self._posted(place, "POST", self._notes(place), text, marker)

    async def edit(self, place: PostPlace, post: str, text: str, marker: str) -> ForgePost:
        path = f"{self._notes(place)}{path_of(post.removeprefix('note:'))}"
        return await self._posted(place, "PUT", path, text, marker)

    def _notes(self, place: PostPlace) -> str:
        return f"{self._path}/{_ROOMS[place.kind]}/{place.number}/notes"

    async def _posted(self, place: PostPlace, method: str, path: str, text: str, marker: str) -> ForgePost:
        note = await self._send(GitlabNote, method, path, {"body": marked_text(text, marker)})
        return self._post(place, note, marker)

    def _post(self, place: PostPlace, note: GitlabNote, marker: str) -> ForgePost:
        url = self._url(place.kind, place.number, note.id)
        return ForgePost(f"note:{note.id}", url, marker, unmarked_text(note.body))

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        own = await self.account()
        notes, _ = await self._list(GitlabNote, self._notes(place), {"sort": "asc", "order_by": "created_at"})
        for note in notes:
            ours = note.author.id == own.id and not note.system and (since is None or note.updated_at >= since)
            if ours and marker_in(note.body) == marker:
                return self._post(place, note, marker)
        return None

    # -- people --------------------------------------------------------------------------------------------------------

    async def may_push(self, name: str) -> bool:
        async def ask() -> bool:
            number = await self._id_of(name)
            if number is None or await self._kind(name, number) != "person":
                return False
            return await self._level(f"{self._path}/members/all/{number}") >= _DEVELOPER

        return await self._pushers.of(name.casefold(), ask)

    async def is_member(self, name: str, team: str) -> bool:
        group = team.removeprefix("@")
        path = group if "/" in group else f"{self._repository.owner}/{group}"

        async def ask() -> bool:
            number = await self._id_of(name)
            return number is not None and await self._level(f"{path_of('groups', path)}/members/all/{number}") > 0

        return await self._members.of(f"{path} {name}".casefold(), ask)

    async def _id_of(self, name: str) -> int | None:
        async def ask() -> int | None:
            users, _ = await self._list(GitlabUser, "/users", {"username": name}, most=1)
            return next((user.id for user in users if user.username.casefold() == name.casefold()), None)

        return await self._ids.of(name.casefold(), ask)

    async def _level(self, path: str) -> int:
        """The access level at this address; 0 for who is no member there, or may not be asked about."""
        member = await self._get_if_there(GitlabMember, path, shown_only=True)
        return member.access_level if member is not None and member.state == "active" else 0

    async def _may_push(self, author: ForgeAccount) -> bool:
        if author.kind != "person":
            return False
        path = f"{self._path}/members/all/{author.id}"

        async def ask() -> bool:
            return await self._level(path) >= _DEVELOPER

        return await self._pushers.of(author.name.casefold(), ask)

    async def _person(self, user: GitlabUser) -> ForgeAccount:
        own = await self.account()
        kind: AuthorKind = "self" if user.id == own.id else await self._kind(user.username, user.id)
        return ForgeAccount(user.username, user.id, kind)

    async def _kind(self, name: str, number: int) -> AuthorKind:
        """A bot by its name, or by what the forge says about the account."""

        async def ask() -> AuthorKind:
            if _BOT.fullmatch(name.casefold()):
                return "bot"
            try:
                user = await self._get(GitlabUser, f"/users/{number}")
            except ForgeRefused:
                return "bot"  # gone, or hidden from us: nothing starts for it
            return "bot" if user.bot else "person"

        return await self._kinds.of(str(number), ask)

    # -- issues --------------------------------------------------------------------------------------------------------

    async def issue(self, number: int) -> ForgeIssue:
        data = await self._get(GitlabIssue, f"{self._path}/issues/{number}")
        author = await self._person(data.author)
        return ForgeIssue(
            number=data.iid,
            url=data.web_url,
            state="open" if data.state == "opened" else "closed",
            title=data.title,
            text=data.description,
            author=author,
            may_push=author.kind == "self" or await self._may_push(author),
            updated_at=data.updated_at,
        )


_ROOMS: Final = {"pull_request": "merge_requests", "issue": "issues"}
_STATES: Final[Mapping[str, PullRequestState]] = {
    "opened": "open",
    "locked": "open",
    "closed": "closed",
    "merged": "merged",
}


def _conclusion(status: str) -> Conclusion:
    return _JOBS.get(status, "pending")


def _mergeable(data: GitlabMergeRequest) -> Mergeable:
    if data.has_conflicts or data.detailed_merge_status == "conflict":
        return "conflicted"
    checking = (data.detailed_merge_status or data.merge_status) in _CHECKING
    return "unknown" if checking else "clean"


def _job_check(job: GitlabJob) -> ForgeCheck:
    conclusion = _conclusion(job.status)
    if conclusion == "failure" and job.allow_failure:
        conclusion = "neutral"
    return ForgeCheck(f"job:{job.id}", job.name, conclusion, job.status, job.web_url, "")


def _status_check(status: GitlabStatus) -> ForgeCheck:
    conclusion = _conclusion(status.status)
    if conclusion == "failure" and status.allow_failure:
        conclusion = "neutral"
    log = status.description if conclusion == "failure" else ""
    return ForgeCheck(f"status:{status.id}", status.name, conclusion, status.status, status.target_url, log)


def _without_jobs(checks: list[ForgeCheck]) -> list[ForgeCheck]:
    """Without statuses that are jobs of older pipelines: a job of the same name is newer."""
    names = {each.name for each in checks if each.id.startswith("job:")}
    return [each for each in checks if not (each.id.startswith("status:") and each.name in names)]
