"""The steps of a delivery that may follow each other (S4 §6): the chart, its table, the phases."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from statemachine import State
from statemachine.transition_list import TransitionList

from domain.session.attempts import Work
from domain.session.chart import Chart, ChartTable
from domain.values.sentences import Sentence

Phase = Literal["planning", "architecture", "design", "implementation", "validation", "review", "packaging"]
PHASES: tuple[Phase, ...] = get_args(Phase)
ROLES: dict[Phase, str] = {
    "planning": "planner",
    "architecture": "architect",
    "design": "designer",
    "implementation": "dev",
    "validation": "test",
    "review": "reviewer",
    "packaging": "supervisor",
}
NEEDED: tuple[Phase, ...] = ("implementation", "validation")
"""The phases that no delivery goes without."""
QUICK: tuple[Phase, ...] = (*NEEDED, "review", "packaging")
"""The short way: the work without a plan, an architecture and a design."""
PhaseStatus = Literal["pending", "running", "completed", "failed", "skipped"]
Status = Literal["pending", "running", "success", "failed", "cancelled"]


def _extended(exhausted: State, phases: Iterable[State], running: Iterable[State]) -> TransitionList:
    """An exhausted delivery resumes in the phase whose guard holds, `resumes_<phase>`; a running one stays in its
    phase."""
    transitions = TransitionList()
    for name, phase in zip(PHASES, phases, strict=True):
        transitions |= exhausted.to(phase, cond=f"resumes_{name}")
    for state in running:
        transitions |= state.to(state)
    return transitions


def _retried(failed: State, phases: Iterable[State]) -> TransitionList:
    """A delivery whose turn failed continues in the phase of that turn; a waiting turn is retried at once."""
    transitions = TransitionList()
    for name, phase in zip(("preparing", *PHASES), phases, strict=True):
        transitions |= failed.to(phase, cond=f"failed_{name}")
        transitions |= phase.to(phase, cond="waits")
    return transitions


def _revised(stopped: Iterable[State], implementation: State, running: Iterable[State]) -> TransitionList:
    """A delivery that has stopped goes on with its implementation, if it has got that far; a running one stays in its
    phase."""
    transitions = TransitionList()
    for state in stopped:
        transitions |= state.to(implementation, cond="has_implemented")
    for state in running:
        transitions |= state.to(state)
    return transitions


class DeliveryChart(Chart):
    """preparing → planning → architecture → design → (implementation → validation → review)* → packaging → success.

    Without a baseline it begins with planning. Phases that the delivery goes without are passed. Changes outside the
    scope may wait for a person in `awaiting_scope`. A delivery that ran out of budget stays in `exhausted` until a
    person extends it (K-46). A delivery whose turn failed stays in `failed`; a person may retry that turn. A person who
    wants changes to the result has it go on with the implementation; only a cancelled one has ended for good.
    """

    preparing = State(initial=True)
    planning = State()
    architecture = State()
    design = State()
    implementation = State()
    awaiting_scope = State()
    validation = State()
    review = State()
    under_review = State()
    packaging = State()
    success = State()
    failed = State()
    exhausted = State()
    cancelled = State(final=True)

    _phases = (planning, architecture, design, implementation, validation, review, packaging)
    _running = (*_phases, awaiting_scope, under_review)

    complete = (
        preparing.to(planning)
        | planning.to(architecture)
        | architecture.to(design)
        | design.to(implementation)
        | implementation.to(validation)
        | awaiting_scope.to(validation)
        | validation.to(review)
        | review.to(packaging)
        | under_review.to(packaging)
        | packaging.to(success)
    )
    ask = implementation.to(awaiting_scope)
    hold = review.to(under_review)
    send_back = implementation.from_(implementation, awaiting_scope, validation, review, under_review, packaging)
    fail = failed.from_(preparing, *_phases)
    exhaust = exhausted.from_(*_running)
    extend = _extended(exhausted, _phases, (preparing, *_running))
    retry = _retried(failed, (preparing, *_phases))
    revise = _revised((success, failed, exhausted), implementation, (preparing, *_running))
    cancel = cancelled.from_(preparing, *_running)


TABLE = ChartTable(DeliveryChart)


def checked_phases(names: Sequence[str]) -> tuple[Phase, ...]:
    """The phases of these names. Raises ValueError for one that is unknown, twice, out of order or missing."""
    for name in names:
        if name not in PHASES:
            raise ValueError(Sentence("phase_unknown", name=name[:100], choices=list(PHASES)))
    phases = tuple(phase for phase in PHASES if phase in names)
    if phases != tuple(names):
        raise ValueError(Sentence("phases_out_of_order", choices=list(PHASES)))
    for phase in NEEDED:
        if phase not in phases:
            raise ValueError(Sentence("phase_missing", name=phase, choices=list(PHASES)))
    return phases


def status(state: str) -> Status:
    """The seed's word for a state of the chart (S4 §3.1)."""
    match state:
        case "success" | "failed" | "cancelled":
            return state
        case "exhausted":
            return "failed"
        case _:
            return "running"


WORK: dict[Phase, Work] = {"validation": "validate", "packaging": "package"}
"""In all other phases an agent is asked."""
PROMPTS: dict[Phase, str] = {
    "planning": "delivery_plan@1",
    "architecture": "architecture@1",
    "design": "design@1",
    "implementation": "implementation@1",
    "review": "review_artifact@1",
}


MATERIAL: dict[str, Phase] = {
    "plan": "planning",
    "architecture": "architecture",
    "design": "design",
    "changes": "implementation",
}
"""The artifacts that later prompts quote, by the name of their placeholder."""
MADE_BY: dict[str, Phase] = {**MATERIAL, "goals": "planning"}
"""The phase that makes what a placeholder quotes. A prompt has no place for what no phase makes."""
_WORK_PLACES = (
    *("task", "files", "iteration", "max_iterations", "goals", "plan", "architecture", "design"),
    *("feedback", "validation", "history"),
)
PLACES: dict[Phase, tuple[str, ...]] = {
    "planning": ("task", "files", "max_iterations", "validation"),
    "architecture": ("task", "files", "plan"),
    "design": ("task", "files", "plan", "architecture"),
    "implementation": _WORK_PLACES,
    "review": (*_WORK_PLACES, "changes"),
}
