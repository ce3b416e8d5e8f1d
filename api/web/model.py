"""Values in the templates of several pages, without clock or request: how a person answers what waits, what an agent
does right now, amounts, times and badges.

Every text is cut here, so that the size of a page is bounded whatever agents write.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from adapters.agents.activity import Activity
from adapters.turns.live import Live
from api.web.plain_text import cut, in_line
from domain.values.budget import dollars
from domain.values.words import Words
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.base import ApprovalView
from projections.views.sessions import WaitingItem

REASON = 200
"""How many characters of the reason for a wait are shown."""

ICONS: Final = {
    "pending": "○",
    "running": "▸",
    "success": "✓",
    "completed": "✓",
    "failed": "✕",
    "cancelled": "–",
    "skipped": "–",
    "exhausted": "!",
    "held": "‖",
    "active": "▸",
    "reviewing": "▸",
    "debating": "▸",
    "synthesizing": "▸",
    "checkpoint": "?",
    "waiting_for_decision": "?",
    "asking": "?",
    "partial": "!",
    "done": "✓",
    "decided": "✓",
    "reset": "–",
}


def feedback_words(db: Database, item: WaitingItem) -> str:
    """Why a discussion was interrupted, else what its last judgement says."""
    if item.feedback is None:
        return ""
    if not item.feedback.error:
        return item.feedback.summary
    session = overview.item(db, item.session_id)
    return (session and session.last_error_sentence) or item.feedback.error


def reason_of(db: Database, item: WaitingItem) -> str:
    """Why it waits, in words: a run that stopped says what failed, and one out of rounds nothing but that. The rest is
    what was recorded."""
    failed = overview.item(db, item.session_id) if item.waits_for == "partial" else None
    words = feedback_words(db, item) or (failed and (failed.last_error_sentence or failed.last_error))
    if words or (item.waits_for == "budget" and item.kind == "orchestration"):
        return words or ""
    return item.summary_sentence or item.summary or ""


def approval_for(actor: str, approval: ApprovalView | None) -> dict[str, Any] | None:
    """The team's rules for a decision as a person sees them: with `mine`, the choice they have voted for ("": none),
    and `may`, whether they may vote."""
    if approval is None:
        return None
    mine = next((vote.choice for vote in approval.votes if vote.actor == actor), "")
    is_excluded = approval.not_author and actor in approval.authors
    may = not is_excluded and (not approval.who or actor.removeprefix("person:") in approval.who)
    return approval.wire() | {"mine": mine, "may": may}


BADGES: Final = {"checkpoint": "checkpoint", "budget": "exhausted", "partial": "partial", "failed": "failed"}
"""The state of what waits for something else than a decision."""


def owner(actor: str) -> str:
    """The name of the key; empty without keys."""
    kind, colon, name = actor.partition(":")
    return name if colon and kind in ("person", "key") else ""


def money(micros: int | None) -> str:
    """`$1.84`; "" if not reported."""
    return "" if micros is None else dollars(micros)


def badge(status: str, *, exhausted: bool) -> str:
    """The state as people see it: a delivery that ran out of budget has failed, but waits for a person (K-46)."""
    return "exhausted" if exhausted and status == "failed" else status


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours}:{minutes % 60:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


_SHORT_MS: Final = 10_000


def seconds_or_clock(milliseconds: int) -> str:
    """How long something took: `0.2 s` below ten seconds, then as `clock` says it."""
    return f"{max(0, milliseconds) / 1000:.1f} s" if milliseconds < _SHORT_MS else clock(milliseconds)


AMOUNTS: Final = {
    "iterations": ("addIterations", 2, 20),
    "no_progress": ("addIterations", 2, 20),
    "rounds": ("addRounds", 3, 50),
    "minutes": ("addMinutes", 15, 180),
    "tokens": ("addTokens", 100_000, 2**53),
    "cost": ("addCost", 2, 1_000),
}
"""By what has run out: the field that gives more of it, how much it suggests, and the most."""

_SAID: Final = ("budget", "partial", "failed")
"""What a row explains by its cause."""


def answering(db: Database, item: WaitingItem) -> dict[str, Any]:
    """The command that answers an item, and what its form shows."""
    amount = AMOUNTS.get(item.cause) if item.waits_for == "budget" else None
    return {
        "place": item.request_id if item.waits_for == "permission" else item.session_id,
        "verb": _verb(item),
        "cause": item.cause if item.waits_for in _SAID or item.cause == "scope_checkpoint" else "",
        "amount": amount,
        "each": _each(db, item) if amount and amount[0] in _COUNTED else "",
    }


_COUNTED: Final = frozenset({"addIterations", "addRounds"})

STEPS, FRAMES, TITLE = 2, 20, 60
"""The newest steps that a line shows, the frames that they are looked for in, and the characters of each."""
_RULES: Final = re.compile(r"^[=\-_\s]+|[=\-_\s]+$")


def doing(live: Live, say: Words, turn_id: str) -> str:
    """`Edit calc.py · Run pytest -q → 1 failed`; nothing for a turn that does not run in this process."""
    return " · ".join(_steps(live.newest(turn_id, FRAMES), say)[-STEPS:])


def _verb(item: WaitingItem) -> str:
    """ "" for what has to be looked at first: no one should approve what they have not seen."""
    match item.waits_for:
        case "checkpoint":
            return "continue"
        case "failed":
            return "retry"
        case "partial":
            return next((verb for verb in ("retry", "continue") if verb in item.choices), "")
        case "permission" | "scope" | "budget":
            return str(item.waits_for)
        case _:
            return ""


def _each(db: Database, item: WaitingItem) -> str:
    """What an iteration or a round of this session has cost so far; "" where nothing was reported."""
    session = overview.item(db, item.session_id)
    count = (session.iteration or session.round or 0) if session else 0
    return dollars(item.cost_micros // count) if item.cost_micros and count else ""


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
