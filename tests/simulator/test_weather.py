"""Sessions under bad weather end as they do in good weather (contract-2 §10)."""

import pytest

from tests.simulator.weather import CALM, Weather
from tests.simulator.world import World


def world(seed: int, share: float, *, deliveries: int, orchestrations: int, **fields: bool) -> World:
    return World(Weather(seed, share), deliveries=deliveries, orchestrations=orchestrations, **fields).run()


def ends(found: World) -> dict[str, tuple[str, dict[str, bytes]]]:
    return {name: (outcome.status, outcome.files) for name, outcome in found.outcomes.items()}


def check(seed: int, *, deliveries: int, orchestrations: int) -> None:
    calm = world(seed, CALM, deliveries=deliveries, orchestrations=orchestrations, trouble=False)
    assert {status for status, _ in ends(calm).values()} == {"success", "done"}
    bad = world(seed, 0.2, deliveries=deliveries, orchestrations=orchestrations)
    assert ends(bad) == ends(calm)
    assert bad.asked.twice == []
    assert sum(bad.asked.bad.values()) > bad.asked.attempts / 8, "the weather was bad"
    assert bad.asked.bad["five_hours"] and bad.asked.bad["three_days"] and bad.killed > 10


def test_sessions_under_weather_end_as_without_it() -> None:
    check(10, deliveries=12, orchestrations=4)


@pytest.mark.nightly
def test_a_thousand_sessions_with_faults_end_as_without_faults() -> None:
    check(8, deliveries=1_000, orchestrations=200)


def test_without_a_person_each_session_succeeds_or_stops_with_a_next_action() -> None:
    """The way on is `retry` after a failed turn, `extend` after a used-up budget or a run without progress."""
    result = world(2, 0.2, deliveries=8, orchestrations=3, person=False)
    rests = {name: result.outcomes[name] for name, outcome in result.outcomes.items() if outcome.waits}
    assert rests
    assert {outcome.status for name, outcome in result.outcomes.items() if name not in rests} <= {"success", "done"}
    for name, outcome in rests.items():
        assert ("retry" if outcome.turn_failed else "extend") in outcome.actions, name
    assert result.asked.twice == []


def test_the_same_seed_writes_the_same_log() -> None:
    one, other = (world(3, 0.3, deliveries=1, orchestrations=1) for _ in range(2))
    assert one.digest() == other.digest()
    assert one.digest() != world(4, 0.3, deliveries=1, orchestrations=1).digest()
