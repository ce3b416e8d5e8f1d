"""The ACP agent: a program that speaks the Agent Client Protocol, in a separate process for each turn.

It is confined like a command, and its conversation is kept and resumed in the same way: in a private home, by the id
that the agent gave it. No process of it outlives the turn.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

from adapters.agents.acp.dialogue import Dialogue, Situation
from adapters.agents.acp.settings import AcpSettings
from adapters.agents.command import CommandAgent
from adapters.agents.command.call import AgentConversation, Call, TurnConversation, program_id
from adapters.agents.command.output import added
from adapters.agents.port import Reply, Turn
from adapters.agents.rpc import Program
from adapters.fence import Fence
from domain.session.attempts import Failure
from domain.values.base import Usage
from domain.values.sentences import Sentence

__all__ = ["AcpAgent", "AcpSettings"]

_FEW_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "1"}
"""By itself, Claude retries ten times over minutes and reports nothing of that over ACP. Hansard retries visibly
instead."""


class AcpAgent(CommandAgent):
    """Starts the program for a turn and talks to it."""

    def __init__(self, settings: AcpSettings, data_dir: Path) -> None:
        super().__init__(settings.program, data_dir)
        self._acp = settings

    def _obstacle(self, turn: Turn, conversation: AgentConversation | None) -> str | None:
        if conversation is not None and not conversation.id:
            return "The program did not name its conversation."
        return super()._obstacle(turn, conversation)

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings = self._settings.inside(fence.level)
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        call = replace(call, environment={**_FEW_RETRIES, **call.environment})
        most = min(turn.limits.output_bytes, settings.output_bytes or turn.limits.output_bytes)
        program = Program(settings, turn, call, fence)
        situation = Situation(self._acp, turn, call, fence.level, most)
        dialogue = Dialogue(situation, program.stopwatch, program.observe)
        failure = await program.talk(dialogue, talk.conversation.id if talk.resumed else None)
        return await asyncio.to_thread(self._reply, dialogue, talk, failure, call)

    def _reply(self, dialogue: Dialogue, talk: TurnConversation, failure: Failure | None, call: Call) -> Reply:
        text = call.scrub(dialogue.text).strip("\r\n")
        if failure is None and not text.strip():
            failure = Failure.of("unreadable", Sentence("no_answer_given"))
        conversation = replace(talk.conversation, id=program_id(dialogue.session) or talk.conversation.id)
        usage = dialogue.usage
        if dialogue.cost is not None:
            spent = added(Usage(cost_micros=dialogue.cost), self._meter(conversation))
            usage = usage.changed(cost_micros=spent.cost_micros)
        keeps_session = talk.resumed or (failure is None and bool(conversation.id))
        return Reply(
            text=text,
            usage=usage,
            model=call.scrub(dialogue.model or "") or None,
            agent_session=conversation.handle if keeps_session else None,
            failure=failure,
            truncated=dialogue.truncated,
        )
