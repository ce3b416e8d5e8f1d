"""Every preset of the start form, started over HTTP and run to its end."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from api.web.presets import PRESETS
from tests.api.server import Json, Server, events, only, serving, session, start, until
from tests.api.talks import decided, reached


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose budget minute lasts two seconds."""
    with serving(tmp_path_factory.mktemp("presets"), budget_minute=2.0, worker_slots=32) as result:
        yield result


@pytest.fixture(scope="module")
def started(server: Server) -> dict[str, str]:
    """Start all presets at once; return their ids."""
    return {name: start(server.client, preset.body) for name, preset in PRESETS.items()}


@pytest.fixture
def client(server: Server) -> httpx.Client:
    return server.client


def at_rest(client: httpx.Client, session_id: str) -> Json:
    """The session, once none of its turns is running."""

    def there() -> Json | None:
        view = session(client, session_id)
        busy = view["status"] in ("pending", "running", "active", "reviewing", "debating", "synthesizing")
        return None if busy else view

    return until(there, what=f"the rest of {session_id}")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_comes_to_where_it_says(client: httpx.Client, started: dict[str, str], name: str) -> None:
    session = at_rest(client, started[name])
    assert (session["kind"], session["status"]) == (PRESETS[name].kind, PRESETS[name].rests)
    assert session["labels"] == ["preset"] and session["title"].startswith("Preset: ")


@pytest.mark.parametrize(
    ("name", "status", "iteration", "reason", "verdicts"),
    [
        ("approved", "success", 1, None, ["approved"]),
        ("regression", "success", 2, None, ["blocking_detected", "approved"]),
        ("blocked", "failed", 3, "iterations", ["blocking_detected"] * 3),
        ("time", "failed", 1, "minutes", []),
        ("recovery", "success", 2, None, ["approved"]),
        ("legacy", "failed", 2, "iterations", ["blocking_detected"] * 2),
    ],
)
def test_the_deliveries_of_s4_end_as_they_are_named(
    client: httpx.Client, started: dict[str, str], name: str, status: str, iteration: int, reason: Any, verdicts: Any
) -> None:
    session = at_rest(client, started[name])
    messages = [event["type"].removeprefix("delivery.review_") for event in events(client, session["id"])]
    assert (session["status"], session["iteration"], session["budget"]["reason"]) == (status, iteration, reason)
    assert [word for word in messages if word in ("approved", "blocking_detected")] == verdicts


def test_the_validation_that_recovers_has_failed_once(client: httpx.Client, started: dict[str, str]) -> None:
    session = at_rest(client, started["recovery"])
    assert len(only(events(client, session["id"]), "delivery.validation_failed")) == 1


def test_the_legacy_field_is_the_limit_of_iterations(client: httpx.Client, started: dict[str, str]) -> None:
    session = at_rest(client, started["legacy"])
    assert "maxIterations" not in PRESETS["legacy"].body
    assert (session["maxAttempts"], session["budget"]["maxIterations"]) == (2, 2)


def test_a_checkpoint_is_continued_until_all_is_done(client: httpx.Client, started: dict[str, str]) -> None:
    session_id = at_rest(client, started["continue"])["id"]
    assert client.post(f"/api/sessions/{session_id}/continue", json={}).status_code == 200
    assert reached(client, session_id, "done", "partial", "checkpoint")["status"] == "done"


def test_a_checkpoint_is_reset(client: httpx.Client, started: dict[str, str]) -> None:
    session_id = at_rest(client, started["reset"])["id"]
    assert client.post(f"/api/sessions/{session_id}/reset", json={"reason": "seen"}).status_code == 200
    assert session(client, session_id)["status"] == "reset"


@pytest.mark.parametrize(
    ("name", "stop", "rounds", "choice"),
    [
        ("red-team", "limit", ["critique", "rebuttal", "critique"], "apply_fix"),
        ("perspectives", "limit", ["risk-analysis", "innovation-analysis", "cross-review"], "accept"),
        ("stalled", "stalled", ["challenge", "defense", "challenge"], "revise"),
    ],
)
def test_the_discussions_end_as_they_are_named(
    client: httpx.Client, started: dict[str, str], name: str, stop: str, rounds: list[str], choice: str
) -> None:
    view = at_rest(client, started[name])
    assert (view["stopReason"], [entry["role"] for entry in view["rounds"]]) == (stop, rounds)
    assert view["strategy"] == PRESETS[name].body["strategy"]
    decided(client, view["id"], choice)
    assert session(client, view["id"])["decision"]["choice"] == choice
