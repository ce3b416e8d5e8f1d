"""The command agent: any program that takes a prompt and prints an answer, run as a confined process.

Hansard enforces the limits, not the program; its exit code and its output prove nothing by themselves. Secrets only
reach it through its environment, and are removed from everything that comes back.
"""

import asyncio
import logging
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from adapters.agents.command.call import Call, Misreadable, prepare
from adapters.agents.command.conversation import (
    USER,
    AgentConversation,
    TurnConversation,
    begun,
    folder_of,
    owns,
    read_handle,
    remove,
)
from adapters.agents.command.meter import Meter, after
from adapters.agents.command.output import plus
from adapters.agents.command.questions import StdioQuestions
from adapters.agents.command.run import Run
from adapters.agents.command.settings import IDLE_SECONDS, CommandSettings
from adapters.agents.command.usage_growth import added
from adapters.agents.command.watch import Hopeless, Watch
from adapters.agents.port import Limits, Reply, Turn
from adapters.fence.port import Fence
from adapters.processes.program import run
from domain.session.attempts import Failure
from domain.values.sentences import Sentence, because, sentence_of

ENVELOPE = 8
"""A stream of JSON messages may be this many times as long as the answer in it, unless the settings say otherwise."""
INTERRUPTED = "Your previous attempt at the following task was interrupted. Check what is already done, then finish it."
log = logging.getLogger(__name__)


class CommandAgent:
    """Runs the program; keeps one home per conversation below `data_dir`."""

    def __init__(self, settings: CommandSettings, data_dir: Path) -> None:
        self._settings = settings
        self._homes = data_dir.absolute() / "homes"

    async def ask(self, turn: Turn) -> Reply:
        started = time.monotonic()
        reply = await self._run_turn(turn, self._talk(turn))
        if reply.resumed and reply.failure and reply.failure.code == "lost_conversation":
            spent = reply.usage
            why = "The program no longer knows the conversation."
            again = await self._run_turn(replace(turn, meter=after(spent, turn)), self._new(turn, why))
            reply = replace(again, usage=plus(spent, again.usage))
        return replace(reply, seconds=time.monotonic() - started)

    async def forget(self, handle: str) -> None:
        conversation = read_handle(handle)
        if conversation and conversation.home != USER:
            await asyncio.to_thread(_clear, self._home(conversation), self._meter(conversation))

    def _talk(self, turn: Turn) -> TurnConversation:
        """The conversation to resume, or a new one."""
        if turn.agent_session is None or self._settings.resume_argv is None:
            return self._new(turn, None)
        conversation = read_handle(turn.agent_session)
        why = self._obstacle(turn, conversation)
        if conversation is None or why is not None:
            return self._new(turn, why)
        return TurnConversation(conversation, resumed=True)

    def _obstacle(self, turn: Turn, conversation: AgentConversation | None) -> str | None:
        """Tells why the turn cannot resume this conversation; None if it can. Programs keep one per folder."""
        if (
            conversation is None
            or not owns(turn, conversation)
            or (conversation.home == USER) != (self._settings.home == "user")
        ):
            return "The conversation belongs to another session or agent."
        if conversation.folder != folder_of(turn):
            return "The turn runs in another folder than the conversation."
        if self._settings.resumes_by_id and not conversation.id:
            return "The program did not name its conversation."
        if not self._home(conversation).is_dir():
            return "The home of the conversation is not on this machine."
        return None

    def _new(self, turn: Turn, why: str | None) -> TurnConversation:
        return TurnConversation(begun(turn, home=self._settings.home), why=why)

    def _home(self, conversation: AgentConversation) -> Path:
        return Path.home() if conversation.home == USER else self._homes / conversation.home

    def _meter(self, conversation: AgentConversation) -> Path:
        name = conversation.home if conversation.home != USER else f"user-{conversation.id.replace('/', '_')}"
        return self._homes / f"{name}.usage.json"

    async def _run_turn(self, turn: Turn, talk: TurnConversation) -> Reply:
        """The program's answer in this conversation, and what is kept for later turns."""
        try:
            scratch = Path(tempfile.mkdtemp(prefix="hansard-"))
        except OSError as error:
            return Reply(failure=Failure.of("workspace", _sentence(error)))
        prompt = await asyncio.to_thread(_prompt, turn, talk)
        keeps_home = talk.resumed or talk.conversation.home == USER
        try:
            fence = turn.fence(self._settings.granted(turn.grant, self._home(talk.conversation), scratch))
            reply = await self._run(replace(turn, prompt=prompt), talk, scratch=scratch, fence=fence)
            reply = replace(reply, fence=fence.level, fence_gaps=fence.gaps, refused_hosts=fence.grant.refused)
            keeps_home = keeps_home or reply.agent_session is not None
            resumed = talk.resumed if self._settings.resume_argv is not None else None
            return replace(reply, prompt=prompt, resumed=resumed, new_conversation=talk.why)
        finally:
            gone = () if keeps_home else (self._home(talk.conversation), self._meter(talk.conversation))
            await asyncio.to_thread(_clear, scratch, *gone)

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings, limits, conversation = self._settings.inside(fence.level), turn.limits, talk.conversation
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        questions = StdioQuestions(turn, call, fence.level) if settings.questions else None
        watch = Watch(settings, call, turn, questions)
        meter = Meter(settings.usage_paths, self._meter(conversation) if talk.resumed else None)
        if turn.meter is not None:
            turn.meter(meter.used)
        try:
            finished = await run(
                call.argv,
                cwd=call.cwd,
                env=call.environment,
                stdin=questions.input if questions else call.stdin,
                wall_seconds=min(limits.wall_seconds, settings.timeout_seconds or limits.wall_seconds),
                idle_seconds=_least(limits.idle_seconds, settings.idle_seconds) or IDLE_SECONDS,
                output_bytes=self._output_bytes(limits),
                fence=fence,
                on_line=watch.line,
                on_start=meter.begin,
                pauses=questions.pauses if questions else None,
            )
        except Hopeless as hopeless:
            handle = conversation.handle if talk.resumed else None
            return Reply(failure=hopeless.failure, agent_session=handle, usage=meter.noted())
        except asyncio.CancelledError:
            meter.noted()
            raise
        finally:
            if questions:
                await questions.close()
        reply = await asyncio.to_thread(self._read, Run(settings, call, finished), talk, limits)
        return watch.explained(reply)

    def _prepared(self, settings: CommandSettings, turn: Turn, talk: TurnConversation, scratch: Path) -> Call | Failure:
        """The prepared run of the program, or why it is impossible."""
        conversation = talk.conversation
        home = self._home(conversation)
        try:
            return prepare(
                settings, turn, resumed=talk.resumed, agent_session=conversation.id, home=home, scratch=scratch
            )
        except Misreadable as error:
            return Failure.of("refused", sentence_of(error))
        except ValueError as error:
            return Failure.of("auth", sentence_of(error))
        except OSError as error:
            return Failure.of("workspace", _sentence(error))

    def _output_bytes(self, limits: Limits) -> int:
        """The limit of the output in bytes: a stream of messages is longer than the answer, which has a separate
        limit.
        """
        if self._settings.output == "json":
            return self._settings.output_bytes or limits.output_bytes * ENVELOPE
        return min(limits.output_bytes, self._settings.output_bytes or limits.output_bytes)

    def _read(self, finished: Run, talk: TurnConversation, limits: Limits) -> Reply:
        reply = finished.reply(talk.conversation, most=limits.output_bytes)
        paths = self._settings.usage_paths
        if paths and paths.cumulative and reply.usage.tokens is not None:
            conversation = read_handle(reply.agent_session) or talk.conversation
            reply = replace(reply, usage=added(reply.usage, self._meter(conversation)))
        if reply.failure is None:
            return replace(
                reply, agent_session=reply.agent_session or (talk.conversation.handle if talk.resumed else None)
            )
        return replace(reply, agent_session=talk.conversation.handle if talk.resumed else None)


def _prompt(turn: Turn, talk: TurnConversation) -> str:
    """The prompt: with the earlier messages if the conversation is lost, or with a note about the previous attempt."""
    if talk.why is not None and turn.recap is not None and (recap := turn.recap()):
        return f"{recap}\n\n{turn.prompt}"
    if talk.resumed and turn.attempt > 1:
        return f"{INTERRUPTED}\n\n{turn.prompt}"
    return turn.prompt


def _sentence(error: OSError) -> Sentence:
    where = f": {error.filename}" if error.filename else ""
    return because(Sentence("turn_not_prepared"), f"{error.strerror or type(error).__name__}{where}.")


def _least(*bounds: float | None) -> float | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _clear(*paths: Path) -> None:
    """Delete what a turn left; if that fails, the answer still counts."""
    for path in paths:
        try:
            remove(path)
        except OSError as error:
            log.warning("could not remove %s: %s", path, error)
