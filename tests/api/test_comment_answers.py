"""Agents' answers to comments over HTTP: what they are asked, and what is compared with what they changed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from tests.api.seen import page, review
from tests.api.server import Json, delivery, ended, events, inside, only, start
from tests.api.test_baseline import repository
from tests.api.test_revisions import prompts, revise

SHOP = (
    "def total(prices):\n    amount = sum(prices)\n    return amount\n\n\ndef mean(prices):\n    return total(prices)\n"
)
RENAMED = SHOP.replace("    amount = sum(prices)\n    return amount", "    in_cents = sum(prices)\n    return in_cents")
ADDED = '"""A shop."""\n\n' + SHOP


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def says(*answers: Json) -> str:
    return f"Done.\n```json\n{json.dumps({'comments': answers})}\n```"


def made(client: httpx.Client, tmp_path: Path, *replies: Json, **fields: Any) -> Json:
    """A finished delivery, whose developer says this when a person wants something changed."""
    folder = repository(tmp_path / "shop", **{"a.py": "\n"})
    first = {"text": "Done.", "files": {"a.py": SHOP}}
    script = {"dev": [first, *replies], "reviewer": [review()] * 6}
    body = {"workspace": str(folder), "validationCommands": ["true"]} | fields
    return ended(client, start(client, delivery(script, **body)))


def comment(client: httpx.Client, it: Json, **body: Any) -> str:
    answer = client.post(f"/api/sessions/{it['id']}/comments", json={"text": "Say the unit.", **body})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["commentId"])


def comments(client: httpx.Client, it: Json) -> list[Json]:
    items: list[Json] = client.get(f"/api/sessions/{it['id']}/comments").json()["items"]
    return items


def test_a_script_answers_what_it_cannot_know(client: TestClient, tmp_path: Path) -> None:
    it = made(client, tmp_path, {"text": "Done.", "files": {"a.py": RENAMED}})
    comment(client, it, path="a.py", line=2)
    comment(client, it, path="a.py", line=7)
    revise(client, it, {})
    assert ended(client, it["id"])["status"] == "success"
    assert [each["status"] for each in comments(client, it)] == ["fixed", "answered"], "the lines of the first changed"
    html = page(client, f"/sessions/{it['id']}?tab=changes", **{"accept-language": "ko"})
    assert "이 에이전트는 각본을 따르므로 코멘트를 알지 못합니다." in html


def test_lines_that_changed_without_a_word_are_fixed(client: TestClient, tmp_path: Path) -> None:
    it = made(client, tmp_path, {"text": says(), "files": {"a.py": RENAMED}}, {"text": "Done."})
    comment(client, it, path="a.py", line=2)
    comment(client, it, path="a.py", line=7)
    comment(client, it, path="a.py")
    revise(client, it, {})
    ended(client, it["id"])
    answers = [[answer["answer"] for answer in each["answers"]] for each in comments(client, it)]
    assert answers == [["fixed"], ["unchanged", "answered"], ["fixed"]]


def test_fixed_is_compared_with_what_changed(client: TestClient, tmp_path: Path) -> None:
    claims = says(*({"id": f"c{n}", "answer": "fixed"} for n in (1, 2)))
    declined = says({"id": "c2", "answer": "declined", "words": "A mean needs it."})
    it = made(client, tmp_path, {"text": claims, "files": {"a.py": RENAMED}}, {"text": declined})
    comment(client, it, path="a.py", line=2)
    comment(client, it, path="a.py", line=7)
    assert revise(client, it, {"addIterations": 3}).status_code == 202
    after = ended(client, it["id"])
    assert (after["status"], after["iteration"]) == ("success", 3)
    assert "delivery.comments_unchanged" in [each["type"] for each in all_events(client, it)]
    first, second = comments(client, it)
    assert (first["status"], first["outdated"]) == ("fixed", True)
    assert [each["answer"] for each in second["answers"]] == ["unchanged", "declined"]
    assert second["answers"][-1]["words"] == "A mean needs it."
    developer, reviewer = prompts(client, it, "dev"), prompts(client, it, "reviewer")
    assert '"answer": "fixed"' in developer[1] and '"answer": "fixed"' not in developer[0]
    assert "Not dealt with so far." in developer[2] and "no agent has said a word" in developer[2]
    assert "declined. A mean needs it." in reviewer[2] and "whose `id` is the id of the comment" in reviewer[2]


def all_events(client: httpx.Client, it: Json) -> list[Json]:
    items: list[Json] = client.get(f"/api/sessions/{it['id']}/events", params={"limit": 500}).json()["items"]
    return items


def test_lines_that_only_moved_down_have_not_changed(client: TestClient, tmp_path: Path) -> None:
    claims = says({"id": "c1", "answer": "fixed"})
    declined = says({"id": "c1", "answer": "answered", "words": "Yes."})
    it = made(client, tmp_path, {"text": claims, "files": {"a.py": ADDED}}, {"text": declined})
    comment(client, it, path="a.py", line=2)
    revise(client, it, {"addIterations": 3})
    ended(client, it["id"])
    [only_one] = comments(client, it)
    assert [each["answer"] for each in only_one["answers"]] == ["unchanged", "answered"]


def test_a_path_that_the_answer_names_counts(client: TestClient, tmp_path: Path) -> None:
    claims = says({"id": "c1", "answer": "fixed", "words": "In the docs.", "changed": ["docs.md"]})
    it = made(client, tmp_path, {"text": claims, "files": {"docs.md": "In cents.\n"}})
    comment(client, it, path="a.py", line=2)
    revise(client, it, {})
    ended(client, it["id"])
    [only_one] = comments(client, it)
    assert (only_one["status"], only_one["answers"][0]["changed"]) == ("fixed", ["docs.md"])
    [event] = only(events(client, it["id"]), "session.comment_answered")
    assert (event["commentId"], event["changed"]) == ("c1", ["docs.md"])


def test_a_malformed_answer_is_asked_for_once_more(client: TestClient, tmp_path: Path) -> None:
    unknown = says({"id": "c7", "answer": "fixed"})
    good = says({"id": "c1", "answer": "fixed"})
    it = made(client, tmp_path, {"text": unknown}, {"text": good, "files": {"a.py": RENAMED}})
    comment(client, it, path="a.py", line=2)
    revise(client, it, {})
    ended(client, it["id"])
    assert [each["status"] for each in comments(client, it)] == ["fixed"]
    assert "'c7'" in prompts(client, it, "dev")[1]


def test_answers_are_shown_as_the_agents(client: TestClient, tmp_path: Path) -> None:
    declined = says({"id": "c1", "answer": "declined", "words": "The <unit> is in the name."})
    it = made(client, tmp_path, {"text": declined})
    comment(client, it, path="a.py", line=2)
    revise(client, it, {})
    assert ended(client, it["id"])["status"] == "success"
    html = page(client, f"/sessions/{it['id']}?tab=changes")
    assert "<b>declined</b> The &lt;unit&gt; is in the name." in html
    assert "<b>거절</b>" in page(client, f"/sessions/{it['id']}?tab=changes", **{"Accept-Language": "ko"})
    address = f"/api/sessions/{it['id']}/worklog"
    english, korean = (client.get(address, headers={"Accept-Language": each}).text for each in ("en", "ko"))
    assert "Declined (" in english and "받아들이지 않음 (" in korean
