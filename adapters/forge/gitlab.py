"""GitLab, gitlab.com or self-hosted, by REST (v4).

One class for the port and the documents that it reads: split, a request and its answer would stand in two files.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from adapters.forge.documents import (
    AccountName,
    CommitId,
    ForgeDocument,
    InnerPath,
    LineNumber,
    Link,
    Moment,
    Number,
    OneLine,
    OneLineOrEmpty,
    RefName,
    WordingOrEmpty,
    log_end,
    parsed_answer,
    parsed_items,
)
from adapters.forge.errors import ForgeError, ForgeRefused
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
    conclusion_of,
    in_order,
)

_MOST_LOGS: Final = 5
_MOST_PIPELINES: Final = 5
_MOST_COMMITS: Final = 3
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


class GitlabForge:
    """One project at GitLab."""

    def __init__(self, repository: ForgeRepository, http: ForgeHttp) -> None:
        self._repository, self._http = repository, http
        self._path = path_of("projects", repository.path)
        self._web = http.api.removesuffix("/api/v4")
        self._account: ForgeAccount | None = None
        self._pushers = Memory[bool]()
        self._members = Memory[bool]()
        self._kinds = Memory[AuthorKind]()
        self._ids = Memory[int | None]()

    @property
    def repository(self) -> ForgeRepository:
        return self._repository

    async def close(self) -> None:
        await self._http.close()

    async def account(self) -> ForgeAccount:
        """Our account, asked once."""
        if self._account is None:
            user = parsed_answer(_GitlabUser, (await self._http.read("/user")).document, self._repository.host)
            self._account = ForgeAccount(user.username, user.id, "self")
        return self._account

    async def facts(self) -> RepositoryFacts:
        data = parsed_answer(_GitlabProject, (await self._http.read(self._path)).document, self._repository.host)
        level = data.permissions.level
        return RepositoryFacts(data.default_branch, level >= _DEVELOPER, data.archived, data.web_url)

    async def branch_head(self, branch: str) -> str | None:
        try:
            answer = await self._http.read(f"{self._path}/repository/branches{path_of(branch)}")
        except ForgeRefused as error:
            if error.gone:
                return None
            raise
        return parsed_answer(_GitlabBranch, answer.document, self._repository.host).commit.id

    # -- merge requests ------------------------------------------------------------------------------------------------

    async def find(self, branch: str) -> PullRequest | None:
        query = {"source_branch": branch, "state": "all", "order_by": "created_at", "sort": "desc"}
        pages = await self._http.read_pages(f"{self._path}/merge_requests", query, most=1)
        data = parsed_items(_GitlabMergeRequest, pages.items, self._repository.host)
        ours = [each for each in data if each.source_branch == branch and each.same_repository]
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
        document = await self._http.write("POST", f"{self._path}/merge_requests", body)
        return await self._pull_request(parsed_answer(_GitlabMergeRequest, document, self._repository.host))

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        change = {} if title is None else {"title": title}
        if body is not None:
            marker = marker_in((await self._merge_request(number)).description)
            change["description"] = marked_text(body, marker) if marker else body
        document = await self._http.write("PUT", f"{self._path}/merge_requests/{number}", change)
        return await self._pull_request(parsed_answer(_GitlabMergeRequest, document, self._repository.host))

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        pages = await self._http.read_pages(f"{self._path}/merge_requests/{number}/commits", most=_MOST_COMMITS)
        data = parsed_items(_GitlabCommit, pages.items, self._repository.host)
        return tuple(
            ForgeCommit(each.id, each.title, f"{each.author_name} <{each.author_email}>", None)
            for each in reversed(data)
        )

    async def _merge_request(self, number: int) -> "_GitlabMergeRequest":
        answer = await self._http.read(f"{self._path}/merge_requests/{number}")
        return parsed_answer(_GitlabMergeRequest, answer.document, self._repository.host)

    async def _pull_request(self, data: "_GitlabMergeRequest") -> PullRequest:
        author, state = await self._person(data.author), _STATES.get(data.state, "open")
        ended = data.merge_user or data.merged_by
        return PullRequest(
            number=data.iid,
            url=data.web_url,
            state=state,
            title=data.title.removeprefix(_DRAFT) if data.draft else data.title,
            body=unmarked_text(data.description),
            marker=marker_in(data.description) if author.kind == "self" else None,
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
            jobs = await self._http.read_pages(f"{self._path}/pipelines/{pipeline.id}/jobs")
            data = [_job_check(each) for each in parsed_items(_GitlabJob, jobs.items, self._repository.host)]
            complete = complete and jobs.complete
            if not any(each.conclusion == _conclusion(pipeline.status) for each in data):
                data.append(await self._pipeline_check(pipeline))
            checks |= {each.id: each for each in data}
        statuses = await self._http.read_pages(f"{self._path}/repository/commits{path_of(head)}/statuses")
        for status in parsed_items(_GitlabStatus, statuses.items, self._repository.host):
            if f"job:{status.id}" not in checks and status.id not in {each.id for each in pipelines}:
                checks[f"status:{status.id}"] = _status_check(status)
        named = _without_jobs(list(checks.values()))
        failing = [each.id for each in named if each.conclusion == "failure" and each.id.startswith("job:")]
        logs = {each: await self._log(each) for each in failing[:_MOST_LOGS]}
        all_checks = tuple(_with_log(each, logs.get(each.id, each.log)) for each in named)
        return HeadChecks(head, conclusion_of(all_checks), all_checks, complete and statuses.complete)

    async def _pipelines(self, head: str, number: int | None) -> tuple[list["_GitlabPipeline"], bool]:
        """The newest pipeline of each source for the commit. A merge request has those of its merged result, too."""
        host = self._repository.host
        pages = await self._http.read_pages(f"{self._path}/pipelines", {"sha": head, "order_by": "id", "sort": "desc"})
        data = [*parsed_items(_GitlabPipeline, pages.items, host)]
        if number is not None:
            newest = (await self._merge_request(number)).head_pipeline
            if newest is not None and (await self._merge_request(number)).sha == head:
                data.append(newest)
        newest_of = dict[str, _GitlabPipeline]()
        for each in sorted(data, key=lambda one: one.id):
            newest_of[each.source] = each
        return sorted(newest_of.values(), key=lambda one: -one.id), pages.complete

    async def _pipeline_check(self, pipeline: "_GitlabPipeline") -> ForgeCheck:
        """The pipeline itself, where none of its jobs tells how it stands: such as one whose settings are wrong."""
        conclusion, log = _conclusion(pipeline.status), ""
        if conclusion == "failure":
            answer = await self._http.read(f"{self._path}/pipelines/{pipeline.id}")
            log = parsed_answer(_GitlabPipeline, answer.document, self._repository.host).yaml_errors
        return ForgeCheck(f"pipeline:{pipeline.id}", "pipeline", conclusion, pipeline.status, pipeline.web_url, log)

    async def _log(self, check: str) -> str:
        job = check.removeprefix("job:")
        try:
            return log_end(await self._http.read_end(f"{self._path}/jobs/{job}/trace", 4 * LOG_CHARACTERS))
        except ForgeError:
            return ""

    # -- comments ------------------------------------------------------------------------------------------------------

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        pages = await self._http.read_pages(f"{self._path}/merge_requests/{number}/discussions")
        made = [
            await self._comment(number, discussion.id, note)
            for discussion in parsed_items(_GitlabDiscussion, pages.items, self._repository.host)
            for note in discussion.notes
            if not note.system and (since is None or note.updated_at >= since)
        ]
        return ForgeComments(tuple(sorted(made, key=in_order)), pages.complete)

    async def _comment(self, number: int, thread: str, note: "_GitlabNote") -> ForgeComment:
        author, place = await self._person(note.author), note.position
        if place is not None and (place.position_type != "text" or place.line is None or place.path is None):
            place = None
        return ForgeComment(
            id=f"note:{note.id}",
            kind="review_comment" if place else "comment",
            thread=thread,
            author=author,
            may_push=await self._may_push(author),
            text=unmarked_text(note.body) if author.kind == "self" else note.body,
            marker=marker_in(note.body) if author.kind == "self" else None,
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
        room = "merge_requests" if kind == "pull_request" else "issues"
        return f"{self._web}/{self._repository.path}/-/{room}/{number}#note_{note}"

    # -- posts ---------------------------------------------------------------------------------------------------------

    async def reply(self, number: int, thread: str, text: str, marker: str) -> ForgePost:
        path = f"{self._path}/merge_requests/{number}/discussions{path_of(thread)}/notes"
        document = await self._http.write("POST", path, {"body": marked_text(text, marker)})
        return self._post(PostPlace("pull_request", number), document, marker)

    async def post(self, place: PostPlace, text: str, marker: str) -> ForgePost:
        document = await self._http.write("POST", self._notes(place), {"body": marked_text(text, marker)})
        return self._post(place, document, marker)

    async def edit(self, place: PostPlace, post: str, text: str, marker: str) -> ForgePost:
        path = f"{self._notes(place)}{path_of(post.removeprefix('note:'))}"
        return self._post(place, await self._http.write("PUT", path, {"body": marked_text(text, marker)}), marker)

    def _notes(self, place: PostPlace) -> str:
        room = "merge_requests" if place.kind == "pull_request" else "issues"
        return f"{self._path}/{room}/{place.number}/notes"

    def _post(self, place: PostPlace, document: object, marker: str) -> ForgePost:
        data = parsed_answer(_GitlabNote, document, self._repository.host)
        return self._post_of(place, data, marker)

    def _post_of(self, place: PostPlace, note: "_GitlabNote", marker: str) -> ForgePost:
        return ForgePost(
            f"note:{note.id}", self._url(place.kind, place.number, note.id), marker, unmarked_text(note.body)
        )

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        own = await self.account()
        pages = await self._http.read_pages(self._notes(place), {"sort": "asc", "order_by": "created_at"})
        for note in parsed_items(_GitlabNote, pages.items, self._repository.host):
            ours = note.author.id == own.id and not note.system and (since is None or note.updated_at >= since)
            if ours and marker_in(note.body) == marker:
                return self._post_of(place, note, marker)
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
            answer = await self._http.read_pages("/users", {"username": name}, most=1)
            users = parsed_items(_GitlabUser, answer.items, self._repository.host)
            return next((user.id for user in users if user.username.casefold() == name.casefold()), None)

        return await self._ids.of(name.casefold(), ask)

    async def _level(self, path: str) -> int:
        """The access level at this address; 0 for who is no member there, or may not be asked about."""
        try:
            member = parsed_answer(_GitlabMember, (await self._http.read(path)).document, self._repository.host)
        except ForgeRefused as error:
            if error.gone or error.status == 403:
                return 0
            raise
        return member.access_level if member.state == "active" else 0

    async def _may_push(self, author: ForgeAccount) -> bool:
        if author.kind != "person":
            return False
        path = f"{self._path}/members/all/{author.id}"

        async def ask() -> bool:
            return await self._level(path) >= _DEVELOPER

        return await self._pushers.of(author.name.casefold(), ask)

    async def _person(self, user: "_GitlabUser") -> ForgeAccount:
        own = await self.account()
        kind: AuthorKind = "self" if user.id == own.id else await self._kind(user.username, user.id)
        return ForgeAccount(user.username, user.id, kind)

    async def _kind(self, name: str, number: int) -> AuthorKind:
        """A bot by its name, or by what the forge says about the account."""

        async def ask() -> AuthorKind:
            if _BOT.fullmatch(name.casefold()):
                return "bot"
            try:
                user = parsed_answer(
                    _GitlabUser, (await self._http.read(f"/users/{number}")).document, self._repository.host
                )
            except ForgeRefused:
                return "bot"  # gone, or hidden from us: nothing starts for it
            return "bot" if user.bot else "person"

        return await self._kinds.of(str(number), ask)

    # -- issues --------------------------------------------------------------------------------------------------------

    async def issue(self, number: int) -> ForgeIssue:
        answer = await self._http.read(f"{self._path}/issues/{number}")
        data = parsed_answer(_GitlabIssue, answer.document, self._repository.host)
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


_STATES: Final[Mapping[str, PullRequestState]] = {
    "opened": "open",
    "locked": "open",
    "closed": "closed",
    "merged": "merged",
}


def _conclusion(status: str) -> Conclusion:
    return _JOBS.get(status, "pending")


def _mergeable(data: "_GitlabMergeRequest") -> Mergeable:
    if data.has_conflicts or data.detailed_merge_status == "conflict":
        return "conflicted"
    checking = (data.detailed_merge_status or data.merge_status) in _CHECKING
    return "unknown" if checking else "clean"


def _job_check(job: "_GitlabJob") -> ForgeCheck:
    conclusion = _conclusion(job.status)
    if conclusion == "failure" and job.allow_failure:
        conclusion = "neutral"
    return ForgeCheck(f"job:{job.id}", job.name, conclusion, job.status, job.web_url, "")


def _status_check(status: "_GitlabStatus") -> ForgeCheck:
    conclusion = _conclusion(status.status)
    if conclusion == "failure" and status.allow_failure:
        conclusion = "neutral"
    log = status.description if conclusion == "failure" else ""
    return ForgeCheck(f"status:{status.id}", status.name, conclusion, status.status, status.target_url, log)


def _without_jobs(checks: list[ForgeCheck]) -> list[ForgeCheck]:
    """Without statuses that are jobs of older pipelines: a job of the same name is newer."""
    names = {each.name for each in checks if each.id.startswith("job:")}
    return [each for each in checks if not (each.id.startswith("status:") and each.name in names)]


def _with_log(check: ForgeCheck, log: str) -> ForgeCheck:
    return ForgeCheck(check.id, check.name, check.conclusion, check.status, check.url, log)


# What GitLab sends, as far as it is needed (docs.gitlab.com/api).

_Word = Annotated[str, Field(pattern=r"^[A-Za-z_]{1,60}$")]
_Level = Annotated[int, Field(ge=0, le=1_000)]


class _GitlabUser(ForgeDocument):
    id: Number
    username: AccountName
    bot: bool = False


class _GitlabAccess(ForgeDocument):
    access_level: _Level = 0


class _GitlabProjectPermissions(ForgeDocument):
    project_access: _GitlabAccess | None = None
    group_access: _GitlabAccess | None = None

    @property
    def level(self) -> int:
        return max((each.access_level for each in (self.project_access, self.group_access) if each), default=0)


class _GitlabProject(ForgeDocument):
    default_branch: RefName
    web_url: Link
    archived: bool = False
    permissions: _GitlabProjectPermissions = _GitlabProjectPermissions()


class _GitlabTip(ForgeDocument):
    id: CommitId


class _GitlabBranch(ForgeDocument):
    commit: _GitlabTip


class _GitlabCommit(ForgeDocument):
    id: CommitId
    title: OneLineOrEmpty = ""
    author_name: OneLineOrEmpty = ""
    author_email: OneLineOrEmpty = ""


class _GitlabDiffRefs(ForgeDocument):
    start_sha: CommitId | None = None


class _GitlabPipeline(ForgeDocument):
    id: Number
    status: _Word
    source: OneLineOrEmpty = ""
    web_url: Link = ""
    yaml_errors: WordingOrEmpty = ""


class _GitlabMergeRequest(ForgeDocument):
    iid: Number
    web_url: Link
    state: _Word
    title: OneLine
    description: WordingOrEmpty = ""
    author: _GitlabUser
    draft: bool = False
    source_branch: RefName
    target_branch: RefName
    source_project_id: Number | None = None
    target_project_id: Number
    sha: CommitId
    diff_refs: _GitlabDiffRefs | None = None
    has_conflicts: bool = False
    merge_status: OneLineOrEmpty = ""
    detailed_merge_status: OneLineOrEmpty = ""
    merge_commit_sha: CommitId | None = None
    squash_commit_sha: CommitId | None = None
    merge_user: _GitlabUser | None = None
    merged_by: _GitlabUser | None = None
    closed_by: _GitlabUser | None = None
    head_pipeline: _GitlabPipeline | None = None
    updated_at: Moment

    @property
    def same_repository(self) -> bool:
        return self.source_project_id == self.target_project_id

    @property
    def merge_commit(self) -> str:
        """The commit on the target branch; after a fast-forward it is the head itself."""
        return self.merge_commit_sha or self.squash_commit_sha or self.sha


class _GitlabJob(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    allow_failure: bool = False
    web_url: Link = ""


class _GitlabStatus(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    allow_failure: bool = False
    target_url: Link = ""
    description: OneLineOrEmpty = ""


class _GitlabRangeEnd(ForgeDocument):
    old_line: LineNumber | None = None
    new_line: LineNumber | None = None


class _GitlabLineRange(ForgeDocument):
    start: _GitlabRangeEnd | None = None


class _GitlabPosition(ForgeDocument):
    position_type: OneLineOrEmpty = ""
    head_sha: CommitId | None = None
    old_path: InnerPath = None
    new_path: InnerPath = None
    old_line: LineNumber | None = None
    new_line: LineNumber | None = None
    line_range: _GitlabLineRange | None = None

    @property
    def side(self) -> Literal["new", "old"]:
        return "old" if self.new_line is None else "new"

    @property
    def path(self) -> str | None:
        return self.old_path if self.side == "old" else self.new_path

    @property
    def line(self) -> int | None:
        return self.old_line if self.side == "old" else self.new_line

    @property
    def first_line(self) -> int | None:
        start = self.line_range.start if self.line_range else None
        first = start and (start.old_line if self.side == "old" else start.new_line)
        return min(first, self.line) if first and self.line else self.line


class _GitlabNote(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    author: _GitlabUser
    system: bool = False
    created_at: Moment
    updated_at: Moment
    resolved: bool = False
    position: _GitlabPosition | None = None


class _GitlabDiscussion(ForgeDocument):
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
    notes: list[_GitlabNote]


class _GitlabMember(ForgeDocument):
    access_level: _Level
    state: OneLineOrEmpty = "active"


class _GitlabIssue(ForgeDocument):
    iid: Number
    web_url: Link
    state: _Word
    title: OneLine
    description: WordingOrEmpty = ""
    author: _GitlabUser
    updated_at: Moment
