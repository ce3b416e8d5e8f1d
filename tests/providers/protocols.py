"""The providers' protocols, as far as coding agents use them: what is read from a call, and how an answer streams."""

import json
import uuid
from collections.abc import Iterator
from typing import Any
from typing import Protocol as Interface

Json = dict[str, Any]
SHELLS = ("exec_command", "shell", "Bash", "bash", "run_shell_command")


class Protocol(Interface):
    name: str

    def serves(self, path: str) -> bool: ...
    def streams(self, path: str, body: Json) -> bool: ...
    def prompt(self, body: Json) -> str: ...
    def tools(self, body: Json) -> list[str]: ...
    def frames(self, step: Any, body: Json) -> Iterator[str]: ...
    def whole(self, step: Any, body: Json) -> Json: ...
    def error(self, status: int) -> Json: ...


def sse(data: Json, event: str | None = None) -> str:
    return (f"event: {event}\n" if event else "") + f"data: {json.dumps(data)}\n\n"


def words(content: object) -> str:
    """The text in a message, whatever its shape."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(words(part) for part in content)
        case dict():
            return words(content.get("text") or content.get("parts") or "")
        case _:
            return ""


def tool_of(step: Any, tools: list[str]) -> tuple[str, Json] | None:
    """The tool that the step calls, and its arguments; a command goes out through the tool that runs commands."""
    if step.shell is None:
        called: tuple[str, Json] | None = step.call
        return called
    command = step.shell
    name = next((name for name in SHELLS if name in tools), "Bash")
    match name:
        case "exec_command":
            return name, {"cmd": command}
        case "shell":
            return name, {"command": ["bash", "-lc", command]}
        case "run_shell_command":
            return name, {"command": command, "is_background": False}
        case _:
            return name, {"command": command, "description": "Run it"}


class Messages:
    name = "messages"

    def serves(self, path: str) -> bool:
        return path.startswith("/v1/messages")

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def prompt(self, body: Json) -> str:
        return "\n".join(words(m["content"]) for m in body["messages"] if m["role"] == "user")

    def tools(self, body: Json) -> list[str]:
        return [tool["name"] for tool in body.get("tools", [])]

    def error(self, status: int) -> Json:
        kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"stub {kind}"}}

    def _block(self, step: Any, body: Json) -> Json:
        called = tool_of(step, self.tools(body))
        if called is None:
            return {"type": "text", "text": step.text}
        name, arguments = called
        return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}

    def _usage(self, step: Any) -> Json:
        used = step.usage
        return {
            "input_tokens": used.fresh,
            "cache_read_input_tokens": used.cached,
            "cache_creation_input_tokens": used.written,
            "output_tokens": used.output,
        }

    def whole(self, step: Any, body: Json) -> Json:
        block = self._block(step, body)
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        return {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "stub-model"),
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": self._usage(step),
        }

    def frames(self, step: Any, body: Json) -> Iterator[str]:
        message = self.whole(step, body)
        [block] = message["content"]
        calls = block["type"] == "tool_use"
        opened = {**message, "content": [], "stop_reason": None, "usage": {**self._usage(step), "output_tokens": 1}}
        empty = {**block, "input": {}} if calls else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if calls
            else {"type": "text_delta", "text": step.text}
        )
        ended = {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": self._usage(step)}
        for data in (
            {"type": "message_start", "message": opened},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", **ended},
            {"type": "message_stop"},
        ):
            yield sse(data, str(data["type"]))


class Responses:
    name = "responses"

    def serves(self, path: str) -> bool:
        return path.endswith("/responses")

    def streams(self, path: str, body: Json) -> bool:
        return True

    def prompt(self, body: Json) -> str:
        return "\n".join(words(item.get("content")) for item in body["input"] if item.get("role") == "user")

    def tools(self, body: Json) -> list[str]:
        return [str(tool.get("name", tool["type"])) for tool in body.get("tools", [])]

    def error(self, status: int) -> Json:
        return {"error": {"message": f"stub error {status}", "type": "error", "code": str(status)}}

    def whole(self, step: Any, body: Json) -> Json:
        called = tool_of(step, self.tools(body))
        if called is None:
            part = {"type": "output_text", "text": step.text, "annotations": []}
            return {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "content": [part]}
        name, arguments = called
        call = {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "call_id": f"call_{uuid.uuid4().hex}"}
        return {**call, "name": name, "arguments": json.dumps(arguments)}

    def frames(self, step: Any, body: Json) -> Iterator[str]:
        name, used = f"resp_{uuid.uuid4().hex}", step.usage
        usage = {
            "input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
            "total_tokens": used.input + used.output,
        }
        for data in (
            {"type": "response.created", "response": {"id": name}},
            {"type": "response.output_item.done", "output_index": 0, "item": self.whole(step, body)},
            {"type": "response.completed", "response": {"id": name, "usage": usage}},
        ):
            yield sse(data, str(data["type"]))


class Chat:
    name = "chat"

    def serves(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def prompt(self, body: Json) -> str:
        return "\n".join(words(m.get("content")) for m in body["messages"] if m["role"] == "user")

    def tools(self, body: Json) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or []]

    def error(self, status: int) -> Json:
        return {"error": {"message": f"stub error {status}", "type": "error", "code": status}}

    def _usage(self, step: Any) -> Json:
        used = step.usage
        return {
            "prompt_tokens": used.input,
            "completion_tokens": used.output,
            "total_tokens": used.input + used.output,
            "prompt_tokens_details": {"cached_tokens": used.cached},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        }

    def _message(self, step: Any, body: Json) -> Json:
        called = tool_of(step, self.tools(body))
        if called is None:
            return {"role": "assistant", "content": step.text}
        name, arguments = called
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _base(self, body: Json, kind: str) -> Json:
        model = body.get("model", "stub-model")
        return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": 1_700_000_000, "model": model}

    def whole(self, step: Any, body: Json) -> Json:
        choice = {"index": 0, "message": self._message(step, body), "finish_reason": _finish(step)}
        return {**self._base(body, "chat.completion"), "choices": [choice], "usage": self._usage(step)}

    def frames(self, step: Any, body: Json) -> Iterator[str]:
        base = self._base(body, "chat.completion.chunk")
        yield sse({**base, "choices": [{"index": 0, "delta": self._message(step, body), "finish_reason": None}]})
        yield sse({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(step)}]})
        yield sse({**base, "choices": [], "usage": self._usage(step)})
        yield "data: [DONE]\n\n"


ROUTED = '{"complexity_reasoning": "short", "complexity_score": 50}'
"""What Gemini's router of models wants to know first, where none is named."""


class Gemini:
    name = "gemini"

    def serves(self, path: str) -> bool:
        return "enerateContent" in path or path.endswith(":countTokens")

    def streams(self, path: str, body: Json) -> bool:
        return "streamGenerateContent" in path

    def prompt(self, body: Json) -> str:
        return "\n".join(words(item) for item in body.get("contents", []) if item.get("role") == "user")

    def tools(self, body: Json) -> list[str]:
        return [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]

    def error(self, status: int) -> Json:
        kind = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}.get(status, "INTERNAL")
        return {"error": {"code": status, "message": f"stub error {status}", "status": kind}}

    def whole(self, step: Any, body: Json) -> Json:
        used = step.usage
        if (called := tool_of(step, self.tools(body))) is not None:
            name, arguments = called
            part: Json = {"functionCall": {"name": name, "args": arguments}}
        else:
            routes = "complexity_score" in json.dumps(body.get("generationConfig", {}))
            part = {"text": ROUTED if routes else step.text}
        return {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": used.input,
                "cachedContentTokenCount": used.cached,
                "candidatesTokenCount": used.output - used.reasoning,
                "thoughtsTokenCount": used.reasoning,
                "totalTokenCount": used.input + used.output,
            },
            "modelVersion": "gemini-2.5-pro",
        }

    def frames(self, step: Any, body: Json) -> Iterator[str]:
        yield sse(self.whole(step, body))


def _finish(step: Any) -> str:
    return "tool_calls" if step.shell or step.call else "stop"


PROTOCOLS: tuple[Protocol, ...] = (Messages(), Responses(), Chat(), Gemini())
