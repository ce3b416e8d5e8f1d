"""An agent's updates over ACP, as activities. Unknown shapes are ignored."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from adapters.agents.activity import PATHS, TITLE, Activity, Status, Tool, tail, tool_call
from adapters.agents.desk import PermissionDesk, RequestedTool
from adapters.agents.figures import counted
from adapters.agents.speech import Voice
from adapters.agents.streams import exit_code_of, plan_of
from domain.session.attempts import Failure, FailureCode
from domain.values.base import MOST, Usage
from domain.values.sentences import Sentence

Message = Mapping[str, Any]  # JSON of an external program

_TOOLS: Final[Mapping[str, Tool]] = {
    "read": "read",
    "edit": "edit",
    "delete": "edit",
    "move": "edit",
    "search": "search",
    "execute": "execute",
    "fetch": "fetch",
}
_STATUSES: Final[Mapping[str, Status]] = {
    "pending": "running",
    "in_progress": "running",
    "completed": "completed",
    "failed": "failed",
}
_VOICES: Final[Mapping[str, Voice]] = {"agent_message_chunk": "message", "agent_thought_chunk": "thought"}
_STOPS: Final[Mapping[str, tuple[FailureCode, str]]] = {
    "max_tokens": ("limit", "stopped_at_token_limit"),
    "max_turn_requests": ("limit", "stopped_at_request_limit"),
    "refusal": ("refused", "model_declined"),
    "cancelled": ("crash", "agent_interrupted"),
}
_DESCRIBES: Final = ("title", "kind", "rawInput", "locations")


def spoken(update: Message) -> tuple[Voice, str] | None:
    """The piece of a message or a thought in an update."""
    voice = _VOICES.get(str(update.get("sessionUpdate")))
    match update.get("content"):
        case {"type": "text", "text": str(text)} if voice and text:
            return voice, text
    return None


def activities(update: Message) -> Iterator[Activity]:
    """All other updates."""
    match update:
        case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(call)}:
            yield _tool(call, update)
        case {"sessionUpdate": "plan", "entries": [*entries]}:
            yield plan_of(entries)
        case {"sessionUpdate": "usage_update", "used": int(used), "size": int(size)} if used >= 0 and size > 0:
            yield Activity(kind="usage", id="context", text=f"{used:,} of {size:,} tokens of context")


def described(update: Message) -> dict[str, Any]:
    """The details of a tool call, which are needed when permission for it is requested."""
    return {name: update[name] for name in _DESCRIBES if update.get(name) is not None}


def requested_tool(call: Message) -> RequestedTool:
    """The title of a tool call: for `execute` its command line, otherwise its title."""
    tool = _TOOLS.get(str(call.get("kind")), "other")
    raw, title = call.get("rawInput"), call.get("title")
    words = title if isinstance(title, str) else ""
    if tool == "execute" and isinstance(raw, dict):
        words = _command(raw) or words
    return RequestedTool(tool, words or tool, _paths(call))


def failure_of_stop(answer: Message) -> Failure | None:
    """Tells why the agent stopped before the end of its turn; a reason that the protocol does not have is no good
    end."""
    reason = answer.get("stopReason", "end_turn")
    if reason == "end_turn":
        return None
    stop = _STOPS.get(str(reason))
    if stop is None:
        return Failure.of("crash", Sentence("agent_stopped_because", word=str(reason)[:100]))
    return Failure.of(stop[0], Sentence(stop[1]))


def cost_of(update: Message) -> int | None:
    """The cost of the conversation so far, in millionths of a dollar."""
    match update:
        case {"sessionUpdate": "usage_update", "cost": {"amount": int() | float() as amount, "currency": "USD"}}:
            return counted(amount * 1_000_000)
    return None


def usage_of(answer: Message) -> Usage:
    """The usage of a prompt. Some agents include cache reads and thoughts in input and output, others count them
    separately: the total shows which."""
    used = answer.get("usage")
    if not isinstance(used, dict):
        return _quota(answer)
    input_tokens, output_tokens = counted(used.get("inputTokens")), counted(used.get("outputTokens"))
    cache_reads, cache_writes, thought = (
        counted(used.get(name)) for name in ("cachedReadTokens", "cachedWriteTokens", "thoughtTokens")
    )
    if input_tokens is None or output_tokens is None:
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    uncounted = (counted(used.get("totalTokens")) or 0) - input_tokens - output_tokens
    cached = (cache_reads or 0) + (cache_writes or 0)
    if cached and uncounted >= cached:
        input_tokens, uncounted = min(input_tokens + cached, MOST), uncounted - cached
    if thought and uncounted >= thought:
        output_tokens = min(output_tokens + thought, MOST)
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=cache_reads if cache_reads is not None and cache_reads <= input_tokens else None,
        output_tokens=output_tokens,
        reasoning_tokens=thought if thought is not None and thought <= output_tokens else None,
    )


def _quota(answer: Message) -> Usage:
    """Gemini's own format."""
    match answer:
        case {"_meta": {"quota": {"token_count": dict(used)}}}:
            return Usage(
                input_tokens=counted(used.get("input_tokens")), output_tokens=counted(used.get("output_tokens"))
            )
    return Usage()


def _tool(call: str, update: Message) -> Activity:
    raw, title = update.get("rawInput"), update.get("title")
    fields = raw if isinstance(raw, dict) else {}
    begins: Status | None = "running" if update.get("sessionUpdate") == "tool_call" else None
    status = _STATUSES.get(str(update.get("status")), begins)
    kind = update.get("kind")
    tool = _TOOLS.get(kind, "other") if isinstance(kind, str) else None
    words = _command(fields) or tool_call(title if isinstance(title, str) else "", fields, call=call).title or ""
    code, output = exit_code_of(update.get("rawOutput")), _output(update)
    if status == "completed" and code:
        status = "failed"
    return Activity(
        kind="tool",
        id=call[:200],
        tool=tool,
        title=words[:TITLE] or None,
        paths=_paths(update),
        status=status,
        exit_code=code,
        text=tail(output) if output else None,
    )


def _command(raw: Message) -> str:
    match raw.get("command") or raw.get("cmd"):
        case str(command):
            return command
        case [*parts] if parts and all(isinstance(part, str) for part in parts):
            return shlex.join(parts)
    return ""


def _paths(call: Message) -> tuple[str, ...]:
    places = call.get("locations")
    candidates = (place.get("path") for place in places if isinstance(place, dict)) if isinstance(places, list) else ()
    return tuple(dict.fromkeys(path[:4_096] for path in candidates if isinstance(path, str)))[:PATHS]


def _output(update: Message) -> str:
    """The result of a tool, as a text."""
    raw, content = update.get("rawOutput"), update.get("content")
    if isinstance(content, list):
        blocks = [item.get("content") for item in content if isinstance(item, dict) and item.get("type") == "content"]
        words = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
        if words:
            return "\n".join(words)
    if isinstance(raw, dict):
        raw = next((raw[name] for name in ("output", "stdout", "error") if isinstance(raw.get(name), str)), None)
    return raw if isinstance(raw, str) else ""


# Answers an agent's requests for permission over ACP.


Json = dict[str, Any]


class Permissions:
    """The requests of one turn. `denied` are the tool calls that got no permission."""

    def __init__(self, desk: PermissionDesk, observe: Callable[[Activity], None]) -> None:
        self._desk, self._observe = desk, observe
        self.denied: set[str] = set()

    async def outcome(self, request: Mapping[str, Any], calls: Mapping[str, Json]) -> Json:
        """The answer to a request, given what is known of the tool calls. Permission is only ever given once."""
        tool_call, choices = request.get("toolCall"), request.get("options")
        call = tool_call if isinstance(tool_call, dict) else {}
        name = str(call.get("toolCallId", ""))[:200]
        options = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
        use = requested_tool(calls.get(name, {}) | described(call))
        allowed = _option(options, "allow_once")
        if allowed is not None and await self._desk.permitted(use):
            return allowed
        self.denied.add(name)
        self._observe(use.denied("tool").changed(id=name or None))
        return _option(options, "reject_once") or _option(options, "reject_always") or {"outcome": "cancelled"}


def _option(options: list[Json], kind: str) -> Json | None:
    option_id = next((one.get("optionId") for one in options if one.get("kind") == kind), None)
    return {"outcome": "selected", "optionId": option_id} if isinstance(option_id, str) else None
