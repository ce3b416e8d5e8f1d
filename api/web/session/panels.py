"""Panels: each a pure function of (session, version, language), made once and kept while it is asked for.

The same bytes serve the first page, every live answer and every position of the replay.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from adapters.workspace.comment_lines import whereabouts_of
from api.node.commits import folders_of
from api.node.session_answers import marked
from api.system import System
from api.web.renderer import KEY, fragment
from api.web.session import (
    agents,
    artifacts,
    budget,
    changes,
    diagram,
    discussion,
    failure,
    family,
    findings,
    gantt,
    overview,
    review_map,
    reviews,
    status,
    turns,
    work,
    worklog,
)
from api.web.session.context import PanelContext
from domain.session.comments import Whereabouts
from domain.session.state import Session
from domain.values.words import Language, Words
from projections.record.records import Record
from projections.record.session import view
from projections.record.status import changed_nothing, outcome
from projections.record.trail import Trail
from projections.views.session import is_imported

T = TypeVar("T")

KEPT_BYTES: Final = 64 * 1024 * 1024
ALL: Final = ("delivery", "orchestration", "review", "debate")
TALKS: Final = ("review", "debate")

Build = Callable[[PanelContext], object]
"""Makes what a template shows: it reads the fields by their names."""
TABS: Final = ("overview", "turns", "changes", "findings", "worklog")
OLD_TABS: Final = {"discussion": "findings"}
"""The tabs to which the addresses of earlier ones lead."""


class Panel(NamedTuple):
    """A part of the page: its template is `session_<name>.html`."""

    name: str
    build: Build
    kinds: tuple[str, ...] = ALL
    tab: str = "overview"


class Made(NamedTuple):
    """A panel's HTML and the short name of its content."""

    hash: str
    html: str


Panels = Mapping[str, Made]

PANELS: Final = (
    *(Panel("head", overview.head, tab=tab) for tab in TABS),
    Panel("task", work.task),
    Panel("overview", overview.overview),
    Panel("failure", failure.failure),
    Panel("gantt", gantt.gantt),
    Panel("decision", status.decision),
    Panel("next", failure.next_steps, ("delivery", "orchestration")),
    Panel("discussion", discussion.discussion, TALKS),
    Panel("found", reviews.open_findings, ("delivery",)),
    Panel("matrix", agents.matrix, ("orchestration",)),
    Panel("reviews", reviews.reviews, ("delivery",)),
    Panel("family", family.family),
    Panel("diagram", diagram.diagram),
    Panel("budget", budget.budget, ("delivery", "orchestration")),
    Panel("inputs", work.inputs),
    Panel("turns", turns.turns, tab="turns"),
    Panel("changes", changes.changes, tab="changes"),
    Panel("map", review_map.review_map, ("delivery", "orchestration"), tab="changes"),
    Panel("artifacts", artifacts.artifacts, ("delivery",), tab="changes"),
    Panel("decision", status.decision, tab="findings"),
    Panel("findings", findings.findings, tab="findings"),
    Panel("discussion", discussion.discussion, TALKS, tab="findings"),
    Panel("reviews", reviews.reviews, ("delivery",), tab="findings"),
    Panel("family", family.family, tab="findings"),
    Panel("worklog", worklog.worklog, tab="worklog"),
)


class Selection(NamedTuple):
    """The part of a session that is looked at: a tab, in it a turn by its id, or "", a file that was changed, or "",
    and how findings are ordered, or "". `may` are the commands of panels that the reader's key may send."""

    tab: str = "overview"
    turn: str = ""
    file: str = ""
    by: str = ""
    may: tuple[str, ...] = ()


_Key = tuple[str, int, Language, Language | None, Selection, str | None]


class Gallery:
    """Panels of sessions at versions, the latest asked for. Safe for many threads."""

    def __init__(self, inside: System, *, kept_bytes: int = KEPT_BYTES) -> None:
        self._system, self._most = inside, kept_bytes
        self.shared = Shared()
        self._lock = threading.Lock()
        self._forgotten = 0
        """How often panels were dropped: what was made before is not kept."""
        self._kept: OrderedDict[_Key, Panels] = OrderedDict()
        self._bytes = 0
        inside.forgetting.join(self.forget, self.shared.forget)

    def forget(self, _: str | None) -> None:
        """Drop all panels: those of other sessions may quote the text, too."""
        with self._lock:
            self._forgotten += 1
            self._kept.clear()
            self._bytes = 0

    def record(self, session: Session) -> Record:
        """The session's record, at least up to its version."""
        return self._system.records.of(session.id, session.version)

    def trail(self, session: Session) -> Trail:
        return self.record(session).trail

    def panels(self, session: Session, say: Words, named: Language | None, of: Selection) -> Panels:
        machine = self._system.missing_machine(session)
        key = (session.id, session.version, say.language, named, of, machine)
        with self._lock:
            cached = self._kept.get(key)
            if cached is not None:
                self._kept.move_to_end(key)
                return cached
            forgotten = self._forgotten
        made = self._make(session, say, named, of, machine)
        self._keep(key, made, forgotten)
        return made

    def _make(self, session: Session, say: Words, named: Language | None, of: Selection, machine: str | None) -> Panels:
        context = self.context(session, say, of, machine)
        shown = [panel for panel in PANELS if session.kind in panel.kinds and panel.tab == of.tab]
        return {panel.name: _made(say, named, panel, context) for panel in shown}

    def context(
        self, session: Session, say: Words, of: Selection | None = None, machine: str | None = None
    ) -> PanelContext:
        """All that panels are made of."""
        shown = view(session)
        imported = self._system.imported_turns(shown.outstanding_turns)
        shown = marked(shown, session, self._system.team, machine, imported=imported)
        seen = shown.wire()
        return PanelContext(
            session=session,
            view=shown,
            outcome=outcome(seen, say.language),
            unchanged=changed_nothing(seen),
            imported=is_imported(shown.outstanding_turns),
            record=self.record(session),
            store=self._system.store,
            finding_events=self._system.finding_events,
            language=say.language,
            turn=of.turn if of else "",
            file=of.file if of else "",
            by=of.by if of else "",
            may=of.may if of else (),
            whereabouts=self._whereabouts(session) if of and of.tab in ("changes", "findings") else {},
        )

    def _whereabouts(self, session: Session) -> dict[str, Whereabouts]:
        comments = session.comments.all
        return whereabouts_of(folders_of(self._system.settings, session), session, comments) if comments else {}

    def _keep(self, key: _Key, made: Panels, forgotten: int) -> None:
        with self._lock:
            if key in self._kept or forgotten != self._forgotten:
                return
            self._kept[key] = made
            self._bytes += _size(made)
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= _size(self._kept.popitem(last=False)[1])


def _made(say: Words, named: Language | None, panel: Panel, context: PanelContext) -> Made:
    html = fragment(
        say,
        named,
        f"session_{panel.name}.html",
        id=context.session.id,
        kind=context.session.kind,
        version=context.version,
        key=KEY,
        p=panel.build(context),
    ).strip()
    return Made(hashlib.sha256(html.encode()).hexdigest()[:12], html)


def _size(made: Panels) -> int:
    return sum(len(panel.html) for panel in made.values())


MOST: Final = 64
"""Answers kept at once."""
LONGEST: Final = 512 * 1024
"""Characters or bytes of an answer that is kept; a longer one is shared only by those who wait for it."""


class Shared:
    """Answers that are functions of the log, kept until it moves. Belongs to one event loop."""

    def __init__(self) -> None:
        self._head = (0, 0)
        self._made: dict[Hashable, asyncio.Task[Any]] = {}

    def forget(self, _: str | None) -> None:
        """Drop all answers. From any thread."""
        self._made = {}

    async def of(self, head: tuple[int, int], key: Hashable, make: Callable[[], T]) -> T:
        """The answer as of an epoch and a head of the log; made in a thread. Raises what `make` raises, which is not
        kept."""
        if head > self._head:
            self._head, self._made = head, {}
        made = self._made
        if head < self._head or (key not in made and len(made) >= MOST):
            return await asyncio.to_thread(make)
        if key not in made:
            made[key] = asyncio.create_task(asyncio.to_thread(make))
            made[key].add_done_callback(lambda task: _forget(made, key, task))
        answer: T = await asyncio.shield(made[key])
        return answer


def _forget(made: dict[Hashable, "asyncio.Task[Any]"], key: Hashable, task: "asyncio.Task[Any]") -> None:
    """Tries again what failed, and does not hold on to what is long."""
    failed = task.cancelled() or task.exception() is not None
    if failed or (isinstance(task.result(), str | bytes) and len(task.result()) > LONGEST):
        made.pop(key, None)
