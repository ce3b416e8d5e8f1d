"""The page in Korean and English, from one catalogue."""

import re
from importlib.resources import files

from starlette.testclient import TestClient

from domain.values.words import catalogue
from tests.api.scenes import exhausted, failed, two_iterations
from tests.api.seen import BROWSER, Seen, finished, page


def test_every_message_is_used_and_every_message_used_exists() -> None:
    templates = [
        place.read_text("utf-8")
        for place in (files("api.web") / "templates").iterdir()
        if place.name.endswith(".html") and "say" in place.read_text("utf-8")
    ]
    named_elsewhere = {
        "decided_meanwhile",
        "head_files",
        "head_flaky",
        "head_stale",
        "head_not_cloned",
        "head_red",
        "head_not_validated",
        "outside_files",
        "login_used",
        "login_wrong",
        "next_take_how",
        "chat_unclear",
        "compare_strip",
        "fork_at_the_end",
        "fork_before_answer",
        "fork_before_decision",
        "fork_costs",
        "fork_turns",
        "recent",
        "first",
        "previous",
        "next",
        "last",
        "session_strip",
        "reports_not_told",
        "reports_no_money",
        "reports_over_time",
        "reports_under_way",
    }
    used = set(re.findall(r'say(?:\.fill)?\("(\w+)"', "\n".join(templates))) | named_elsewhere
    assert used == {key for key in catalogue("api.web") if "." not in key}


def test_a_page_speaks_korean_or_english(client: TestClient) -> None:
    session_id = finished(client, task="Add a login page")
    english = page(client, f"/sessions/{session_id}")
    korean = page(client, f"/sessions/{session_id}", **{"Accept-Language": "ko-KR,ko;q=0.9"})
    assert '<html lang="en">' in english and "Worklog" in english and "Success" in english
    assert '<html lang="ko">' in korean and "작업 로그" in korean and "성공" in korean
    assert "Artifacts" not in Seen(korean).text


def test_a_language_that_was_asked_for_stays(client: TestClient) -> None:
    session_id = finished(client)
    html = page(client, "/?lang=ko", **{"Accept-Language": "en"})
    assert '<html lang="ko">' in html
    assert f'href="/sessions/{session_id}?lang=ko"' in html
    assert '<input type="hidden" name="lang" value="ko">' in html
    assert 'href="/?lang=en"' in html
    assert client.get("/", headers=BROWSER).headers["vary"].startswith("Accept-Language, Accept")


OURS = (
    "Validation passed",
    "Validation failed",
    "ended with exit code",
    "The reply holds no",
    "preparing",
    "unreadable",
)
"""Beginnings of sentences that Hansard records in English."""


def test_the_korean_turns_have_no_english_sentence_of_ours(client: TestClient) -> None:
    sessions = (two_iterations(client, "Words of an agent"), exhausted(client), failed(client))
    for session_id in sessions:
        turns = client.get(f"/api/sessions/{session_id}/turns").json()["items"]
        for turn in turns:
            html = page(client, f"/sessions/{session_id}/turns/{turn['turnId']}?lang=ko")
            text = Seen(re.sub('<details id="part-.*?</details>', "", html, flags=re.DOTALL)).text  # as requested
            assert [words for words in OURS if words in text] == []
    page_text = Seen(page(client, f"/sessions/{sessions[0]}?tab=turns&lang=ko")).text
    assert "통과한 명령: 1" in " ".join(page_text.split())
    assert "Words of an agent" in page_text
    assert "`false` 종료 코드 1" in Seen(page(client, f"/sessions/{sessions[1]}?lang=ko")).text
    assert "답변에" in Seen(page(client, f"/sessions/{sessions[2]}?lang=ko")).text
