"""The weather: what goes wrong between a question and its answer, drawn from a seed."""

from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal

Bad = Literal[
    "rate_limit",
    "rate_limit_named",
    "five_hours",
    "three_days",
    "overloaded",
    "overloaded_named",
    "cut",
    "hang",
    "crash",
    "unreadable",
    "contradictory",
    "lost_conversation",
    "auth",
    "workspace",
]
KINDS: Final[tuple[Bad, ...]] = (
    *("rate_limit", "rate_limit_named", "overloaded", "overloaded_named", "cut", "hang", "crash"),
    *("unreadable", "contradictory", "lost_conversation", "auth", "workspace"),
)
HOUR: Final = 3_600.0
LIMITS: Final[dict[Bad, float]] = {"five_hours": 5 * HOUR, "three_days": 72 * HOUR}
ONE_IN: Final = 60
"""So rarely does a limit of hours or days begin."""


@dataclass(slots=True)
class Weather:
    """`share` of all attempts go wrong. Limits of hours or days hold for an agent in every session."""

    seed: int
    share: float = 0.2
    limited: dict[str, float] = field(default_factory=dict)
    """Until when an agent is limited, in seconds of the loop."""

    def of(self, turn_id: str, attempt: int, agent: str, now: float) -> Bad | None:
        """What happens to this attempt; None for an answer."""
        drawn = Random(f"{self.seed}:{turn_id}:{attempt}")  # noqa: S311 - it decides no secret
        if drawn.random() >= self.share:
            return None
        if drawn.randrange(ONE_IN) == 0:
            limit: Bad = drawn.choice(("five_hours", "three_days"))
            self.limited[agent] = max(self.limited.get(agent, 0.0), now + LIMITS[limit])
            return limit
        return drawn.choice(KINDS)

    def limit_of(self, agent: str, now: float) -> float | None:
        """Seconds until the agent answers again; None where it is not limited."""
        left = self.limited.get(agent, 0.0) - now
        return left if left > 0 else None


CALM: Final = 0.0
