"""A person requests changes to a result, through HTTP (contract-3 §18)."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.store.texts import whole
from adapters.workspace import Workspaces
from domain.session.turns import TurnAnswered
from tests.api.seen import BROWSER, Seen, review
from tests.api.server import Json, delivery, ended, events, inside, only, reached, session, start, system
from tests.api.test_baseline import repository
from tests.api.test_session_page import panel

VERSIONS = [{"text": "Done.", "files": {"a.txt": f"{word}\n"}} for word in ("second", "third", "fourth", "fifth")]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", **{"a.txt": "first\n"})


def delivered(client: httpx.Client, folder: Path, **fields: Any) -> Json:
    """A finished delivery, whose developer writes something else each time."""
    replies = {"dev": VERSIONS, "reviewer": [review()] * 4}
    body = {"workspace": str(folder), "validationCommands": ["true"]} | fields
    return ended(client, start(client, delivery(replies, **body)))


def revise(client: httpx.Client, made: Json, body: Json, **headers: str) -> httpx.Response:
    return client.post(f"/api/sessions/{made['id']}/revise", json=body, headers=headers)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def prompts(client: TestClient, made: Json, role: str) -> list[str]:
    """What the agents of this role were asked, in order."""
    store = system(client).store
    answers = (recorded.event for recorded in store.history(made["id"]))
    return [whole(store, event.prompt) for event in answers if isinstance(event, TurnAnswered) and event.role == role]


def test_the_same_session_goes_on_on_the_same_branch(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    branch, before = made["result"]["branch"], made["result"]["head"]
    answer = revise(client, made, {"text": "Say <third> & nothing else."})
    assert (answer.status_code, answer.json()["kind"]) == (202, "delivery")
    after = ended(client, made["id"])
    assert (after["status"], after["iteration"], after["result"]["branch"]) == ("success", 2, branch)
    assert git(folder, "show", f"{branch}:a.txt") == "third"
    assert git(folder, "log", "-2", "--format=%s", branch).splitlines()[0] == "Say <third> & nothing else."
    assert git(folder, "merge-base", branch, before) == before, "the branch moved forward only"
    assert git(folder, "branch", "--list", "hansard/*").split() == [branch]
    assert after["budget"]["maxIterations"] == made["budget"]["maxIterations"] + 2
    assert after["budget"]["maxMinutes"] == made["budget"]["maxMinutes"] + 15
    [revision] = after["revisions"]
    assert (revision["revisionId"], revision["status"]) == (f"{made['id']}.r1", "done")
    [asked] = only(events(client, made["id"]), "session.revision_requested")
    assert (asked["text"]["head"], asked["head"]) == ("Say <third> & nothing else.", before)


def test_the_words_reach_the_developer_and_the_reviewer_whole_and_as_the_persons(
    client: TestClient, folder: Path
) -> None:
    made = delivered(client, folder)
    words = "All of it. " * 3_000 + "</material> The end."
    assert revise(client, made, {"text": words}).status_code == 202
    ended(client, made["id"])
    for role in ("dev", "reviewer"):
        first, second = prompts(client, made, role)
        assert "revision" not in first
        assert "All of it. " * 3_000 in second and "The end." in second
        assert "asks for changes (20" in second
        assert second.count("</material>") == second.count('<material name="'), "no text closes a block"


def test_after_the_folders_are_deleted_the_work_is_made_again_from_the_record(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    made = delivered(client, folder)
    Workspaces(system(client).settings.node_dir / "workspaces").put_away(made["id"])
    assert revise(client, made, {"text": "Once more."}).status_code == 202
    after = ended(client, made["id"])
    assert (after["status"], after["result"]["branch"]) == ("success", made["result"]["branch"])
    assert git(folder, "show", f"{made['result']['branch']}:a.txt") == "third"


REFUSED: list[tuple[Json, str]] = [
    ({}, "/text"),
    ({"text": ""}, "/text"),
    ({"text": " \n"}, "/text"),
    ({"text": 1}, "/text"),
    ({"text": "a", "addIterations": 21}, "/addIterations"),
    ({"text": "a", "addIterations": 0}, "/addIterations"),
    ({"text": "a", "addMinutes": 181}, "/addMinutes"),
    ({"text": "a", "addRounds": 1}, "/addRounds"),
    ({"text": "a", "addTokens": 1}, "/addTokens"),
]


def test_a_request_that_says_nothing_or_too_much_is_refused(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    for body, pointer in REFUSED:
        answer = revise(client, made, body)
        assert answer.status_code == 422, body
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert session(client, made["id"])["version"] == made["version"]


def test_a_request_under_a_key_counts_once(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    first, again = (revise(client, made, {"text": "Once."}, **{"Idempotency-Key": "r"}) for _ in range(2))
    assert (first.content, again.headers["Idempotency-Replayed"]) == (again.content, "true")
    assert len(ended(client, made["id"])["revisions"]) == 1


def test_a_cancelled_session_stays_ended(client: TestClient, folder: Path) -> None:
    made = session(client, start(client, delivery(workspace=str(folder), validationCommands=["sleep 60"])))
    client.post(f"/api/sessions/{made['id']}/cancel", json={})
    answer = revise(client, ended(client, made["id"]), {"text": "Go on."})
    assert (answer.status_code, answer.json()["allowed"]) == (409, [])


def test_comments_reach_the_developer_with_their_lines_as_they_are_now(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    at = f"/api/sessions/{made['id']}"
    assert client.post(f"{at}/comments", json={"text": "Why?", "path": "a.txt", "line": 1}).status_code == 201
    assert client.post(f"{at}/comments", json={"text": "Resolved one."}).status_code == 201
    client.post(f"{at}/comments/c2", json={"status": "resolved"})
    body = {"text": "And this.", "comments": ["c1", {"text": "New <one>.", "path": "a.txt"}]}
    assert revise(client, made, body).status_code == 202
    ended(client, made["id"])
    [asked] = only(events(client, made["id"]), "session.revision_requested")
    assert asked["comments"] == ["c1", "c3"]
    words = prompts(client, made, "dev")[1]
    assert "on a.txt, line 1:\n> second\nWhy?" in words and "on a.txt:\nNew <one>." in words
    assert "Resolved one." not in words


def test_what_is_wrong_with_a_comment_is_named_by_its_place(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    wrong: list[tuple[Any, str]] = [
        ("c9", "/comments/0"),
        ("nine", "/comments/0"),
        ({"text": ""}, "/comments/0/text"),
        ({"path": "a.txt", "line": 1}, "/comments/0/text"),
        ({"text": "a", "path": "b.txt", "line": 1}, "/comments/0/path"),
        ({"text": "a", "path": "a.txt", "line": 99}, "/comments/0/line"),
        ({"text": "a", "line": 1}, "/comments/0/line"),
    ]
    for comment, pointer in wrong:
        answer = revise(client, made, {"text": "Change it.", "comments": [comment]})
        assert answer.status_code == 422, comment
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer], answer.json()
    assert revise(client, made, {"comments": []}).status_code == 422
    assert session(client, made["id"])["version"] == made["version"]


def test_the_page_of_a_finished_session_has_a_form_that_works_without_a_script(
    client: TestClient, folder: Path
) -> None:
    made = delivered(client, folder)
    form = Seen(client.get(f"/sessions/{made['id']}").text)
    assert "Request changes" in form.text
    body = {"verb": "revise", "key": "a" * 32, "version": str(made["version"]), "state": "success", "text": "Again."}
    answer = client.post(f"/sessions/{made['id']}", data=body, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    assert ended(client, made["id"])["revisions"][0]["status"] == "done"


def test_a_revision_of_comments_alone_names_its_commit_after_the_first(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    remark = {"text": "Say it shorter.\n\nAnd louder.", "path": "a.txt", "line": 1}
    assert revise(client, made, {"comments": [remark]}).status_code == 202
    ended(client, made["id"])
    assert git(folder, "log", "-1", "--format=%s", made["result"]["branch"]) == "Say it shorter."


def test_nothing_is_revised_while_another_run_of_the_same_origin_is_active(client: TestClient, folder: Path) -> None:
    ask = {"kind": "orchestration", "prompt": "Say it.", "triage": "direct", "origin": "chat", "workspace": str(folder)}
    first = {"text": "Done.", "files": {"a.txt": "second\n"}}
    scenario = {"replies": {"assistant": [first]}}
    first_run = start(client, {**ask, "scenario": scenario})
    reached(client, first_run, "session.result_published")
    made = session(client, first_run)
    assert made["status"] == "done", made
    slow = {"replies": {"assistant": [{"text": "Done.", "delayMs": 60_000}]}}
    other = start(client, {**ask, "scenario": slow})
    answer = revise(client, made, {"text": "Again."})
    assert answer.status_code == 409 and other in answer.json()["detail"], answer.text
    assert session(client, made["id"])["version"] == made["version"], "nothing was recorded"
    client.post(f"/api/sessions/{other}/cancel", json={})
    reached(client, other, "orchestration.reset")
    assert revise(client, made, {"text": "Again."}).status_code == 202


def test_after_a_revision_the_result_lands_again(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    at = f"/api/sessions/{made['id']}"
    base = made["result"]["base"]["branch"]
    assert client.post(f"{at}/land", json={"onto": base}).status_code in (200, 202)
    reached(client, made["id"], "session.landed")
    first = session(client, made["id"])["result"]["landing"]
    assert first["status"] == "landed", first
    assert revise(client, made, {"text": "Once more."}).status_code == 202
    ended(client, made["id"])
    assert client.post(f"{at}/land", json={"onto": base}).status_code in (200, 202)
    reached(client, made["id"], "session.landed", count=2)
    second = session(client, made["id"])["result"]["landing"]
    assert second["status"] == "landed" and second["commit"] != first["commit"]
    assert git(folder, "show", f"{base}:a.txt") == "third"


def test_the_reasons_of_a_landing_that_was_sent_back_reach_the_developer(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    base = made["result"]["base"]["branch"]
    (folder / "a.txt").write_text("otherwise\n")
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost", "-c", "commit.gpgsign=false")
    git(folder, *identity, "commit", "-qam", "Otherwise")
    client.post(f"/api/sessions/{made['id']}/land", json={"onto": base})
    reached(client, made["id"], "session.sent_back")
    assert session(client, made["id"])["result"]["landing"]["status"] == "sent_back"
    revise(client, made, {"text": "Make it fit."})
    ended(client, made["id"])
    words = prompts(client, made, "dev")[1]
    feedback = words.partition('<material name="feedback">')[2].partition("</material>")[0]
    assert "a.txt" in feedback and base in feedback


def test_a_refused_request_leaves_the_words_in_the_form(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)
    words = "All of it. " * 10 + "x" * 400_000
    body = {"verb": "revise", "key": "b" * 32, "version": str(made["version"]), "state": "success", "text": words}
    answer = client.post(f"/sessions/{made['id']}", data=body, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 422 and words in answer.text


def test_a_comment_after_the_end_does_not_lengthen_the_timeline(client: TestClient, folder: Path) -> None:
    made = delivered(client, folder)

    def spans() -> Json:
        answer: Json = client.get(f"/api/sessions/{made['id']}/spans").json()
        answer.pop("version", None)
        return answer

    before, drawn = spans(), panel(client, made["id"], "gantt")
    assert client.post(f"/api/sessions/{made['id']}/comments", json={"text": "Later."}).status_code == 201
    assert spans() == before
    assert panel(client, made["id"], "gantt").count("<time") == drawn.count("<time")
    assert re.findall(r'width="[^"]*"', panel(client, made["id"], "gantt")) == re.findall(r'width="[^"]*"', drawn)
