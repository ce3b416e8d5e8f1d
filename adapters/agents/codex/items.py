"""The reports of Codex's app server, in the normal form. Unknown shapes are ignored."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from adapters.agents.activity import PATHS, Activity, tail
from adapters.agents.command.call import Call
from adapters.agents.desk import RequestedTool
from adapters.agents.failures import Rule, failure_of, last_lines, of_status, recognised
from adapters.agents.figures import counted
from adapters.agents.speech import Voice
from adapters.agents.streams import codex_item, plan_of
from domain.session.attempts import Failure, FailureCode
from domain.values.base import Usage
from domain.values.sentences import Sentence

Message = Mapping[str, Any]  # JSON of an external program

_VOICES: Final[Mapping[str, Voice]] = {
    "item/agentMessage/delta": "message",
    "item/reasoning/summaryTextDelta": "thought",
    "item/reasoning/textDelta": "thought",
}
_CODES: Final[Mapping[str, FailureCode]] = {
    "contextWindowExceeded": "limit",
    "sessionBudgetExceeded": "limit",
    "usageLimitExceeded": "rate_limit",
    "rateLimitExceeded": "rate_limit",
    "serverOverloaded": "overloaded",
    "internalServerError": "overloaded",
    "unauthorized": "auth",
    "modelNotFound": "refused",
    "cyberPolicy": "refused",
    "misalignmentPolicyViolation": "refused",
}
_SHELLS: Final = frozenset({"sh", "bash", "zsh"})
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def spoken(method: str, fields: Message) -> tuple[Voice, str] | None:
    """The piece of a message or a thought."""
    voice, piece = _VOICES.get(method), fields.get("delta")
    return (voice, piece) if voice and isinstance(piece, str) and piece else None


def activities(method: str, fields: Message) -> Iterator[Activity]:
    """All other notifications."""
    match fields:
        case {"item": dict(item)} if method in ("item/started", "item/completed"):
            yield from codex_item(_as_executed(item), done=method == "item/completed")
        case {"plan": [*steps]} if method == "turn/plan/updated":
            rows = [{"content": row.get("step"), **row} for row in steps if isinstance(row, dict)]
            yield plan_of(rows)
        case {"error": dict(error), "willRetry": bool(again)} if method == "error":
            yield _retry(error) if again else Activity(kind="notice", text=tail(_words(error)))
        case {"message": str(text)} | {"summary": str(text)} if method in ("warning", "configWarning"):
            yield Activity(kind="notice", text=tail(text))


def requested_tool(method: str, fields: Message, item: Message) -> RequestedTool:
    """The tool and title that a request asks permission for; `item` is what is known of the tool call."""
    if method == "item/fileChange/requestApproval":
        changes = item.get("changes")
        changed_paths = [change.get("path") for change in changes if isinstance(change, dict)] if changes else []
        paths = [path for path in (*changed_paths, fields.get("grantRoot")) if isinstance(path, str)]
        return RequestedTool("edit", ", ".join(paths) or "edit", tuple(paths[:PATHS]))
    match fields:
        case {"networkApprovalContext": {"host": str(host), **more}}:
            return RequestedTool("fetch", f"{more.get('protocol', 'https')}://{host}", ())
    command = fields.get("command") or item.get("command")
    return RequestedTool("execute", _bare(command) if isinstance(command, str) else "execute", ())


def usage_in(fields: Message) -> Usage | None:
    """The usage of the last call to the model."""
    match fields:
        case {"tokenUsage": {"last": dict(last)}}:
            names = ("inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens")
            input_tokens, cached, output_tokens, thought = (counted(last.get(name)) for name in names)
            if input_tokens is not None and output_tokens is not None:
                return Usage(
                    input_tokens=input_tokens,
                    cached_tokens=cached,
                    output_tokens=output_tokens,
                    reasoning_tokens=thought,
                )
    return None


def failure_in(error: Message, call: Call, rules: Iterable[Rule]) -> Failure:
    """Tells why a turn failed."""
    words = call.scrub(last_lines(_words(error)))
    detail = words or Sentence("agent_unexplained")
    return failure_of(_code(error) or "crash", detail, output=words, rules=rules)


def _retry(error: Message) -> Activity:
    """A failed call to the provider, which Codex repeats."""
    return Activity(
        kind="retry", text=tail(_words(error)), failure=_code(error) or recognised(_words(error)) or "network"
    )


def _code(error: Message) -> FailureCode | None:
    """The code for Codex's own classification, which may name an HTTP status."""
    match error.get("codexErrorInfo"):
        case str(name):
            return _CODES.get(name)
        case dict(kinds):
            statuses = (kind.get("httpStatusCode") for kind in kinds.values() if isinstance(kind, dict))
            return next((of_status(status) for status in statuses if isinstance(status, int)), None)
    return None


def _words(error: Message) -> str:
    parts = (error.get(name) for name in ("message", "additionalDetails"))
    return ": ".join(text for text in parts if isinstance(text, str) and text)


def _as_executed(item: Message) -> Message:
    """The item in the names of `codex exec`, with its command as the model wrote it."""
    named = {_snake(name): value for name, value in item.items()}
    if isinstance(named.get("type"), str):
        named["type"] = _snake(named["type"])
    if isinstance(named.get("command"), str):
        named["command"] = _bare(named["command"])
    if named.get("type") == "reasoning":
        parts = named.get("summary") or named.get("content") or []
        named["text"] = "\n".join(part for part in parts if isinstance(part, str))
    return named


def _snake(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).casefold()


def _bare(command: str) -> str:
    """The script, if the command is a shell with a script."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    match parts:
        case [shell, "-c" | "-lc", script] if PurePath(shell).name in _SHELLS:
            return script
    return command
