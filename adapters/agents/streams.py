"""The streams of JSON that programs print, read line by line as activities.

A reader is a function from one message to its activities. It has no state, tolerates changes of the programs, and never
raises: an unknown shape is no activity.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from adapters.agents.activity import Activity, Status, tail, tool_call, tool_of
from adapters.agents.failures import of_status, recognised
from adapters.agents.figures import counted, summed
from domain.values.base import Usage

Stream = Literal["claude", "codex", "gemini", "opencode", "qwen"]
Message = Mapping[str, Any]  # JSON of an external program
Reader = Callable[[Message], Iterator[Activity]]

_EXIT: Final = re.compile(r"(?:^Exit code|Exit Code:) (\d{1,3})\b", re.MULTILINE)
_DENIED: Final = re.compile(
    r"requires (?:approval|permission)|haven't granted|permission (?:to|was) .{0,60}(?:denied|granted)"
    r"|denied by (?:policy|the user)|user (?:rejected|declined|denied)|not (?:allowed|permitted) (?:by|in|to)",
    re.IGNORECASE,
)


def activities(stream: Stream, message: Message) -> Iterator[Activity]:
    """The agent's activities in the message."""
    return _READERS[stream](message)


def _claude(message: Message) -> Iterator[Activity]:
    """Claude Code, and Qwen Code, which prints the same shapes."""
    match message:
        case {"type": "system", "subtype": "api_retry", **more}:
            yield _retry(more)
        case {"type": "assistant", "message": {"content": [*parts], **more}}:
            for part in parts:
                yield from _message_text(part)
            yield from _used(more.get("id"), more.get("usage"))
        case {"type": "user", "message": {"content": [*parts]}}:
            for part in parts:
                yield from _tool_result(part)
        case {"type": "result", "permission_denials": [*denials]}:
            for denial in denials:
                yield from _denial(denial)


def _message_text(part: object) -> Iterator[Activity]:
    match part:
        case {"type": "text", "text": str(text)} if text.strip():
            yield Activity(kind="message", text=tail(text))
        case {"type": "thinking", "thinking": str(text)} if text.strip():
            yield Activity(kind="thought", text=tail(text))
        case {"type": "tool_use", "name": "TodoWrite" | "todo_write", "input": {"todos": [*todos]}}:
            yield plan_of(todos)
        case {"type": "tool_use", "name": str(name), "input": dict(arguments), **more}:
            yield tool_call(name, arguments, call=_text(more.get("id")))


def _used(call: object, usage: object) -> Iterator[Activity]:
    """The cost so far of a call to the model; the parts of one answer repeat it."""
    match usage:
        case {"input_tokens": new, "output_tokens": out, **more} if isinstance(call, str):
            cached, cache_writes = (
                counted(more.get(name)) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
            )
            input_tokens, output_tokens = summed(counted(new), cached, cache_writes), counted(out)
            if counted(new) is not None and input_tokens is not None and output_tokens is not None:
                usage = Usage(input_tokens=input_tokens, cached_tokens=cached, output_tokens=output_tokens)
                yield Activity(
                    kind="usage", id=call, usage=usage, text=f"{input_tokens:,} tokens in, {output_tokens:,} out"
                )


def _tool_result(part: object) -> Iterator[Activity]:
    match part:
        case {"type": "tool_result", "tool_use_id": str(call), **more}:
            yield _result(call, _words(more.get("content")), failed=more.get("is_error") is True)


def _denial(denial: object) -> Iterator[Activity]:
    match denial:
        case {"tool_name": str(name), "tool_use_id": str(call), **more}:
            arguments = more.get("tool_input")
            yield tool_call(name, arguments if isinstance(arguments, dict) else {}, call=call, status="denied")


def _retry(more: Message) -> Activity:
    status, delay = more.get("error_status"), more.get("retry_delay_ms")
    words = [f"HTTP {status}" if isinstance(status, int) else _text(more.get("error")) or "error"]
    if isinstance(more.get("attempt"), int):
        words.append(f"attempt {more['attempt']} of {more.get('max_retries', '?')}")
    if isinstance(delay, int | float):
        words.append(f"next in {delay / 1000:.1f} s")
    failure = of_status(status) if isinstance(status, int) else recognised(str(more.get("error", "")))
    return Activity(kind="retry", text=", ".join(words), failure=failure or "network")


def _codex(message: Message) -> Iterator[Activity]:
    match message:
        case {"type": "item.started" | "item.updated" | "item.completed" as step, "item": dict(item)}:
            yield from codex_item(item, done=step == "item.completed")
        case {"type": "error", "message": str(text)}:
            yield Activity(kind="notice", text=tail(text))
        case {"type": "turn.failed", "error": {"message": str(text)}}:
            yield Activity(kind="notice", text=tail(text))


def codex_item(item: Message, *, done: bool) -> Iterator[Activity]:
    """A part of a turn of Codex, with the names that `codex exec` uses."""
    call = _text(item.get("id"))
    status: Status = ("failed" if item.get("status") in ("failed", "declined") else "completed") if done else "running"
    if item.get("status") == "declined":
        status = "denied"
    match item:
        case {"type": "command_execution", "command": str(command), **more}:
            code = more.get("exit_code")
            started = tool_call("command_execution", {"command": command}, call=call, status=status)
            output = _text(more.get("aggregated_output"))
            yield started.changed(
                exit_code=code if isinstance(code, int) else None, text=tail(output) if output else None
            )
        case {"type": "file_change", "changes": [*changes]}:
            paths = tuple(str(change["path"]) for change in changes if isinstance(change, dict) and "path" in change)
            yield Activity(
                kind="tool", id=call, tool="edit", title=", ".join(paths)[:400], paths=paths[:50], status=status
            )
        case {"type": "agent_message", "text": str(text)} if done:
            yield Activity(kind="message", text=tail(text))
        case {"type": "reasoning", "text": str(text)} if done:
            yield Activity(kind="thought", text=tail(text))
        case {"type": "todo_list", "items": [*items]}:
            yield plan_of(items)
        case {"type": "error", "message": str(text)}:
            yield Activity(kind="notice", text=tail(text))
        case {"type": "web_search" | "mcp_tool_call" as name, **more}:
            title = _text(more.get("query")) or _text(more.get("tool")) or name
            yield Activity(kind="tool", id=call, tool=tool_of(name), title=title[:400], status=status)


def _gemini(message: Message) -> Iterator[Activity]:
    match message:
        case {"type": "message", "role": "assistant", "content": str(text)} if text.strip():
            yield Activity(kind="message", text=tail(text))
        case {"type": "tool_use", "tool_name": str(name), "parameters": dict(arguments), **more}:
            yield tool_call(name, arguments, call=_text(more.get("tool_id")))
        case {"type": "tool_result", "tool_id": str(call), **more}:
            error = more.get("error")
            output = _text(more.get("output")) or (_words(error.get("message")) if isinstance(error, dict) else "")
            yield _result(call, output, failed=more.get("status") != "success")
        case {"type": "error", "message": str(text)}:
            yield Activity(kind="notice", text=tail(text))


def _opencode(message: Message) -> Iterator[Activity]:
    match message:
        case {"type": "text", "part": {"text": str(text)}} if text.strip():
            yield Activity(kind="message", text=tail(text))
        case {"type": "reasoning", "part": {"text": str(text)}} if text.strip():
            yield Activity(kind="thought", text=tail(text))
        case {"type": "tool_use", "part": {"tool": str(name), "state": dict(state), **more}}:
            yield _opencode_tool(name, state, _text(more.get("callID")))
        case {"type": "error", "error": dict(error)}:
            data = error.get("data")
            words = _words(data.get("message")) if isinstance(data, dict) else ""
            yield Activity(kind="notice", text=tail(words or _text(error.get("name")) or "error"))


def _opencode_tool(name: str, state: Message, call: str | None) -> Activity:
    arguments, metadata = state.get("input"), state.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    error = _text(state.get("error"))
    status: Status = "completed" if state.get("status") == "completed" and code in (None, 0) else "failed"
    if error and _DENIED.search(error):
        status = "denied"
    started = tool_call(name, arguments if isinstance(arguments, dict) else {}, call=call, status=status)
    output = error or _text(state.get("output"))
    return started.changed(exit_code=code if isinstance(code, int) else None, text=tail(output) if output else None)


_READERS: Final[Mapping[Stream, Reader]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "qwen": _claude,
}


def _result(call: str, output: str, *, failed: bool) -> Activity:
    """The end of a tool call, with an exit code if the program mentions it."""
    match = _EXIT.search(output)
    code = int(match[1]) if match else None
    status: Status = "failed" if failed or code else "completed"
    if failed and _DENIED.search(output):
        status = "denied"
    return Activity(kind="tool", id=call, status=status, exit_code=code, text=tail(output) if output else None)


def exit_code_of(output: object) -> int | None:
    """The exit code in a tool's raw output, if reported."""
    match output:
        case {"exitCode": int(code)} | {"exit_code": int(code)} | {"metadata": {"exit": int(code)}}:
            return code
        case str(words) if exit_line := _EXIT.search(words):
            return int(exit_line[1])
    return None


def plan_of(items: list[Any]) -> Activity:
    """The steps that the agent plans."""
    rows = [row for row in items if isinstance(row, dict)]
    lines = (
        f"[{'x' if row.get('completed') is True or row.get('status') == 'completed' else ' '}] "
        f"{_text(row.get('content')) or _text(row.get('text')) or ''}"
        for row in rows
    )
    return Activity(kind="plan", text=tail("\n".join(lines)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _words(content: object) -> str:
    """The text of a content, which is a string or a list of parts."""
    match content:
        case str():
            return content
        case [*parts]:
            return "\n".join(_words(part.get("text")) for part in parts if isinstance(part, dict))
        case _:
            return ""
