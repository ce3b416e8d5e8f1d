"""What the agents of a delivery read: the material of each phase, feedback, and the subject of a review."""

from collections.abc import Sequence

from domain.delivery.baseline import red
from domain.delivery.chart import Phase
from domain.delivery.state import Delivery
from domain.replies.reviewer import ReviewArtifact
from domain.values.base import Text

MATERIAL: dict[str, Phase] = {
    "plan": "planning",
    "architecture": "architecture",
    "design": "design",
    "changes": "implementation",
}
"""The artifacts that later prompts quote, by the name of their place."""


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


def context(delivery: Delivery, phase: Phase) -> dict[str, str | Text]:
    """What fills the places of the phase's prompt; of a phase in which nobody is asked, nothing."""
    places = PLACES.get(phase, ())
    words = {
        "task": delivery.task,
        "files": _listed(delivery.file_paths),
        "max_iterations": str(delivery.budget.limits.max_iterations),
        "iteration": str(delivery.iteration),
        "goals": _listed(delivery.goals),
        "history": "\n".join(delivery.history),
        "validation": _validation(delivery, phase),
    }
    found: dict[str, str | Text] = {name: text for name, text in words.items() if name in places}
    found |= {name: delivery.contents.get(made, Text()) for name, made in MATERIAL.items() if name in places}
    if "feedback" in places:
        found["feedback"] = delivery.feedback
    return found


def _listed(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _validation(delivery: Delivery, phase: Phase) -> str:
    """What the commands reported: of the work, and before there was any. At first, which they are."""
    if phase in ("implementation", "review"):
        before = red(delivery.baseline) if delivery.baseline else ""
        return "\n\n".join(filter(None, (delivery.validation_summary, before)))
    return "\n".join(step.command for step in delivery.steps)


def blocking_feedback(iteration: int, review: ReviewArtifact) -> str:
    """What the next iteration is told (behaviour §3.2)."""
    return "\n".join(
        [
            f"Review blocked at iteration {iteration}.",
            "Blocking issues:",
            *_numbered([f"{issue.title}: {issue.detail}" for issue in review.blocking_issues]),
            *(["Fix plan:", *_numbered(review.fix_plan)] if review.fix_plan else []),
        ]
    )


def _numbered(lines: Sequence[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


def review_subject(delivery: Delivery) -> str:
    """Step, action and result (behaviour §2.4): the developer's words, the changes, the report of the tests."""
    said = delivery.contents.get("implementation", Text())
    parts = {
        "Step": f"iteration {delivery.iteration} of the implementation",
        "Action": delivery.task,
        "Result": said.shown(),
        "Validation": delivery.validation_summary,
        "Changes in this iteration": delivery.patch.shown() if delivery.patch else "",
    }
    return "\n\n".join(f"{name}:\n{words}" for name, words in parts.items() if words)
