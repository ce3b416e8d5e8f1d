"""Codex through its app server: unlike `codex exec`, it asks for permission, and counts what each turn has used.

It is confined and resumed like a command. No process of it outlives the turn.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

from adapters.agents.codex.dialogue import CodexDialogue
from adapters.agents.command import CommandAgent
from adapters.agents.command.call import Call, TurnConversation, program_id
from adapters.agents.command.reading import cut, explained
from adapters.agents.port import PermissionDesk, Reply, Turn
from adapters.agents.rpc import Program
from adapters.fence import Fence
from domain.session.attempts import Failure
from domain.values.sentences import Sentence

__all__ = ["CodexAgent"]


class CodexAgent(CommandAgent):
    """Starts the app server for a turn and talks to it."""

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings = self._settings.inside(fence.level)
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        program = Program(settings, turn, call, fence)
        desk = PermissionDesk(turn, fence.level, program.stopwatch.paused)
        dialogue = CodexDialogue(settings, turn, call, program, desk)
        failure = await program.talk(dialogue, talk.conversation.id if talk.resumed else None)
        return _reply(dialogue, talk, failure, call, most=turn.limits.output_bytes)


def _reply(dialogue: CodexDialogue, talk: TurnConversation, failure: Failure | None, call: Call, *, most: int) -> Reply:
    text, too_long = cut(call.scrub(dialogue.text).strip("\r\n"), most)
    if failure is None and too_long:
        failure = Failure.of("limit", Sentence("answer_too_long", number=most))
    if failure is None and not text.strip():
        failure = Failure.of("unreadable", Sentence("no_answer_given"))
    conversation = replace(talk.conversation, id=program_id(dialogue.thread) or talk.conversation.id)
    keeps_session = talk.resumed or (failure is None and bool(conversation.id))
    reply = Reply(
        text=text,
        usage=dialogue.usage,
        model=call.scrub(dialogue.model or "") or None,
        agent_session=conversation.handle if keeps_session else None,
        failure=failure,
        truncated=too_long,
    )
    return explained(reply, dialogue.retry)
