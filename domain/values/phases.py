"""Phases: which of the five an agent goes through, and how it moves from one to the next (S1 §3.1, behaviour §1.7)."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field

from domain.values.base import Value
from domain.values.sentences import Sentence
from domain.values.words import composed, folded

Language = Literal["ko", "en"]


class PhaseName(NamedTuple):
    ko: str
    en: str


PHASES: Mapping[int, PhaseName] = MappingProxyType(
    {
        1: PhaseName(ko="기획", en="planning"),
        2: PhaseName(ko="기획검증", en="plan review"),
        3: PhaseName(ko="개발", en="development"),
        4: PhaseName(ko="디버깅", en="debugging"),
        5: PhaseName(ko="통합검증", en="integration"),
    }
)

_EVERY = (1, 2, 3, 4, 5)
PROFILES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"frontend": _EVERY, "backend": _EVERY, "data": _EVERY, "docs": (1, 3, 5), "custom": (3,)}
)
"""The phases of each role, ascending; all other roles have those of `custom`."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _bound(value: object) -> float | None:
    """A number, or a string that is one. Everything else (null, "", booleans, NaN, infinity) counts as omitted (§1.7
    R)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _DECIMAL.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _role(value: object) -> str:
    return value.strip().lower() or "custom" if isinstance(value, str) else "custom"


def _only_true(value: object) -> bool:
    return value is True


Bound = Annotated[float | None, BeforeValidator(_bound)]
Role = Annotated[str, BeforeValidator(_role)]
OnlyTrue = Annotated[bool, BeforeValidator(_only_true)]
"""Only the boolean true: `"true"` and 1 are mistakes of an agent, not a request."""


class PhaseVerification(Value):
    """The criteria for an agent's work, in the planner's own spelling."""

    model_config = ConfigDict(alias_generator=None, extra="ignore")

    pass_criteria: str | None = None
    fail_criteria: str | None = None
    affected_files: tuple[str, ...] | None = None


class Subtask(Value):
    """One entry of the planner's `subtasks`, as the planner spells it; additional fields are ignored.

    `role` is lower-cased, and `custom` if there is none. Lengths are limited where the reply is read.
    """

    model_config = ConfigDict(alias_generator=None, extra="ignore")

    agent: str
    role: Role = "custom"
    task: str = ""
    start_phase: Bound = None
    end_phase: Bound = None
    checkpoint: OnlyTrue = False
    parallel: OnlyTrue = False
    verification: PhaseVerification | None = None


class Judged(Value):
    """One verdict on one phase of one agent."""

    round: int
    phase: int
    passed: bool = Field(alias="pass")
    feedback: str = ""


class AgentPhase(Value):
    """One agent's position in its phases."""

    agent: str
    phase: int = Field(description="1 to 5")
    completed: bool = False


class AgentPhases(Value):
    """One agent's part of a run: its phases, its position in them, its verdicts."""

    agent: str
    task: str = ""
    role: str
    parallel: bool = False
    checkpoint: bool = False
    checkpointed: bool = False
    verification: PhaseVerification | None = None
    phase_profile: tuple[int, ...]
    current_phase_idx: int = 0
    current_phase: int
    completed: bool = False
    history: tuple[Judged, ...] = ()

    @property
    def affected_files(self) -> tuple[str, ...]:
        """The files that it names; empty if the plan names none."""
        return (self.verification.affected_files or ()) if self.verification else ()


class PhasePlan(NamedTuple):
    """The agents of a plan in its order, and notes for people about how it was read."""

    agents: tuple[AgentPhases, ...]
    warnings: tuple[Sentence, ...]


class PhaseRange(NamedTuple):
    """The clamped bounds, the phases within them, and whether there were none, so that the nearest was taken."""

    start: float
    end: float
    profile: tuple[int, ...]
    fell_back: bool


def plan_agents(subtasks: Iterable[Subtask]) -> PhasePlan:
    """Every subtask as an agent in the first of its phases."""
    planned = [_planned(subtask) for subtask in subtasks]
    return PhasePlan(
        agents=tuple(agent for agent, _ in planned),
        warnings=tuple(warning for _, warning in planned if warning is not None),
    )


def _planned(subtask: Subtask) -> tuple[AgentPhases, Sentence | None]:
    chosen = phase_range(role=subtask.role, start_phase=subtask.start_phase, end_phase=subtask.end_phase)
    criteria = subtask.verification
    agent = AgentPhases(
        agent=subtask.agent,
        task=subtask.task,
        role=subtask.role,
        parallel=subtask.parallel,
        checkpoint=subtask.checkpoint,
        verification=None if criteria is None else PhaseVerification(**dict(criteria)),  # as the log has it
        phase_profile=chosen.profile,
        current_phase=chosen.profile[0],
    )
    if not chosen.fell_back:
        return agent, None
    return agent, Sentence(
        "no_phase_in_range",
        agent=subtask.agent,
        role=subtask.role,
        first=chosen.start,
        last=chosen.end,
        number=chosen.profile[0],
    )


def full_profile(role: str) -> tuple[int, ...]:
    """All phases of a role, in any case; an unknown role has those of `custom`."""
    return PROFILES.get(_role(role), PROFILES["custom"])


def phase_range(*, role: str, start_phase: float | None, end_phase: float | None) -> PhaseRange:
    """The part of the role's profile between both bounds, each clamped into it; None is the profile's own end.

    Fractions are not rounded (S1): a start of 3.7 begins with phase 4.
    """
    whole = full_profile(role)
    first, last = whole[0], whole[-1]
    start = first if start_phase is None else max(first, min(last, start_phase))
    end = last if end_phase is None else max(start, min(last, end_phase))
    within = tuple(phase for phase in whole if start <= phase <= end)
    if within:
        return PhaseRange(start=start, end=end, profile=within, fell_back=False)
    nearest = next((phase for phase in whole if phase >= start), last)
    return PhaseRange(start=start, end=end, profile=(nearest,), fell_back=True)


def after_checkpoint(role: str, finished_profile: Sequence[int]) -> tuple[int, ...]:
    """The phases that a run continues with after a checkpoint: those of the role that are not finished (K-7)."""
    finished = max(finished_profile, default=0)
    return tuple(phase for phase in full_profile(role) if phase > finished)


def paused(agent: AgentPhases) -> AgentPhases:
    """A checkpoint agent pauses and is not completed. The others have finished what they were asked to do (K-2)."""
    if not agent.checkpoint or agent.checkpointed:
        return agent.changed(completed=True)
    return agent.changed(checkpointed=True, completed=False)


def resumed(agent: AgentPhases, *, early: bool) -> AgentPhases:
    """`early`: all was declared done before the agent reached the end of its range; it is in its next phase."""
    if agent.completed or not agent.checkpoint:
        return agent
    finished = agent.phase_profile[: agent.current_phase_idx] if early else agent.phase_profile
    phases = after_checkpoint(agent.role, finished)
    if not phases:
        return agent.changed(completed=True, checkpoint=False)
    return agent.changed(phase_profile=phases, current_phase_idx=0, current_phase=phases[0], checkpoint=False)


def phase_name(phase: int, language: Language = "ko") -> str:
    """The name of a phase for people; raises `KeyError` if there is no such phase."""
    name = PHASES[phase]
    return name.ko if language == "ko" else name.en


def match(agent: str, employees: Iterable[str]) -> str | None:
    """The employee with exactly that name, otherwise the only one with that name in another case, otherwise None
    (K-18).

    Two names that differ only in case are ambiguous unless one matches exactly: a plan that needs guessing is not
    valid.
    """
    names = list(dict.fromkeys(employees))
    if agent in names:
        return agent
    for spelling in (composed, folded):
        wanted = spelling(agent)
        matches = [name for name in names if spelling(name) == wanted]
        if matches:
            return matches[0] if len(matches) == 1 else None
    return None
