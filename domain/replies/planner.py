"""The planner of an orchestration: subtasks, or an answer of its own (S1, behaviour §1.5 and §1.7)."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, field_serializer

from domain.orchestration.phases import Bound, PhaseVerification, Role, Subtask
from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import MOST_ENTRIES, MaybeFew, ReplyShape, SomeWords, Words, absent, fitted
from domain.values.strict import JSON

_SUBTASKS = "list of subtasks"
_DIRECT = "direct answer"


def _nobody(given: object) -> object:
    if given:
        raise ValueError("there are subtasks beside it")
    return () if given is None else given


class SubtaskVerification(PhaseVerification):
    """`phases.Verification` within the caps of an agent's words."""

    pass_criteria: Words | None = Field(default=None, exclude_if=absent)
    fail_criteria: Words | None = Field(default=None, exclude_if=absent)
    affected_files: MaybeFew[SomeWords] | None = Field(default=None, exclude_if=absent)


class PlannedSubtask(Subtask):
    """`phases.Subtask` as an agent may write it: somebody, something to do, everything within the caps."""

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
    """Who does what: at least one subtask."""

    subtasks: Annotated[tuple[PlannedSubtask, ...], Field(min_length=1, max_length=MOST_ENTRIES)]


class DirectAnswer(ReplyShape):
    """The planner answers by itself and gives nobody anything to do."""

    model_config = ConfigDict(alias_generator=None)

    direct_answer: SomeWords
    subtasks: Annotated[tuple[PlannedSubtask, ...], BeforeValidator(_nobody)] = ()


def subtasks(text: str) -> Plan:
    """The plan of a planner's reply. Raises `Unreadable`."""
    return last(text, _PLAN)


def direct_answer(text: str) -> DirectAnswer:
    """The planner's own answer, where it gives no subtasks beside it. Raises `Unreadable`."""
    return last(text, _ANSWER)


def _plans(found: Object) -> bool:
    return "subtasks" in found


def _answers(found: Object) -> bool:
    return "direct_answer" in found or "subtasks" in found


def _given(found: Object) -> JSON:
    return found.get("subtasks") or []


def _plan(found: Object) -> Plan:
    return fitted(Plan, found, name=_SUBTASKS)


def _answer(found: Object) -> DirectAnswer:
    return fitted(DirectAnswer, found, name=_DIRECT)


_PLAN = Shape(name=_SUBTASKS, keys=("subtasks",), claims=_plans, fit=_plan, decides=_given)
_ANSWER = Shape(name=_DIRECT, keys=("direct_answer", "subtasks"), claims=_answers, fit=_answer, decides=_given)
