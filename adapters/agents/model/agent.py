"""The model agent: an endpoint that speaks OpenAI's chat completions, for roles that only write text.

Nothing is kept between turns: the conversation is read from the record and sent along, so it cannot be lost with a
machine. The key is only sent to the endpoint. It is in no process that runs here, and removed from everything that
comes back.
"""

import asyncio
import contextlib
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from adapters.agents.activity import Activity
from adapters.agents.command.settings import IDLE_SECONDS
from adapters.agents.failures import TAIL
from adapters.agents.model.completion import ChatAnswer, Message, failure_in
from adapters.agents.model.endpoint import SPEAKS, ModelSettings
from adapters.agents.port import Reply, Turn
from adapters.agents.prompts.conversation import Exchange
from adapters.agents.speech import Speech
from adapters.references import resolve_secrets
from domain.session.attempts import Failure, FailureCode
from domain.values.sentences import Sentence, sentence_of

if TYPE_CHECKING:
    from httpx2 import Response


CONNECT_SECONDS: Final = 30.0
EVENT_BYTES: Final = 1_048_576
"""Maximum size of a chunk of a stream."""
STREAM_BYTES: Final = 64 * 1_048_576
"""Maximum size of an answer with all its chunks."""
WHOLE_BYTES: Final = 8 * 1_048_576
"""Maximum size of an answer that is not a stream."""
HISTORY: Final = 400_000
"""How many characters of earlier messages are sent along; the latest are kept."""
SYSTEM: Final = "You have no tools and cannot open files. Answer from what is written here."

_HANDLE = re.compile(r"model:(\S{1,300})")
_KEY = re.compile(r"[!-~]{1,4096}")


class ModelAgent:
    """Sends one request per turn, as a stream."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    async def ask(self, turn: Turn) -> Reply:
        started = time.monotonic()
        if turn.role not in SPEAKS:
            return _failed("refused", Sentence("model_only_speaks", agent=turn.agent, role=turn.role))
        try:
            key = resolve_secrets({"api_key": self._settings.api_key or ""})["api_key"]
        except ValueError as error:
            return _failed("auth", sentence_of(error))
        if key and not _KEY.fullmatch(key):
            return _failed("auth", Sentence("api_key_not_one_line"))
        model_turn = _ModelTurn(self._settings, turn, key)
        reply = await model_turn.answer()
        return replace(reply, seconds=time.monotonic() - started)

    async def forget(self, handle: str) -> None:
        """Nothing is kept."""


class _ModelTurn:
    """One turn: what is sent, and what comes back, without the key."""

    def __init__(self, settings: ModelSettings, turn: Turn, key: str) -> None:
        self._settings, self._turn, self._key = settings, turn, key
        limits = turn.limits
        self._wall = min(limits.wall_seconds, settings.timeout_seconds or limits.wall_seconds)
        self._idle = min(limits.idle_seconds or IDLE_SECONDS, settings.idle_seconds or IDLE_SECONDS)
        self._speech = Speech(self._observe, self._transcribe)
        most = min(limits.output_bytes, settings.output_bytes or limits.output_bytes)
        self._heard = ChatAnswer(most=most, say=self._speech.say)

    async def answer(self) -> Reply:
        began, messages, lost = await asyncio.to_thread(self._conversation)
        try:
            failure = await self._request(messages)
        finally:
            self._speech.flush()
        heard, resumed = self._heard, began != _begun(self._turn)
        failure = failure or heard.end()
        if failure is not None:
            failure = failure.rewritten(lambda text: self._scrub(text)[:TAIL])
        return Reply(
            text=self._scrub(heard.text),
            usage=heard.usage,
            model=self._scrub(heard.model or self._settings.model or "") or None,
            agent_session=f"model:{began}" if failure is None or resumed else None,
            failure=failure,
            truncated=heard.truncated,
            resumed=resumed,
            new_conversation=lost,
            prompt=messages[-1]["content"] if lost else None,
        )

    # -- what is sent --------------------------------------------------------------------------------------------------

    def _conversation(self) -> tuple[str, list[dict[str, str]], str | None]:
        """The turn that the conversation began with, its messages, and why it is new if it should have been resumed."""
        turn, prompt, lost = self._turn, self._turn.prompt, None
        began, earlier = _begun(turn), tuple[Exchange, ...]()
        if turn.agent_session is not None:
            handle = _HANDLE.fullmatch(turn.agent_session)
            earlier = _since(handle[1], tuple(turn.exchanges())) if handle and turn.exchanges else ()
            if handle and earlier:
                began = handle[1]
            else:
                lost = "The conversation is not in the record of this session."
                recap = turn.recap() if turn.recap else ""
                prompt = f"{recap}\n\n{prompt}" if recap else prompt
        messages = [{"role": "system", "content": SYSTEM}]
        for exchange in (one for one in earlier if one.answered):
            messages.append({"role": "user", "content": exchange.asked})
            messages.append({"role": "assistant", "content": exchange.answered})
        return began, [*messages, {"role": "user", "content": prompt}], lost

    def _body(self, messages: list[dict[str, str]]) -> bytes:
        settings = self._settings
        body: dict[str, Any] = {"model": settings.model, "messages": messages, "stream": True}
        body |= {"stream_options": {"include_usage": True}}
        body |= {"max_tokens": settings.max_tokens} if settings.max_tokens else {}
        body |= {"temperature": settings.temperature} if settings.temperature is not None else {}
        return json.dumps(body).encode()  # prompts may contain half of a surrogate pair, which orjson refuses

    # -- what comes back -----------------------------------------------------------------------------------------------

    async def _request(self, messages: list[dict[str, str]]) -> Failure | None:
        """Read the answer; a failure if the endpoint could not be reached or stopped."""
        from httpx2 import AsyncClient, HTTPError, ReadTimeout, Timeout

        timeout = Timeout(self._idle, connect=min(CONNECT_SECONDS, self._wall))
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        url = f"{self._settings.base_url}/chat/completions"
        try:
            async with asyncio.timeout(self._wall), AsyncClient(timeout=timeout) as client:
                content = await asyncio.to_thread(self._body, messages)
                async with client.stream("POST", url, content=content, headers=headers) as response:
                    return await self._hear(response)
        except TimeoutError:
            return Failure.of("timeout", Sentence("stopped_after", number=self._wall))
        except ReadTimeout:
            return Failure.of("idle", Sentence("stopped_in_silence", number=self._idle))
        except HTTPError as error:
            return Failure.of("network", f"{url}: {str(error) or type(error).__name__}")

    async def _hear(self, response: "Response") -> Failure | None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.headers.get("content-encoding", "identity") != "identity":
            return Failure.of("unreadable", Sentence("endpoint_compressed"))
        if response.status_code == 200 and kind == "text/event-stream":
            return await self._stream(response)
        whole = await _some(response)
        if response.status_code != 200:
            return _refusal(response, _json(whole) or whole.decode(errors="replace"))
        message = _json(whole)
        if message is None:
            return Failure.of("unreadable", Sentence("endpoint_not_json", given=kind or "?"))
        self._transcribe(orjson.dumps(message).decode())
        self._take(message)
        return None

    async def _stream(self, response: "Response") -> Failure | None:
        from httpx2 import EventSource, SSEError

        taken = 0
        try:
            async for event in EventSource(response, EVENT_BYTES):
                taken += len(event.data)
                if event.data.strip() == "[DONE]":
                    self._heard.finished = True
                    return None
                if taken > STREAM_BYTES:
                    return Failure.of("limit", Sentence("stopped_at_output", number=STREAM_BYTES))
                if (message := _json(event.data)) is not None:
                    self._take(message)
                if self._heard.failure is not None:
                    return None
        except SSEError as error:
            return Failure.of("limit", str(error))
        return None

    def _take(self, message: Message) -> None:
        before = self._heard.usage
        self._heard.take(message)
        used = self._heard.usage
        if used != before and used.tokens is not None:
            self._speech.flush()
            words = f"{used.input_tokens or 0:,} tokens in, {used.output_tokens or 0:,} out"
            self._observe(Activity(kind="usage", id="model", usage=used, text=words))
            self._transcribe(orjson.dumps({"usage": message.get("usage"), "model": self._heard.model}).decode())

    def _observe(self, seen: Activity) -> None:
        if self._turn.observe is not None:
            self._turn.observe(seen.changed(text=self._scrub(seen.text or "")))

    def _transcribe(self, line: str) -> None:
        if self._turn.transcribe is not None:
            self._turn.transcribe(self._scrub(line))

    def _scrub(self, text: str) -> str:
        """Without the key, and without NUL, which not every store can hold."""
        return (text.replace(self._key, "***") if len(self._key) > 3 else text).replace("\0", "\ufffd")


def _failed(code: FailureCode, detail: str) -> Reply:
    return Reply(failure=Failure.of(code, detail))


def _begun(turn: Turn) -> str:
    """The name of the turn within its session: a fork has the same turns."""
    return turn.turn_id.removeprefix(turn.session_id)


def _since(began: str, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The messages since that turn, up to the limit; empty if the turn is unknown."""
    first = next((place for place, one in enumerate(exchanges) if one.turn_id.endswith(began)), len(exchanges))
    latest: list[Exchange] = []
    room = HISTORY
    for exchange in reversed(exchanges[first:]):
        room -= len(exchange.asked) + len(exchange.answered)
        if room < 0 and latest:
            break
        latest.append(exchange)
    return tuple(reversed(latest))


async def _some(response: "Response") -> bytes:
    """The body, or its beginning if it is long."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > WHOLE_BYTES:
            break
    return bytes(body[:WHOLE_BYTES])


def _json(text: str | bytes) -> Message | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _refusal(response: "Response", body: Message | str) -> Failure:
    """The failure that a status other than 200 means, and when to retry."""
    error = body if isinstance(body, str) else body.get("error", body)
    failure = failure_in(error, response.status_code)
    wait = _wait(response.headers)
    return failure if wait is None else failure.changed(retry_after=wait)


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait."""
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        with contextlib.suppress(ValueError):
            if (seconds := float(headers.get(name, "")) / unit) >= 0 and math.isfinite(seconds):
                return seconds
    with contextlib.suppress(ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    return None
