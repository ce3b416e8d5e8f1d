"""The progress of a running session, for people: a live display on a terminal, a line for each event in a pipe."""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, Protocol

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.live import Live as RichLive
from rich.text import Text

from api.cli.figures import figures, stands_still
from api.cli.labels import recorded, sentence
from api.cli.matrix import MARKS, matrix
from api.cli.session import status_words
from api.cli.tables import packed, shortened, wrapped
from api.cli.terminal import local_time, one_line, say
from api.cli.waits import reason
from domain.values.words import of_environment
from projections.record import describe as sentences

if TYPE_CHECKING:
    from api.cli.activity import RunningTurn
    from api.cli.answers import Event, Session

_NEWS: Final = 5
"""Lines of one agent's work per update, in a pipe."""
_WORD: Final = re.compile(r"[^\W\d_]{2}|\d")
_JSON: Final = re.compile(r'\s*(?:```|"?\s*[}\]]|[{\[]\s*(?:["{\[}\]]|$)|"\w+"\s*:)')
_MOST: Final = 4
"""Lines of an event that says why something failed, on a terminal."""
_WARNING: Final = "yellow"
_MARK_STYLES: Final = {"completed": "green", "running": "bold blue", "failed": "red"}
_QUIET: Final = frozenset(
    {
        "delivery.phase_skipped",
        "delivery.artifact_created",
        "orchestration.orchestrate_done",
        "session.agent_sessions_cleared",
        "turn.activity_recorded",
    }
)
"""Events that a live display already shows by other means."""
_ROUTINE: Final = _QUIET - {"turn.activity_recorded"}
"""Events of which a reader of steps and outcomes learns nothing."""
_PHASES: Final = frozenset(
    {
        "delivery.phase_started",
        "orchestration.plan_made",
        "orchestration.round_start",
        "orchestration.review_started",
        "orchestration.judging_started",
        "review.round_added",
        "debate.round_added",
    }
)
"""Events with which a phase or round begins, or of a discussion ends."""
_BAD: Final = frozenset(
    {
        "failed",
        "phase_failed",
        "validation_failed",
        "review_blocking_detected",
        "budget_exhausted",
        "plan_refused",
        "plan_returned",
        "verdict_unreadable",
        "verdict_overturned",
        "partial_reached",
        "agent_failed",
        "stalled",
    }
)
_GOOD: Final = frozenset({"review_approved", "tests_passed", "branch_published", "completed", "converged"})


class Screen(Protocol):
    """The screen that shows a person what happens."""

    def show_events(self, events: "Sequence[Event]") -> None: ...

    def show_status(self, session: "Session") -> None: ...

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        """News and status of a review or debate that the session waits for."""

    def show_turns(self, turns: "Sequence[RunningTurn]") -> None:
        """The agents' current activity."""


def describe(event: "Event", agents: Sequence[str] = ()) -> str:
    """An event of the API in the language of the terminal; `agents` are those of its session, by their places."""
    language, actor = of_environment(os.environ), str(event.get("actor") or "")
    return sentences.describe(event["type"], event["data"], language, agents=agents, actor=actor)


def agents_of(session: "Session | None") -> list[str]:
    """The names of the agents of an orchestration, in the order of its plan."""
    return [str(agent["agent"]) for agent in (session and session.get("agents")) or ()]


Shown = Literal["events", "steps", "phases"]
"""How much is shown: every event; what was done and what came of it; or only which phase it is in."""


def screen(shown: Shown = "events") -> AbstractContextManager[Screen]:
    """Returns the display that fits stderr."""
    if shown == "phases":
        return nullcontext(Phases())
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return LiveScreen()
    return nullcontext(Steps() if shown == "steps" else Lines())


def _tells(event: "Event") -> bool:
    """Returns whether an event tells anything: an attempt without tools is over with its answer."""
    data = event["data"]
    return event["type"] != "turn.activity_recorded" or bool(data.get("toolsTotal") or data.get("denied"))


def _is_prose(words: str) -> bool:
    """Returns whether a piece of an agent's work is something to read: no fence, and no piece of a JSON object."""
    return _WORD.search(words) is not None and _JSON.match(words) is None


class Lines:
    """A line for each event that tells anything: version, time, type, words."""

    def __init__(self) -> None:
        self._agents: list[str] = []

    def show_events(self, events: "Sequence[Event]") -> None:
        for event in filter(_tells, events):
            say(line_of(event, self._agents))

    def show_status(self, session: "Session") -> None:
        self._agents = agents_of(session)

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        for event in filter(_tells, events):
            say(f"    > {line_of(event)}")

    def show_turns(self, turns: "Sequence[RunningTurn]") -> None:
        for turn in turns:
            for agent, words in [each for each in turn.news if _is_prose(each[1])][-_NEWS:]:
                say(f"      {agent}: {words}")


class Steps(Lines):
    """A line for each step and outcome: not for what every step has, a question and where its answer is kept."""

    def show_events(self, events: "Sequence[Event]") -> None:
        super().show_events([event for event in events if not _is_routine(event)])

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        super().show_child(child, [event for event in events if not _is_routine(event)])


class Phases(Lines):
    """A line for each phase or round."""

    def show_events(self, events: "Sequence[Event]") -> None:
        super().show_events([event for event in events if event["type"] in _PHASES])

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        super().show_child(child, [event for event in events if event["type"] in _PHASES])

    def show_turns(self, turns: "Sequence[RunningTurn]") -> None:
        """Shows nothing: what agents do is no phase."""


def _is_routine(event: "Event") -> bool:
    """Returns whether an event only says what others say, too."""
    data, topic = event["data"], str(event["type"])
    match topic:
        case "turn.requested":
            return data.get("work") in ("ask", "validate", "package") and data.get("phase") is not None
        case "turn.answered":
            return data.get("role") in ("setup", "test", "supervisor") and not (data.get("prompt") or {}).get("length")
        case "delivery.phase_completed":
            return not data.get("problem")
        case _:
            return topic in _ROUTINE


def line_of(event: "Event", agents: Sequence[str] = ()) -> str:
    """`12  2026-01-02 10:00:00  delivery.phase_started     Started planning`"""
    words = one_line(describe(event, agents))
    return f"{event['version']:>4}  {local_time(event['timestamp'])}  {event['type']:<33} {words}"


class LiveScreen:
    """Events scroll above a few status lines, which vanish at the end."""

    def __init__(self, console: "Console | None" = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._session: Session | None = None
        self._below: dict[str, Session] = {}
        self._turns: Sequence[RunningTurn] = ()
        self._seen: list[int] = []
        self._at = monotonic()
        self._live = RichLive(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> "LiveScreen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show_events(self, events: "Sequence[Event]") -> None:
        self._print(events, indent="")

    def show_status(self, session: "Session") -> None:
        if self._session is None or session["version"] != self._session["version"]:
            self._at = monotonic()  # `elapsedMs` is as of the last event, so the clock runs on from there
        self._session = session

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        self._below[str(child["id"])] = child
        self._print(events, indent="  > ")

    def show_turns(self, turns: "Sequence[RunningTurn]") -> None:
        latest = [turn.seq for turn in turns]
        self._turns = turns
        if latest != self._seen:
            self._seen = latest
            self._live.refresh()

    def _print(self, events: "Sequence[Event]", *, indent: str) -> None:
        for event in events:
            if event["type"] in _QUIET:
                continue
            lead = f"{local_time(event['timestamp'])[11:]}  {indent}"
            words = one_line(describe(event, agents_of(self._session)))
            style = _style_of(event["type"])
            lines = wrapped(words, self._console.width - len(lead)) if style == _WARNING else [words]
            for line in lines[:_MOST]:
                text = Text(line, style=style, overflow="ellipsis", no_wrap=True)
                self._console.print(Text(lead, style="dim") + text, overflow="ellipsis", no_wrap=True)
                lead = " " * len(lead)

    def _render(self) -> "RenderableType":
        if self._session is None:
            return ""

        waited = 0 if stands_still(self._session) else round((monotonic() - self._at) * 1000)
        open_ = [child for child in self._below.values() if child["status"] not in ("decided", "cancelled")]
        width = self._console.width
        parts = [
            summary(self._session, waited_ms=waited, width=width),
            *(summary(child, width=width) for child in open_),
        ]
        parts += [Text(turn.words(), style="cyan") for turn in self._turns]
        return Text("\n", no_wrap=True, overflow="ellipsis").join(parts)


def summary(session: "Session", *, waited_ms: int = 0, width: int = 80) -> "Text":
    """A session's status: phases, agents or rounds, the remaining budget, who is at work. Nothing is cut for want of
    room except the title: finished and future phases lose their names, and figures continue on the next line."""
    text = Text(no_wrap=True, overflow="ellipsis")
    status = status_words(session)
    title = shortened(str(session.get("title") or session["id"]), min(60, max(10, width - cell_len(status) - 2)))
    text.append(title, style="bold")
    text.append(f"  {status}\n", style="dim")
    for words, style in _phases(session, width):
        text.append(words, style=style)
    text.append(matrix(session))
    text.append("\n" if text.plain[-1] != "\n" else "")
    text.append("\n".join(packed([*figures(session, waited_ms=waited_ms), *_at_work(session)], width, "  ·  ")))
    return text


def _phases(session: "Session", width: int) -> list[tuple[str, str]]:
    """`✓planning ▶review ·packaging `, or where there is no room for that `✓✓✓✓✓ ▶review ·`."""
    phases = [
        (MARKS.get(mark, "?"), recorded("phase", phase), mark)
        for phase, mark in (session.get("phaseStatuses") or {}).items()
    ]
    if sum(cell_len(f"{mark}{name} ") for mark, name, _ in phases) - 1 <= width:
        return [(f"{mark}{name} ", _MARK_STYLES.get(kind, "dim")) for mark, name, kind in phases]
    named = ("running", "failed")
    return [
        (f" {mark}{name} " if kind in named else mark, _MARK_STYLES.get(kind, "dim")) for mark, name, kind in phases
    ]


def _at_work(session: "Session") -> list[str]:
    turns = [turn for turn in session.get("outstandingTurns") or () if turn.get("work") != "wait"]
    away = [turn for turn in turns if turn.get("machine")]
    paused = [turn for turn in turns if turn.get("waitingFor") and turn not in away]
    turns = [turn for turn in turns if turn not in away and turn not in paused]
    groups = (
        *((sentence("waiting: {reason}", reason=reason(turn)), [turn]) for turn in paused),
        (sentence("at work"), [turn for turn in turns if not (turn.get("external") or turn.get("elsewhere"))]),
        (
            sentence("waiting for the machine {machine}", machine=one_line(str(away[0]["machine"])) if away else ""),
            away,
        ),
        (sentence("waiting for an external worker"), [turn for turn in turns if turn.get("external")]),
        (sentence("waiting: not in this team"), [turn for turn in turns if turn.get("elsewhere")]),
    )
    return [f"{', '.join(one_line(str(turn.get('agent'))) for turn in few)} {what}" for what, few in groups if few]


def _style_of(topic: str) -> str:
    last = topic.rpartition(".")[2]
    if last in _BAD:
        return _WARNING
    return "green" if last in _GOOD else ""
