"""Exit codes (contract §6) for outcomes, API problems and errors of the domain and adapters."""

import pytest

from api.cli import complaint, exits
from domain.values.base import HansardError, Invalid, Refused, Stale, Unknown


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ({"status": "success"}, 0),
        ({"status": "done"}, 0),
        ({"status": "decided"}, 0),
        ({"status": "failed", "finalSummary": "Phase review failed: no"}, 1),
        ({"status": "cancelled"}, 1),
        ({"status": "reset"}, 1),
        ({"status": "waiting_for_decision"}, 6),
        ({"status": "checkpoint"}, 6),
        ({"status": "failed", "finalSummary": "failed_budget_exhausted"}, 7),
        ({"status": "partial", "reason": "rounds"}, 7),
        ({"status": "partial", "reason": "plan_invalid"}, 1),
        ({"status": "partial", "reason": "agent_failed"}, 1),
    ],
)
def test_the_outcome_of_a_session_is_its_exit_code(session: dict[str, str], code: int) -> None:
    assert exits.rests(session)
    assert exits.of_outcome(session) == code


@pytest.mark.parametrize("status", ["pending", "running", "active", "reviewing", "debating", "synthesizing"])
def test_a_session_that_is_under_way_does_not_rest(status: str) -> None:
    assert not exits.rests({"status": status})


WAITS, TALKS, DECIDED = {"status": "waiting_for_decision"}, {"status": "reviewing"}, {"status": "decided"}


@pytest.mark.parametrize(
    ("session", "children", "waits"),
    [
        ({"status": "active"}, [WAITS], True),
        ({"status": "running"}, [DECIDED, WAITS], True),
        ({"status": "active"}, [WAITS, TALKS], False),
        ({"status": "active"}, [DECIDED], False),
        ({"status": "active"}, [], False),
        ({"status": "active", "outstandingTurns": [{}]}, [WAITS], False),
        ({"status": "done"}, [WAITS], False),
    ],
)
def test_a_session_waits_for_a_person_through_its_discussions(
    session: dict[str, object], children: list[dict[str, object]], waits: bool
) -> None:
    assert exits.waits_below(session, children) is waits


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, 2),
        (401, 5),
        (403, 5),
        (404, 3),
        (409, 4),
        (412, 4),
        (413, 2),
        (415, 2),
        (421, 5),
        (422, 2),
        (429, 1),
        (500, 1),
        (503, 1),
        (307, 1),
    ],
)
def test_problems_of_the_api_become_exit_codes(status: int, code: int) -> None:
    assert exits.of_http(status) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unknown("no"), 3),
        (Refused("no"), 4),
        (Stale(expected=1, actual=2), 4),
        (Invalid({"/task": "no"}), 2),
        (HansardError("no"), 1),
    ],
)
def test_errors_of_the_inner_rooms_become_exit_codes(error: HansardError, code: int) -> None:
    assert complaint.of_error(error) == code
