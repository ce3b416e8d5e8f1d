"""The weather: what goes wrong between a question and its answer, drawn from a seed."""

from dataclasses import dataclass
from random import Random
from typing import Final, Literal

Bad = Literal[
    "rate_limit",
    "rate_limit_named",
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
Limit = Literal["five_hours", "three_days"]
LIMITS: Final[dict[Limit, float]] = {"five_hours": 5 * HOUR, "three_days": 72 * HOUR}
LATEST: Final = 2 * HOUR
"""By then the limits of hours and days have begun."""


@dataclass(frozen=True, slots=True)
class Weather:
    """`share` of all attempts go wrong. A provider's limit holds for one agent in every session."""

    seed: int
    share: float = 0.2

    def of(self, turn_id: str, attempt: int) -> Bad | None:
        """What happens to this attempt; None for an answer."""
        drawn = Random(f"{self.seed}:{turn_id}:{attempt}")  # noqa: S311 - it decides no secret
        return drawn.choice(KINDS) if drawn.random() < self.share else None

    def limit_of(self, agent: str, now: float) -> tuple[Limit, float] | None:
        """The limit that this agent has reached, and seconds until it answers again. Every second agent has one."""
        drawn = Random(f"{self.seed}:{agent}")  # noqa: S311 - it decides no secret
        if drawn.random() >= 0.5 or not self.share:
            return None
        limit: Limit = "three_days" if drawn.random() < 0.25 else "five_hours"
        begins = drawn.uniform(0, LATEST)
        left = begins + LIMITS[limit] - now
        return (limit, left) if now >= begins and left > 0 else None


CALM: Final = 0.0
