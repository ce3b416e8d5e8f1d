"""The input of a session."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext, tame
from projections.views.session import (
    DebateView,
    DeliveryView,
    DiscussionView,
    OrchestrationView,
    ReviewView,
    SessionView,
    TriageView,
)

TASK: Final = 4_000
FILES, STEPS, LABELS = 50, 20, 32
"""Entries of lists of the input."""


def task(context: PanelContext) -> dict[str, str]:
    """Returns what was asked for, where the title of the page does not say all of it."""
    words = _request(context.view).strip()
    first, _, rest = words.partition("\n")
    return {"task": cut(rest.strip() if first.strip() == context.view.title else words, TASK)}


def _request(shown: SessionView) -> str:
    match shown:
        case DeliveryView():
            return shown.task
        case OrchestrationView():
            return shown.prompt or shown.plan or ""
        case ReviewView():
            return shown.subject
        case DebateView():
            return shown.plan
        case _:
            return ""


class StepShown(NamedTuple):
    stage: str
    command: str


class Inputs(NamedTuple):
    """The input of a session; its plan, the names of its employees and how it was triaged if it is a run."""

    plan: Markup | None
    plan_version: int | None
    files: Sequence[str]
    more_files: int
    steps: Sequence[StepShown]
    more_steps: int
    labels: Sequence[str]
    workspace: str
    origin: str
    employees: Sequence[tuple[str, str]]
    strategy: str | None
    profile: str | None
    triage: TriageView | None
    mode: str | None
    created: str


def inputs(context: PanelContext) -> Inputs:
    shown, session = context.view, context.session
    run = shown if isinstance(shown, OrchestrationView) else None
    talk = shown if isinstance(shown, DiscussionView) else None
    files, steps = (shown.file_paths, shown.validation_commands) if isinstance(shown, DeliveryView) else ((), ())
    plan = run.plan if run else None
    return Inputs(
        plan=tame(cut(context.worded(plan), TASK)) if plan else None,
        plan_version=run.plan_version if run else None,
        files=[cut(path, SENTENCE) for path in files[:FILES]],
        more_files=max(0, len(files) - FILES),
        steps=[StepShown(step.stage, cut(step.command, SENTENCE)) for step in steps[:STEPS]],
        more_steps=max(0, len(steps) - STEPS),
        labels=[cut(label, 64) for label in shown.labels[:LABELS]],
        workspace=cut(session.workspace or "", 2 * SENTENCE),
        origin=cut(shown.origin, 200),
        employees=[(cut(one.name, 60), cut(one.role, 40)) for one in (run.employees if run else ())[:FILES]],
        strategy=talk.strategy if talk else None,
        profile=talk.profile if talk else None,
        triage=run.triage if run else None,
        mode=run.mode if run else None,
        created=shown.created_at,
    )
