"""The ACP agent: a program that speaks the Agent Client Protocol, in a separate process for each turn.

It is confined like a command, and its conversation is kept and resumed in the same way: in a private home, by the id
that the agent gave it. No process of it outlives the turn.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

from adapters.agents.acp.dialogue import Dialogue, Situation
from adapters.agents.acp.permission import Stopwatch
from adapters.agents.acp.pipe import MessagePipe
from adapters.agents.acp.settings import AcpSettings
from adapters.agents.activity import Activity
from adapters.agents.command import CommandAgent
from adapters.agents.command.call import Call
from adapters.agents.command.conversation import AgentConversation, TurnConversation, program_id
from adapters.agents.command.output import added
from adapters.agents.command.settings import IDLE_SECONDS
from adapters.agents.failures import failure_of, last_lines
from adapters.agents.port import Reply, Turn
from adapters.fence import Fence
from adapters.processes import Finished, run
from domain.session.turns import Failure
from domain.values.base import Usage

__all__ = ["AcpAgent", "AcpSettings"]

_FEW_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "1"}
"""By itself, Claude retries ten times over minutes and reports nothing of that over ACP. Hansard retries visibly
instead."""

STREAM_BYTES: Final = 64 * 1_048_576
"""How much an agent may print in a turn, unless the settings say otherwise."""
LEAVE_SECONDS: Final = 2.0
"""How long it may take to exit once its input is closed."""
BACKSTOP: Final = 604_800.0
"""The longest turn, including all the time that people take to answer."""


class AcpAgent(CommandAgent):
    """Starts the program for a turn and talks to it."""

    def __init__(self, settings: AcpSettings, data_dir: Path) -> None:
        super().__init__(settings.program, data_dir)
        self._acp = settings

    def _obstacle(self, turn: Turn, found: AgentConversation | None) -> str | None:
        if found is not None and not found.id:
            return "The program did not name its conversation."
        return super()._obstacle(turn, found)

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings = self._settings.inside(fence.level)
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        most = min(turn.limits.output_bytes, settings.output_bytes or turn.limits.output_bytes)
        program = _Program(self._acp, Situation(self._acp, turn, call, fence.level, most), fence)
        failure = await program.talk(talk.conversation.id if talk.resumed else None)
        return await asyncio.to_thread(self._reply, program.dialogue, talk, failure, call)

    def _reply(self, said: Dialogue, talk: TurnConversation, failure: Failure | None, call: Call) -> Reply:
        text = call.scrub(said.text).strip("\r\n")
        if failure is None and not text.strip():
            failure = Failure(code="unreadable", detail="The agent ended without an answer.")
        conversation = replace(talk.conversation, id=program_id(said.session) or talk.conversation.id)
        usage = said.usage
        if said.cost is not None:
            spent = added(Usage(cost_micros=said.cost), self._meter(conversation))
            usage = usage.changed(cost_micros=spent.cost_micros)
        kept = talk.resumed or (failure is None and bool(conversation.id))
        return Reply(
            text=text,
            usage=usage,
            model=call.scrub(said.model or "") or None,
            agent_session=conversation.handle if kept else None,
            failure=failure,
            truncated=said.truncated,
        )


class _Program:
    """The program of one turn, from its start until its last descendant has ended."""

    def __init__(self, settings: AcpSettings, situation: Situation, fence: Fence) -> None:
        limits, turn = situation.turn.limits, situation.turn
        self._settings, self._call, self._fence, self._turn = settings, situation.call, fence, turn
        self._stopwatch = Stopwatch(
            wall=min(limits.wall_seconds, settings.timeout_seconds or limits.wall_seconds),
            idle=min(limits.idle_seconds or IDLE_SECONDS, settings.idle_seconds or limits.idle_seconds or IDLE_SECONDS),
            time=asyncio.get_running_loop().time,
        )
        self.dialogue = Dialogue(situation, self._stopwatch, self._observe)
        self._pipe = MessagePipe(scrub=self._call.scrub, observe=self._observe, transcribe=self._transcribe)

    async def talk(self, resume: str | None) -> Failure | None:
        """Run the turn. Returns why it failed. Afterwards no process of the program is running."""
        from acp.connection import Connection

        running = asyncio.create_task(self._started())
        running.add_done_callback(lambda _: self._pipe.end())
        connection = Connection(self.dialogue.handle, self._pipe)
        talking = asyncio.create_task(self.dialogue.take_place(connection, resume))
        try:
            limit = await self._stopwatch.watch(talking)
            if limit is not None:
                return self._over(limit)
            failure = talking.result()
            await self._left(running)
            return failure
        except ConnectionError:
            return await self._gone(running)
        finally:
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
            await connection.close()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _started(self) -> Finished:
        call = self._call
        return await run(
            call.argv,
            cwd=call.cwd,
            env={**_FEW_RETRIES, **call.environment},
            stdin=self._pipe.input,
            wall_seconds=BACKSTOP,
            output_bytes=self._settings.output_bytes or STREAM_BYTES,
            fence=self._fence,
            on_line=self._hear,
        )

    def _hear(self, stream: int, text: str) -> None:
        self._stopwatch.heard()
        self._pipe.line(stream, text)

    async def _left(self, running: "asyncio.Task[Finished]") -> None:
        """Let the program exit by itself, so that it can save its conversation."""
        self._pipe.input.close()
        await asyncio.wait({running}, timeout=LEAVE_SECONDS)

    async def _gone(self, running: "asyncio.Task[Finished]") -> Failure:
        """The program ended before its answer."""
        await asyncio.wait({running}, timeout=LEAVE_SECONDS)
        if not running.done():
            return Failure(code="crash", detail="The program broke off the conversation.")
        finished = running.result()
        match finished.ended:
            case "not_started":
                code = "refused" if self._call.cwd.is_dir() else "workspace"
                return Failure(code=code, detail=self._call.scrub(finished.detail))
            case "output":
                return Failure(code="limit", detail=finished.detail)
            case _:
                said = self._call.scrub(last_lines(finished.stderr))
                sentence = f"The program ended with exit code {finished.exit_code}"
                detail = f"{sentence}: {said}" if said else f"{sentence}."
                return failure_of("crash", detail, said=said, rules=self._settings.failures)

    def _over(self, limit: str) -> Failure:
        if limit == "timeout":
            return Failure(code="timeout", detail=f"Stopped after {self._stopwatch.wall:g} s.")
        return Failure(code="idle", detail=f"Stopped after {self._stopwatch.idle:g} s without output.")

    def _observe(self, seen: Activity) -> None:
        if self._turn.observe is not None:
            self._turn.observe(seen)

    def _transcribe(self, line: str) -> None:
        if self._turn.transcribe is not None:
            self._turn.transcribe(line)
