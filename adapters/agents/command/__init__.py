"""The command agent: any program that takes a prompt and writes an answer, run as a confined process.

Limits are ours, not the program's; its exit code and its words prove nothing by themselves. Secrets reach it through
its environment only, and are struck out of everything that comes back.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adapters.agents.command.call import Call, Misreadable, prepare
from adapters.agents.command.conversation import USER, Conversation, begun, owns, program_id, read_handle, remove
from adapters.agents.command.output import Message, error_of, has_final, messages, model_of, text_of, usage_of
from adapters.agents.command.settings import Settings
from adapters.agents.port import Limits, Reply, Turn
from adapters.processes import Finished, run
from domain.session.turns import Failure, FailureCode

__all__ = ["Command", "Settings"]

ENVELOPE = 8
"""A stream of JSON messages may be this many times as long as the answer in it, where the settings do not say."""
TAIL = 2_000
log = logging.getLogger(__name__)


class Command:
    """Asks the program; keeps one home per conversation below `data_dir`."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self._settings = settings
        self._homes = data_dir.absolute() / "homes"

    async def ask(self, turn: Turn) -> Reply:
        started = time.monotonic()
        known = self._resumable(turn)
        conversation = known or self._begun(turn)
        reply = Reply()
        try:
            scratch = Path(tempfile.mkdtemp(prefix="hansard-"))
        except OSError as error:
            return _failed("crash", f"The turn could not be prepared: {error}")
        try:
            reply = await self._converse(turn, conversation, scratch=scratch, resumed=known is not None)
            handle = reply.agent_session or (known.handle if known else None)
            return replace(reply, agent_session=handle, seconds=time.monotonic() - started)
        finally:
            kept = known is not None or reply.agent_session is not None or conversation.home == USER
            await asyncio.to_thread(_clear, scratch, *([] if kept else [self._home(conversation)]))

    async def forget(self, handle: str) -> None:
        conversation = read_handle(handle)
        if conversation and conversation.home != USER:
            await asyncio.to_thread(remove, self._home(conversation))

    def _begun(self, turn: Turn) -> Conversation:
        return Conversation(USER) if self._settings.home == "user" else begun(turn)

    def _resumable(self, turn: Turn) -> Conversation | None:
        """The conversation that the turn goes on with; None begins anew: nothing was kept, or not for this agent."""
        found = read_handle(turn.agent_session)
        if found is None or self._settings.resume_argv is None or not owns(turn, found):
            return None
        if self._settings.resumes_by_id and not found.id:
            return None
        at_home = found.home == USER if self._settings.home == "user" else self._home(found).is_dir()
        return found if at_home else None

    def _home(self, conversation: Conversation) -> Path:
        return Path.home() if conversation.home == USER else self._homes / conversation.home

    async def _converse(self, turn: Turn, conversation: Conversation, *, scratch: Path, resumed: bool) -> Reply:
        settings, limits = self._settings, turn.limits
        try:
            call = prepare(
                settings,
                turn,
                template=settings.resume_argv if resumed and settings.resume_argv else settings.argv,
                agent_session=conversation.id,
                home=self._home(conversation),
                scratch=scratch,
            )
        except Misreadable as error:
            return _failed("refused", str(error))
        except ValueError as error:
            return _failed("auth", str(error))
        except OSError as error:
            return _failed("crash", f"The turn could not be prepared: {error}")
        finished = await run(
            call.argv,
            cwd=call.cwd,
            env=call.environment,
            stdin=call.stdin,
            wall_seconds=min(limits.wall_seconds, settings.timeout_seconds or limits.wall_seconds),
            idle_seconds=_least(limits.idle_seconds, settings.idle_seconds),
            output_bytes=self._output_bytes(limits),
        )
        return await asyncio.to_thread(self._read, finished, call, conversation, limits)

    def _output_bytes(self, limits: Limits) -> int:
        """How much may be written: a stream of messages is longer than the answer, which has a limit of its own."""
        if self._settings.output == "json":
            return self._settings.output_bytes or limits.output_bytes * ENVELOPE
        return min(limits.output_bytes, self._settings.output_bytes or limits.output_bytes)

    def _read(self, finished: Finished, call: Call, conversation: Conversation, limits: Limits) -> Reply:
        found = messages(finished.stdout) if self._settings.output == "json" else ()
        picked = text_of(found, self._settings.text_path) if self._settings.text_path else finished.stdout
        text, cut = _cut(call.scrub(picked or "").strip("\r\n"), limits.output_bytes)
        told = error_of(found, self._settings.error_path)
        failure = _end(finished, call, told) or self._doubt(found, finished, call, told)
        if cut and failure is None:
            failure = Failure(code="limit", detail=f"The answer is longer than {limits.output_bytes} bytes.")
        if not text.strip() and failure is None:
            failure = Failure(code="bad_output", detail="The program ended without an answer.")
        return Reply(
            text=text,
            usage=usage_of(found, self._settings.usage_paths),
            model=call.scrub(model_of(found, self._settings.usage_paths) or "") or None,
            agent_session=None if failure else self._handle(found, conversation),
            failure=failure,
            truncated=cut or finished.truncated,
        )

    def _doubt(self, found: Sequence[Message], finished: Finished, call: Call, told: str | None) -> Failure | None:
        """Why a program that ended well has not answered all the same; an exit code proves nothing."""
        if told is not None:
            return Failure(code="provider", detail=call.scrub(told)[:TAIL])
        if self._settings.output == "json" and not found:
            return Failure(code="bad_output", detail=_with_tail("The program wrote no JSON object", finished, call))
        if not has_final(found, self._settings.require_final):
            sentence = f"The program ended without its message {self._settings.require_final!r}"
            return Failure(code="bad_output", detail=_with_tail(sentence, finished, call))
        return None

    def _handle(self, found: Sequence[Message], conversation: Conversation) -> str | None:
        """The handle to resume with; None when the program cannot, or did not say by which id."""
        if self._settings.resume_argv is None:
            return None
        told = text_of(found, self._settings.session_path) if self._settings.session_path else None
        now = replace(conversation, id=program_id(told) or conversation.id)
        return now.handle if now.id or not self._settings.resumes_by_id else None


def _end(finished: Finished, call: Call, told: str | None) -> Failure | None:
    """How the process ended, if not well; `told` is what it said about it in its own way."""
    match finished.ended:
        case "not_started":
            return Failure(code="refused", detail=call.scrub(finished.detail)[:TAIL])
        case "timeout":
            return Failure(code="timeout", detail=finished.detail)
        case "idle":
            return Failure(code="idle", detail=finished.detail)
        case "output":
            return Failure(code="limit", detail=finished.detail)
        case "exit" if finished.exit_code != 0:
            sentence = f"The program ended with exit code {finished.exit_code}"
            if told is not None:
                return Failure(code="crash", detail=f"{sentence}: {call.scrub(told)[:TAIL]}")
            return Failure(code="crash", detail=_with_tail(sentence, finished, call))
        case _:
            return None


def _with_tail(sentence: str, finished: Finished, call: Call) -> str:
    """The sentence and the end of what was said on stderr, without secrets; at most `TAIL` characters of it."""
    tail = call.scrub(finished.stderr).strip()[-TAIL:]
    return f"{sentence}: {tail}" if tail else f"{sentence}."


def _failed(code: FailureCode, detail: str) -> Reply:
    return Reply(failure=Failure(code=code, detail=detail))


def _cut(text: str, limit: int) -> tuple[str, bool]:
    encoded = text.encode(errors="replace")
    return (encoded[:limit].decode(errors="ignore"), True) if len(encoded) > limit else (text, False)


def _least(*bounds: float | None) -> float | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _clear(*folders: Path) -> None:
    """What a turn leaves behind; a remainder on disk does not spoil the answer."""
    for folder in folders:
        try:
            remove(folder)
        except OSError as error:
            log.warning("could not remove %s: %s", folder, error)
