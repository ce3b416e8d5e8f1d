"""The replies of an orchestration: the plan or a direct answer (behaviour §1.5, §1.7), and verdicts."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, field_serializer, field_validator

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import MOST_ENTRIES, Bool, MaybeFew, MaybeWords, ReplyShape, SomeWords, Words, fitted
from domain.values.base import Unreadable, absent
from domain.values.json import JSON
from domain.values.phases import PHASES, Bound, OnlyTrue, PhaseVerification, Role, Subtask
from domain.values.sentences import Sentence
from domain.values.words import folded, trimmed

_SUBTASKS = "list_of_subtasks"
_DIRECT = "direct_answer"


def _nobody(value: object) -> object:
    if value:
        raise ValueError(Sentence("subtasks_beside"))
    return () if value is None else value


class SubtaskVerification(PhaseVerification):
    """`phases.Verification` with the limits for agents' texts."""

    pass_criteria: Words | None = Field(default=None, exclude_if=absent)
    fail_criteria: Words | None = Field(default=None, exclude_if=absent)
    affected_files: MaybeFew[SomeWords] | None = Field(default=None, exclude_if=absent)


class PlannedSubtask(Subtask):
    """`phases.Subtask` as an agent may write it: an agent, a task, everything within the limits."""

    agent: SomeWords
    role: Annotated[Role, Field(max_length=200)] = "custom"
    task: SomeWords
    start_phase: Bound = Field(default=None, exclude_if=absent)
    end_phase: Bound = Field(default=None, exclude_if=absent)
    verification: SubtaskVerification | None = Field(default=None, exclude_if=absent)

    @field_serializer("start_phase", "end_phase")
    def _whole(self, bound: float | None) -> int | float | None:
        return int(bound) if bound is not None and bound.is_integer() and abs(bound) <= 2**53 else bound


class Plan(ReplyShape):
    """Who does what; at least one subtask."""

    subtasks: Annotated[tuple[PlannedSubtask, ...], Field(min_length=1, max_length=MOST_ENTRIES)]


class DirectAnswer(ReplyShape):
    """The planner answers by itself and assigns no subtasks."""

    model_config = ConfigDict(alias_generator=None)

    direct_answer: SomeWords
    subtasks: Annotated[tuple[PlannedSubtask, ...], BeforeValidator(_nobody)] = ()


def subtasks(text: str) -> Plan:
    """The plan of a planner's reply. Raises `Unreadable`."""
    return last(text, _PLAN)


def direct_answer(text: str) -> DirectAnswer:
    """The planner's own answer, if it assigns no subtasks next to it. Raises `Unreadable`."""
    return last(text, _ANSWER)


def _plans(data: Object) -> bool:
    return "subtasks" in data


def _answers(data: Object) -> bool:
    return "direct_answer" in data or "subtasks" in data


def _subtasks_of(data: Object) -> JSON:
    return data.get("subtasks") or []


def _plan(data: Object) -> Plan:
    return fitted(Plan, data, name=_SUBTASKS)


def _answer(data: Object) -> DirectAnswer:
    return fitted(DirectAnswer, data, name=_DIRECT)


_PLAN = Shape(name=_SUBTASKS, keys=("subtasks",), claims=_plans, fit=_plan, decides=_subtasks_of)
_ANSWER = Shape(name=_DIRECT, keys=("direct_answer", "subtasks"), claims=_answers, fit=_answer, decides=_subtasks_of)


# -- verdicts on a round, and what an employee claims about its own phases (S1, behaviour §1.8, §1.9) -----------------

_VERDICTS = "list_of_verdicts"


class JudgeVerdict(ReplyShape):
    """`pass` must be a boolean, otherwise the answer is unreadable: `"false"` is no pass (K-14). `subtask` is only
    needed for an agent that has several."""

    agent: SomeWords
    subtask: SomeWords | None = Field(default=None, exclude_if=absent)
    passed: Bool = Field(alias="pass")
    feedback: MaybeWords = ""


class Verdicts(ReplyShape):
    """At most one verdict per subtask of an agent. `all_done` is only true for the boolean true."""

    verdicts: Annotated[tuple[JudgeVerdict, ...], Field(min_length=1, max_length=MOST_ENTRIES)]
    all_done: OnlyTrue = False

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
    """Who passes, and whether all is done; if that cannot be read, the list as it is."""
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
