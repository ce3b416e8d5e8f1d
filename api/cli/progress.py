"""Following a session while others work on it: a display that lives on a terminal, a line for each event in a pipe."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from api.cli.client import Api, Json
from api.cli.exits import rests
from api.cli.terminal import local_time, minutes, one_line, say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

MARKS: Final = {"completed": "✓", "running": "▶", "failed": "✗", "skipped": "–", "pending": "·"}
_MARK_STYLES: Final = {"completed": "green", "running": "bold blue", "failed": "red"}
_REFRESH_SECONDS: Final = 1.0
_QUIET: Final = frozenset({"delivery.phase_skipped", "delivery.artifact_created"})
"""Events that a live display already shows by other means."""


class Screen(Protocol):
    """Who is shown what happens."""

    def happened(self, events: Sequence[Json]) -> None: ...

    def stands(self, session: Json) -> None: ...


async def follow(api: Api, session_id: str, screen: Screen, *, after: int = 0) -> Json:
    """Show events behind version `after` as they come, until the session rests; the session as it is then."""
    seen, session, asked = after, {}, -inf
    while True:
        events = await api.events(session_id, after=seen)
        if events:
            seen = int(events[-1]["version"])
            screen.happened(events)
        if events or monotonic() - asked >= _REFRESH_SECONDS:
            session, asked = (await api.session(session_id))["session"], monotonic()
            screen.stands(session)
        if rests(session) and seen >= int(session["version"]):
            return session
        if not events:
            await asyncio.sleep(api.poll)


def screen() -> AbstractContextManager[Screen]:
    """The display that fits stderr."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Live()
    return nullcontext(Lines())


def describe(event: Json) -> str:
    """What happened, in a few words that fit on a line."""
    data = event["data"]
    agent = data.get("agent") or "somebody"
    match event["type"]:
        case "turn.requested":
            asked = {"validate": "the validation commands run", "package": "the work is handed over"}
            return asked.get(str(data.get("work")), f"{agent} is asked")
        case "turn.answered":
            return f"{agent} answered{_took(data)}"
        case "turn.failed":
            failure = data.get("failure") or {}
            return f"{agent} failed: {failure.get('code')}. {failure.get('detail', '')}"
        case "turn.cancelled":
            return f"{agent} is no longer asked: {data.get('reason')}"
        case _:
            return str(data.get("message") or event["type"])


class Lines:
    """A line for each event: time, type, words."""

    def happened(self, events: Sequence[Json]) -> None:
        for event in events:
            say(line_of(event))

    def stands(self, session: Json) -> None:
        """Lines say it all."""


def line_of(event: Json) -> str:
    """`12  2026-01-02 10:00:00  delivery.phase_started     Phase planning started.`"""
    return f"{event['version']:>4}  {local_time(event['timestamp'])}  {event['type']:<33} {one_line(describe(event))}"


class Live:
    """Events scroll above a few lines that say how the session stands; those lines vanish at the end."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._session: Json | None = None
        self._at = monotonic()
        self._live = RichLive(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> "Live":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def happened(self, events: Sequence[Json]) -> None:
        from rich.text import Text

        for event in events:
            if event["type"] in _QUIET:
                continue
            time = local_time(event["timestamp"])[11:]
            words = Text(one_line(describe(event)), style=_style_of(event["type"]), overflow="ellipsis", no_wrap=True)
            self._console.print(Text(f"{time}  ", style="dim") + words, overflow="ellipsis", no_wrap=True)

    def stands(self, session: Json) -> None:
        if self._session is None or session["version"] != self._session["version"]:
            self._at = monotonic()  # `elapsedMs` is as of the last event, so the clock runs on from there
        self._session = session

    def _render(self) -> "RenderableType":
        if self._session is None:
            return ""
        waited = 0 if rests(self._session) else round((monotonic() - self._at) * 1000)
        return summary(self._session, waited_ms=waited)


def summary(session: Json, *, waited_ms: int = 0) -> "Text":
    """How a session stands: phases, iteration, what is left of the budget, who is at work."""
    from rich.text import Text

    text = Text()
    text.append(one_line(str(session.get("title") or session["id"]))[:60], style="bold")
    text.append(f"  {session['status']}\n", style="dim")
    for phase, mark in (session.get("phaseStatuses") or {}).items():
        text.append(f"{MARKS.get(mark, '?')}{phase} ", style=_MARK_STYLES.get(mark, "dim"))
    text.append("\n" + "  ·  ".join([*standing(session, waited_ms=waited_ms), *_at_work(session)]))
    return text


def standing(session: Json, *, waited_ms: int = 0) -> list[str]:
    """Iteration and budget, each in a few words; nothing for a session that has no such budget."""
    budget = session.get("budget")
    if not isinstance(budget, dict):
        return []
    elapsed = int(budget["elapsedMs"]) + waited_ms
    words = [
        f"iteration {session.get('iteration', 0)}/{budget['maxIterations']}",
        f"{minutes(elapsed)} of {budget['maxMinutes']} min",
    ]
    if budget.get("tokens") is not None:
        words.append(f"{budget['tokens']:,} tokens" + _of_limit(budget.get("maxTokens")))
    if budget.get("costMicros") is not None:
        words.append(f"{budget['costMicros'] / 1_000_000:.2f} spent" + _of_money(budget.get("maxCostMicros")))
    if budget.get("reason"):
        words.append(f"exhausted by {budget['reason']}")
    return words


def _of_limit(limit: int | None) -> str:
    return f" of {limit:,}" if limit is not None else ""


def _of_money(limit: int | None) -> str:
    return f" of {limit / 1_000_000:.2f}" if limit is not None else ""


def _at_work(session: Json) -> list[str]:
    agents = [one_line(str(turn.get("agent"))) for turn in session.get("outstandingTurns") or ()]
    return [f"{', '.join(agents)} at work"] if agents else []


def _took(data: Json) -> str:
    seconds = float(data.get("seconds") or 0.0)
    return f" after {seconds:.1f} s" if seconds >= 0.05 else ""


def _style_of(topic: str) -> str:
    last = topic.rpartition(".")[2]
    if last in ("failed", "phase_failed", "validation_failed", "review_blocking_detected", "budget_exhausted"):
        return "yellow"
    return "green" if last in ("review_approved", "tests_passed", "branch_published") else ""
