"""Events that an older version wrote are read as today's; what a newer one wrote is refused."""

import json
from typing import Any

import orjson
import pytest
from eventsourcing.persistence import StoredEvent

from adapters.store import mapper as entries
from adapters.store.mapper import upcast
from adapters.store.port import NewEvent
from domain.kinds import TOPICS
from domain.session.turns import TurnCancelled
from tests.adapters.stores_under_test import CAUSE

OLD = {"turn": "delivery-1.t1", "attempt": 1, "agent": "Ada", "role": "dev", "why": "enough"}


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    data["turnId"] = data.pop("turn")
    return data


def reasoned(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "why"} | {"reason": data["why"]}


STEPS = {"turn.cancelled": (renamed, reasoned)}


def row(data: dict[str, Any], version: int | None = None) -> StoredEvent:
    state = {"at": 1, "actor": "a", "command": "c", "correlation": "r", "causation": "s", "data": data}
    return StoredEvent(
        "delivery-1", 4, "turn.cancelled", orjson.dumps(state | ({} if version is None else {"v": version}))
    )


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if turn.cancelled had been changed twice."""
    monkeypatch.setattr(entries.upcast, "__defaults__", (STEPS,))
    monkeypatch.setattr(entries.version_of, "__defaults__", (STEPS,))


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    ("version", "data"),
    [
        (None, OLD),
        (1, OLD),
        (2, {**{k: v for k, v in OLD.items() if k != "turn"}, "turnId": "delivery-1.t1"}),
        (3, {"turnId": "delivery-1.t1", "attempt": 1, "agent": "Ada", "role": "dev", "reason": "enough"}),
    ],
)
def test_an_event_of_any_version_is_read_as_todays(version: int | None, data: dict[str, Any]) -> None:
    result = entries.decode(row(data, version), 9)
    assert result.event == TurnCancelled(turn_id="delivery-1.t1", attempt=1, agent="Ada", role="dev", reason="enough")
    assert (result.position, result.version) == (9, 4)


@pytest.mark.usefixtures("steps")
def test_a_new_event_says_its_version_and_is_not_changed_when_read() -> None:
    event = TurnCancelled(turn_id="delivery-1.t1", attempt=1, agent="Ada", role="dev", reason="enough")
    stored = entries.encode(NewEvent("delivery-1", 4, 1, CAUSE, event))
    assert json.loads(stored.state)["v"] == 3
    assert entries.decode(stored, 1).event == event


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("version", [4, 0, -1, "2", 1.5])
def test_a_version_that_is_not_known_is_refused(version: Any) -> None:
    """Not `Unknown`: the event exists, and so does its session."""
    with pytest.raises(entries.DamagedEvent, match=r"is there in version .+, this Hansard reads up to 3"):
        entries.decode(row(OLD, version), 1)


def test_a_step_does_not_modify_its_input() -> None:
    before = dict(OLD)
    upcast("turn.cancelled", 1, OLD, STEPS)
    assert before == OLD


def test_events_that_never_changed_carry_no_version() -> None:
    event = TurnCancelled(turn_id="delivery-1.t1", attempt=1, agent="Ada", role="dev", reason="enough")
    assert "v" not in json.loads(entries.encode(NewEvent("delivery-1", 4, 1, CAUSE, event)).state)


def test_steps_are_there_only_for_events_that_exist() -> None:
    assert set(entries.STEPS) <= set(TOPICS)
