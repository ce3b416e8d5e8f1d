"""GitHub, and GitHub Enterprise, by REST (version 2022-11-28).

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
    cleaned,
    log_end,
    parsed_answer,
    parsed_items,
)
from adapters.forge.errors import ForgeError, ForgeRefused
from adapters.forge.http import ForgeHttp, ForgePages, path_of
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
from domain.values.base import iso
from domain.values.sentences import Sentence

_MOST_LOGS: Final = 5
_MOST_COMMITS: Final = 3  # pages: the forge lists at most 250
_GHOST: Final = ForgeAccount("ghost", 0, "bot")
_PUSHES: Final = ("admin", "write", "maintain")
_JOB: Final = re.compile(r"/job/(\d{1,19})(?:[/?#]|$)")
_RUNS: Final[Mapping[str, Conclusion]] = {
    "success": "success",
    "failure": "failure",
    "timed_out": "failure",
    "startup_failure": "failure",
    "action_required": "pending",
    "cancelled": "neutral",
    "neutral": "neutral",
    "skipped": "neutral",
    "stale": "neutral",
}
"""The conclusions of check runs. `action_required` waits for a person, such as one who may approve a workflow."""
_STATUSES: Final[Mapping[str, Conclusion]] = {
    "success": "success",
    "failure": "failure",
    "error": "failure",
    "pending": "pending",
}
_VERDICTS: Final[Mapping[str, Literal["approved", "changes_requested", "commented", "dismissed"]]] = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes_requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
}


class GithubForge:
    """One repository at GitHub."""

    def __init__(self, repository: ForgeRepository, http: ForgeHttp) -> None:
        self._repository, self._http = repository, http
        self._path = path_of("repos", *repository.path.split("/"))
        self._account: ForgeAccount | None = None
        self._pushers = Memory[bool]()
        self._members = Memory[bool]()

    @property
    def repository(self) -> ForgeRepository:
        return self._repository

    async def close(self) -> None:
        await self._http.close()

    async def account(self) -> ForgeAccount:
        """Our account, asked once."""
        if self._account is None:
            user = parsed_answer(_GithubUser, (await self._http.read("/user")).document, self._repository.host)
            self._account = ForgeAccount(user.login, user.id, "self")
        return self._account

    async def facts(self) -> RepositoryFacts:
        data = parsed_answer(_GithubRepository, (await self._http.read(self._path)).document, self._repository.host)
        return RepositoryFacts(data.default_branch, data.permissions.push, data.archived, data.html_url)

    async def branch_head(self, branch: str) -> str | None:
        try:
            answer = await self._http.read(f"{self._path}/git/ref/heads/{path_of(branch)[1:]}")
        except ForgeRefused as error:
            if error.gone:
                return None
            raise
        return parsed_answer(_GithubRef, answer.document, self._repository.host).object.sha

    # -- pull requests -------------------------------------------------------------------------------------------------

    async def find(self, branch: str) -> PullRequest | None:
        query = {"head": f"{self._repository.owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        answer = await self._http.read_pages(f"{self._path}/pulls", query, most=1)
        data = parsed_items(_GithubPull, answer.items, self._repository.host)
        ours = [pull for pull in data if pull.head.ref == branch and pull.same_repository]
        best = next((pull for pull in ours if pull.state == "open"), ours[0] if ours else None)
        return await self._pull_request(best) if best else None

    async def get(self, number: int) -> PullRequest:
        return await self._pull_request(await self._pull(number))

    async def open(self, new: NewPullRequest) -> PullRequest:
        body = {
            "title": new.title,
            "head": new.branch,
            "base": new.base,
            "body": marked_text(new.body, new.marker),
            "draft": new.draft,
        }
        document = await self._http.write("POST", f"{self._path}/pulls", body)
        return await self._pull_request(parsed_answer(_GithubPull, document, self._repository.host))

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        change = {} if title is None else {"title": title}
        if body is not None:
            marker = marker_in((await self._pull(number)).body)
            change["body"] = marked_text(body, marker) if marker else body
        document = await self._http.write("PATCH", f"{self._path}/pulls/{number}", change)
        return await self._pull_request(parsed_answer(_GithubPull, document, self._repository.host))

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        pages = await self._http.read_pages(f"{self._path}/pulls/{number}/commits", most=_MOST_COMMITS)
        data = parsed_items(_GithubCommit, pages.items, self._repository.host)
        by = {each.sha: await self._person(each.author) for each in data if each.author}
        return tuple(
            ForgeCommit(each.sha, each.commit.subject, each.commit.written_by, by.get(each.sha)) for each in data
        )

    async def _pull(self, number: int) -> "_GithubPull":
        answer = await self._http.read(f"{self._path}/pulls/{number}")
        return parsed_answer(_GithubPull, answer.document, self._repository.host)

    async def _pull_request(self, data: "_GithubPull") -> PullRequest:
        author = await self._person(data.user)
        merged = data.merged or data.merged_at is not None
        state: PullRequestState = "merged" if merged else data.state
        return PullRequest(
            number=data.number,
            url=data.html_url,
            state=state,
            title=data.title,
            body=unmarked_text(data.body),
            marker=marker_in(data.body) if author.kind == "self" else None,
            author=author,
            draft=data.draft,
            branch=data.head.ref,
            head=data.head.sha,
            same_repository=data.same_repository,
            base=data.base.ref,
            base_head=data.base.sha,
            mergeable=_mergeable(data),
            merge_commit=data.merge_commit_sha if merged else None,
            merged_by=await self._person(data.merged_by) if merged and data.merged_by else None,
            closed_by=await self._closed_by(data.number) if state == "closed" else None,
            updated_at=data.updated_at,
        )

    async def _closed_by(self, number: int) -> ForgeAccount | None:
        issue = await self._issue(number)
        return await self._person(issue.closed_by) if issue.closed_by else None

    # -- checks --------------------------------------------------------------------------------------------------------

    async def checks(self, head: str, number: int | None = None) -> HeadChecks:
        commit = f"{self._path}/commits/{path_of(head)[1:]}"
        host = self._repository.host
        runs = await self._http.read_pages(f"{commit}/check-runs", {"filter": "latest"}, key="check_runs")
        statuses = await self._http.read_pages(f"{commit}/status", key="statuses")
        checks = [_run_check(run) for run in parsed_items(_GithubRun, runs.items, host)]
        checks += [_status_check(status) for status in parsed_items(_GithubStatus, statuses.items, host)]
        data = {f"run:{run.id}": run for run in parsed_items(_GithubRun, runs.items, host)}
        failing = [check.id for check in checks if check.conclusion == "failure" and check.id in data][:_MOST_LOGS]
        logs = {check: await self._log(data[check]) for check in failing}
        all_checks = tuple(_with_log(check, logs.get(check.id, check.log)) for check in checks)
        return HeadChecks(head, conclusion_of(all_checks), all_checks, runs.complete and statuses.complete)

    async def _log(self, run: "_GithubRun") -> str:
        """The end of the job's log; where that cannot be read, what the run says itself."""
        if run.app is not None and run.app.slug == "github-actions":
            match = _JOB.search(run.details_url)
            job = match[1] if match else run.id
            try:
                text = await self._http.read_end(f"{self._path}/actions/jobs/{job}/logs", 4 * LOG_CHARACTERS)
                return log_end(text)
            except ForgeError:
                pass
        return "\n".join(filter(None, (run.output.words, await self._annotations(run))))[-LOG_CHARACTERS:]

    async def _annotations(self, run: "_GithubRun") -> str:
        if not run.output.annotations_count:
            return ""
        pages = await self._http.read_pages(f"{self._path}/check-runs/{run.id}/annotations", most=1)
        data = parsed_items(_GithubAnnotation, pages.items[:20], self._repository.host)
        return "\n".join(f"{each.path}:{each.start_line}: {each.message}" for each in data)

    # -- comments ------------------------------------------------------------------------------------------------------

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        review, whole, reviews = (
            await self._review_comments(number, since),
            await self._issue_comments(number, since),
            await self._http.read_pages(f"{self._path}/pulls/{number}/reviews"),
        )
        host = self._repository.host
        made = [await self._review_comment(each) for each in parsed_items(_GithubReviewComment, review.items, host)]
        made += [await self._whole_comment(each) for each in parsed_items(_GithubIssueComment, whole.items, host)]
        made += [await self._review(each) for each in parsed_items(_GithubReview, reviews.items, host) if each.counts]
        recent = [each for each in made if since is None or each.edited_at >= since]
        complete = review.complete and whole.complete and reviews.complete
        return ForgeComments(tuple(sorted(recent, key=in_order)), complete)

    async def _review_comments(self, number: int, since: int | None) -> ForgePages:
        return await self._http.read_pages(f"{self._path}/pulls/{number}/comments", _since(since))

    async def _issue_comments(self, number: int, since: int | None) -> ForgePages:
        return await self._http.read_pages(f"{self._path}/issues/{number}/comments", _since(since))

    async def _review_comment(self, data: "_GithubReviewComment") -> ForgeComment:
        author = await self._person(data.user)
        end = data.original_line or data.line
        return ForgeComment(
            id=f"review_comment:{data.id}",
            kind="review_comment",
            thread=str(data.in_reply_to_id or data.id),
            author=author,
            may_push=await self._may_push(author),
            text=unmarked_text(data.body) if author.kind == "self" else data.body,
            marker=marker_in(data.body) if author.kind == "self" else None,
            at=data.created_at,
            edited_at=data.updated_at,
            url=data.html_url,
            path=data.path,
            line=data.original_start_line or data.start_line or end,
            end_line=end,
            side="old" if data.side == "LEFT" else "new",
            head=data.original_commit_id,
        )

    async def _whole_comment(self, data: "_GithubIssueComment") -> ForgeComment:
        author = await self._person(data.user)
        return ForgeComment(
            id=f"comment:{data.id}",
            kind="comment",
            thread=None,
            author=author,
            may_push=await self._may_push(author),
            text=unmarked_text(data.body) if author.kind == "self" else data.body,
            marker=marker_in(data.body) if author.kind == "self" else None,
            at=data.created_at,
            edited_at=data.updated_at,
            url=data.html_url,
        )

    async def _review(self, data: "_GithubReview") -> ForgeComment:
        author, at = await self._person(data.user), data.submitted_at or 0
        return ForgeComment(
            id=f"review:{data.id}",
            kind="review",
            thread=None,
            author=author,
            may_push=await self._may_push(author),
            text=data.body,
            marker=None,
            at=at,
            edited_at=at,
            url=data.html_url,
            head=data.commit_id,
            verdict=_VERDICTS.get(data.state),
        )

    # -- posts ---------------------------------------------------------------------------------------------------------

    async def reply(self, number: int, thread: str, text: str, marker: str) -> ForgePost:
        path = f"{self._path}/pulls/{number}/comments{path_of(thread)}/replies"
        document = await self._http.write("POST", path, {"body": marked_text(text, marker)})
        return self._post("review_comment", document, marker)

    async def post(self, place: PostPlace, text: str, marker: str) -> ForgePost:
        path = f"{self._path}/issues/{place.number}/comments"
        return self._post("comment", await self._http.write("POST", path, {"body": marked_text(text, marker)}), marker)

    async def edit(self, place: PostPlace, post: str, text: str, marker: str) -> ForgePost:
        kind, _, number = post.partition(":")
        room = "pulls" if kind == "review_comment" else "issues"
        path = f"{self._path}/{room}/comments{path_of(number)}"
        return self._post(kind, await self._http.write("PATCH", path, {"body": marked_text(text, marker)}), marker)

    def _post(self, kind: str, document: object, marker: str) -> ForgePost:
        data = parsed_answer(_GithubIssueComment, document, self._repository.host)
        return ForgePost(f"{kind}:{data.id}", data.html_url, marker, unmarked_text(data.body))

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        own, host = await self.account(), self._repository.host
        lists = [("comment", await self._issue_comments(place.number, since))]
        if place.kind == "pull_request":
            lists.append(("review_comment", await self._review_comments(place.number, since)))
        for kind, pages in lists:
            for each in parsed_items(_GithubIssueComment, pages.items, host):
                if each.user and each.user.id == own.id and marker_in(each.body) == marker:
                    return ForgePost(f"{kind}:{each.id}", each.html_url, marker, unmarked_text(each.body))
        return None

    # -- people --------------------------------------------------------------------------------------------------------

    async def may_push(self, name: str) -> bool:
        async def ask() -> bool:
            try:
                answer = await self._http.read(f"{self._path}/collaborators{path_of(name)}/permission")
            except ForgeRefused as error:
                if error.gone or error.status == 403:
                    return False
                raise
            data = parsed_answer(_GithubPermission, answer.document, self._repository.host)
            is_person = data.user is None or data.user.type == "User"
            return is_person and bool({data.permission, data.role_name} & {*_PUSHES})

        return await self._pushers.of(name.casefold(), ask)

    async def is_member(self, name: str, team: str) -> bool:
        slug = team.removeprefix("@").rpartition("/")[2]

        async def ask() -> bool:
            path = path_of("orgs", self._repository.owner, "teams", slug, "memberships", name)
            try:
                answer = await self._http.read(path)
            except ForgeRefused as error:
                if error.gone or error.status == 403:
                    return False
                raise
            return parsed_answer(_GithubMembership, answer.document, self._repository.host).state == "active"

        return await self._members.of(f"{slug} {name}".casefold(), ask)

    async def _may_push(self, author: ForgeAccount) -> bool:
        return author.kind == "person" and await self.may_push(author.name)

    async def _person(self, user: "_GithubUser | None") -> ForgeAccount:
        if user is None:
            return _GHOST
        kind: AuthorKind = "person" if user.type == "User" and not user.login.endswith("[bot]") else "bot"
        return ForgeAccount(user.login, user.id, "self" if user.id == (await self.account()).id else kind)

    # -- issues --------------------------------------------------------------------------------------------------------

    async def issue(self, number: int) -> ForgeIssue:
        data = await self._issue(number)
        if data.pull_request is not None:
            host = self._repository.host
            raise ForgeRefused(Sentence("forge_not_an_issue", host=host, number=number), 404)
        author = await self._person(data.user)
        return ForgeIssue(
            number=data.number,
            url=data.html_url,
            state=data.state,
            title=data.title,
            text=data.body,
            author=author,
            may_push=author.kind == "self" or await self._may_push(author),
            updated_at=data.updated_at,
        )

    async def _issue(self, number: int) -> "_GithubIssue":
        answer = await self._http.read(f"{self._path}/issues/{number}")
        return parsed_answer(_GithubIssue, answer.document, self._repository.host)


def _since(since: int | None) -> Mapping[str, str]:
    return {} if since is None else {"since": iso(since - since % 1_000).replace(".000Z", "Z")}


def _mergeable(data: "_GithubPull") -> Mergeable:
    if data.mergeable is None:
        return "unknown"
    return "clean" if data.mergeable else "conflicted"


def _run_check(run: "_GithubRun") -> ForgeCheck:
    ended = run.status == "completed" and run.conclusion is not None
    conclusion = _RUNS.get(run.conclusion or "", "neutral") if ended else "pending"
    word = run.conclusion if ended and run.conclusion else run.status
    return ForgeCheck(f"run:{run.id}", run.name, conclusion, word, run.html_url or run.details_url, "")


def _status_check(status: "_GithubStatus") -> ForgeCheck:
    conclusion = _STATUSES.get(status.state, "neutral")
    log = status.description if conclusion == "failure" else ""
    return ForgeCheck(f"status:{status.id}", status.context, conclusion, status.state, status.target_url, log)


def _with_log(check: ForgeCheck, log: str) -> ForgeCheck:
    return ForgeCheck(check.id, check.name, check.conclusion, check.status, check.url, log)


# What GitHub sends, as far as it is needed (github/rest-api-description).

_State = Literal["open", "closed"]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]


class _GithubUser(ForgeDocument):
    login: AccountName
    id: Number
    type: _Word


class _GithubPermissions(ForgeDocument):
    push: bool = False


class _GithubRepository(ForgeDocument):
    default_branch: RefName
    html_url: Link
    archived: bool = False
    permissions: _GithubPermissions = _GithubPermissions()


class _GithubObject(ForgeDocument):
    sha: CommitId


class _GithubRef(ForgeDocument):
    object: _GithubObject


class _GithubOwned(ForgeDocument):
    id: Number


class _GithubSide(ForgeDocument):
    ref: RefName
    sha: CommitId
    repo: _GithubOwned | None = None


class _GithubPull(ForgeDocument):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: _GithubUser | None
    draft: bool = False
    head: _GithubSide
    base: _GithubSide
    merged: bool = False
    merged_at: Moment | None = None
    mergeable: bool | None = None
    merge_commit_sha: CommitId | None = None
    merged_by: _GithubUser | None = None
    updated_at: Moment

    @property
    def same_repository(self) -> bool:
        return self.head.repo is not None and self.base.repo is not None and self.head.repo.id == self.base.repo.id


class _GithubSignature(ForgeDocument):
    name: OneLineOrEmpty = ""
    email: OneLineOrEmpty = ""


class _GithubGitCommit(ForgeDocument):
    message: WordingOrEmpty = ""
    author: _GithubSignature | None = None

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0][:500]

    @property
    def written_by(self) -> str:
        return f"{self.author.name} <{self.author.email}>" if self.author else ""


class _GithubCommit(ForgeDocument):
    sha: CommitId
    commit: _GithubGitCommit
    author: _GithubUser | None = None


class _GithubApp(ForgeDocument):
    slug: OneLineOrEmpty = ""


class _GithubOutput(ForgeDocument):
    title: OneLineOrEmpty = ""
    summary: WordingOrEmpty = ""
    text: WordingOrEmpty = ""
    annotations_count: Annotated[int, Field(ge=0)] = 0

    @property
    def words(self) -> str:
        return cleaned("\n".join(filter(None, (self.title, self.summary, self.text))))


class _GithubRun(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    conclusion: _Word | None = None
    html_url: Link = ""
    details_url: Link = ""
    app: _GithubApp | None = None
    output: _GithubOutput = _GithubOutput()


class _GithubStatus(ForgeDocument):
    id: Number
    context: OneLine
    state: _Word
    description: OneLineOrEmpty = ""
    target_url: Link = ""


class _GithubAnnotation(ForgeDocument):
    path: OneLine
    start_line: Annotated[int, Field(ge=0)]
    message: WordingOrEmpty = ""


class _GithubIssueComment(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    user: _GithubUser | None
    created_at: Moment
    updated_at: Moment
    html_url: Link


class _GithubReviewComment(_GithubIssueComment):
    path: InnerPath
    line: LineNumber | None = None
    original_line: LineNumber | None = None
    start_line: LineNumber | None = None
    original_start_line: LineNumber | None = None
    side: Literal["LEFT", "RIGHT"] | None = None
    original_commit_id: CommitId
    in_reply_to_id: Number | None = None


class _GithubReview(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    user: _GithubUser | None
    state: _Word
    html_url: Link
    commit_id: CommitId | None = None
    submitted_at: Moment | None = None

    @property
    def counts(self) -> bool:
        """Whether it is sent, and says something."""
        return self.state != "PENDING" and bool(self.body.strip())


class _GithubPermission(ForgeDocument):
    permission: _Word
    role_name: OneLineOrEmpty = ""
    user: _GithubUser | None = None


class _GithubMembership(ForgeDocument):
    state: _Word


class _GithubLinked(ForgeDocument):
    """That an issue is a pull request."""


class _GithubIssue(ForgeDocument):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: _GithubUser | None
    closed_by: _GithubUser | None = None
    pull_request: _GithubLinked | None = None
    updated_at: Moment
