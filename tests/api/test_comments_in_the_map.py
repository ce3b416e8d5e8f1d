"""Comments in the reviewer's map: those on lines of the base, and the looks that they sent back."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.seen import page
from tests.api.server import Json, delivery, ended, inside, start
from tests.api.test_baseline import repository
from tests.api.test_comment_answers import ADDED, RENAMED, all_events, comment, made, says
from tests.api.test_review_map import facts, map_of
from tests.api.test_revisions import revise
from tests.api.test_secrets_in_changes import TEAM

LEFT = "delivery.comments_unchanged"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


# -- looks -------------------------------------------------------------------------------------------------------------


def test_a_review_that_passes_over_comments_is_a_look(client: TestClient, tmp_path: Path) -> None:
    claims, declined = says({"id": "c2", "answer": "fixed"}), says({"id": "c2", "answer": "declined", "words": "No."})
    it = made(client, tmp_path, {"text": claims, "files": {"a.py": RENAMED}}, {"text": declined})
    comment(client, it, path="a.py", line=2)
    comment(client, it, path="a.py", line=7)
    revise(client, it, {"addIterations": 3})
    assert ended(client, it["id"])["status"] == "success"
    [left] = [each for each in all_events(client, it) if each["type"] == LEFT]
    assert left["data"]["phase"] == "review"
    reviews = [
        each["version"]
        for each in all_events(client, it)
        if each["type"] in (LEFT, "delivery.review_approved", "delivery.review_blocking_detected")
    ]
    answer = client.get(f"/api/sessions/{it['id']}/findings").json()
    assert [each["version"] for each in answer["rounds"]] == reviews and len(reviews) == 3
    after = [facts(item) for item in map_of(client, it["id"], version=left["version"])["items"]]
    before = [facts(item) for item in map_of(client, it["id"], version=left["version"] - 1)["items"]]
    assert any("changed_after_last_look" in each for each in before)
    assert after and not any("changed_after_last_look" in each for each in after)


def test_without_a_reviewer_comments_that_are_left_are_no_look(client: TestClient, tmp_path: Path) -> None:
    phases = ["implementation", "validation", "packaging"]
    it = made(client, tmp_path, {"text": says(), "files": {"a.py": ADDED}}, {"text": says()}, phases=phases)
    comment(client, it, path="a.py", line=7)
    revise(client, it, {"addIterations": 3})
    ended(client, it["id"])
    assert [each["data"]["phase"] for each in all_events(client, it) if each["type"] == LEFT][:1] == ["validation"]
    assert client.get(f"/api/sessions/{it['id']}/findings").json()["rounds"] == []


# -- lines of the base -------------------------------------------------------------------------------------------------


PROGRAM = r"""
import pathlib, sys
if sys.argv[1] != "dev":
    sys.exit(print("All good."))
rows = [f"row {number}\n" for number in range(1, 61)]
pathlib.Path("gone.txt").unlink()
added = [f"new {number}\n" for number in range(1, 31)]
pathlib.Path("down.txt").write_text("".join([*added, *rows[:29], *rows[31:]]))
pathlib.Path("was.txt").rename("is.txt")
pathlib.Path("is.txt").write_text("".join([*rows[:4], *rows[5:49], *rows[50:]]))
print("Done.")
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, str]]:
    """A result that deletes a file, removes rows 30 and 31 of another below thirty new lines, and renames a third
    without its rows 5 and 50."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "program.py").write_text(PROGRAM)
    words: dict[str, Any] = {"python": sys.executable, "program": folder / "program.py", "how": "-", "folder": folder}
    (folder / "team.toml").write_text(TEAM.format(**words).replace("env = {", "# env = {"))
    rows = "".join(f"row {number}\n" for number in range(1, 61))
    files = {"gone.txt": rows.replace("row", "old"), "down.txt": rows, "was.txt": rows}
    shop = repository(folder / "shop", **files)
    with inside(folder / "data", team=folder / "team.toml", sandbox="off") as client:
        body = delivery(workspace=str(shop))
        del body["scenario"]
        yield client, ended(client, start(client, body))["id"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"path": "gone.txt", "line": 7}, ("gone.txt", 7)),
        ({"path": "gone.txt", "line": 60}, ("gone.txt", 60)),
        ({"path": "down.txt", "line": 30}, ("down.txt", 30)),
        ({"path": "down.txt", "line": 31, "endLine": 33}, ("down.txt", 31)),
        ({"path": "was.txt", "line": 5}, ("is.txt", 5)),
        ({"path": "was.txt", "line": 50}, ("is.txt", 50)),
        ({"path": "is.txt", "line": 50}, ("is.txt", 50)),
    ],
)
def test_a_comment_on_the_base_ranks_what_removes_its_lines(
    work: tuple[TestClient, str], place: Json, expected: tuple[str, int]
) -> None:
    client, session_id = work
    with commented(work, **place, side="old") as first:
        path, line = expected
        removed = [each["old"] for each in first["lines"] if each["sign"] == "-"]
        assert first["path"] == path and line in removed
        by_risk = page(client, f"/sessions/{session_id}?tab=changes").partition('class="risks"')[2]
        ranked = [hunk for hunk in by_risk.split("<li>") if ">open or declined comment<" in hunk]
        assert len([hunk for hunk in ranked if f" {line}\n" in hunk and ">-" in hunk]) == 1, by_risk


def test_a_comment_on_a_line_of_the_base_that_no_hunk_shows_ranks_none(work: tuple[TestClient, str]) -> None:
    with commented(work, path="down.txt", line=12, side="old") as first:
        assert first is None


@contextmanager
def commented(work: tuple[TestClient, str], **body: Any) -> Iterator[Any]:
    """The only hunk that a comment ranks, as the first of all, or None; the comment is taken back afterwards."""
    client, session_id = work
    answer = client.post(f"/api/sessions/{session_id}/comments", json={"text": "Keep this.", **body})
    assert answer.status_code == 201, answer.text
    items = [item for item in map_of(client, session_id)["items"] if item["lines"]]
    ranked = [item for item in items if "comment" in facts(item)]
    try:
        assert ranked == items[: len(ranked)] and len(ranked) <= 1
        yield ranked[0] if ranked else None
    finally:
        name = answer.json()["commentId"]
        client.post(f"/api/sessions/{session_id}/comments/{name}", json={"status": "withdrawn"})
