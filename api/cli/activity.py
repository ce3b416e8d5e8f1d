"""The present activity of the agents of a followed session, a line for each.

For example `Claude: Edit calc.py · Run pytest → 1 failed · 0:42`.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from api.cli.client import Api, path_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.tables import shortened
from api.cli.terminal import minutes, one_line, uncoloured

if TYPE_CHECKING:
    from api.cli.answers import ActivityFrame, ActivityList, Session, TurnView

_LABELS: Final = {"read": "Read", "edit": "Edit", "execute": "Run", "search": "Search", "fetch": "Fetch"}
_STEPS: Final = 2
"""What a line shows: the newest of what was done."""
_WIDTH: Final = 60
_QUIET_SECONDS: Final = 15
"""After so much silence a line says how long ago the last sign of life was."""
_COMMAND: Final = "$ "
"""What a command is announced with, in a frame of its own."""
_SETUP: Final = "set-up"
"""The title of such a frame if the command is one of the set-up."""
_RULES: Final = re.compile(r"^[=\-_\s]+|[=\-_\s]+$")
_BAR: Final = re.compile(r"[━█▉▊▋▌▍▎▏▒▓░╸╺]{4}|#{8}")
"""What the progress bar of a download is known by: no news by itself."""


class RunningTurn:
    """One turn, and what it did so far."""

    def __init__(self, turn: "TurnView") -> None:
        is_baseline = turn.get("work") == "prepare"
        self.agent = self._passing = sentence("baseline") if is_baseline else one_line(str(turn.get("agent")))
        self.seq = 0
        self._began = self._latest = monotonic()
        self._waited = _seconds_since(turn.get("requestedAt"))
        self._calls: dict[str, ActivityFrame] = {}
        self._steps: dict[str, str] = {}
        self._unfinished = ""
        self.news: list[tuple[str, str]] = []
        """What is new since the last look, and of whom, for a display that only adds lines."""

    def take(self, frames: "Iterable[ActivityFrame]") -> None:
        """Frames that have come."""
        self.news = []
        for frame in frames:
            self.seq, self._latest = int(frame["seq"]), monotonic()
            key = str(frame.get("id") or self.seq)
            before = self._calls.pop(key, None)
            merged: ActivityFrame = {**before, **frame} if before else frame
            if frame["kind"] == "notice":  # of a command, which may colour what it prints
                merged = {**merged, "text": uncoloured(str(frame["text"]))}
            if frame["kind"] == "tool" and frame.get("status") == "running":
                self._calls[key] = merged
            words = step(merged)
            if words:
                self._steps.pop(key, None)
                self._steps[key] = words
                if key not in self._calls:
                    news = [words] if frame["kind"] != "notice" else self._lines(merged)
                    self.news += [(self.agent, each) for each in news]
        while len(self._steps) > _STEPS:
            del self._steps[next(iter(self._steps))]

    def _lines(self, frame: "ActivityFrame") -> list[str]:
        """The last complete line of what a command printed; the rest of a line waits for its end."""
        text = str(frame["text"])
        if text.startswith(_COMMAND) and "\n" not in text:
            self._unfinished = ""
            self.agent = sentence("set-up") if frame.get("title") == _SETUP else self._passing
            return [shortened(_last_line(text), _WIDTH)]
        complete, end, self._unfinished = (self._unfinished + text).rpartition("\n")
        lines = "\n".join(line for line in complete.splitlines() if not _BAR.search(line))
        return [shortened(_last_line(lines), _WIDTH)] if end and lines.strip() else []

    def words(self) -> str:
        """The line."""
        now = monotonic()
        parts = [*self._steps.values(), minutes(round((now - self._began + self._waited) * 1000))]
        if now - self._latest > _QUIET_SECONDS:
            silent = minutes(round((now - self._latest) * 1000))
            parts.append(sentence("last sign of life {silent} ago", silent=silent))
        return f"{self.agent}: {' · '.join(parts)}"


class RunningTurns:
    """The turns that are worked on in the sessions that are followed."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._turns: dict[str, RunningTurn] = {}

    async def look(self, sessions: "Iterable[Session]") -> list[RunningTurn]:
        """The turns, with what came since the last look."""
        open_ = {turn["turnId"]: (session, turn) for session in sessions for turn in _worked_on(session)}
        self._turns = {name: self._turns.get(name) or RunningTurn(turn) for name, (_, turn) in open_.items()}
        for name, (session, _) in open_.items():
            self._turns[name].take(await self._frames(session["id"], name, self._turns[name].seq))
        return list(self._turns.values())

    async def _frames(self, session_id: str, turn_id: str, after: int) -> "list[ActivityFrame]":
        with suppress(Failed):  # an older server does not tell
            page: ActivityList = await self._api.get(
                f"{path_of(session_id)}/turns/{quote(turn_id, safe='')}/activity", after=after
            )
            return page["items"]
        return []


def step(frame: "ActivityFrame") -> str:
    """`Run pytest -q → 1 failed`, or the last line of what the agent said; nothing for figures."""
    if frame["kind"] == "usage":
        return ""
    if frame["kind"] != "tool":
        return shortened(_last_line(frame.get("text")), _WIDTH)
    tool, title = str(frame.get("tool")), one_line(str(frame.get("title") or ""))
    if tool in ("read", "edit") and ", " not in title:
        title = PurePosixPath(title).name or title
    named = sentence(_LABELS[tool]) if tool in _LABELS else ""
    return f"{named} {shortened(title, _WIDTH)}".strip() + _result(frame)


def _result(frame: "ActivityFrame") -> str:
    match frame.get("status"):
        case "denied":
            return f" → {sentence('denied')}"
        case "failed":
            code = sentence("exit {code}", code=frame["exitCode"]) if frame.get("exitCode") else sentence("failed")
            return f" → {shortened(_last_line(frame.get('text')), _WIDTH) or code}"
        case _:
            return ""


def _last_line(text: object) -> str:
    lines = [line for line in str(text or "").splitlines() if line.strip()]
    return one_line(_RULES.sub("", lines[-1])) if lines else ""


def _worked_on(session: "Session") -> "list[TurnView]":
    turns: list[TurnView] = session.get("outstandingTurns") or []
    return [turn for turn in turns if turn.get("work") != "wait" and not turn.get("external", turn.get("elsewhere"))]


def _seconds_since(instant: object) -> float:
    with suppress(ValueError):
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(str(instant))).total_seconds())
    return 0.0
