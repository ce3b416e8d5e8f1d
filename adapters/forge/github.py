"""GitHub, and GitHub Enterprise, by REST (version 2022-11-28)."""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from adapters.forge.errors import ForgeError, ForgeRefused
from adapters.forge.given import (
    AccountName,
    CommitId,
    Given,
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
            user = parsed_answer(_User, (await self._http.read("/user")).document, self._repository.host)
            self._account = ForgeAccount(user.login, user.id, "self")
        return self._account

    async def facts(self) -> RepositoryFacts:
        given = parsed_answer(_Repository, (await self._http.read(self._path)).document, self._repository.host)
        return RepositoryFacts(given.default_branch, given.permissions.push, given.archived, given.html_url)

    async def branch_head(self, branch: str) -> str | None:
        try:
            answer = await self._http.read(f"{self._path}/git/ref/heads/{path_of(branch)[1:]}")
        except ForgeRefused as error:
            if error.gone:
                return None
            raise
        return parsed_answer(_Ref, answer.document, self._repository.host).object.sha

    # -- pull requests -------------------------------------------------------------------------------------------------

    async def find(self, branch: str) -> PullRequest | None:
        query = {"head": f"{self._repository.owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        answer = await self._http.read_pages(f"{self._path}/pulls", query, most=1)
        given = parsed_items(_Pull, answer.items, self._repository.host)
        ours = [pull for pull in given if pull.head.ref == branch and pull.same_repository]
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
        return await self._pull_request(parsed_answer(_Pull, document, self._repository.host))

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        change = {} if title is None else {"title": title}
        if body is not None:
            marker = marker_in((await self._pull(number)).body)
            change["body"] = marked_text(body, marker) if marker else body
        document = await self._http.write("PATCH", f"{self._path}/pulls/{number}", change)
        return await self._pull_request(parsed_answer(_Pull, document, self._repository.host))

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        pages = await self._http.read_pages(f"{self._path}/pulls/{number}/commits", most=_MOST_COMMITS)
        given = parsed_items(_Commit, pages.items, self._repository.host)
        by = {each.sha: await self._person(each.author) for each in given if each.author}
        return tuple(
            ForgeCommit(each.sha, each.commit.subject, each.commit.written_by, by.get(each.sha)) for each in given
        )

    async def _pull(self, number: int) -> "_Pull":
        answer = await self._http.read(f"{self._path}/pulls/{number}")
        return parsed_answer(_Pull, answer.document, self._repository.host)

    async def _pull_request(self, given: "_Pull") -> PullRequest:
        author = await self._person(given.user)
        merged = given.merged or given.merged_at is not None
        state: PullRequestState = "merged" if merged else given.state
        return PullRequest(
            number=given.number,
            url=given.html_url,
            state=state,
            title=given.title,
            body=unmarked_text(given.body),
            marker=marker_in(given.body) if author.kind == "self" else None,
            author=author,
            draft=given.draft,
            branch=given.head.ref,
            head=given.head.sha,
            same_repository=given.same_repository,
            base=given.base.ref,
            base_head=given.base.sha,
            mergeable=_mergeable(given),
            merge_commit=given.merge_commit_sha if merged else None,
            merged_by=await self._person(given.merged_by) if merged and given.merged_by else None,
            closed_by=await self._closed_by(given.number) if state == "closed" else None,
            updated_at=given.updated_at,
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
        checks = [_run_check(run) for run in parsed_items(_Run, runs.items, host)]
        checks += [_status_check(status) for status in parsed_items(_Status, statuses.items, host)]
        given = {f"run:{run.id}": run for run in parsed_items(_Run, runs.items, host)}
        failing = [check.id for check in checks if check.conclusion == "failure" and check.id in given][:_MOST_LOGS]
        logs = {check: await self._log(given[check]) for check in failing}
        told = tuple(_with_log(check, logs.get(check.id, check.log)) for check in checks)
        return HeadChecks(head, conclusion_of(told), told, runs.complete and statuses.complete)

    async def _log(self, run: "_Run") -> str:
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

    async def _annotations(self, run: "_Run") -> str:
        if not run.output.annotations_count:
            return ""
        pages = await self._http.read_pages(f"{self._path}/check-runs/{run.id}/annotations", most=1)
        given = parsed_items(_Annotation, pages.items[:20], self._repository.host)
        return "\n".join(f"{each.path}:{each.start_line}: {each.message}" for each in given)

    # -- comments ------------------------------------------------------------------------------------------------------

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        review, whole, reviews = (
            await self._review_comments(number, since),
            await self._issue_comments(number, since),
            await self._http.read_pages(f"{self._path}/pulls/{number}/reviews"),
        )
        host = self._repository.host
        made = [await self._review_comment(each) for each in parsed_items(_ReviewComment, review.items, host)]
        made += [await self._whole_comment(each) for each in parsed_items(_IssueComment, whole.items, host)]
        made += [await self._review(each) for each in parsed_items(_Review, reviews.items, host) if each.counts]
        recent = [each for each in made if since is None or each.edited_at >= since]
        complete = review.complete and whole.complete and reviews.complete
        return ForgeComments(tuple(sorted(recent, key=lambda each: (each.at, each.id))), complete)

    async def _review_comments(self, number: int, since: int | None) -> ForgePages:
        return await self._http.read_pages(f"{self._path}/pulls/{number}/comments", _since(since))

    async def _issue_comments(self, number: int, since: int | None) -> ForgePages:
        return await self._http.read_pages(f"{self._path}/issues/{number}/comments", _since(since))

    async def _review_comment(self, given: "_ReviewComment") -> ForgeComment:
        author = await self._person(given.user)
        end = given.original_line or given.line
        return ForgeComment(
            id=f"review_comment:{given.id}",
            kind="review_comment",
            thread=str(given.in_reply_to_id or given.id),
            author=author,
            may_push=await self._may_push(author),
            text=unmarked_text(given.body) if author.kind == "self" else given.body,
            marker=marker_in(given.body) if author.kind == "self" else None,
            at=given.created_at,
            edited_at=given.updated_at,
            url=given.html_url,
            path=given.path,
            line=given.original_start_line or given.start_line or end,
            end_line=end,
            side="old" if given.side == "LEFT" else "new",
            head=given.original_commit_id,
        )

    async def _whole_comment(self, given: "_IssueComment") -> ForgeComment:
        author = await self._person(given.user)
        return ForgeComment(
            id=f"comment:{given.id}",
            kind="comment",
            thread=None,
            author=author,
            may_push=await self._may_push(author),
            text=unmarked_text(given.body) if author.kind == "self" else given.body,
            marker=marker_in(given.body) if author.kind == "self" else None,
            at=given.created_at,
            edited_at=given.updated_at,
            url=given.html_url,
        )

    async def _review(self, given: "_Review") -> ForgeComment:
        author, at = await self._person(given.user), given.submitted_at or 0
        return ForgeComment(
            id=f"review:{given.id}",
            kind="review",
            thread=None,
            author=author,
            may_push=await self._may_push(author),
            text=given.body,
            marker=None,
            at=at,
            edited_at=at,
            url=given.html_url,
            head=given.commit_id,
            verdict=_VERDICTS.get(given.state),
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
        given = parsed_answer(_IssueComment, document, self._repository.host)
        return ForgePost(f"{kind}:{given.id}", given.html_url, marker, unmarked_text(given.body))

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        own, host = await self.account(), self._repository.host
        lists = [("comment", await self._issue_comments(place.number, since))]
        if place.kind == "pull_request":
            lists.append(("review_comment", await self._review_comments(place.number, since)))
        for kind, pages in lists:
            for each in parsed_items(_IssueComment, pages.items, host):
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
            given = parsed_answer(_Permission, answer.document, self._repository.host)
            is_person = given.user is None or given.user.type == "User"
            return is_person and bool({given.permission, given.role_name} & {*_PUSHES})

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
            return parsed_answer(_Membership, answer.document, self._repository.host).state == "active"

        return await self._members.of(f"{slug} {name}".casefold(), ask)

    async def _may_push(self, author: ForgeAccount) -> bool:
        return author.kind == "person" and await self.may_push(author.name)

    async def _person(self, user: "_User | None") -> ForgeAccount:
        if user is None:
            return _GHOST
        kind: AuthorKind = "person" if user.type == "User" and not user.login.endswith("[bot]") else "bot"
        return ForgeAccount(user.login, user.id, "self" if user.id == (await self.account()).id else kind)

    # -- issues --------------------------------------------------------------------------------------------------------

    async def issue(self, number: int) -> ForgeIssue:
        given = await self._issue(number)
        if given.pull_request is not None:
            host = self._repository.host
            raise ForgeRefused(Sentence("forge_not_an_issue", host=host, number=number), 404)
        author = await self._person(given.user)
        return ForgeIssue(
            number=given.number,
            url=given.html_url,
            state=given.state,
            title=given.title,
            text=given.body,
            author=author,
            may_push=author.kind == "self" or await self._may_push(author),
            updated_at=given.updated_at,
        )

    async def _issue(self, number: int) -> "_Issue":
        answer = await self._http.read(f"{self._path}/issues/{number}")
        return parsed_answer(_Issue, answer.document, self._repository.host)


def _since(since: int | None) -> Mapping[str, str]:
    return {} if since is None else {"since": iso(since - since % 1_000).replace(".000Z", "Z")}


def _mergeable(given: "_Pull") -> Mergeable:
    if given.mergeable is None:
        return "unknown"
    return "clean" if given.mergeable else "conflicted"


def _run_check(run: "_Run") -> ForgeCheck:
    ended = run.status == "completed" and run.conclusion is not None
    conclusion = _RUNS.get(run.conclusion or "", "neutral") if ended else "pending"
    word = run.conclusion if ended and run.conclusion else run.status
    return ForgeCheck(f"run:{run.id}", run.name, conclusion, word, run.html_url or run.details_url, "")


def _status_check(status: "_Status") -> ForgeCheck:
    conclusion = _STATUSES.get(status.state, "neutral")
    log = status.description if conclusion == "failure" else ""
    return ForgeCheck(f"status:{status.id}", status.context, conclusion, status.state, status.target_url, log)


def _with_log(check: ForgeCheck, log: str) -> ForgeCheck:
    return ForgeCheck(check.id, check.name, check.conclusion, check.status, check.url, log)


# What GitHub sends, as far as it is needed (github/rest-api-description).

_State = Literal["open", "closed"]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]


class _User(Given):
    login: AccountName
    id: Number
    type: _Word


class _Permissions(Given):
    push: bool = False


class _Repository(Given):
    default_branch: RefName
    html_url: Link
    archived: bool = False
    permissions: _Permissions = _Permissions()


class _Object(Given):
    sha: CommitId


class _Ref(Given):
    object: _Object


class _Owned(Given):
    id: Number


class _Side(Given):
    ref: RefName
    sha: CommitId
    repo: _Owned | None = None


class _Pull(Given):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: _User | None
    draft: bool = False
    head: _Side
    base: _Side
    merged: bool = False
    merged_at: Moment | None = None
    mergeable: bool | None = None
    merge_commit_sha: CommitId | None = None
    merged_by: _User | None = None
    updated_at: Moment

    @property
    def same_repository(self) -> bool:
        return self.head.repo is not None and self.base.repo is not None and self.head.repo.id == self.base.repo.id


class _Signature(Given):
    name: OneLineOrEmpty = ""
    email: OneLineOrEmpty = ""


class _GitCommit(Given):
    message: WordingOrEmpty = ""
    author: _Signature | None = None

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0][:500]

    @property
    def written_by(self) -> str:
        return f"{self.author.name} <{self.author.email}>" if self.author else ""


class _Commit(Given):
    sha: CommitId
    commit: _GitCommit
    author: _User | None = None


class _App(Given):
    slug: OneLineOrEmpty = ""


class _Output(Given):
    title: OneLineOrEmpty = ""
    summary: WordingOrEmpty = ""
    text: WordingOrEmpty = ""
    annotations_count: Annotated[int, Field(ge=0)] = 0

    @property
    def words(self) -> str:
        return cleaned("\n".join(filter(None, (self.title, self.summary, self.text))))


class _Run(Given):
    id: Number
    name: OneLine
    status: _Word
    conclusion: _Word | None = None
    html_url: Link = ""
    details_url: Link = ""
    app: _App | None = None
    output: _Output = _Output()


class _Status(Given):
    id: Number
    context: OneLine
    state: _Word
    description: OneLineOrEmpty = ""
    target_url: Link = ""


class _Annotation(Given):
    path: OneLine
    start_line: Annotated[int, Field(ge=0)]
    message: WordingOrEmpty = ""


class _IssueComment(Given):
    id: Number
    body: WordingOrEmpty = ""
    user: _User | None
    created_at: Moment
    updated_at: Moment
    html_url: Link


class _ReviewComment(_IssueComment):
    path: InnerPath
    line: LineNumber | None = None
    original_line: LineNumber | None = None
    start_line: LineNumber | None = None
    original_start_line: LineNumber | None = None
    side: Literal["LEFT", "RIGHT"] | None = None
    original_commit_id: CommitId
    in_reply_to_id: Number | None = None


class _Review(Given):
    id: Number
    body: WordingOrEmpty = ""
    user: _User | None
    state: _Word
    html_url: Link
    commit_id: CommitId | None = None
    submitted_at: Moment | None = None

    @property
    def counts(self) -> bool:
        """Whether it is sent, and says something."""
        return self.state != "PENDING" and bool(self.body.strip())


class _Permission(Given):
    permission: _Word
    role_name: OneLineOrEmpty = ""
    user: _User | None = None


class _Membership(Given):
    state: _Word


class _Linked(Given):
    """That an issue is a pull request."""


class _Issue(Given):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: _User | None
    closed_by: _User | None = None
    pull_request: _Linked | None = None
    updated_at: Moment
