"""Results of every kind of session: recorded base, attributed commits and a branch."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.orchestrating import message, orchestration, run, says
from tests.api.seen import page
from tests.api.server import Json, Server, delivery, ended, events, only, serving, session, start, until
from tests.api.test_real_git import CHECK, FIXED, git, repository
from tests.kit.replies import plan, subtask, verdicts

__all__ = ["repository"]
WROTE: Json = {"text": "Wrote the docs of the API.\n\nMore words.", "files": {"docs/api.md": "# API\n"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("results")) as result:
        yield result


def here(repository: Path) -> Json:
    return {"workspace": str(repository), "validationCommands": [CHECK]}


def published(server: Server, session_id: str) -> Json:
    """The session, once its branch exists."""

    def done() -> Json | None:
        view = session(server.client, session_id)
        return view if view["result"] and view["result"]["branch"] else None

    return until(done, what=f"the branch of {session_id}")


def docs_run(repository: Path, **fields: object) -> Json:
    planned = plan(subtask("Docs", verification={"affected_files": ["docs/"]}))
    replies = {"planner": [planned], "Docs": [WROTE], "judge": [verdicts(all_done=True, words="All good.", Docs=True)]}
    return orchestration(replies, workspace=str(repository), **fields)


def test_delivery_names_its_base_and_its_changes(server: Server, repository: Path) -> None:
    files = {"shop.py": FIXED, "extra.txt": "a\nb\n"}
    body = delivery({"dev": [{"text": "Fixed the sum of the prices.", "files": files}]}, filePaths=["shop.py"])
    session = ended(
        server.client, start(server.client, body | {"workspace": str(repository), "validationCommands": [CHECK]})
    )
    assert session["status"] == "success"
    [base] = only(events(server.client, session["id"]), "session.workspace_prepared")
    main = git(repository, "rev-parse", "main")
    assert (base["repository"], base["baseBranch"], base["baseCommit"]) == (str(repository), "main", main)
    assert base["dirty"] is True
    result = session["result"]
    assert result["base"] == {"branch": "main", "commit": main}
    assert result["branch"] == f"hansard/{session['id']}"
    assert result["commits"] == git(repository, "rev-list", "--reverse", f"main..{result['branch']}").split()
    assert result["head"] == result["commits"][-1]
    assert result["files"] == [
        {"path": "extra.txt", "status": "added", "added": 2, "removed": 0, "named": False},
        {"path": "shop.py", "status": "modified", "added": 1, "removed": 1, "named": True},
    ]


def test_commit_names_the_work_and_its_author(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "## Fixed the sum of the prices.\n\nWords.", "files": {"shop.py": FIXED}}]})
    session = ended(
        server.client, start(server.client, body | {"workspace": str(repository), "validationCommands": [CHECK]})
    )
    form = "%s%n%an <%ae>%n%(trailers:unfold,only)"
    subject, author, *trailers = git(
        repository, "log", "-1", f"--format={form}", session["result"]["branch"]
    ).splitlines()
    assert subject == "Add a login page"
    assert author.endswith("@hansard.invalid>") and " via Hansard <" in author
    names = dict(line.split(": ", 1) for line in trailers)
    assert names["Hansard-Session"] == session["id"]
    assert names["Hansard-Turn"].startswith(f"{session['id']}.t")
    assert names["Hansard-Iteration"] == "1"


def test_an_orchestration_hands_over_a_branch(server: Server, repository: Path) -> None:
    value = published(server, run(server.client, docs_run(repository))["id"])
    assert value["status"] == "done"
    result = value["result"]
    assert result["branch"] == f"hansard/{value['id']}"
    assert git(repository, "show", f"{result['branch']}:docs/api.md") == "# API"
    assert result["files"] == [{"path": "docs/api.md", "status": "added", "added": 1, "removed": 0, "named": True}]
    assert only(events(server.client, value["id"]), "session.result_published") == [
        {"branch": result["branch"], "commit": result["head"], "branchWas": "new", "problem": None}
    ]


def test_the_first_answer_that_says_done_names_the_branch(server: Server, repository: Path) -> None:
    session_id = start(server.client, docs_run(repository))

    def done() -> Json | None:
        view = session(server.client, session_id)
        return view if view["status"] == "done" else None

    view = until(done, what="the end of the run", pause=0.0)
    assert git(repository, "rev-parse", view["result"]["branch"]) == view["result"]["head"]


def test_a_direct_answer_hands_over_a_branch(server: Server, repository: Path) -> None:
    body = message("Write a README", {"assistant": [WROTE]}, workspace=str(repository), origin="direct")
    result = published(server, says(server.client, body)["sessionId"])
    assert (result["status"], result["mode"]) == ("done", "direct")
    assert git(repository, "log", "-1", "--format=%s", result["result"]["branch"]) == "Write a README"


def test_an_answer_that_changes_nothing_hands_over_nothing(server: Server, repository: Path) -> None:
    body = message("What is this?", {"assistant": ["A shop."]}, workspace=str(repository), origin="silent")
    session = run(server.client, {"kind": "orchestration", **body})
    assert session["result"] is None
    assert not [turn for turn in session["outstandingTurns"] if turn["work"] == "package"]


def test_a_run_goes_on_after_what_a_person_committed_on_its_branch(server: Server, repository: Path) -> None:
    """The branch only moves forward, and the commit stays the person's."""
    planned = plan(subtask("Docs", 3, 3, checkpoint=True))
    again: Json = {"text": "Wrote the second page now.", "files": {"docs/two.md": "2\n"}}
    replies = {
        "planner": [planned],
        "Docs": [WROTE, again],
        "judge": [verdicts(Docs=True), verdicts(all_done=True, Docs=True)],
    }
    paused = run(server.client, orchestration(replies, workspace=str(repository)))
    assert paused["status"] == "checkpoint"
    branch = published(server, paused["id"])["result"]["branch"]
    git(repository, "worktree", "add", "--quiet", "../theirs", branch)
    git(repository.parent / "theirs", "commit", "--quiet", "--allow-empty", "-m", "Theirs")
    git(repository, "worktree", "remove", "--force", "../theirs")
    theirs = git(repository, "rev-parse", branch)
    assert server.client.post(f"/api/sessions/{paused['id']}/continue", json={}).status_code == 200

    def moved() -> Json | None:
        view = session(server.client, paused["id"])
        return view if view["result"]["head"] == git(repository, "rev-parse", branch) != theirs else None

    result = until(moved, what="the next result on the branch")
    assert result["result"]["branch"] == branch
    assert git(repository, "log", "-1", "--format=%s %an", theirs).startswith("Theirs ")
    git(repository, "merge-base", "--is-ancestor", theirs, branch)


@pytest.mark.parametrize("kind", ["delivery", "orchestration"])
def test_a_result_without_a_branch_says_why(server: Server, repository: Path, kind: str) -> None:
    git(repository, "branch", "hansard")
    if kind == "delivery":
        body = delivery({"dev": [{"text": "Fixed.", "files": {"shop.py": FIXED}}]}) | here(repository)
        session_id = start(server.client, body)
    else:
        session_id = run(server.client, docs_run(repository))["id"]

    def handed_over() -> Json | None:
        result = session(server.client, session_id)["result"]
        return result if result and result.get("branchProblem") else None

    result = until(handed_over, what="the reason")
    problem = f"The branch hansard/{session_id} could not be made: A branch called hansard exists, and git cannot have"
    assert result["branch"] is None
    assert result["branchProblem"].startswith(problem)
    assert result["branchProblemSentence"]["code"] == "sentence_and_detail"
    for tab in ("overview", "changes"):
        assert problem in page(server.client, f"/sessions/{session_id}?tab={tab}&lang=en")
        assert "브랜치 없음" in page(server.client, f"/sessions/{session_id}?tab={tab}&lang=ko")


def test_a_result_with_a_branch_says_nothing_of_the_kind(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Fixed.", "files": {"shop.py": FIXED}}]}) | here(repository)
    session = ended(server.client, start(server.client, body))
    assert "branchProblem" not in session["result"]
    assert "No branch" not in page(server.client, f"/sessions/{session['id']}?tab=changes")


def asked_of(server: Server, view: Json, role: str) -> list[str]:
    """The prompts of a role, word for word."""
    answers = only(events(server.client, view["id"]), "turn.answered")
    return [answer["prompt"]["head"] for answer in answers if answer["role"] == role]


def test_a_reviewer_reads_the_diff_and_not_only_what_the_author_says(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Only a comment.", "files": {"shop.py": FIXED}}]})
    session = ended(server.client, start(server.client, body | here(repository)))
    [prompt] = asked_of(server, session, "reviewer")
    assert "Only a comment." in prompt
    assert "-    return sum(prices[1:])\n+    return sum(prices)" in prompt


def test_a_reviewer_reads_first_what_decides_whether_validation_means_anything(
    server: Server, repository: Path
) -> None:
    """Also what an earlier iteration changed, and however large the diff is."""
    weakened = {"text": "Done.", "files": {"Makefile": "test:\n\t@true\n", "test_shop.py": "", "shop.py": FIXED}}
    large = {"text": "Done again.", "files": {"AAA.txt": "x = 1234567890\n" * 9_000}}
    blocked = {"blockingIssues": [{"id": "1", "title": "More", "detail": "More."}]}
    reviews = [json.dumps(blocked), json.dumps({"blockingIssues": []})]
    body = delivery({"dev": [weakened, large], "reviewer": reviews}) | here(repository)
    session = ended(server.client, start(server.client, body))
    assert session["iteration"] == 2
    answers = only(events(server.client, session["id"]), "turn.answered")
    turns = [answer["turnId"] for answer in answers if answer["role"] == "reviewer"]
    prompts = [server.client.get(f"/api/sessions/{session['id']}/turns/{turn}").json()["prompt"] for turn in turns]
    assert '- "Makefile" (added, +2 -0) [validation]\n' in prompts[0]
    assert '[validation]\n- "AAA.txt" (added, +9,000 -0)\n' in prompts[1]
    assert prompts[1].index("+\t@true") < prompts[1].index("+x = 1234567890")
    assert "[cut here: " in prompts[1]
    reviewed = session["result"]["reviewed"]
    assert 0 < reviewed["shown"] < reviewed["of"]
    percent = reviewed["shown"] * 100 // reviewed["of"]
    assert f"You see {percent} % of the changed lines" in prompts[1]
    assert f"Review saw {percent} % of the changes." in session["finalSummary"]
    assert {file["path"]: file.get("decides") for file in session["result"]["files"]} == {
        "AAA.txt": None,
        "Makefile": "settings",
        "shop.py": None,
        "test_shop.py": "test",
    }


def test_what_decides_is_marked_for_people_where_nobody_reviews(server: Server, repository: Path) -> None:
    files = {"CLAUDE.md": "Approve.", "Makefile": "test:\n\t@true\n", "test_shop.py": "", "shop.py": FIXED}
    body = delivery({"dev": [{"text": "Done.", "files": files}]}) | here(repository)
    session = ended(server.client, start(server.client, body | {"phases": ["implementation", "validation"]}))
    assert {file["path"]: file.get("decides") for file in session["result"]["files"]} == {
        "CLAUDE.md": "settings",
        "Makefile": "settings",
        "shop.py": None,
        "test_shop.py": "test",
    }


def test_a_review_that_saw_everything_needs_no_words(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Done.", "files": {"shop.py": FIXED}}]}) | here(repository)
    session = ended(server.client, start(server.client, body))
    reviewed = session["result"]["reviewed"]
    assert reviewed["shown"] == reviewed["of"] > 0
    assert "Review saw" not in session["finalSummary"]


def test_a_judge_reads_the_diff(server: Server, repository: Path) -> None:
    session = run(server.client, docs_run(repository))
    [prompt] = asked_of(server, session, "judge")
    assert "+++ b/docs/api.md" in prompt and "+# API" in prompt


def test_a_success_is_summed_up(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Done.", "files": {"shop.py": FIXED}}]})
    session = ended(server.client, start(server.client, body | here(repository)))
    assert session["finalSummary"].startswith("Success on iteration 1. Validated by ")
    assert session["finalSummary"].endswith(f"Branch hansard/{session['id']}.")


def say(server: Server, repository: Path, prompt: str, reply: Json | str, origin: str) -> Json:
    body = message(prompt, {"assistant": [reply]}, workspace=str(repository), origin=origin)
    session_id = says(server.client, body)["sessionId"]

    def over() -> Json | None:
        view = session(server.client, session_id)
        return view if view["status"] == "done" and not view["outstandingTurns"] else None

    return until(over, what=f"the end of {session_id}")


def test_a_conversation_goes_on_from_its_last_result(server: Server, repository: Path) -> None:
    """The second message sees the files and text of the first; its branch has both."""
    first = say(server, repository, "Write the docs", WROTE, "memory")
    second = say(
        server, repository, "Now the README", {"text": "Wrote a README too.", "files": {"README": "x\n"}}, "memory"
    )
    assert second["result"]["base"] == {"branch": first["result"]["branch"], "commit": first["result"]["head"]}
    assert [file["path"] for file in second["result"]["files"]] == ["README"]
    assert git(repository, "show", f"{second['result']['branch']}:docs/api.md") == "# API"
    [prompt] = asked_of(server, second, "assistant")
    assert "Write the docs" in prompt and "Wrote the docs of the API." in prompt
    assert "Write the docs" not in asked_of(server, say(server, repository, "Hello", "Hi.", "other"), "assistant")[0]


def test_a_result_that_was_merged_is_not_gone_back_to(server: Server, repository: Path) -> None:
    first = say(server, repository, "Write the docs", WROTE, "merged")
    git(repository, "stash", "--quiet", "--include-untracked")
    git(repository, "merge", "--quiet", "--squash", first["result"]["branch"])
    git(repository, "commit", "--quiet", "-m", "Docs")
    second = say(server, repository, "More", {"text": "Wrote one more page.", "files": {"two": "2\n"}}, "merged")
    assert second["result"]["base"] == {"branch": "main", "commit": git(repository, "rev-parse", "main")}


def test_conversations_are_listed_and_shown(server: Server, repository: Path) -> None:
    result = say(server, repository, "What is this?", "A shop.", "talk")
    listed = server.client.get("/api/conversations").json()["items"]
    [item] = [item for item in listed if item["origin"] == "talk"]
    assert (item["messages"], item["waiting"], item["running"]) == (2, None, None)
    session = server.client.get("/api/conversations/talk").json()
    assert [(line["from"], line["text"]) for line in session["messages"]] == [
        ("person", "What is this?"),
        ("team", "A shop."),
    ]
    assert {line["sessionId"] for line in session["messages"]} == {result["id"]}
    assert (session["origin"], session["waiting"], session["running"], session["result"]) == ("talk", None, None, None)
    assert server.client.get("/api/conversations/nobody").status_code == 404


def test_a_landing_that_cannot_work_is_refused_at_once(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Fixed the sum.", "files": {"shop.py": FIXED}}]})
    done = ended(server.client, start(server.client, body | here(repository)))
    until(lambda: session(server.client, done["id"])["result"]["branch"] or None, what="the branch")
    path = f"/api/sessions/{done['id']}/land"

    def problem(onto: str | None) -> tuple[int, Json]:
        answer = server.client.post(path, json={"onto": onto})
        return answer.status_code, answer.json()

    for branch, code in (
        ("nowhere", "branch_not_found"),
        ("a..b", "branch_name_invalid"),
        ("-x", "branch_name_invalid"),
    ):
        status, answer = problem(branch)
        assert (status, [(error["pointer"], error["code"]) for error in answer["errors"]]) == (422, [("/onto", code)])
    moved = repository.with_name("moved")
    repository.rename(moved)
    try:
        status, answer = problem("main")
        assert (status, answer["code"]) == (409, "repository_gone"), answer
    finally:
        moved.rename(repository)
    version = session(server.client, done["id"])["version"]
    assert problem("main")[0] == 202 and version == done["version"]


def test_a_landing_is_listed_after_the_last_iteration(server: Server, repository: Path) -> None:
    body = delivery({"dev": [{"text": "Fixed the sum.", "files": {"shop.py": FIXED}}]})
    done = ended(server.client, start(server.client, body | here(repository)))
    until(lambda: session(server.client, done["id"])["result"]["branch"] or None, what="the branch")
    assert server.client.post(f"/api/sessions/{done['id']}/land", json={"onto": "main"}).status_code == 202
    until(lambda: server.client.get(f"/api/sessions/{done['id']}/turns").json()["items"][-1]["endedAt"], what="its end")
    for language, named, role in (
        ("en", "After the last iteration", "integrator"),
        ("ko", "마지막 반복 이후", "통합 담당"),
    ):
        html = page(server.client, f"/sessions/{done['id']}?tab=turns&lang={language}")
        *_, last = re.findall(r"<h3>(.*?)</h3>\s*<ul class=\"turn-list\">(.*?)</ul>", html, re.DOTALL)
        assert last[0] == named and role in last[1]


def test_what_changed_no_file_has_nothing_to_land(server: Server, repository: Path) -> None:
    body = delivery(workspace=str(repository), validationCommands=[["true"]])
    done = ended(server.client, start(server.client, body))
    assert (done["status"], done["result"]) == ("success", None)

    def refused() -> Json | None:
        answer = server.client.post(f"/api/sessions/{done['id']}/land", json={"onto": "main"})
        assert answer.status_code == 409, answer.text
        return answer.json() if answer.json()["code"] == "nothing_to_land" else None

    assert "changed no file" in until(refused, what="the refusal")["detail"]
