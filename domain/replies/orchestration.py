"""The reply of an orchestration's planner: the plan or a direct answer (behaviour §1.5, §1.7)."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, field_serializer

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import MOST_ENTRIES, MaybeFew, ReplyShape, SomeWords, Words, fitted
from domain.values.base import absent
from domain.values.json import JSON
from domain.values.phases import Bound, PhaseVerification, Role, Subtask
from domain.values.sentences import Sentence

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
    """The subtasks, and who does each; there is at least one."""

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
