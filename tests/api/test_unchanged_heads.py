"""However work ends that has changed no file: the page says so before anything else, once, and in both languages; so
does the summary (contract-3 §17)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from projections.record.status import outcome
from tests.api.orchestrating import orchestration
from tests.api.seen import Seen, page, review
from tests.api.server import Json, delivery, inside, session, start, until
from tests.api.test_baseline import repository
from tests.api.test_session_page import panel, words_of
from tests.kit.replies import plan, subtask, verdicts

SAYS = {"en": "Nothing was changed.", "ko": "바뀐 것이 없습니다."}
WROTE = {"text": "Wrote it.", "files": {"src/login.py": "x = 1\n"}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off", retry_seconds=0.001) as opened:
        yield opened


def delivers(dev: Any = "Done.", *, reviewer: str | None = None, **fields: Any) -> Json:
    return delivery({"dev": [dev], "reviewer": [reviewer or review()]}, **fields)


def orchestrates(backend: Any = "Done.", *, passes: bool = False, checkpoint: bool = False) -> Json:
    task = subtask("Backend", start_phase=3, end_phase=3, checkpoint=checkpoint)
    replies = {"planner": [plan(task)], "Backend": [backend] * 9, "judge": [verdicts(Backend=passes)]}
    return orchestration(replies, maxRounds=1)


ENDS: dict[str, tuple[str, Json]] = {
    "success": ("success", delivers()),
    "iterations": ("failed", delivers(validationCommands=["false"], maxIterations=1)),
    "unreadable": ("failed", delivers(reviewer="I like it.")),
    "crash": ("failed", delivery({"dev": [{"error": "crash"}] * 9})),
    "no progress": ("failed", delivery({"dev": ["Done."] * 9}, validationCommands=["false"], noProgressLimit=2)),
    "done": ("done", orchestrates(passes=True)),
    "checkpoint": ("checkpoint", orchestrates(passes=True, checkpoint=True)),
    "rounds": ("partial", orchestrates()),
    "agent failed": ("partial", orchestrates({"error": "crash"})),
}
CHANGED: dict[str, tuple[str, Json]] = {
    "iterations": ("failed", delivers(WROTE, validationCommands=["false"], maxIterations=1)),
    "unreadable": ("failed", delivers(WROTE, reviewer="I like it.")),
    "rounds": ("partial", orchestrates(WROTE)),
}
BEFORE_WORK: dict[str, tuple[str, Json]] = {
    "delivery": ("failed", delivery({"planner": [{"error": "crash"}] * 9})),
    "orchestration": ("partial", orchestration({"planner": ["no plan"] * 9})),
}


def ended(client: TestClient, folder: Path, status: str, body: Json) -> Json:
    session_id = start(client, body | {"workspace": str(repository(folder, a=""))})
    until(lambda: session(client, session_id)["status"] == status, what=status)
    return session(client, session_id)


def cancelled(client: TestClient, folder: Path, dev: Any, *, has_git: bool = True) -> Json:
    """A delivery that is cancelled while its second iteration is at work."""
    body = delivery({"dev": [dev, {"text": "Later.", "delayMs": 60_000}]}, validationCommands=["false"])
    place = repository(folder, a="") if has_git else folder
    place.mkdir(exist_ok=True)
    session_id = start(client, body | {"workspace": str(place)})
    until(lambda: session(client, session_id)["iteration"] == 2, what="the second iteration")
    assert client.post(f"/api/sessions/{session_id}/cancel", json={"reason": "Wrong task."}).status_code < 300
    return session(client, session_id)


def row_of(client: TestClient, session_id: str, language: str) -> str:
    """What the row of a session on home says."""
    [*_, last] = client.get(f"/api/sessions/{session_id}/events").json()["items"]
    client.get("/api/sessions", headers={"Read-After": str(last["position"])}).raise_for_status()
    html = page(client, "/", **{"accept-language": language})
    [row] = [part for part in html.split("<li ")[1:] if session_id in part.partition("</li>")[0]]
    return Seen(f"<li {row.partition('</li>')[0]}").text


def heads(client: TestClient, view: Json) -> dict[str, list[str]]:
    """What the page and the summary say, by language."""
    return {
        language: [words_of(panel(client, view["id"], "head", lang=language)), outcome(view, language)]
        for language in ("en", "ko")
    }


@pytest.mark.parametrize("end", ENDS)
def test_where_no_file_was_changed_that_is_said_first_and_once(client: TestClient, tmp_path: Path, end: str) -> None:
    view = ended(client, tmp_path / "shop", *ENDS[end])
    for language, texts in heads(client, view).items():
        for text in texts:
            assert text.startswith(SAYS[language]) and text.count(SAYS[language]) == 1, text


def test_cancelled_work_says_that_it_changed_nothing(client: TestClient, tmp_path: Path) -> None:
    view = cancelled(client, tmp_path / "shop", "Done.")
    for language, (head, summary) in heads(client, view).items():
        for text in (head, summary):
            assert text.startswith(SAYS[language]) and text.count(SAYS[language]) == 1, text


def test_cancelled_work_with_changes_does_not_say_it(client: TestClient, tmp_path: Path) -> None:
    view = cancelled(client, tmp_path / "shop", WROTE)
    assert SAYS["en"] not in " ".join(heads(client, view)["en"]) + row_of(client, view["id"], "en")


def test_a_folder_without_git_may_have_changes_that_nobody_recorded(client: TestClient, tmp_path: Path) -> None:
    view = cancelled(client, tmp_path / "bare", "Done.", has_git=False)
    assert view["inPlace"] is True
    assert SAYS["en"] not in " ".join(heads(client, view)["en"]) + row_of(client, view["id"], "en")


@pytest.mark.parametrize("end", ["success", "iterations", "crash", "done", "rounds", "cancelled"])
def test_the_row_of_home_says_once_that_nothing_was_changed(client: TestClient, tmp_path: Path, end: str) -> None:
    shop = tmp_path / "shop"
    view = cancelled(client, shop, "Done.") if end == "cancelled" else ended(client, shop, *ENDS[end])
    for language, words in SAYS.items():
        assert row_of(client, view["id"], language).count(words) == 1


@pytest.mark.parametrize("end", CHANGED)
def test_where_a_file_was_changed_it_is_not_said(client: TestClient, tmp_path: Path, end: str) -> None:
    view = ended(client, tmp_path / "shop", *CHANGED[end])
    assert not [text for said in heads(client, view).values() for text in said if text.startswith(tuple(SAYS.values()))]


@pytest.mark.parametrize("kind", BEFORE_WORK)
def test_where_no_work_had_begun_it_is_not_said(client: TestClient, tmp_path: Path, kind: str) -> None:
    view = ended(client, tmp_path / "shop", *BEFORE_WORK[kind])
    assert not [text for said in heads(client, view).values() for text in said if text.startswith(tuple(SAYS.values()))]
