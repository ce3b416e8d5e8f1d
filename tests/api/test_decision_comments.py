"""Remarks with a decision of a review join its feedback, as the person's (contract-3 §18)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.seen import BROWSER, review
from tests.api.server import Json, delivery, ended, events, inside, only, reached, session, start
from tests.api.test_baseline import repository
from tests.api.test_revisions import prompts
from tests.kit.replies import critique

REMARKS: list[Json] = [
    {"text": "Name <this>.", "path": "a.txt", "line": 1, "endLine": 2},
    {"text": "And a test."},
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def held(client: TestClient, tmp_path: Path) -> Json:
    """A delivery whose review waits for a person."""
    folder = repository(tmp_path / "shop", **{"a.txt": "first\nline\nlast\n"})
    replies = {"dev": [{"text": "Done.", "files": {"a.txt": f"{word}\nline\n"}} for word in ("second", "third")]}
    replies |= {"reviewer": [review()] * 3, "critic": [critique()] * 6, "coder": [critique()] * 6}
    body = delivery(replies, workspace=str(folder), validationCommands=["true"], review={"maxRounds": 2})
    made = start(client, body)
    [asked] = reached(client, made, "session.child_requested")
    reached(client, asked["childId"], "review.decision_requested")
    return session(client, made)


def decide(client: TestClient, made: Json, **body: object) -> Json:
    answer = client.post(f"/api/sessions/{made['id']}/decision", json={"decision": "apply_fix", **body})
    result: Json = {"status": answer.status_code, **answer.json()}
    return result


def test_remarks_reach_the_developer_as_the_persons(client: TestClient, tmp_path: Path) -> None:
    made = held(client, tmp_path)
    assert decide(client, made, rationale="Not yet.", comments=REMARKS)["status"] == 200
    reached(client, made["id"], "turn.answered", count=8)
    words = prompts(client, made, "dev")[1]
    assert "Not yet." in words and "a.txt:1-2: Name <this>." in words and "And a test." in words
    assert words.index("a.txt:1-2") < words.index("These are a person's words")
    child = session(client, only(events(client, made["id"]), "session.child_requested")[0]["childId"])
    assert [each["text"] for each in child["decision"]["comments"]] == ["Name <this>.", "And a test."]
    log = client.get(f"/api/sessions/{child['id']}/worklog").text
    assert "a.txt:1-2" in log and "And a test." in log
    page = client.get(f"/sessions/{child['id']}").text
    assert "<code>a.txt:1-2</code> Name &lt;this&gt;." in page and "And a test." in page


def test_what_is_wrong_with_a_remark_is_named_by_its_place(client: TestClient, tmp_path: Path) -> None:
    made = held(client, tmp_path)
    wrong: list[tuple[Json, str]] = [
        ({"text": " "}, "/comments/0/text"),
        ({"text": "a", "line": 1}, "/comments/0/line"),
        ({"text": "a", "path": "a.txt", "endLine": 1}, "/comments/0/endLine"),
        ({"text": "a", "path": "a.txt", "line": 2, "endLine": 1}, "/comments/0/endLine"),
        ({"text": "a", "by": "person:eve"}, "/comments/0/by"),
        ({"text": "a", "path": "b.txt"}, "/comments/0/path"),
        ({"text": "a", "path": "../a.txt"}, "/comments/0/path"),
        ({"text": "a", "path": "a.txt", "line": 4}, "/comments/0/line"),
        ({"text": "a", "path": "a.txt", "line": 1, "endLine": 4}, "/comments/0/endLine"),
    ]
    for comment, pointer in wrong:
        answer = decide(client, made, comments=[comment])
        assert (answer["status"], [each["pointer"] for each in answer["errors"]]) == (422, [pointer]), answer
    removed = {"text": "Why?", "path": "a.txt", "line": 3}
    assert decide(client, made, decision="skip", comments=[removed])["status"] == 200
    assert ended(client, made["id"])["status"] == "success"


PLACED = {"a.txt:1-2 Name <this>.": REMARKS[0], "a.txt:1 Why?": {"text": "Why?", "path": "a.txt", "line": 1}} | {
    "And a test.": REMARKS[1],
    "See http://localhost:80 for it.": {"text": "See http://localhost:80 for it."},
}


@pytest.mark.parametrize("where", ["/sessions/{}", "/decisions"])
def test_remarks_are_made_on_the_page_without_a_script(client: TestClient, tmp_path: Path, where: str) -> None:
    made = held(client, tmp_path)
    child = only(events(client, made["id"]), "session.child_requested")[0]["childId"]
    page = where.format(made["id"])
    assert f'name="comments" id="comments-{child}"' in client.get(page).text
    form = {"verb": "decision", "key": "c" * 32, "session": child, "decision": "apply_fix", "rationale": "Not yet."}
    form["version"] = str(session(client, child)["version"])
    wrong = form | {"comments": "a.txt:3-2 Backwards <b>."}
    refused = client.post(page, data=wrong, headers=BROWSER, follow_redirects=False)
    assert refused.status_code == 422 and "a.txt:3-2 Backwards &lt;b&gt;." in refused.text and "line 3" in refused.text
    answer = client.post(page, data=form | {"comments": "\n".join(PLACED)}, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    kept = session(client, child)["decision"]["comments"]
    assert [{name: value for name, value in each.items() if value is not None} for each in kept] == list(
        PLACED.values()
    )


def test_words_of_a_tab_from_before_the_session_went_on_are_kept(client: TestClient, tmp_path: Path) -> None:
    made = held(client, tmp_path)
    form = {"verb": "revise", "key": "d" * 32, "version": "1", "state": "success", "text": "Of a <b> tab."}
    page = f"/sessions/{made['id']}"
    answer = client.post(page, data=form, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 412 and "Of a &lt;b&gt; tab." in answer.text
    assert "revisions" not in session(client, made["id"])
    assert 'id="revising"' not in client.get(page).text
