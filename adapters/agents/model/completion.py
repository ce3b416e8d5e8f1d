"""An answer of chat completions, whole or in pieces."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from adapters.agents.failures import last_lines, of_status, recognised
from adapters.agents.figures import counted
from adapters.agents.resets import wait_of
from adapters.agents.speech import Voice
from domain.session.attempts import Failure, FailureCode
from domain.values.base import Usage
from domain.values.sentences import Sentence, because

Message = Mapping[str, Any]  # JSON of an external endpoint
Say = Callable[[Voice, str], None]
_DECLINED: Final = ("content_filter", "content_policy_violation", "safety")


class ChatAnswer:
    """An answer while it arrives: `text` so far, its cost, and how it ended. At most `most` bytes of text are kept."""

    def __init__(self, *, most: int, say: Say) -> None:
        self._most, self._say = most, say
        self._parts: list[str] = []
        self._bytes = 0
        self._refusal = ""
        self._finish: str | None = None
        self.usage = Usage()
        self.model: str | None = None
        self.failure: Failure | None = None
        """An error that the endpoint reported, or that its answer is too long."""
        self.truncated = self.finished = False

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def take(self, message: Message) -> None:
        """A chunk of the stream, or the whole answer."""
        if message.get("error"):
            self.failure = failure_in(message["error"])
            return
        if isinstance(name := message.get("model"), str) and 0 < len(name) <= 200:
            self.model = name
        if isinstance(used := message.get("usage"), dict):
            self.usage = usage_of(used)
        for choice in _dicts(message.get("choices")):
            self._take_choice(choice)

    def _take_choice(self, choice: Message) -> None:
        if choice.get("index") not in (0, None):
            return
        if isinstance(finish := choice.get("finish_reason"), str):
            self._finish, self.finished = finish, True
        for part in (choice.get("delta"), choice.get("message")):
            if isinstance(part, dict):
                self._take_part(part)

    def _take_part(self, part: Message) -> None:
        for name in ("reasoning_content", "reasoning"):
            if isinstance(thought := part.get(name), str) and thought:
                self._say("thought", thought)
                break
        if isinstance(refusal := part.get("refusal"), str):
            self._refusal = (self._refusal + refusal)[:2_000]
        if words := "".join(_words(part.get("content"))):
            self._add(words)

    def _add(self, words: str) -> None:
        encoded = words.encode(errors="replace")
        room = self._most - self._bytes
        self._bytes += len(encoded)
        if len(encoded) > room:
            words = encoded[: max(room, 0)].decode(errors="ignore")
            self.truncated = True
            self.failure = Failure.of("limit", Sentence("answer_too_long", number=self._most))
        if words:
            self._parts.append(words)
            self._say("message", words)

    def end(self) -> Failure | None:
        """Tells why there is no usable answer, once everything has arrived."""
        if self.failure is not None:
            return self.failure
        if self._refusal or self._finish == "content_filter":
            return Failure.of("refused", because(Sentence("model_declined"), last_lines(self._refusal)))
        if self._finish == "length":
            return Failure.of("limit", Sentence("stopped_at_token_limit"))
        if not self.finished:
            return Failure.of("network", Sentence("answer_broken_off"))
        if not self.text.strip():
            return Failure.of("unreadable", Sentence("no_answer_given"))
        return None


def failure_in(error: object, status: int | None = None) -> Failure:
    """The failure that an error object and its status mean."""
    fields = error if isinstance(error, dict) else {}
    message = last_lines(str(fields.get("message") or (error if isinstance(error, str) else "")))
    words = " ".join((str(fields.get("code") or ""), str(fields.get("type") or ""), message))
    number = status if status is not None else counted(fields.get("code"))
    detail = message or Sentence("endpoint_reported_error")
    if status is not None:
        detail = f"HTTP {status}: {message}" if message else f"HTTP {status}."
    return Failure.of(_code(number, words), detail, retry_after=wait_of(message))


def _code(status: int | None, words: str) -> FailureCode:
    """Used-up credit is not a rate limit. Statuses from 400 to 499 would be refused again."""
    by_status, by_words = of_status(status or 0), recognised(words)
    if any(word in words for word in _DECLINED):
        return "refused"
    if by_status == "rate_limit" and by_words == "auth":
        return "auth"
    if by_status is not None:
        return by_status
    if status is None:
        return by_words or "overloaded"
    if status < 300:
        return "unreadable"
    if status in (408, 413):
        return "timeout" if status == 408 else "limit"
    return "limit" if by_words == "limit" else "refused"


def usage_of(used: Message) -> Usage:
    """The figures that are consistent with each other."""
    input_tokens, output_tokens = counted(used.get("prompt_tokens")), counted(used.get("completion_tokens"))
    cached = _within(_detail(used, "prompt_tokens_details", "cached_tokens", "prompt_cache_hit_tokens"), input_tokens)
    reasoned = _within(_detail(used, "completion_tokens_details", "reasoning_tokens"), output_tokens)
    cost = used.get("cost")
    paid = counted(cost * 1_000_000) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=cached,
        output_tokens=output_tokens,
        reasoning_tokens=reasoned,
        cost_micros=paid,
    )


def _detail(used: Message, table: str, name: str, plain: str = "") -> int | None:
    inner = used.get(table)
    number = counted(inner.get(name)) if isinstance(inner, dict) else None
    return counted(used.get(plain)) if number is None else number


def _within(part: int | None, whole: int | None) -> int | None:
    return part if part is not None and whole is not None and part <= whole else None


def _dicts(value: object) -> Iterator[Message]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _words(content: object) -> Iterator[str]:
    """The text in a content, which is a string or a list of parts."""
    if isinstance(content, str):
        yield content
    for part in _dicts(content):
        if isinstance(text := part.get("text"), str):
            yield text
