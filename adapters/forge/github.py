"""GitHub, and GitHub Enterprise, by REST (version 2022-11-28)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from adapters.forge.documents import log_end
from adapters.forge.errors import ForgeError, ForgeRefused
from adapters.forge.github_documents import (
    GithubAnnotation,
    GithubCommit,
    GithubIssue,
    GithubIssueComment,
    GithubMembership,
    GithubPermission,
    GithubPull,
    GithubRef,
    GithubRepository,
    GithubReview,
    GithubReviewComment,
    GithubRun,
    GithubStatus,
    GithubUser,
)
from adapters.forge.http import ForgeHttp, path_of
from adapters.forge.marks import marked_text, marker_in, unmarked_text
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
from domain.values.base import iso
from domain.values.sentences import Sentence

_MOST_ANNOTATIONS: Final = 20
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


class GithubForge(RestForge):
    """One repository at GitHub."""

    def __init__(self, repository: ForgeRepository, http: ForgeHttp) -> None:
        super().__init__(repository, http, path_of("repos", *repository.path.split("/")))

    async def _asked_account(self) -> ForgeAccount:
        user = await self._get(GithubUser, "/user")
        return ForgeAccount(user.login, user.id, "self")

    async def facts(self) -> RepositoryFacts:
        data = await self._get(GithubRepository, self._path)
        return RepositoryFacts(data.default_branch, data.permissions.push, data.archived, data.html_url)

    async def branch_head(self, branch: str) -> str | None:
        ref = await self._get_if_there(GithubRef, f"{self._path}/git/ref/heads/{path_of(branch)[1:]}")
        return ref.object.sha if ref is not None else None

    # -- pull requests -------------------------------------------------------------------------------------------------

    async def find(self, branch: str) -> PullRequest | None:
        query = {"head": f"{self._repository.owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        pulls, _ = await self._list(GithubPull, f"{self._path}/pulls", query, most=1)
        ours = [pull for pull in pulls if pull.head.ref == branch and pull.same_repository]
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
        return await self._pull_request(await self._send(GithubPull, "POST", f"{self._path}/pulls", body))

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        change = {} if title is None else {"title": title}
        if body is not None:
            marker = marker_in((await self._pull(number)).body)
            change["body"] = marked_text(body, marker) if marker else body
        return await self._pull_request(await self._send(GithubPull, "PATCH", f"{self._path}/pulls/{number}", change))

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        path = f"{self._path}/pulls/{number}/commits"
        data, _ = await self._list(GithubCommit, path, most=MOST_COMMIT_PAGES)
        by = {each.sha: await self._person(each.author) for each in data if each.author}
        return tuple(
            ForgeCommit(each.sha, each.commit.subject, each.commit.written_by, by.get(each.sha)) for each in data
        )

    async def _pull(self, number: int) -> GithubPull:
        return await self._get(GithubPull, f"{self._path}/pulls/{number}")

    async def _pull_request(self, data: GithubPull) -> PullRequest:
        author = await self._person(data.user)
        merged = data.merged or data.merged_at is not None
        state: PullRequestState = "merged" if merged else data.state
        return PullRequest(
            number=data.number,
            url=data.html_url,
            state=state,
            title=data.title,
            body=unmarked_text(data.body),
            marker=own_words(data.body, author).marker,
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
        runs = await self._list(GithubRun, f"{commit}/check-runs", {"filter": "latest"}, key="check_runs")
        statuses = await self._list(GithubStatus, f"{commit}/status", key="statuses")
        checks = [*map(_run_check, runs.items), *map(_status_check, statuses.items)]
        data = {f"run:{run.id}": run for run in runs.items}
        complete = runs.complete and statuses.complete
        return await with_logs(head, checks, lambda each: self._log(data[each]), of=data, complete=complete)

    async def _log(self, run: GithubRun) -> str:
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

    async def _annotations(self, run: GithubRun) -> str:
        if not run.output.annotations_count:
            return ""
        data, _ = await self._list(GithubAnnotation, f"{self._path}/check-runs/{run.id}/annotations", most=1)
        return "\n".join(f"{each.path}:{each.start_line}: {each.message}" for each in data[:_MOST_ANNOTATIONS])

    # -- comments ------------------------------------------------------------------------------------------------------

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        lines = await self._list(GithubReviewComment, self._lines(number), _since(since))
        whole = await self._list(GithubIssueComment, self._whole(number), _since(since))
        reviews = await self._list(GithubReview, f"{self._path}/pulls/{number}/reviews")
        made = [await self._review_comment(each) for each in lines.items]
        made += [await self._whole_comment(each) for each in whole.items]
        made += [await self._review(each) for each in reviews.items if each.counts]
        return comments_since(made, since, complete=lines.complete and whole.complete and reviews.complete)

    def _lines(self, number: int) -> str:
        """Returns the path of comments on lines."""
        return f"{self._path}/pulls/{number}/comments"

    def _whole(self, number: int) -> str:
        """Returns the path of comments on the whole, of an issue, too."""
        return f"{self._path}/issues/{number}/comments"

    async def _review_comment(self, data: GithubReviewComment) -> ForgeComment:
        end = data.original_line or data.line
        return replace(
            await self._whole_comment(data),
            id=f"review_comment:{data.id}",
            kind="review_comment",
            thread=str(data.in_reply_to_id or data.id),
            path=data.path,
            line=data.original_start_line or data.start_line or end,
            end_line=end,
            side="old" if data.side == "LEFT" else "new",
            head=data.original_commit_id,
        )

    async def _whole_comment(self, data: GithubIssueComment) -> ForgeComment:
        author = await self._person(data.user)
        words = own_words(data.body, author)
        return ForgeComment(
            id=f"comment:{data.id}",
            kind="comment",
            thread=None,
            author=author,
            may_push=await self._may_push(author),
            text=words.text,
            marker=words.marker,
            at=data.created_at,
            edited_at=data.updated_at,
            url=data.html_url,
        )

    async def _review(self, data: GithubReview) -> ForgeComment:
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
        path = f"{self._lines(number)}{path_of(thread)}/replies"
        return await self._posted("review_comment", "POST", path, text, marker)

    async def post(self, place: PostPlace, text: str, marker: str) -> ForgePost:
        return await self._posted("comment", "POST", self._whole(place.number), text, marker)

    async def edit(self, place: PostPlace, post: str, text: str, marker: str) -> ForgePost:
        kind, _, number = post.partition(":")
        room = "pulls" if kind == "review_comment" else "issues"
        return await self._posted(kind, "PATCH", f"{self._path}/{room}/comments{path_of(number)}", text, marker)

    async def _posted(self, kind: str, method: str, path: str, text: str, marker: str) -> ForgePost:
        data = await self._send(GithubIssueComment, method, path, {"body": marked_text(text, marker)})
        return _post(kind, data, marker)

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        own, lists = await self.account(), {"comment": self._whole(place.number)}
        if place.kind == "pull_request":
            lists["review_comment"] = self._lines(place.number)
        for kind, path in lists.items():
            for each in (await self._list(GithubIssueComment, path, _since(since))).items:
                if each.user and each.user.id == own.id and marker_in(each.body) == marker:
                    return _post(kind, each, marker)
        return None

    # -- people --------------------------------------------------------------------------------------------------------

    async def may_push(self, name: str) -> bool:
        async def ask() -> bool:
            path = f"{self._path}/collaborators{path_of(name)}/permission"
            data = await self._get_if_there(GithubPermission, path, shown_only=True)
            is_person = data is not None and (data.user is None or data.user.type == "User")
            return data is not None and is_person and bool({data.permission, data.role_name} & {*_PUSHES})

        return await self._pushers.of(name.casefold(), ask)

    async def is_member(self, name: str, team: str) -> bool:
        slug = team.removeprefix("@").rpartition("/")[2]

        async def ask() -> bool:
            path = path_of("orgs", self._repository.owner, "teams", slug, "memberships", name)
            data = await self._get_if_there(GithubMembership, path, shown_only=True)
            return data is not None and data.state == "active"

        return await self._members.of(f"{slug} {name}".casefold(), ask)

    async def _may_push(self, author: ForgeAccount) -> bool:
        return author.kind == "person" and await self.may_push(author.name)

    async def _person(self, user: GithubUser | None) -> ForgeAccount:
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

    async def _issue(self, number: int) -> GithubIssue:
        return await self._get(GithubIssue, f"{self._path}/issues/{number}")


def _post(kind: str, data: GithubIssueComment, marker: str) -> ForgePost:
    return ForgePost(f"{kind}:{data.id}", data.html_url, marker, unmarked_text(data.body))


def _since(since: int | None) -> Mapping[str, str]:
    return {} if since is None else {"since": iso(since - since % 1_000).replace(".000Z", "Z")}


def _mergeable(data: GithubPull) -> Mergeable:
    if data.mergeable is None:
        return "unknown"
    return "clean" if data.mergeable else "conflicted"


def _run_check(run: GithubRun) -> ForgeCheck:
    ended = run.status == "completed" and run.conclusion is not None
    conclusion = _RUNS.get(run.conclusion or "", "neutral") if ended else "pending"
    word = run.conclusion if ended and run.conclusion else run.status
    return ForgeCheck(f"run:{run.id}", run.name, conclusion, word, run.html_url or run.details_url, "")


def _status_check(status: GithubStatus) -> ForgeCheck:
    conclusion = _STATUSES.get(status.state, "neutral")
    log = status.description if conclusion == "failure" else ""
    return ForgeCheck(f"status:{status.id}", status.context, conclusion, status.state, status.target_url, log)
