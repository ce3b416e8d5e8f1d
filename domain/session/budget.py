"""Limits, and what turns cost: what nobody reported is unknown, which is neither zero nor used up (S4 §7.1)."""

from typing import Annotated, Literal

from pydantic import Field

from domain.values.base import Command, Count, Usage, Value

DEFAULT_ITERATIONS = 6
DEFAULT_MINUTES = 45
MINUTE = 60_000

Reason = Literal["iterations", "minutes", "tokens", "cost"]
Iterations = Annotated[int, Field(ge=1, le=20, strict=True)]
Minutes = Annotated[int, Field(ge=1, le=180, strict=True)]


class Extension(Command):
    """More of what limits a session."""


class BudgetLimits(Value):
    """What may be used. `minute` is the length of a budget minute in milliseconds (60,000; tests shorten it)."""

    max_iterations: int = DEFAULT_ITERATIONS
    max_minutes: int = DEFAULT_MINUTES
    max_tokens: int | None = None
    max_cost_micros: int | None = None
    minute: int = MINUTE


def effective_iterations(max_iterations: int | None, max_attempts: int | None) -> int:
    """`maxIterations ?? maxAttempts ?? 6` (S4 §4.2, K-39)."""
    if max_iterations is not None:
        return max_iterations
    return max_attempts if max_attempts is not None else DEFAULT_ITERATIONS


class Spent(Value):
    """Usage summed over turns; `unknown` counts the turns of which nothing was reported."""

    tokens: Count | None = None
    cost_micros: Count | None = None
    unknown: Count = 0

    def __add__(self, more: "Spent") -> "Spent":
        """Both sums in one: what a discussion cost counts for the session that wanted it."""
        return Spent(
            tokens=add(self.tokens, more.tokens),
            cost_micros=add(self.cost_micros, more.cost_micros),
            unknown=self.unknown + more.unknown,
        )

    def after(self, usage: Usage, *, asked: bool) -> "Spent":
        """The sum after one more turn; of commands that were run (nobody was asked) no report is missed."""
        unknown = int(asked and usage.tokens is None and usage.cost_micros is None)
        return self + Spent(tokens=usage.tokens, cost_micros=usage.cost_micros, unknown=unknown)


def add(known: int | None, more: int | None) -> int | None:
    """A sum in which what is unknown adds nothing and, alone, stays unknown."""
    if more is None:
        return known
    return (known or 0) + more
