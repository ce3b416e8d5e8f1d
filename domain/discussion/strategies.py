"""Strategies: who contributes in which round, in which role, with which prompt (S2 phases 2 and 3, K-28, K-35)."""

from collections.abc import Callable
from typing import NamedTuple

from domain.session.children import Choice
from domain.values.base import Invalid
from domain.values.sentences import Sentence

CHOICES: dict[str, tuple[Choice, ...]] = {"review": ("apply_fix", "skip"), "debate": ("revise", "accept")}
PASSING: dict[str, Choice] = {"review": "skip", "debate": "accept"}
"""The decision that a reset records (K-33)."""
REJECTING: dict[str, Choice] = {"review": "apply_fix", "debate": "revise"}
"""The choice of an end without a decision, if the team's approval is needed."""


REWRITTEN = {"challenge.perspectives": 2}
"""Prompts that have changed since their first version."""


class Part(NamedTuple):
    """One contribution: its role, who is asked, and with which prompt. `judges` if its feedback counts."""

    role: str
    asked: str
    prompt: str
    judges: bool


class Strategy(NamedTuple):
    """`minimum` rounds always take place, whatever the setting: with fewer, it would not be this strategy (K-28)."""

    name: str
    kind: str
    minimum: int
    part: Callable[[int], Part]


def _critique(strategy: str) -> Callable[[int], Part]:
    """Odd rounds: the reviewer's critique; even rounds: the coder's rebuttal."""
    critique = Part("critique", "reviewer", f"critique.{strategy}", judges=True)
    rebuttal = Part("rebuttal", "coder", f"rebuttal.{strategy}", judges=False)
    return lambda number: critique if number % 2 else rebuttal


def _challenge(number: int) -> Part:
    """Odd rounds: the critic's challenge; even rounds: the planner's defense."""
    if number % 2:
        return Part("challenge", "critic", "challenge.debate", judges=True)
    return Part("defense", "planner", "defense.debate", judges=False)


def _lens(number: int) -> Part:
    """The risk lens, the innovation lens, then cross-reviews."""
    match number:
        case 1:
            return Part("risk-analysis", "critic", "challenge.perspectives", judges=False)
        case 2:
            return Part("innovation-analysis", "planner", "challenge.perspectives", judges=False)
        case _:
            return Part("cross-review", "critic", "defense.perspectives", judges=True)


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("review", "review", 1, _critique("review")),
        Strategy("red-team", "review", 1, _critique("red-team")),
        Strategy("debate", "debate", 2, _challenge),
        Strategy("perspectives", "debate", 3, _lens),
    )
}


def strategy_of(kind: str, name: str) -> Strategy:
    """The strategy of that name, if this kind has it. Raises Invalid."""
    match = STRATEGIES.get(name)
    if match is None or match.kind != kind:
        fitting = ", ".join(strategy.name for strategy in STRATEGIES.values() if strategy.kind == kind)
        raise Invalid({"/strategy": Sentence("not_one_of", choices=fitting)})
    return match
