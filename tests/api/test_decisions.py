"""GET /api/decisions: the inbox, from views that are never older than the last answer."""

from pathlib import Path

import pytest

from projections.views.inbox import DecisionPage
from tests.api.server import inside, session, start, system, until

REVIEW = {"kind": "review", "subject": "Step: a result", "maxRounds": 1, "scenario": {"replies": {}}}


def test_inbox_lists_a_session_until_it_is_decided(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        session_id = start(client, REVIEW)
        until(lambda: session(client, session_id)["status"] == "waiting_for_decision", what="the decision")
        page = client.get("/api/decisions")
        [result] = DecisionPage.model_validate_json(page.content).items
        assert (result.session_id, result.reason, result.choices) == (session_id, "decision", ("apply_fix", "skip"))
        listed = client.get("/api/sessions", params={"status": "waiting_for_decision"}).json()["items"]
        assert [item["waiting"] for item in listed] == ["decision"]
        answer = client.post(
            f"/api/sessions/{session_id}/decision",
            json={"decision": "skip"},
            headers={"If-Match": f'"{result.version}"'},
        )
        assert answer.status_code == 200, answer.text
        assert client.get("/api/decisions").json() == {"items": [], "nextCursor": None}


@pytest.mark.parametrize("query", ["limit=0", "cursor=x", "kind=review"])
def test_a_wrong_question_is_422(tmp_path: Path, query: str) -> None:
    with inside(tmp_path) as client:
        assert client.get(f"/api/decisions?{query}").status_code == 422


@pytest.mark.parametrize("endpoint", ["worklog", "budget", "artifacts"])
def test_a_sessions_record_is_read_from_the_log_and_waits_for_no_view(tmp_path: Path, endpoint: str) -> None:
    with inside(tmp_path, read_after_seconds=0.05) as client:
        system(client).follower.stop()
        session_id = start(client, REVIEW)
        assert client.get(f"/api/sessions/{session_id}/{endpoint}").status_code == 200
        assert client.get("/api/decisions").status_code == 503


def test_worklogs_are_kept_as_files_where_a_folder_is_set(tmp_path: Path) -> None:
    with inside(tmp_path, worklog_folder=tmp_path / "logs") as client:
        session_id = start(client, REVIEW)
        until(lambda: session(client, session_id)["status"] == "waiting_for_decision", what="the decision")
        expected = client.get(f"/api/sessions/{session_id}/worklog").text
        until(
            lambda: (
                (tmp_path / "logs" / "latest.md").exists()
                and (tmp_path / "logs" / "latest.md").read_text("utf-8") == expected
            ),
            what="the file",
        )
