"""Describes what an agent does while it works, in the same form for all programs."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from domain.session.attempts import FailureCode
from domain.values.base import Usage, Value

Kind = Literal["message", "thought", "tool", "plan", "retry", "usage", "permission", "notice"]
Tool = Literal["read", "edit", "execute", "search", "fetch", "other"]
Status = Literal["running", "completed", "failed", "denied"]
TEXT: Final = 4_000
"""Maximum length of a text or an output; of a longer one, the end is kept."""
TITLE: Final = 400
PATHS: Final = 50
_TOOLS: Final[Mapping[Tool, frozenset[str]]] = {
    "execute": frozenset({"bash", "shell", "run_shell_command", "exec_command", "command_execution"}),
    "read": frozenset({"read", "read_file", "read_many_files", "list_directory", "list", "ls", "notebookread"}),
    "edit": frozenset(
        {"edit", "write", "multiedit", "notebookedit", "write_file", "replace", "patch", "apply_patch", "file_change"}
    ),
    "search": frozenset({"grep", "glob", "grep_search", "search_file_content", "tool_search"}),
    "fetch": frozenset({"webfetch", "web_fetch", "websearch", "web_search", "google_web_search"}),
}
_TITLES: Final = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "pattern",
    "query",
    "url",
    "prompt",
)
_PATHS: Final = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "dir_path")


class Activity(Value):
    """One thing that an agent did or said. `id` identifies a tool call: its end replaces its beginning."""

    kind: Kind
    id: str | None = None
    tool: Tool | None = None
    title: str | None = None
    paths: tuple[str, ...] = ()
    status: Status | None = None
    exit_code: int | None = None
    text: str | None = None
    failure: FailureCode | None = Field(default=None, exclude=True)
    """For a retry: why the previous call failed."""
    usage: Usage | None = Field(default=None, exclude=True)
    """The cost so far of the call to the model with this `id`."""


def tool_call(name: str, arguments: Mapping[str, Any], *, call: str | None, status: Status = "running") -> Activity:
    """A tool call with these arguments."""
    tool, title, paths = described(name, arguments)
    return Activity(kind="tool", id=call, tool=tool, title=title[:TITLE], paths=paths, status=status)


def described(name: str, arguments: Mapping[str, Any]) -> tuple[Tool, str, tuple[str, ...]]:
    """The kind of tool, the full title, and the file it is about."""
    titles = (str(arguments[key]) for key in _TITLES if isinstance(arguments.get(key), str))
    paths = (str(arguments[key]) for key in _PATHS if isinstance(arguments.get(key), str))
    return tool_of(name), next(titles, name).strip() or name, tuple(paths)[:1]


def tool_of(name: str) -> Tool:
    wanted = name.casefold()
    return next((kind for kind, names in _TOOLS.items() if wanted in names), "other")


def tail(text: str) -> str:
    return text if len(text) <= TEXT else f"[…]{text[-TEXT:]}"
