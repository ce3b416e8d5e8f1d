"""A restart while a thousand turns run, are queued or wait for a provider: all go on at once (contract-2 §10)."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.api.server import Json, Server, delivery, events, only, serving, start, until

LATER = [{"error": "rate_limit", "retryAfter": 20_000}]
"""Waits for hours, and holds no slot."""
RUNNING = {"planner": [{"text": "A plan.", "delayMs": 1_000}], "architect": LATER}


def waiting(seconds: int) -> Json:
    return {"planner": [{"error": "overloaded", "retryAfter": seconds}, {"text": "A plan."}], "architect": LATER}


def planned(server: Server) -> int:
    """How many planners have answered."""
    found, after = 0, "0"
    while True:
        query = {"type": "turn.answered", "limit": "500", "after": after}
        page = server.client.get("/api/events", params=query).json()
        found += len(page["items"])
        if page["nextCursor"] is None:
            return found
        after = page["nextCursor"]


def restarted(folder: Path, count: int, *, slots: int, seconds: int) -> float:
    """Seconds from a ready server until every turn that ran, was queued or waited has been asked again and answered."""
    with serving(folder, worker_slots=slots, retry_seconds=1, budget_minute=86_400) as server:
        names = [start(server.client, delivery(waiting(seconds))) for _ in range(count // 2)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: start(server.client, delivery(RUNNING)), range(count // 2)))
        server.kill()
        time.sleep(seconds)  # every wait is over
        server.start()
        began, before = time.monotonic(), planned(server)
        assert before < count / 2, "some were lost with the server"
        until(lambda: planned(server) == count, what="every plan", seconds=60, pause=0.1)
        took = time.monotonic() - began
        assert [event["attempt"] for event in only(events(server.client, names[0]), "turn.attempt_failed")] == [1, 1]
        return took


def test_a_hundred_turns_go_on_after_a_restart(tmp_path: Path) -> None:
    restarted(tmp_path, 100, slots=32, seconds=4)


@pytest.mark.nightly
def test_a_thousand_turns_go_on_within_five_seconds_of_a_restart(tmp_path: Path) -> None:
    """Their agents take a second for an answer, and 256 of them work at a time: two of the seconds are theirs."""
    assert restarted(tmp_path, 1_000, slots=256, seconds=20) < 5
