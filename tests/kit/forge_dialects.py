"""What the fake forge answers: the operations of GitHub and of GitLab that are needed, over the state of `FakeForge`.

Each is registered under the path of the published description, so that a test can compare what was sent with it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from tests.kit.forge import Answer, Check, FakeForge, Note, NotThere, Person, Pull, Thread

Json = dict[str, Any]
Request = tuple[FakeForge, Mapping[str, str], Mapping[str, str], Mapping[str, Any]]
"""The forge, the values in the path, the query, the body."""
Operation = Callable[[Request], Answer]
_OPERATIONS: dict[str, list[tuple[str, str, re.Pattern[str], Operation]]] = {"github": [], "gitlab": []}


def operation(kind: str, method: str, template: str) -> Callable[[Operation], Operation]:
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))

    def register(function: Operation) -> Operation:
        _OPERATIONS[kind].append((method, template, pattern, function))
        return function

    return register


def answer_of(
    forge: FakeForge, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any]
) -> tuple[Answer, str]:
    """The answer, and the path of the description."""
    for known, template, pattern, function in _OPERATIONS[forge.kind]:
        match = pattern.fullmatch(path) if known == method else None
        if match:
            places = {name: unquote(value) for name, value in match.groupdict().items()}
            try:
                _check_repository(forge, places)
                return function((forge, places, query, body)), template
            except NotThere as error:
                error.template = template
                raise
    raise NotThere(path)


def _check_repository(forge: FakeForge, places: Mapping[str, str]) -> None:
    named = f"{places['owner']}/{places['repo']}" if "repo" in places else places.get("project", forge.path)
    if named != forge.path:
        raise NotThere(named)


def _pull(forge: FakeForge, number: str) -> Pull:
    if int(number) not in forge.pulls:
        raise NotThere(number)
    return forge.pulls[int(number)]


def _thread(forge: FakeForge, number: str) -> Thread:
    """At GitHub a pull request is an issue, too."""
    known: Thread | None = forge.issues.get(int(number)) or forge.pulls.get(int(number))
    if known is None:
        raise NotThere(number)
    return known


def _decided(forge: FakeForge) -> bool:
    """Whether the forge has found out if a pull request can be merged."""
    if forge.undecided:
        forge.undecided -= 1
        return False
    return True


def _refused(status: int, message: str) -> Answer:
    return Answer({"message": message}, status)


# -- GitHub ------------------------------------------------------------------------------------------------------------


def github(method: str, template: str) -> Callable[[Operation], Operation]:
    return operation("github", method, template)


def _seconds(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _user(person: Person | None) -> Json | None:
    if person is None:
        return None
    return {
        "login": person.name,
        "id": person.id,
        "node_id": f"U_{person.id}",
        "type": "Bot" if person.bot else "User",
        "site_admin": False,
    }


def _repository(forge: FakeForge) -> Json:
    owner, name = forge.path.split("/")
    return {
        "id": 77,
        "name": name,
        "full_name": forge.path,
        "owner": {"login": owner, "id": 1, "type": "User"},
        "html_url": f"{forge.web}/{forge.path}",
        "default_branch": "main",
        "archived": False,
        "permissions": {"admin": True, "maintain": True, "push": True, "triage": True, "pull": True},
    }


def _pull_url(forge: FakeForge, pull: Pull) -> str:
    return f"{forge.web}/{forge.path}/pull/{pull.number}"


def _pull_data(forge: FakeForge, pull: Pull, *, whole: bool = True) -> Json:
    decided = not whole or pull.state != "open" or _decided(forge)
    short: Json = {
        "id": 5_000 + pull.number,
        "number": pull.number,
        "url": f"{forge.api}/repos/{forge.path}/pulls/{pull.number}",
        "html_url": _pull_url(forge, pull),
        "state": "open" if pull.state == "open" else "closed",
        "locked": False,
        "title": pull.title,
        "body": pull.body or None,
        "user": _user(pull.by),
        "draft": pull.draft,
        "head": {"label": f"ann:{pull.branch}", "ref": pull.branch, "sha": pull.head, "repo": _repository(forge)},
        "base": {
            "label": f"ann:{pull.base}",
            "ref": pull.base,
            "sha": forge.head(pull.base),
            "repo": _repository(forge),
        },
        "merge_commit_sha": pull.merge_commit or "e" * 40,
        "merged_at": _seconds(pull.at) if pull.state == "merged" else None,
        "closed_at": None if pull.state == "open" else _seconds(pull.at),
        "created_at": _seconds(pull.at),
        "updated_at": _seconds(pull.at),
    }
    if not whole:
        return short
    mergeable = None if not decided else not forge.conflicts(pull) if pull.state == "open" else None
    return short | {
        "merged": pull.state == "merged",
        "mergeable": mergeable,
        "mergeable_state": "unknown" if mergeable is None else "clean" if mergeable else "dirty",
        "merged_by": _user(pull.merged_by),
        "comments": len(pull.notes),
    }


@github("GET", "/user")
def _(request: Request) -> Answer:
    return Answer(_user(request[0].account))


@github("GET", "/repos/{owner}/{repo}")
def _(request: Request) -> Answer:
    return Answer(_repository(request[0]))


@github("GET", "/repos/{owner}/{repo}/git/ref/heads/{ref}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    head = forge.head(places["ref"])
    if head is None:
        raise NotThere(places["ref"])
    name = f"refs/heads/{places['ref']}"
    return Answer({"ref": name, "node_id": "R_1", "object": {"type": "commit", "sha": head, "url": forge.api}})


@github("GET", "/repos/{owner}/{repo}/pulls")
def _(request: Request) -> Answer:
    forge, _, query, _ = request
    branch = query.get("head", "").partition(":")[2]
    pulls = [pull for pull in reversed(forge.pulls.values()) if pull.branch == branch or not branch]
    if query.get("state", "open") != "all":
        pulls = [pull for pull in pulls if (pull.state == "open") == (query.get("state", "open") == "open")]
    return Answer(items=[_pull_data(forge, pull, whole=False) for pull in pulls])


@github("POST", "/repos/{owner}/{repo}/pulls")
def _(request: Request) -> Answer:
    forge, _, _, body = request
    if forge.head(body["head"]) is None:
        return _refused(422, "Validation Failed")
    if any(pull.branch == body["head"] and pull.state == "open" for pull in forge.pulls.values()):
        message = f"A pull request already exists for ann:{body['head']}."
        return Answer(
            {"message": "Validation Failed", "errors": [{"resource": "PullRequest", "message": message}]}, 422
        )
    draft = bool(body.get("draft"))
    pull = forge.open(
        body["head"], body["base"], body["title"], body.get("body", ""), by=forge.account.name, draft=draft
    )
    return Answer(_pull_data(forge, pull), 201)


@github("GET", "/repos/{owner}/{repo}/pulls/{pull_number}")
def _(request: Request) -> Answer:
    return Answer(_pull_data(request[0], _pull(request[0], request[1]["pull_number"])))


@github("PATCH", "/repos/{owner}/{repo}/pulls/{pull_number}")
def _(request: Request) -> Answer:
    forge, places, _, body = request
    pull = _pull(forge, places["pull_number"])
    pull.title, pull.body = body.get("title", pull.title), body.get("body", pull.body)
    return Answer(_pull_data(forge, pull))


@github("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/commits")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    commits = forge.commits_of(_pull(forge, places["pull_number"]))
    return Answer(
        items=[
            {
                "sha": each["id"],
                "commit": {"message": each["subject"], "author": {"name": each["name"], "email": each["email"]}},
                "author": _user(forge.people.get(each["name"])),
            }
            for each in commits
        ]
    )


def _run_data(forge: FakeForge, check: Check) -> Json:
    page = f"{forge.web}/{forge.path}/actions/runs/1/job/{check.id}"
    return {
        "id": check.id,
        "name": check.name,
        "head_sha": check.head,
        "status": "in_progress" if check.ending is None else "completed",
        "conclusion": check.ending,
        "html_url": page,
        "details_url": page,
        "output": {"title": None, "summary": None, "text": None, "annotations_count": 0},
        "app": {"id": 15368, "slug": "github-actions", "name": "GitHub Actions"},
    }


@github("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    runs = [_run_data(forge, check) for check in forge.checks_of(places["ref"], "run")]
    return Answer(items=runs, wrap=lambda shown, total: {"total_count": total, "check_runs": shown})


@github("GET", "/repos/{owner}/{repo}/commits/{ref}/status")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    statuses = [
        {
            "id": check.id,
            "context": check.name,
            "state": check.ending or "pending",
            "description": check.log or None,
            "target_url": f"{forge.web}/builds/{check.id}",
        }
        for check in forge.checks_of(places["ref"], "status")
    ]
    return Answer(
        items=statuses,
        wrap=lambda shown, total: {"state": "pending", "statuses": shown, "sha": places["ref"], "total_count": total},
    )


@github("GET", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    check = next((each for each in forge.checks if each.id == int(places["job_id"])), None)
    if check is None or not check.log:
        raise NotThere("log")
    stamped = "".join(f"2026-11-29T10:00:00.1234567Z {line}\n" for line in check.log.split("\n"))
    return Answer(text=stamped)


@github("GET", "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations")
def _(request: Request) -> Answer:
    return Answer(items=[])


def _comment_data(forge: FakeForge, thread: Thread, note: Note) -> Json:
    page = "pull" if isinstance(thread, Pull) else "issues"
    return {
        "id": note.id,
        "body": note.body,
        "user": _user(note.by),
        "created_at": _seconds(note.at),
        "updated_at": _seconds(note.edited),
        "html_url": f"{forge.web}/{forge.path}/{page}/{thread.number}#issuecomment-{note.id}",
        "author_association": "NONE",
        "performed_via_github_app": None,
    }


def _line_data(forge: FakeForge, pull: Pull, note: Note) -> Json:
    is_current = note.head == pull.head
    data = _comment_data(forge, pull, note) | {
        "html_url": f"{_pull_url(forge, pull)}#discussion_r{note.id}",
        "path": note.path,
        "line": note.line if is_current else None,
        "original_line": note.line,
        "start_line": note.start if is_current else None,
        "original_start_line": note.start,
        "side": "LEFT" if note.side == "old" else "RIGHT",
        "commit_id": pull.head,
        "original_commit_id": note.head,
        "diff_hunk": "@@ -1 +1 @@",
        "subject_type": "line",
    }
    return data | ({"in_reply_to_id": note.answer_to} if note.answer_to else {})


def _after(notes: list[Note], query: Mapping[str, str]) -> list[Note]:
    if "since" not in query:
        return notes
    since = datetime.fromisoformat(query["since"]).timestamp()
    return [note for note in notes if int(note.edited) >= since]


@github("GET", "/repos/{owner}/{repo}/issues/{issue_number}/comments")
def _(request: Request) -> Answer:
    forge, places, query, _ = request
    thread = _thread(forge, places["issue_number"])
    notes = _after([note for note in thread.notes if note.kind == "whole"], query)
    return Answer(items=[_comment_data(forge, thread, note) for note in notes])


@github("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments")
def _(request: Request) -> Answer:
    forge, places, _, body = request
    thread = _thread(forge, places["issue_number"])
    return Answer(_comment_data(forge, thread, forge.note(thread, forge.account, body["body"])), 201)


@github("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/comments")
def _(request: Request) -> Answer:
    forge, places, query, _ = request
    pull = _pull(forge, places["pull_number"])
    notes = _after([note for note in pull.notes if note.kind == "line"], query)
    return Answer(items=[_line_data(forge, pull, note) for note in notes])


@github("POST", "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies")
def _(request: Request) -> Answer:
    forge, places, _, body = request
    pull = _pull(forge, places["pull_number"])
    first = _note_in(pull, int(places["comment_id"]))
    if first.answer_to is not None or first.kind != "line":
        raise NotThere("only the first comment of a thread takes replies")
    made = forge.note(pull, forge.account, body["body"], kind="line")
    made.answer_to, made.thread, made.path = first.id, first.thread, first.path
    made.line, made.head, made.side = first.line, first.head, first.side
    return Answer(_line_data(forge, pull, made), 201)


def _note_in(thread: Thread, number: int) -> Note:
    note = next((each for each in thread.notes if each.id == number), None)
    if note is None:
        raise NotThere(str(number))
    return note


@github("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    pull = _pull(forge, places["pull_number"])
    return Answer(
        items=[
            {
                "id": note.id,
                "body": note.body,
                "user": _user(note.by),
                "state": note.verdict,
                "html_url": f"{_pull_url(forge, pull)}#pullrequestreview-{note.id}",
                "commit_id": note.head,
                "submitted_at": _seconds(note.edited),
            }
            for note in pull.notes
            if note.kind == "review"
        ]
    )


def _edited(request: Request, kind: str) -> Answer:
    forge, places, _, body = request
    for thread in (*forge.pulls.values(), *forge.issues.values()):
        for note in thread.notes:
            if note.id == int(places["comment_id"]) and note.kind == kind:
                if note.by != forge.account:
                    return _refused(403, "Must have admin rights to Repository.")
                forge.edit(note, body["body"])
                data = _line_data if kind == "line" and isinstance(thread, Pull) else _comment_data
                return Answer(data(forge, thread, note))  # type: ignore[arg-type]
    raise NotThere("comment")


@github("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id}")
def _(request: Request) -> Answer:
    return _edited(request, "whole")


@github("PATCH", "/repos/{owner}/{repo}/pulls/comments/{comment_id}")
def _(request: Request) -> Answer:
    return _edited(request, "line")


@github("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    person = forge.people.get(places["username"])
    if person is None:
        raise NotThere(places["username"])
    return Answer({"permission": person.level, "role_name": person.level, "user": _user(person)})


@github("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    person = forge.people.get(places["username"])
    if person is None or places["team_slug"] not in person.teams:
        raise NotThere("membership")
    return Answer({"url": forge.api, "role": "member", "state": "active"})


@github("GET", "/repos/{owner}/{repo}/issues/{issue_number}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    thread = _thread(forge, places["issue_number"])
    page = "pull" if isinstance(thread, Pull) else "issues"
    linked = {"pull_request": {"url": forge.api}} if isinstance(thread, Pull) else {}
    return Answer(
        {
            "id": 9_000 + thread.number,
            "number": thread.number,
            "html_url": f"{forge.web}/{forge.path}/{page}/{thread.number}",
            "state": "open" if thread.state == "open" else "closed",
            "title": thread.title,
            "body": thread.body or None,
            "user": _user(thread.by),
            "closed_by": _user(thread.closed_by),
            "updated_at": _seconds(thread.at),
            **linked,
        }
    )


# -- GitLab ------------------------------------------------------------------------------------------------------------


def gitlab(method: str, template: str) -> Callable[[Operation], Operation]:
    return operation("gitlab", method, template)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _member(person: Person | None) -> Json | None:
    """An account as it is in other answers: without saying whether it is a bot."""
    if person is None:
        return None
    return {"id": person.id, "username": person.name, "name": person.name.title(), "state": "active", "locked": False}


def _project_path(forge: FakeForge) -> str:
    return f"{forge.web}/{forge.path}"


@gitlab("GET", "/user")
def _(request: Request) -> Answer:
    return Answer({**(_member(request[0].account) or {}), "bot": False})


@gitlab("GET", "/users")
def _(request: Request) -> Answer:
    forge, _, query, _ = request
    return Answer(items=[_member(each) for each in forge.people.values() if each.name == query.get("username")])


@gitlab("GET", "/users/{id}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    person = next((each for each in forge.people.values() if each.id == int(places["id"])), None)
    if person is None:
        raise NotThere("user")
    return Answer({**(_member(person) or {}), "bot": person.bot})


@gitlab("GET", "/projects/{project}")
def _(request: Request) -> Answer:
    forge = request[0]
    return Answer(
        {
            "id": 77,
            "path_with_namespace": forge.path,
            "web_url": _project_path(forge),
            "default_branch": "main",
            "archived": False,
            "permissions": {"project_access": {"access_level": 50, "notification_level": 3}, "group_access": None},
        }
    )


@gitlab("GET", "/projects/{project}/repository/branches/{branch}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    head = forge.head(places["branch"])
    if head is None:
        raise NotThere("branch")
    return Answer({"name": places["branch"], "merged": False, "protected": False, "commit": {"id": head}})


_LAB_STATES = {"open": "opened", "closed": "closed", "merged": "merged"}


def _merge_request(forge: FakeForge, pull: Pull, *, whole: bool = True) -> Json:
    decided = pull.state != "open" or _decided(forge)
    conflicts = decided and pull.state == "open" and forge.conflicts(pull)
    status = "checking" if not decided else "conflict" if conflicts else "mergeable"
    data: Json = {
        "id": 5_000 + pull.number,
        "iid": pull.number,
        "project_id": 77,
        "web_url": f"{_project_path(forge)}/-/merge_requests/{pull.number}",
        "state": _LAB_STATES[pull.state],
        "title": pull.title,
        "description": pull.body or None,
        "author": _member(pull.by),
        "draft": pull.draft or pull.title.startswith("Draft: "),
        "source_branch": pull.branch,
        "target_branch": pull.base,
        "source_project_id": 77,
        "target_project_id": 77,
        "sha": pull.head,
        "has_conflicts": conflicts,
        "merge_status": "can_be_merged" if decided else "checking",
        "detailed_merge_status": status,
        "merge_commit_sha": pull.merge_commit if pull.how == "merge" else None,
        "squash_commit_sha": pull.merge_commit if pull.how == "squash" else None,
        "merge_user": _member(pull.merged_by),
        "merged_by": _member(pull.merged_by),
        "closed_by": _member(pull.closed_by),
        "created_at": _moment(pull.at),
        "updated_at": _moment(pull.at),
    }
    if not whole:
        return data
    base = forge.head(pull.base)
    pipelines = _pipelines(forge, pull.head)
    return data | {
        "diff_refs": {"base_sha": base, "head_sha": pull.head, "start_sha": base},
        "head_pipeline": pipelines[0] if pipelines else None,
    }


@gitlab("GET", "/projects/{project}/merge_requests")
def _(request: Request) -> Answer:
    forge, _, query, _ = request
    pulls = [pull for pull in reversed(forge.pulls.values()) if pull.branch == query.get("source_branch", pull.branch)]
    if query.get("state", "all") != "all":
        pulls = [pull for pull in pulls if _LAB_STATES[pull.state] == query["state"]]
    return Answer(items=[_merge_request(forge, pull, whole=False) for pull in pulls])


@gitlab("POST", "/projects/{project}/merge_requests")
def _(request: Request) -> Answer:
    forge, _, _, body = request
    branch = body["source_branch"]
    if any(pull.branch == branch and pull.state == "open" for pull in forge.pulls.values()):
        return Answer({"message": ["Another open merge request already exists for this source branch: !1"]}, 409)
    if forge.head(branch) is None:
        return Answer({"message": {"source_branch": ["does not exist"]}}, 400)
    pull = forge.open(branch, body["target_branch"], body["title"], body.get("description", ""), by=forge.account.name)
    return Answer(_merge_request(forge, pull), 201)


@gitlab("GET", "/projects/{project}/merge_requests/{merge_request_iid}")
def _(request: Request) -> Answer:
    return Answer(_merge_request(request[0], _pull(request[0], request[1]["merge_request_iid"])))


@gitlab("PUT", "/projects/{project}/merge_requests/{merge_request_iid}")
def _(request: Request) -> Answer:
    forge, places, _, body = request
    pull = _pull(forge, places["merge_request_iid"])
    pull.title, pull.body = body.get("title", pull.title), body.get("description", pull.body)
    return Answer(_merge_request(forge, pull))


@gitlab("GET", "/projects/{project}/merge_requests/{merge_request_iid}/commits")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    commits = forge.commits_of(_pull(forge, places["merge_request_iid"]))
    return Answer(
        items=[
            {"id": each["id"], "title": each["subject"], "author_name": each["name"], "author_email": each["email"]}
            for each in reversed(commits)
        ]
    )


_LAB_ENDINGS = {"failure": "failed", "cancelled": "canceled", None: "running"}


def _lab_status(check: Check) -> str:
    return _LAB_ENDINGS.get(check.ending, check.ending or "")


def _pipelines(forge: FakeForge, head: str) -> list[Json]:
    """One pipeline a commit, where CI has said anything about it."""
    checks = forge.checks_of(head, "run")
    if not checks:
        return []
    each = {_lab_status(check) for check in checks}
    status = next((one for one in ("running", "failed", "success", "canceled") if one in each), "skipped")
    number = min(check.id for check in forge.checks if check.head == head and check.via == "run")
    page = f"{_project_path(forge)}/-/pipelines/{number}"
    return [{"id": number, "sha": head, "ref": "topic", "status": status, "source": "push", "web_url": page}]


@gitlab("GET", "/projects/{project}/pipelines")
def _(request: Request) -> Answer:
    forge, _, query, _ = request
    return Answer(items=_pipelines(forge, query.get("sha", "")))


@gitlab("GET", "/projects/{project}/pipelines/{pipeline_id}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    for head in {check.head for check in forge.checks}:
        for pipeline in _pipelines(forge, head):
            if pipeline["id"] == int(places["pipeline_id"]):
                return Answer(pipeline | {"yaml_errors": None})
    raise NotThere("pipeline")


@gitlab("GET", "/projects/{project}/pipelines/{pipeline_id}/jobs")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    heads = {check.head for check in forge.checks}
    head = next(
        (one for one in heads for each in _pipelines(forge, one) if each["id"] == int(places["pipeline_id"])), ""
    )
    return Answer(
        items=[
            {
                "id": check.id,
                "name": check.name,
                "stage": "test",
                "status": _lab_status(check),
                "allow_failure": False,
                "web_url": f"{_project_path(forge)}/-/jobs/{check.id}",
            }
            for check in forge.checks_of(head, "run")
        ]
    )


@gitlab("GET", "/projects/{project}/repository/commits/{sha}/statuses")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    checks = [*forge.checks_of(places["sha"], "run"), *forge.checks_of(places["sha"], "status")]
    return Answer(
        items=[
            {
                "id": check.id,
                "name": check.name,
                "status": _lab_status(check),
                "allow_failure": False,
                "target_url": f"{forge.web}/builds/{check.id}",
                "description": check.log if check.via == "status" else None,
            }
            for check in checks
        ]
    )


@gitlab("GET", "/projects/{project}/jobs/{job_id}/trace")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    check = next((each for each in forge.checks if each.id == int(places["job_id"])), None)
    if check is None:
        raise NotThere("job")
    lines = [
        "section_start:1700000000:step_script\r\x1b[0K\x1b[0;mExecuting",
        check.log,
        "ERROR: Job failed: exit code 1",
    ]
    return Answer(text="\n".join([*lines, "section_end:1700000001:step_script\r\x1b[0K"]))


def _note_data(thread: Thread, note: Note) -> Json:
    is_pull = isinstance(thread, Pull)
    data: Json = {
        "id": note.id,
        "type": "DiffNote" if note.kind == "line" else None,
        "body": note.body,
        "author": _member(note.by),
        "created_at": _moment(note.at),
        "updated_at": _moment(note.edited),
        "system": False,
        "noteable_type": "MergeRequest" if is_pull else "Issue",
        "noteable_iid": thread.number,
        "resolvable": is_pull,
        "resolved": False,
    }
    if note.kind != "line":
        return data
    start = {"old_line": None, "new_line": note.start} if note.side == "new" else {"old_line": note.start}
    return data | {
        "position": {
            "base_sha": "b" * 40,
            "start_sha": "b" * 40,
            "head_sha": note.head,
            "old_path": note.path,
            "new_path": note.path,
            "position_type": "text",
            "old_line": note.line if note.side == "old" else None,
            "new_line": note.line if note.side == "new" else None,
            "line_range": {"start": start, "end": {}} if note.start else None,
        }
    }


@gitlab("GET", "/projects/{project}/merge_requests/{merge_request_iid}/discussions")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    pull = _pull(forge, places["merge_request_iid"])
    threads: dict[str, list[Json]] = {}
    for note in pull.notes:
        threads.setdefault(note.thread, []).append(_note_data(pull, note))
    return Answer(items=[{"id": key, "individual_note": False, "notes": notes} for key, notes in threads.items()])


@gitlab("POST", "/projects/{project}/merge_requests/{merge_request_iid}/discussions/{discussion_id}/notes")
def _(request: Request) -> Answer:
    forge, places, _, body = request
    pull = _pull(forge, places["merge_request_iid"])
    first = next((note for note in pull.notes if note.thread == places["discussion_id"]), None)
    if first is None:
        raise NotThere("discussion")
    made = forge.note(pull, forge.account, body["body"], kind=first.kind)
    made.thread, made.answer_to, made.path = first.thread, first.id, first.path
    made.line, made.head, made.side = first.line, first.head, first.side
    return Answer(_note_data(pull, made), 201)


def _noted(forge: FakeForge, places: Mapping[str, str]) -> Thread:
    if "merge_request_iid" in places:
        return _pull(forge, places["merge_request_iid"])
    if int(places["issue_iid"]) not in forge.issues:
        raise NotThere("issue")
    return forge.issues[int(places["issue_iid"])]


def _notes(request: Request) -> Answer:
    forge, places, query, _ = request
    thread = _noted(forge, places)
    notes = thread.notes if query.get("sort") == "asc" else list(reversed(thread.notes))
    return Answer(items=[_note_data(thread, note) for note in notes])


def _posted(request: Request) -> Answer:
    forge, places, _, body = request
    thread = _noted(forge, places)
    return Answer(_note_data(thread, forge.note(thread, forge.account, body["body"])), 201)


def _rewritten(request: Request) -> Answer:
    forge, places, _, body = request
    thread = _noted(forge, places)
    note = _note_in(thread, int(places["note_id"]))
    if note.by != forge.account:
        return _refused(403, "403 Forbidden")
    forge.edit(note, body["body"])
    return Answer(_note_data(thread, note))


for _room in ("merge_requests/{merge_request_iid}", "issues/{issue_iid}"):
    gitlab("GET", f"/projects/{{project}}/{_room}/notes")(_notes)
    gitlab("POST", f"/projects/{{project}}/{_room}/notes")(_posted)
    gitlab("PUT", f"/projects/{{project}}/{_room}/notes/{{note_id}}")(_rewritten)


@gitlab("GET", "/projects/{project}/members/all/{user_id}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    person = next((each for each in forge.people.values() if each.id == int(places["user_id"])), None)
    if person is None or person.level == "none":
        raise NotThere("member")
    return Answer({**(_member(person) or {}), "access_level": 40 if person.level == "write" else 20})


@gitlab("GET", "/groups/{group}/members/all/{user_id}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    person = next((each for each in forge.people.values() if each.id == int(places["user_id"])), None)
    owner, _, team = places["group"].partition("/")
    if person is None or team not in person.teams or owner != forge.path.partition("/")[0]:
        raise NotThere("member")
    return Answer({**(_member(person) or {}), "access_level": 30})


@gitlab("GET", "/projects/{project}/issues/{issue_iid}")
def _(request: Request) -> Answer:
    forge, places, _, _ = request
    issue = _noted(forge, places)
    return Answer(
        {
            "id": 9_000 + issue.number,
            "iid": issue.number,
            "web_url": f"{_project_path(forge)}/-/issues/{issue.number}",
            "state": _LAB_STATES[issue.state],
            "title": issue.title,
            "description": issue.body or None,
            "author": _member(issue.by),
            "updated_at": _moment(issue.at),
        }
    )
