"""Verdicts on a round, and what an employee claims about its own phases (S1, behaviour §1.8 and §1.9)."""

from pydantic import Field, field_validator

from domain.orchestration.phases import PHASES, OnlyTrue
from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import Answer, Bool, Few, MaybeWords, SomeWords, fitted
from domain.values.base import Unreadable
from domain.values.spelling import folded, trimmed

_VERDICTS = "list of verdicts"


class Verdict(Answer):
    """`pass` is a boolean or the answer is unreadable: `"false"` is no pass (K-14)."""

    agent: SomeWords
    passed: Bool = Field(alias="pass")
    feedback: MaybeWords = ""


class Verdicts(Answer):
    """At most one verdict for an agent. `all_done` is true for the boolean true alone; the rules bound it further."""

    verdicts: Few[Verdict]
    all_done: OnlyTrue = False

    @field_validator("verdicts")
    @classmethod
    def _one_each(cls, given: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
        if len({folded(trimmed(verdict.agent)) for verdict in given}) < len(given):
            raise ValueError("one agent has several verdicts")
        return given


def verdicts(text: str) -> Verdicts:
    """The verdicts of a review of a round. Raises `Unreadable`."""
    return last(text, _JUDGEMENT)


def phases_completed(text: str) -> tuple[int, ...]:
    """The phases that an employee claims to have done at once, ascending; none unless it names at least two (K-12)."""
    try:
        return last(text, _CLAIM)
    except Unreadable:
        return ()  # most replies make no claim, and one that cannot be read widens nothing


def _judges(found: Object) -> bool:
    return isinstance(found.get("verdicts"), list)


def _judgement(found: Object) -> Verdicts:
    return fitted(Verdicts, found, name=_VERDICTS)


def _claims_phases(found: Object) -> bool:
    return "phases_completed" in found


def _phases(found: Object) -> tuple[int, ...]:
    match found["phases_completed"]:
        case [_, _, *_] as given if all(type(phase) is int and phase in PHASES for phase in given):
            phases = {phase for phase in given if isinstance(phase, int)}
            return tuple(sorted(phases)) if len(phases) > 1 else ()
        case _:
            return ()


_JUDGEMENT = Shape(name=_VERDICTS, keys=("verdicts",), claims=_judges, fit=_judgement)
_CLAIM = Shape(name="claim of phases", keys=("phases_completed",), claims=_claims_phases, fit=_phases)
