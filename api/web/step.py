"""The present step of an agent, in a line."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from adapters.agents.activity import Activity
from adapters.turns.live import Live
from api.web.plain_text import cut, in_line
from domain.values.words import Words

STEPS, FRAMES, TITLE = 2, 20, 60
"""The newest steps that a line shows, the frames that they are looked for in, and the characters of each."""
_RULES: Final = re.compile(r"^[=\-_\s]+|[=\-_\s]+$")


def doing(live: Live, say: Words, turn_id: str) -> str:
    """`Edit calc.py · Run pytest -q → 1 failed`; nothing for a turn that does not run in this process."""
    return " · ".join(_steps(live.newest(turn_id, FRAMES), say)[-STEPS:])


def _steps(frames: Iterable[tuple[int, Activity]], say: Words) -> list[str]:
    named: dict[str, str] = {}
    steps: dict[str, str] = {}
    for number, seen in frames:
        key = seen.id if seen.kind == "tool" and seen.id else str(number)
        words = named.get(key) or _named(seen, say)
        if words and seen.kind != "usage":
            named[key], steps[key] = words, words + _result(seen, say)
    return list(steps.values())


def _named(seen: Activity, say: Words) -> str:
    if seen.kind != "tool":
        return _last_line(seen.text)
    title = seen.title or ""
    if seen.tool in ("read", "edit") and ", " not in title:
        title = PurePosixPath(title).name or title
    tool = say.of("tool", seen.tool) if seen.tool and seen.tool != "other" else ""
    return f"{tool} {cut(' '.join(title.split()), TITLE)}".strip() if title else ""


def _result(seen: Activity, say: Words) -> str:
    match seen.status:
        case "denied" if seen.kind == "tool":
            return f" → {say('turn_denied')}"
        case "failed" if seen.kind == "tool":
            code = f"{say('session_exit')} {seen.exit_code}" if seen.exit_code else say.of("turn_state", "failed")
            return f" → {_last_line(seen.text) or code}"
        case _:
            return ""


def _last_line(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return cut(in_line(_RULES.sub("", lines[-1])), TITLE) if lines else ""
