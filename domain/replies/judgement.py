"""Verdicts on a round, and what an employee claims about its own phases (S1, behaviour §1.8, §1.9)."""

from typing import Annotated

from pydantic import Field, field_validator

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import MOST_ENTRIES, Bool, MaybeFew, MaybeWords, ReplyShape, SomeWords, fitted
from domain.values.base import Unreadable, absent
from domain.values.phases import PHASES, OnlyTrue
from domain.values.sentences import Sentence
from domain.values.words import folded, trimmed

_VERDICTS = "list_of_verdicts"


class JudgeVerdict(ReplyShape):
    """`pass` must be a boolean, otherwise the answer is unreadable: `"false"` is no pass (K-14). `subtask` is only
    needed for an agent that has several."""

    agent: SomeWords
    subtask: SomeWords | None = Field(default=None, exclude_if=absent)
    passed: Bool = Field(alias="pass")
    feedback: MaybeWords = ""


class OpenComment(ReplyShape):
    """A comment of a person that is not dealt with, although an agent says so."""

    comment: SomeWords
    why: MaybeWords = ""


class Verdicts(ReplyShape):
    """At most one verdict per subtask of an agent. `all_done` is only true for the boolean true."""

    verdicts: Annotated[tuple[JudgeVerdict, ...], Field(min_length=1, max_length=MOST_ENTRIES)]
    all_done: OnlyTrue = False
    open_comments: MaybeFew[OpenComment] = Field(default=(), exclude_if=lambda comments: not comments)

    @field_validator("verdicts")
    @classmethod
    def _one_each(cls, verdicts: tuple[JudgeVerdict, ...]) -> tuple[JudgeVerdict, ...]:
        if len({(_name(verdict.agent), _name(verdict.subtask)) for verdict in verdicts}) < len(verdicts):
            raise ValueError(Sentence("several_verdicts"))
        return verdicts


def verdicts(text: str) -> Verdicts:
    """The verdicts of a review of a round. Raises `Unreadable`."""
    return last(text, _JUDGEMENT)


def phases_completed(text: str) -> tuple[int, ...]:
    """The phases that an employee claims to have completed at once, ascending; none unless it names at least two
    (K-12)."""
    try:
        return last(text, _CLAIM)
    except Unreadable:
        return ()  # most replies make no claim, and an unreadable one widens nothing


def _judges(data: Object) -> bool:
    return isinstance(data.get("verdicts"), list)


def _decided(data: Object) -> object:
    """Returns who passes, and whether all is done; if that cannot be read, the list as it is."""
    match data["verdicts"]:
        case [*verdicts] if all(isinstance(verdict, dict) for verdict in verdicts):
            passed = [
                (_name(verdict.get("agent")), _name(verdict.get("subtask")), verdict.get("pass"))
                for verdict in verdicts
                if isinstance(verdict, dict)
            ]
            return sorted(passed, key=repr), data.get("allDone") is True
        case other:
            return other


def _name(value: object) -> str:
    return folded(trimmed(value)) if isinstance(value, str) else ""


def _judgement(data: Object) -> Verdicts:
    return fitted(Verdicts, data, name=_VERDICTS)


def _claims_phases(data: Object) -> bool:
    return "phases_completed" in data


def _phases(data: Object) -> tuple[int, ...]:
    match data["phases_completed"]:
        case [_, _, *_] as claims if all(type(phase) is int and phase in PHASES for phase in claims):
            phases = {phase for phase in claims if isinstance(phase, int)}
            return tuple(sorted(phases)) if len(phases) > 1 else ()
        case _:
            return ()


_JUDGEMENT = Shape(name=_VERDICTS, keys=("verdicts",), claims=_judges, fit=_judgement, decides=_decided)


_CLAIM = Shape(name="claim_of_phases", keys=("phases_completed",), claims=_claims_phases, fit=_phases)
