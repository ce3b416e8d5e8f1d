"""Nobody is there, as seen from outside: the budget's clock stands still for that time (contract-3 §23)."""

import os
import signal
import time
from pathlib import Path

from domain.values.base import milliseconds
from tests.api.server import Json, Server, delivery, ended, events, inside, only, reached, session, start, until

MINUTES = 3
"""Of a tenth of a second: less than nobody is there."""


def unattended(history: list[Json]) -> tuple[int, str]:
    """For how many milliseconds nobody was there, and why."""
    [event] = only(history, "session.unattended")
    return milliseconds(event["to"]) - milliseconds(event["from"]), str(event["why"])


def pass_by(seconds: float) -> None:
    """Time passes, whatever anybody does."""
    begun = time.monotonic()
    until(lambda: time.monotonic() - begun > seconds, what="the time")


def test_a_server_that_is_stopped_for_longer_than_the_lease_loses_no_budget(tmp_path: Path) -> None:
    server = Server(tmp_path, lease_seconds=2, heartbeat_seconds=0.5, budget_minute=1)
    server.start()
    try:
        late = {"planner": [{"text": "A plan.", "delayMs": 2_000}]}
        session_id = start(server.client, delivery(late, maxMinutes=4))
        before = session(server.client, session_id)["budget"]["deadlineAt"]
        reached(server.client, session_id, "turn.requested")
        os.kill(server.pid, signal.SIGSTOP)
        pass_by(5)
        os.kill(server.pid, signal.SIGCONT)
        reached(server.client, session_id, "session.unattended")
        moved = milliseconds(session(server.client, session_id)["budget"]["deadlineAt"]) - milliseconds(before)
        lost, why = unattended(events(server.client, session_id))
        assert why == "asleep"
        assert 4_000 < lost <= moved
        types = [each["type"] for each in events(server.client, session_id)]
        assert "turn.cancelled" not in types[: types.index("session.unattended")]
        page = server.client.get(f"/sessions/{session_id}?lang=en").text
        assert "the machine or its processes slept" in page
        text = server.client.get(f"/api/sessions/{session_id}/explain").json()["text"]
        assert "the machine or its processes slept" in text
    finally:
        server.leave()


def test_the_time_between_two_servers_uses_up_no_budget(tmp_path: Path) -> None:
    with inside(tmp_path, work=False, budget_minute=1) as client:
        session_id = start(client, delivery(maxMinutes=3))
        pass_by(4)
    with inside(tmp_path, budget_minute=30) as client:
        assert ended(client, session_id)["status"] == "success"
        history = events(client, session_id)
        assert unattended(history)[1] == "no_worker"
        assert [each["type"] for each in history if each["type"] != "delivery.phase_started"][2] == "session.unattended"
        worklog = client.get(f"/api/sessions/{session_id}/worklog", headers={"Accept-Language": "ko"}).text
        assert "작업할 프로세스가 없었음" in worklog
