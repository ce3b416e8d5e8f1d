"""Who does a phase, and what the prompt of an agent says."""

from domain.delivery.chart import Phase
from domain.delivery.decide.parts import ROLES, DeliveryDraft
from domain.delivery.state import Delivery
from domain.session.turns import Access, TurnRequested, Work
from domain.values.base import Text
from domain.values.time import iso

WORK: dict[Phase, Work] = {"validation": "validate", "packaging": "package"}
"""Of the other phases an agent is asked."""

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
"""The artifacts that stand in later prompts, by the name of their place."""

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


def request(draft: DeliveryDraft, phase: Phase) -> None:
    """Have the phase done: by an agent that is asked, or by commands that are run."""
    delivery = draft.session
    role = ROLES[phase]
    agent = delivery.crew.get(role, role)
    work = WORK.get(phase, "ask")
    access: Access = "write" if phase == "implementation" else "read"
    draft.record(
        TurnRequested(
            turn_id=f"{delivery.id}.t{delivery.turns + 1}",
            work=work,
            agent=agent,
            role=role,
            prompt=PROMPTS.get(phase, ""),
            reads="review_artifact" if phase == "review" else "text",
            context=_context(draft, phase) if work == "ask" else {},
            access=access,
            ordinal=delivery.asked.get(agent, 0),
            role_ordinal=delivery.asked_roles.get(role, 0),
            agent_session=delivery.agent_sessions.get(agent),
            deadline=None if phase == "packaging" else iso(delivery.budget.deadline_at),
            phase=phase,
            iteration=delivery.iteration or None,
        )
    )


def _context(draft: DeliveryDraft, phase: Phase) -> dict[str, Text]:
    """What fills the places of the phase's prompt."""
    delivery = draft.session
    places = PLACES[phase]
    words = {
        "task": delivery.task,
        "files": _listed(delivery.file_paths),
        "max_iterations": str(delivery.budget.limits.max_iterations),
        "iteration": str(delivery.iteration),
        "goals": _listed(delivery.goals),
        "history": "\n".join(delivery.history),
        "validation": _validation(delivery, phase),
    }
    context = {name: draft.text(text) for name, text in words.items() if name in places}
    context |= {name: delivery.contents.get(made, Text()) for name, made in MATERIAL.items() if name in places}
    if "feedback" in places:
        context["feedback"] = delivery.feedback
    return context


def _listed(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _validation(delivery: Delivery, phase: Phase) -> str:
    """What the commands said, as soon as there is work to run them on; before that, which they are."""
    if phase in ("implementation", "review"):
        return delivery.validation_summary
    return "\n".join(step.command for step in delivery.steps)
