"""Questions to the planner and the assistant, besides the work of a round."""

from collections.abc import Mapping

from domain.orchestration.state import Orchestration
from domain.session.decision import Now, ask
from domain.session.revisions import to_write
from domain.session.turns import Access, TurnRequested
from domain.session.workspace import undo
from domain.values.base import Text

Places = Mapping[str, str | Text]


def ask_first(now: Now[Orchestration]) -> TurnRequested:
    """Ask for the first answer: from the assistant for a direct request, otherwise from the planner."""
    if now.state.state == "direct":
        return ask_assistant(now, role="assistant", prompt="direct", context=request_places(now.state), access="write")
    return ask_assistant(now, role="planner", prompt="plan", reads="subtasks", context=plan_places(now.state))


def ask_assistant(
    now: Now[Orchestration],
    *,
    role: str,
    prompt: str,
    context: Places,
    reads: str = "text",
    access: Access = "read",
) -> TurnRequested:
    """Request a turn of the planner or the assistant."""
    run = now.state
    prompt = f"{prompt}@1"
    return ask(now, role=role, prompt=prompt, context=context, reads=reads, access=access, round=run.round or None)


def request_places(run: Orchestration) -> Places:
    """The request, the team, what the assistant has to undo, and what a person wants changed in an answer."""
    employees = "\n".join(f"- {employee.name} ({employee.role})" for employee in run.employees)
    refused = undo(run.outside) if run.scope.outside == "fail" and run.outside else ""
    return {"task": "\n\n".join(filter(None, (run.prompt, refused))), "employees": employees, **_revision_places(run)}


def plan_places(run: Orchestration) -> Places:
    """The request, the team, and the limits of the run."""
    return {**request_places(run), "max_rounds": str(run.max_rounds), "worklog": run.worklog}


def _revision_places(run: Orchestration) -> Places:
    places = to_write(run.revisions)
    return {**places, "so_far": run.answered} if places else {}
