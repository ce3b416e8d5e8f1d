"""Values in the templates of several pages, without clock or request: amounts, times and badges.

Every text is cut here, so that the size of a page is bounded whatever agents write.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from domain.values.budget import dollars
from projections.views.session import IMPORTED, TurnView, is_imported
from projections.views.sessions import SessionItem

REASON = 200
"""Characters of the reason for a wait that are shown."""

ICONS: Final = {
    "pending": "○",
    "running": "▸",
    "paused": "‖",
    "waits_for_you": "!",
    "waits_for_setup": "‖",
    "success": "✓",
    "completed": "✓",
    "unchanged": "=",
    "failed": "✕",
    "cancelled": "–",
    "skipped": "–",
    "exhausted": "!",
    "no_progress": "!",
    "held": "‖",
    "imported": "‖",
    "active": "▸",
    "reviewing": "▸",
    "debating": "▸",
    "synthesizing": "▸",
    "checkpoint": "?",
    "waiting_for_decision": "?",
    "asking": "?",
    "unlanded": "!",
    "checks_failed": "!",
    "pull_waits": "!",
    "partial": "!",
    "done": "✓",
    "decided": "✓",
    "reset": "–",
}


BADGES: Final = {
    "permission": "asking",
    "checkpoint": "checkpoint",
    "budget": "exhausted",
    "partial": "partial",
    "failed": "failed",
    "landing": "unlanded",
    "checks": "checks_failed",
    "forge": "pull_waits",
}
"""The state of what waits for something other than a decision."""


class LineCount(NamedTuple):
    """Lines added and removed; `binary`: there are only binary files, which have none."""

    added: int
    removed: int
    binary: bool


def line_count(files: Iterable[tuple[int | None, int | None]]) -> LineCount:
    """The sum over files, of which each has its added and its removed lines, None for a binary one."""
    each = list(files)
    added, removed = (sum(numbers[place] or 0 for numbers in each) for place in (0, 1))
    return LineCount(added, removed, bool(each) and all(numbers[0] is None for numbers in each))


def owner(actor: str) -> str:
    """The name of the key; empty without keys."""
    kind, colon, name = actor.partition(":")
    return name if colon and kind in ("person", "key") else ""


def money(micros: int | None) -> str:
    """`$1.84`; "" if not reported."""
    return "" if micros is None else dollars(micros)


def badge(item: SessionItem) -> str:
    """The state as people see it: what waits for a person does not run, a delivery that ran out of budget, or made no
    progress, has failed but waits (K-46), and work that has changed nothing is not a success to be merged."""
    if item.held:
        return "held"
    if item.waiting == "budget" and item.status == "failed":
        return "no_progress" if item.outcome is not None and item.outcome.reason == "no_progress" else "exhausted"
    if item.waiting in ("decision", "permission", "scope"):
        return "asking" if item.waiting == "permission" else "waiting_for_decision"
    if is_imported(item.outstanding_turns):
        return IMPORTED
    return "unchanged" if item.outcome is not None and item.outcome.reason == "no_change" else item.status


class Paused(NamedTuple):
    """A session that only waits for its next attempt: until when, and the badge that says for whom."""

    until: str
    badge: str


_PAUSES: Final = {"branch": "waits_for_you", "setup": "waits_for_setup"}
"""The badges of waits that are not for a provider; the first is for a person, who can end it."""


def paused(turns: Sequence[TurnView]) -> Paused | None:
    """Returns until when the first of these turns waits, where all of them wait for their next attempt; else None."""
    hours = [turn.waiting_until or "" for turn in turns if turn.work != "wait"]
    if not hours or not all(hours):
        return None
    causes = {turn.waiting_for for turn in turns}
    return Paused(min(hours), next((badge for cause, badge in _PAUSES.items() if cause in causes), "paused"))


_ICON_STATES: Final = {
    "waits": ("waiting_for_decision", "asking", "checkpoint", "held", "exhausted", "no_progress", "partial"),
    "failed": ("failed", "cancelled", "reset"),
    "done": ("success", "done", "decided", "unchanged"),
    "running": ("running", "active", "reviewing", "debating", "synthesizing", "pending"),
}


def icon_of(state: str) -> str:
    """The address of the small picture in the browser's tab for a session in this state."""
    name = next((name for name, states in _ICON_STATES.items() if state in states), "idle")
    return f"/assets/icon-{name}.svg"


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours}:{minutes % 60:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


_SHORT_MS: Final = 10_000


def seconds_or_clock(milliseconds: int) -> str:
    """A duration in words: `0.2 s` below ten seconds, then as `clock` says it."""
    return f"{max(0, milliseconds) / 1000:.1f} s" if milliseconds < _SHORT_MS else clock(milliseconds)
