"""The progress of one attempt, and the part of it that is kept."""

from collections import deque
from collections.abc import Callable
from typing import Final

from adapters.agents.activity import Activity
from adapters.agents.figures import summed
from domain.session.activity import ActivitySummary, ToolUse
from domain.values.base import Blob, Text, Usage

FIRST, LAST = 100, 100
"""How many tool calls of an attempt are kept, from its beginning and from its end."""
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
        usages = self._usages.values()
        return Usage(**{name: summed(*(getattr(usage, name) for usage in usages)) for name in Usage.model_fields})

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
