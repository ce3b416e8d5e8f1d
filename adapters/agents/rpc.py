"""The common parts of agents that speak JSON-RPC on their standard input and output, whichever protocol they speak."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from adapters.agents.activity import Activity
from adapters.agents.command.call import Call
from adapters.agents.command.settings import IDLE_SECONDS, CommandSettings
from adapters.agents.failures import code_of_exit, failure_of, last_lines
from adapters.agents.message_pipe import MessagePipe, PeerError
from adapters.agents.port import Turn
from adapters.fence.port import Fence
from adapters.processes.program import Finished, run
from adapters.processes.stopwatch import Stopwatch
from domain.session.attempts import Failure, FailureCode
from domain.values.base import HansardError
from domain.values.sentences import Sentence, because, rewritten

if TYPE_CHECKING:
    from adapters.agents.peer import Peer

Json = dict[str, Any]

STREAM_BYTES: Final = 64 * 1_048_576
"""How much an agent may print in a turn, unless the settings say otherwise."""
LEAVE_SECONDS: Final = 2.0
"""How long it may take to exit once its input is closed."""
BACKSTOP: Final = 604_800.0
"""The longest turn, including all the time that people take to answer."""
START_SECONDS: Final = 120.0
"""How long an agent may take to initialize."""
CANCEL_SECONDS = 0.5
"""How long an agent may take to end a cancelled turn."""


class Rejected(HansardError):
    """The agent cannot take the turn."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Conversing(Protocol):
    """Our side of the conversation, in the agent's protocol."""

    async def take_place(self, connection: "Peer", resume: str | None) -> Failure | None:
        """Run the whole turn. Returns why it failed. Raises ConnectionError if the agent is gone."""
        ...

    async def handle(self, method: str, params: Any, is_notification: bool) -> Json | None:
        """A request or a notification from the agent. Raises Unsupported."""
        ...


class Program:
    """The program of one turn, from its start until its last descendant has ended."""

    def __init__(self, settings: CommandSettings, turn: Turn, call: Call, fence: Fence) -> None:
        limits = turn.limits
        self._settings, self._call, self._fence, self._turn = settings, call, fence, turn
        self.stopwatch = Stopwatch(
            wall=min(limits.wall_seconds, settings.timeout_seconds or limits.wall_seconds),
            idle=min(limits.idle_seconds or IDLE_SECONDS, settings.idle_seconds or limits.idle_seconds or IDLE_SECONDS),
            time=asyncio.get_running_loop().time,
        )
        self._pipe = MessagePipe(scrub=call.scrub, observe=self.observe, transcribe=self._transcribe)
        self.over = self._pipe.over
        """Set after its last message has been received."""

    async def talk(self, dialogue: Conversing, resume: str | None) -> Failure | None:
        """Run the turn. Returns why it failed. Afterwards no process of the program is running."""
        from adapters.agents.peer import Peer

        running = asyncio.create_task(self._started())
        running.add_done_callback(lambda _: self._pipe.end())
        connection = Peer(dialogue.handle, self._pipe)
        talking = asyncio.create_task(dialogue.take_place(connection, resume))
        try:
            limit = await self.stopwatch.watch(talking)
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

    def observe(self, seen: Activity) -> None:
        if self._turn.observe is not None:
            self._turn.observe(seen)

    async def _started(self) -> Finished:
        call = self._call
        return await run(
            call.argv,
            cwd=call.cwd,
            env=call.environment,
            stdin=self._pipe.input,
            wall_seconds=BACKSTOP,
            output_bytes=self._settings.output_bytes or STREAM_BYTES,
            fence=self._fence,
            on_line=self._hear,
        )

    def _hear(self, stream: int, text: str) -> None:
        self.stopwatch.heard()
        self._pipe.line(stream, text)

    async def _left(self, running: "asyncio.Task[Finished]") -> None:
        """Let the program exit by itself, so that it can save its conversation."""
        self._pipe.input.close()
        await asyncio.wait({running}, timeout=LEAVE_SECONDS)

    async def _gone(self, running: "asyncio.Task[Finished]") -> Failure:
        """The program ended before its answer."""
        await asyncio.wait({running}, timeout=LEAVE_SECONDS)
        if not running.done():
            return Failure.of("crash", Sentence("program_broke_off"))
        finished = running.result()
        match finished.ended:
            case "not_started":
                code: FailureCode = "refused" if self._call.cwd.is_dir() else "workspace"
                return Failure.of(code, rewritten(finished.detail, self._call.scrub))
            case "output":
                return Failure.of("limit", finished.detail)
            case _:
                lines = self._call.scrub(last_lines(finished.stderr))
                why = because(Sentence("program_ended", number=finished.exit_code), lines)
                code = code_of_exit(finished.exit_code, lines)
                return failure_of(code, why, output=lines, rules=self._settings.failures)

    def _over(self, limit: str) -> Failure:
        if limit == "timeout":
            return Failure.of("timeout", Sentence("stopped_after", number=self.stopwatch.wall))
        return Failure.of("idle", Sentence("stopped_in_silence", number=self.stopwatch.idle))

    def _transcribe(self, line: str) -> None:
        if self._turn.transcribe is not None:
            self._turn.transcribe(line)


def table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def words_of(error: PeerError, call: Call) -> str:
    """The error's message, with the agent's details."""
    more = error.data
    if isinstance(more, dict):
        more = next((more[name] for name in ("details", "message", "error") if isinstance(more.get(name), str)), more)
    added = more if isinstance(more, str) else orjson.dumps(more).decode() if more else ""
    return call.scrub(last_lines(f"{error}: {added}" if added else str(error)))


async def introduced(connection: "Peer", wanted: Json, protocol: str) -> Json:
    """The agent's answer to `initialize`. Raises `Rejected` if it takes too long."""
    try:
        async with asyncio.timeout(START_SECONDS):
            return table(await connection.send_request("initialize", wanted))
    except TimeoutError:
        why = Sentence("program_not_introduced", number=START_SECONDS, protocol=protocol)
        raise Rejected(Failure.of("timeout", why)) from None


async def call_off(telling: Coroutine[Any, Any, Any], ends: "asyncio.Future[Any]") -> None:
    """Tell the agent that its answer is no longer needed, and give it a moment to save its state."""
    sent = asyncio.ensure_future(telling)
    sent.add_done_callback(ignored)
    await asyncio.wait({ends}, timeout=CANCEL_SECONDS)
    sent.cancel()


def ignored(request: "asyncio.Future[Any]") -> None:
    """For when the result is no longer needed."""
    if not request.cancelled():
        request.exception()
