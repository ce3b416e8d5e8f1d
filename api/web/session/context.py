"""A session at one version: everything a panel is built from, with its events and long texts. No clock, no request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from markupsafe import Markup

from adapters.store.errors import Broken
from adapters.store.port import Texts
from adapters.store.texts import whole as whole_text
from api.web.model import clock
from api.web.plain_text import LONGEST_MARKDOWN, cut, shown
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.kinds import is_over
from domain.orchestration.state import Orchestration
from domain.session.comments import Whereabouts
from domain.session.state import Session
from domain.session.summary import summary_of
from domain.values.base import DomainEvent, Text
from domain.values.sentences import in_language, recognized
from domain.values.words import Language
from projections.engine.ports import Histories
from projections.record.describe import describe_landing
from projections.record.finding_events import FindingEvents
from projections.record.records import Record
from projections.record.session import view
from projections.record.trail import N, Trail, upto
from projections.views.session import IMPORTED, DeliveryView, OrchestrationView, ResultView, SessionView

SENTENCE, LONG, WHOLE = 300, 2_000, 16_000
"""Characters: of a line, of a paragraph, of a whole contribution."""


class Source(Texts, Histories, Protocol):
    """The source of events and long texts."""


class SessionClock(NamedTuple):
    """All that the clocks of the page need to go on from a version: the time used runs while agents are at work, here;
    the rest of the time since `begin` was waiting."""

    elapsed_ms: int
    as_of: int
    ticks: bool
    begin: int


@dataclass(frozen=True, slots=True)
class PanelContext:
    """`view` is what the session says of itself, `outcome` how it ended in words; `record` knows at least this version,
    `store` has its events and long texts. `turn` is the id of the one that is looked at, `file` the path of one that
    was changed, or ""."""

    session: Session
    view: SessionView
    outcome: str
    record: Record
    store: Source
    finding_events: FindingEvents
    language: Language
    unchanged: bool = False
    """Work was done, and no file is changed: the head says that first."""
    imported: bool = False
    """It came unfinished with another log: nothing here runs its turns."""
    turn: str = ""
    file: str = ""
    by: str = ""
    """The order of findings, "" as they are without a wish."""
    may: tuple[str, ...] = ()
    """The commands of panels that the reader's key may send."""
    whereabouts: Mapping[str, Whereabouts] = field(default_factory=dict)
    """The places of the lines of comments at this version."""

    @property
    def trail(self) -> Trail:
        return self.record.trail

    @property
    def version(self) -> int:
        return self.session.version

    def past(self, marks: Sequence[N]) -> Sequence[N]:
        """The part of a list of the trail up to then."""
        return upto(marks, self.version)

    def where(self, marks: Sequence[N]) -> list[int]:
        return [mark.version for mark in upto(marks, self.version)]

    def counts(self) -> dict[str, int]:
        """The numbers on the tabs: turns, changed files, what was found; none where nothing."""
        turns = [entry for entry in self.record.turns.values() if entry.version <= self.version]
        numbers = {
            "turns": sum(entry.work != "wait" for entry in turns),
            "changes": len(self.result.files) if self.result else 0,
            "findings": self._number_of_findings(),
        }
        return {tab: number for tab, number in numbers.items() if number}

    def _number_of_findings(self) -> int:
        """Different points that block, as they were worded, and people's comments."""
        points = {title for mark in self.past(self.trail.outcomes) for title, _ in mark.issues}
        verdicts = [mark for mark in self.past(self.trail.verdicts) if not mark.passed and mark.by != "nobody"]
        points |= {f"{mark.place}:{mark.phases[:1]}" for mark in verdicts}
        if isinstance(self.session, Discussion):
            points |= set(self.session.dissent)
        comments = [each for each in self.session.comments.all if each.status != "withdrawn"]
        return len(points) + len(comments)

    def worded(self, text: str | None) -> str:
        """A recorded text, in the reader's language where it is a sentence of Hansard."""
        return in_language(recognized(text or ""), self.language)

    @property
    def result(self) -> ResultView | None:
        """The changes of the session so far; None of a discussion, and where nothing has changed."""
        return self.view.result if isinstance(self.view, DeliveryView | OrchestrationView) else None

    @property
    def landing(self) -> str:
        """Says how the newest landing ended; empty where there was none."""
        landing = self.result.landing if self.result else None
        return describe_landing(landing.wire(), self.language) if landing else ""

    @property
    def held(self) -> bool:
        """A fork that waits where no recorded answer fits."""
        return self.session.held and not self.session.ended

    @property
    def badge(self) -> str:
        return IMPORTED if self.imported else badge_of(self.session, self.view)

    @property
    def elapsed_ms(self) -> int:
        """The time used: of a delivery that of its budget; else since the beginning, without a person's decision at the
        end."""
        match self.session:
            case Delivery() as session:
                return session.snapshot(session.updated_at).elapsed_ms
            case Discussion():  # a person's time to decide is no work
                asks = [
                    e.version for e in self.record.entries[: self.version] if e.topic.endswith(".decision_requested")
                ]
                version = asks[-1] if asks else self.version
            case _:
                version = self.version
        return self.trail.clock(version) - self._before_forks(version)

    def gaps(self, version: int) -> list[tuple[int, int]]:
        """The moments at which it was forked, each with the time since the last event that the fork shares: nobody
        worked, nobody waited."""
        at = self.trail.at
        forks = [mark.version for mark in self.trail.forks if 1 < mark.version <= version]
        return [(at[fork - 1], at[fork - 1] - at[fork - 2]) for fork in forks]

    def _before_forks(self, version: int) -> int:
        return sum(gap for _, gap in self.gaps(version))

    @property
    def clock(self) -> SessionClock:
        """The time used, and whether it goes on."""
        session = self.session
        stopped = session.stopped_at is not None if isinstance(session, Delivery) else self.badge == "partial"
        over = stopped or self.imported or is_over(session)
        return SessionClock(
            elapsed_ms=self.elapsed_ms,
            as_of=session.budget_time(session.updated_at) if isinstance(session, Delivery) else session.updated_at,
            ticks=not (over or self.needs_somebody),
            begin=self._begin if isinstance(session, Delivery) and not over else 0,
        )

    @property
    def _begin(self) -> int:
        """The moment from which its own time counts: of a fork without the time between it and what it shares."""
        return self.trail.at[0] + self._before_forks(self.version)

    @property
    def waited_ms(self) -> int:
        """Of a delivery the time that its budget did not count: it waited for a provider or a person. A comment on a
        result that is there is no wait."""
        if not isinstance(self.session, Delivery):
            return 0
        stopped = self.session.stopped_at
        since = 0 if stopped is None else self.session.updated_at - stopped
        return max(0, self.trail.clock(self.version) - since - self.elapsed_ms - self._before_forks(self.version))

    @property
    def elapsed(self) -> str:
        return clock(self.elapsed_ms)

    @property
    def needs_somebody(self) -> bool:
        """True if nothing happens without a person."""
        return self.held or summary_of(self.session).waits_for not in (None, *_AT_REST)


_AT_REST: Final = ("failed", "landing", "checks", "forge")
"""The waits that a person may take up again in a session that has ended."""


def badge_of(session: Session, shown: SessionView | None = None) -> str:
    """The state as a person sees it: one word of the seeds' for every state that has a colour."""
    match session:
        case _ if session.held and not session.ended:
            return "held"
        case _ if session.questions and not session.ended:
            return "asking"
        case Delivery(state="exhausted"):
            return "no_progress" if session.code == "no_progress" else "exhausted"
        case Delivery(state="awaiting_scope"):
            return "waiting_for_decision"
        case Delivery(state="under_review"):
            return "reviewing"
        case Orchestration(state=("debating" | "reviewing") as state):
            return state
        case Delivery(state="success", code="no_change") | Orchestration(state="done", no_change=True):
            return "unchanged"
        case _:
            return (shown or view(session)).status


ICONS: Final = {"converged": "✓", "stalled": "✕", "continue": "→"}


@lru_cache(maxsize=64)
def rendered(markdown: str) -> str:
    """HTML that is safe to put on the page. Its parser is loaded with the first page that shows such a text."""
    from api.web.markdown_html import html_of

    return html_of(shown(markdown[:LONGEST_MARKDOWN]))


@lru_cache(maxsize=512)
def tame(words: str, limit: int = WHOLE) -> Markup:
    """Markdown of a person or an agent as safe HTML, up to a number of characters."""
    return Markup(rendered(cut(words, limit)))  # noqa: S704 - `rendered` is what makes it safe


def forget_rendered(_: str | None) -> None:
    """Drop all rendered texts."""
    tame.cache_clear()
    rendered.cache_clear()


READ: Final = 1_000_000
"""Characters of a text that is read for a page, unless the reader says otherwise."""


def event_of(context: PanelContext, version: int) -> DomainEvent:
    [recorded] = context.store.history(context.session.id, after=version - 1, upto=version)
    return recorded.event


def text_of(event: DomainEvent | None, name: str) -> Text:
    """A field of the event; empty without one."""
    value = getattr(event, name, None)
    return value if isinstance(value, Text) else Text()


def whole(context: PanelContext, text: Text, *, most: int = READ) -> str:
    """A text in full, unless it is too long for a page: then its beginning."""
    if text.derived is None and (text.digest is None or text.length > most):
        return text.head
    try:
        return whole_text(context.store, text)
    except Broken:
        return text.head
