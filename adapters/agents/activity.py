"""What an agent does while it works, in the same form for all programs, and what of it is kept of one attempt.

`Doing` collects an attempt while it runs: the tools that it uses, and its program's output.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import orjson
from pydantic import Field

from domain.session.attempts import FailureCode
from domain.session.turns import ActivitySummary, ToolUse
from domain.values.base import Blob, Text, Usage, Value

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


# An agent's stream, piece by piece, as frames: pieces are joined and shown a few times per second.

PAUSE: Final = 0.15
"""Seconds after which received text is shown."""
MORE: Final = 0.1
"""Seconds that an incomplete word or line waits for its end after that, so that a reader has it within 0.3 seconds."""

Voice = Literal["message", "thought", "notice"]
_ENDS: Final[dict[Voice, str]] = {"message": " \n", "thought": " \n", "notice": "\n"}
"""Where a frame may end: at blanks in speech, at line ends in the output of a command."""


class Speech:
    """The stream of one turn. Belongs to one event loop; call `flush` at the end, whatever the outcome of the turn."""

    def __init__(self, observe: Callable[[Activity], None], transcribe: Callable[[str], None] | None = None) -> None:
        self._observe, self._transcribe = observe, transcribe
        self._loop = asyncio.get_running_loop()
        self._kind: Voice = "message"
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def say(self, kind: Voice, text: str) -> None:
        """Add a piece."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._pieces.append(text)
        if sum(map(len, self._pieces)) >= TEXT // 2:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(PAUSE, self._pass_on)

    def flush(self) -> None:
        """Show everything received so far, because something else follows."""
        self._stop()
        self._show("".join(self._pieces))
        self._pieces = []

    def _pass_on(self) -> None:
        """Show the complete words, or lines. An incomplete one waits once for its end."""
        self._timer = None
        text = "".join(self._pieces)
        whole = max(text.rfind(end) for end in _ENDS[self._kind]) + 1
        self._show(text[:whole])
        self._pieces = [text[whole:]] if text[whole:] else []
        if self._pieces:
            self._timer = self._loop.call_later(MORE, self.flush)

    def _show(self, text: str) -> None:
        if text and self._transcribe is not None:
            self._transcribe(orjson.dumps({self._kind: text}).decode())
        if text.strip():
            self._observe(Activity(kind=self._kind, text=tail(text)))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


FIRST, LAST = 100, 100
"""How many tool calls of an attempt are kept, from its beginning and from its end."""


# -- one attempt while it runs -----------------------------------------------------------------------------------------


TRANSCRIPT_BYTES: Final = 64 * 1024 * 1024
CUT: Final = "[… the transcript is cut here: it is longer than 64 MiB]"
UNKNOWN: Final = Usage()
_OVER: Final = frozenset({"completed", "failed", "denied"})


class Doing:
    """One attempt. Callers must hold a lock."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._first: list[ToolUse] = []
        self._last: deque[ToolUse] = deque(maxlen=LAST)
        self._total = self._denied = self._bytes = 0
        self._open: dict[str, tuple[ToolUse, int]] = {}
        self._ended: set[str] = set()
        self._lines: list[str] = []
        self._usages: dict[str, Usage] = {}
        self.was_denied = False
        """Whether a tool or a permission was denied."""

    def see(self, seen: Activity) -> None:
        """Tool calls with an id are counted at their end, others immediately."""
        if seen.usage is not None:
            self._usages[seen.id or ""] = seen.usage
        self.was_denied = self.was_denied or seen.status == "denied"
        if seen.kind != "tool":
            return
        if seen.id in self._ended:
            return  # a program that summarizes its denials names them again
        started, since = self._open.pop(seen.id, (None, None)) if seen.id else (None, None)
        use = _merged(started, seen)
        if seen.id and seen.status not in _OVER:
            self._open[seen.id] = (use, self._clock() if since is None else since)
            return
        if seen.id:
            self._ended.add(seen.id)
        took = None if since is None else max(0, self._clock() - since)
        self._keep(use.changed(milliseconds=took))

    def hear(self, line: str) -> None:
        """A line of the transcript; everything beyond the limit is dropped."""
        if self._bytes > TRANSCRIPT_BYTES:
            return
        self._bytes += len(line.encode(errors="replace")) + 1
        self._lines.append(line if self._bytes <= TRANSCRIPT_BYTES else CUT)

    def activity(self) -> tuple[ActivitySummary, tuple[Blob, ...]] | None:
        """Everything so far, including calls that have not ended; None if there is nothing."""
        running = [use for use, _ in self._open.values()]
        total = self._total + len(running)
        if not total and not self._lines:
            return None
        text, blobs = Text.of("\n".join(self._lines)) if self._lines else (None, ())
        tools = (*self._first, *self._last, *running)
        tools = tools if len(tools) <= FIRST + LAST else (*tools[:FIRST], *tools[-LAST:])
        return ActivitySummary(tools=tools, tools_total=total, denied=self._denied, transcript=text), blobs

    def usage(self) -> Usage:
        """The sum of the reports about it, call by call."""
        if not self._usages:
            return UNKNOWN
        sums = {}
        for name in Usage.model_fields:
            numbers = [number for usage in self._usages.values() if (number := getattr(usage, name)) is not None]
            sums[name] = sum(numbers) if numbers else None
        return Usage(**sums)

    def _keep(self, use: ToolUse) -> None:
        self._total += 1
        self._denied += use.denied
        (self._first if len(self._first) < FIRST else self._last).append(use)


def _merged(started: ToolUse | None, seen: Activity) -> ToolUse:
    """The call, from its beginning and its end."""
    earlier = started or ToolUse()
    return ToolUse(
        tool=seen.tool or earlier.tool,
        title=seen.title or earlier.title,
        paths=seen.paths or earlier.paths,
        exit_code=earlier.exit_code if seen.exit_code is None else seen.exit_code,
        denied=earlier.denied or seen.status == "denied",
    )
