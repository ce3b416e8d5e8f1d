"""Budgets: limits, and what turns cost. Unreported usage is unknown: neither zero nor used up (S4 §7.1)."""

from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from domain.values.base import MOST, Command, Count, Usage, Value, absent

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

    def remaining(self, iteration: int) -> int:
        """The iterations left, including this one; before the first one, all of them."""
        return max(0, self.max_iterations - max(1, iteration) + 1)


def effective_iterations(max_iterations: int | None, max_attempts: int | None) -> int:
    """`maxIterations ?? maxAttempts ?? 6` (S4 §4.2, K-39)."""
    if max_iterations is not None:
        return max_iterations
    return max_attempts if max_attempts is not None else DEFAULT_ITERATIONS


class Spent(Value):
    """Usage summed over turns; `unknown` counts the turns without reported usage."""

    tokens: Count | None = None
    cost_micros: Count | None = None
    unknown: Count = 0

    def __add__(self, more: "Spent | Used") -> "Spent":
        """Both sums in one: what a discussion cost counts for the session that wanted it."""
        return Spent(
            tokens=add(self.tokens, more.tokens),
            cost_micros=add(self.cost_micros, more.cost_micros),
            unknown=self.unknown + more.unknown,
        )

    def after(self, usage: Usage, *, by_agent: bool) -> "Spent":
        """The sum after one more turn."""
        return self + used(usage, by_agent=by_agent)


NOTHING: Final = Spent()


class Used(NamedTuple):
    """The use of one turn, or of a discussion for its parent; `unknown` counts the turns that reported
    nothing."""

    tokens: int | None
    cost_micros: int | None
    unknown: int


def used(usage: Usage, *, by_agent: bool) -> Used:
    """The use of a turn; for commands (where no agent was asked), nothing counts as unknown."""
    tokens, cost_micros = usage.tokens, usage.cost_micros
    return Used(tokens, cost_micros, int(by_agent and tokens is None and cost_micros is None))


def add(total: int | None, more: int | None) -> int | None:
    """A sum in which unknown values add nothing, but stay unknown if there is nothing else. It stops at the largest
    count, which is beyond every budget."""
    if more is None:
        return total
    return min((total or 0) + more, MOST)


class BudgetStatus(NamedTuple):
    """The budget at one moment."""

    max_iterations: int
    max_minutes: int
    started_at: int
    deadline_at: int
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason | None = None
    tokens: int | None = None
    cost_micros: int | None = None


class ExhaustedBudget(Value):
    """The budget when it ran out."""

    max_iterations: int
    max_minutes: int
    started_at: str
    deadline_at: str
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason
    tokens: int | None = Field(default=None, exclude_if=absent)
    cost_micros: int | None = Field(default=None, exclude_if=absent)


class Budget(NamedTuple):
    """Limits with a clock that starts with the session and pauses while the session is stopped (`paused`, ms)."""

    limits: BudgetLimits
    started_at: int
    paused: int = 0
    spent: Spent = NOTHING

    @property
    def deadline_at(self) -> int:
        return self.started_at + self.limits.max_minutes * self.limits.minute + self.paused

    def exhausted(self, *, iteration: int, at: int) -> Reason | None:
        """Tells why iteration `iteration` may not begin; None if it may."""
        if iteration > self.limits.max_iterations:
            return "iterations"
        return self.overdrawn(at=at)

    def overdrawn(self, *, at: int) -> Reason | None:
        """Tells why nothing more may begin inside an iteration either; None if it may."""
        if at > self.deadline_at:
            return "minutes"
        if _reached(self.spent.tokens, self.limits.max_tokens):
            return "tokens"
        if _reached(self.spent.cost_micros, self.limits.max_cost_micros):
            return "cost"
        return None

    def elapsed(self, at: int) -> int:
        """Milliseconds used up to then."""
        return max(0, at - self.started_at - self.paused)

    def snapshot(self, *, iteration: int, at: int, reason: Reason | None = None) -> BudgetStatus:
        return BudgetStatus(
            max_iterations=self.limits.max_iterations,
            max_minutes=self.limits.max_minutes,
            started_at=self.started_at,
            deadline_at=self.deadline_at,
            elapsed_ms=self.elapsed(at),
            remaining_iterations=self.limits.remaining(iteration),
            reason=reason,
            tokens=self.spent.tokens,
            cost_micros=self.spent.cost_micros,
        )


def _reached(used: int | None, limit: int | None) -> bool:
    return used is not None and limit is not None and used >= limit


def dollars(micros: int) -> str:
    """`$2.50`: millionths of a dollar; `$0.0045` where it is less than a cent."""
    return f"${micros / 1_000_000:,.{2 if micros >= 10_000 or micros == 0 else 4}f}"
