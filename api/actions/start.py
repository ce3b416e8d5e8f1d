"""Starting a session of any kind."""

import asyncio
from functools import partial

from api.actions import start_commands
from api.actions.answers import Receipt
from api.actions.bodies import (
    START,
    AnyStart,
    DebateStart,
    DeliveryStart,
    OrchestrationStart,
    ReviewStart,
)
from api.actions.declaration import ActionCall, Intent, Tool, action
from api.actions.fixes import fix_task, reviewed_diff, steps_to_pass_again
from api.actions.issues import with_issue
from api.actions.projects import filter_warnings
from api.actions.readiness import StartCommand, require_agents, require_team, roster_of
from api.actions.rights import may_name_workspace
from api.system import System
from domain.delivery.commands import StartDelivery
from domain.discussion.commands import StartDiscussion
from domain.orchestration.commands import StartOrchestration
from domain.session.forge import LinkIssue
from domain.values.sentences import Sentence


@action(
    "/api/sessions",
    scope="operate",
    body=START,
    answer=Receipt,
    summary="Start a session",
    description="`kind` selects the kind; `Location` is the new session. There is no version yet, so `If-"
    "Match` with one is 412.",
    example={
        "kind": "delivery",
        "task": "Add a /health endpoint and a test for it",
        "filePaths": ["src/app.py", "tests/test_health.py"],
        "validationCommands": ["python -m unittest"],
        "maxIterations": 3,
        "maxMinutes": 15,
        "labels": ["demo"],
    },
    status=202,
    refuses=(409, 412, 503),
    tools=(
        Tool(
            "start_delivery",
            "Have the team deliver a task in a workspace: plan, code, validate, review. Returns the session; then "
            "`wait`.",
            kind="delivery",
        ),
        Tool(
            "start_orchestration",
            "Give the team a request; it answers directly, or plans and works in rounds.",
            kind="orchestration",
        ),
        Tool("start_review", "Have a text reviewed.", kind="review"),
        Tool("start_debate", "Have a plan debated.", kind="debate"),
    ),
)
async def start_session(call: ActionCall[AnyStart]) -> Intent:
    """Start a session of any kind."""
    may_name_workspace(call, call.body.workspace)
    require_team(call.system, call.body)
    session_id = start_commands.new_id(call.body.kind)
    body, link = await with_issue(call.body, call.system, session_id)
    made = partial(_command, body, call.system, call.actor, link)
    looks_at_folders = call.body.workspace is not None  # the disk may be slow
    command = await asyncio.to_thread(made) if looks_at_folders else made()
    roster = roster_of(command, call.system.team)
    warnings = (
        await asyncio.to_thread(require_agents, call.system, roster, anyway=call.body.anyway) if any(roster) else ()
    )
    if looks_at_folders:
        warnings += await asyncio.to_thread(_about_filters, command)
    return Intent(session_id, command, starts=True, status=202, warnings=warnings)


def _about_filters(command: StartCommand) -> tuple[Sentence, ...]:
    match command:
        case StartDelivery():
            return filter_warnings(command.workspace, command.preparation)
        case StartOrchestration(opening=opening):
            return filter_warnings(opening.workspace, opening.preparation)
        case StartDiscussion():
            return ()


def _command(body: AnyStart, system: System, author: str, link: LinkIssue | None) -> StartCommand:
    match body:
        case DeliveryStart():
            return _delivery(body, system, author).model_copy(update={"issue": link})
        case OrchestrationStart():
            opening, blobs = start_commands.orchestration(body, system.team, system.settings, author=author)
            return StartOrchestration(opening=opening, blobs=blobs)
        case ReviewStart() | DebateStart():
            topic, blobs = start_commands.discussion(body, system.team, system.settings, author=author)
            return StartDiscussion(topic=topic, blobs=blobs)


def _delivery(body: DeliveryStart, system: System, author: str) -> StartDelivery:
    fixed = None if body.fixes is None else system.sessions.get(body.fixes)
    if body.fixes is not None and body.task is None:
        body = body.model_copy(update={"task": fix_task(fixed)})
    earlier, reviewed = steps_to_pass_again(fixed), reviewed_diff(fixed)
    return start_commands.delivery(
        body, system.team, system.settings, author=author, earlier=earlier, reviewed=reviewed
    )
