"""Conversations with the team: a message, and its latest run."""

import asyncio
from functools import partial
from typing import Any

from pydantic import Field

from adapters.agents.scripted import Scenario
from api.actions import start_commands
from api.actions.answers import Done, MessageAnswer
from api.actions.bodies import Body, Conversation, Folder, Reason, Short
from api.actions.declaration import ActionCall, Intent, Tool, action
from api.actions.projects import filter_warnings, workspace_of
from api.actions.readiness import require_agents, require_team, roster_of
from api.actions.refusals import EmptyMessage
from api.actions.rights import may_name_workspace, may_permit_latest
from domain.channel import channel_id
from domain.channel.commands import ContinueLatest, ReceiveMessage, ResetLatest
from domain.orchestration.commands import StartOrchestration
from domain.triage import intent
from domain.values.sentences import Sentence


class Message(Conversation):
    """A message to the team: a new request, or a word to continue or reset."""


class Origin(Body):
    """The latest orchestration of this origin is meant. It keeps its own workspace and scenario."""

    origin: Short = ""
    reason: Reason = ""
    workspace: Folder | None = Field(default=None, description="as with a message; without effect on a run")
    scenario: dict[str, Any] | None = Field(default=None, description="as with a message; without effect on a run")


@action(
    "/api/message",
    scope="operate",
    body=Message,
    answer=MessageAnswer,
    summary="Send a message to the team",
    description="A request starts an orchestration or is queued; a phrase for continue or reset does that.",
    example={
        "prompt": "src/api.py에 엔드포인트를 추가하고 테스트도 작성해줘",
        "employees": [{"name": "Backend", "role": "backend"}],
        "origin": "demo",
    },
    refuses=(412, 503),
    tag="Messages",
    tools=(
        Tool(
            "message",
            "Say something to the team in a conversation (`origin`): a new request, or words to continue or reset.",
        ),
    ),
)
async def receive_message(call: ActionCall[Message]) -> Intent:
    """A message to the team: it starts something, is queued, or is refused."""
    body, system = call.body, call.system
    if not body.prompt.strip():
        raise EmptyMessage
    may_name_workspace(call, body.workspace)
    meaning = intent(body.prompt)
    if meaning is None:
        require_team(system, body)
    opened = partial(start_commands.orchestration, body, system.team, system.settings, author=call.actor)
    opening, blobs = await asyncio.to_thread(opened)
    session_id = start_commands.new_id("orchestration")
    warnings: tuple[Sentence, ...] = ()
    if meaning is None and any(roster := roster_of(StartOrchestration(opening=opening), system.team)):
        warnings = await asyncio.to_thread(require_agents, system, roster, anyway=body.anyway)
    if meaning is None and opening.workspace is not None:
        warnings += await asyncio.to_thread(filter_warnings, opening.workspace, opening.preparation)
    if meaning == "continue":
        await asyncio.to_thread(may_permit_latest, call, channel_id(body.origin))
    opening = opening.changed(follows="")  # the channel says which session is before it
    command = ReceiveMessage(session_id=session_id, opening=opening, sender=call.actor, blobs=blobs)
    return Intent(channel_id(body.origin), command, starts=True, tagged=False, warnings=warnings)


@action(
    "/api/orchestrate/continue",
    scope="operate",
    body=Origin,
    answer=Done,
    summary="Continue the latest orchestration of an origin",
    example={"origin": "demo"},
    refuses=(409, 412, 503),
    tag="Messages",
)
async def continue_latest(call: ActionCall[Origin]) -> Intent:
    """Continue the latest orchestration of an origin."""
    await _check(call)
    await asyncio.to_thread(may_permit_latest, call, channel_id(call.body.origin))
    return Intent(channel_id(call.body.origin), ContinueLatest(), starts=True, ok=True)


@action(
    "/api/orchestrate/reset",
    scope="operate",
    body=Origin,
    answer=Done,
    summary="End the latest orchestration of an origin",
    example={"origin": "demo"},
    refuses=(409, 412, 503),
    tag="Messages",
)
async def reset_latest(call: ActionCall[Origin]) -> Intent:
    """End the latest orchestration of an origin."""
    await _check(call)
    return Intent(channel_id(call.body.origin), ResetLatest(reason=call.body.reason), starts=True, ok=True)


async def _check(call: ActionCall[Origin]) -> None:
    """Checks a workspace and a scenario without using them: the run has its own."""
    body = call.body
    may_name_workspace(call, body.workspace)
    if body.workspace is not None:
        await asyncio.to_thread(workspace_of, body.workspace, call.system.settings)
    if body.scenario is not None:
        Scenario.parse(body.scenario, at="/scenario")
