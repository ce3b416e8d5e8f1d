"""What agents are given to read: what fills the places of a phase's prompt."""

from domain.delivery.baseline import red
from domain.delivery.chart import MATERIAL, PLACES, Phase
from domain.delivery.state import Delivery
from domain.session.scope import changed_tests
from domain.values.base import Text


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
        tests = _tests(delivery) if phase == "review" else ""
        return "\n\n".join(filter(None, (delivery.validation_summary, before, tests)))
    return "\n".join(step.command for step in delivery.steps)


def _tests(delivery: Delivery) -> str:
    """What the reviewer reads about tests that were changed together with the code; empty where none were."""
    paths = changed_tests(delivery.written)
    head = "These tests were changed in the same iteration as the code. Check that they still test what they did:"
    return "\n".join([head, *(f"- {path}" for path in paths)]) if paths else ""
