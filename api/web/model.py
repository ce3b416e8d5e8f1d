"""What the templates are filled with: values made of a session at a version and of the views, without clock or request.

Every text is cut here, so that the size of a page is bounded whatever agents say.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, get_args

from api.web.shown import cut, newest_of, rendered
from domain.delivery.chart import Status
from domain.session import Session
from domain.sessions import available
from projections import artifacts, overview, timeline, worklog
from projections.ports import Database
from projections.session import view

ROWS: Final = 400
"""Events on one page: style recalculation over thousands of rows is what makes a page slow (page design §3)."""
SESSIONS, SECTION = 25, 50
"""Sessions on a page of the list, and in each of the sections above it."""
ARTIFACTS, FILES, STEPS, LABELS = 100, 50, 20, 32
MESSAGE, TASK, SENTENCE, COMMAND = 300, 4_000, 2_000, 300
"""Characters."""

STATUSES: Final = tuple(get_args(Status))
"""Statuses that can always be chosen; those that sessions have besides are added."""

RUNNING: Final = ("running", "active", "reviewing", "debating", "synthesizing")
"""Statuses in which somebody is at work (contract §2)."""

ICONS: Final = {
    "pending": "○",
    "running": "▸",
    "success": "✓",
    "completed": "✓",
    "failed": "✕",
    "cancelled": "–",
    "skipped": "–",
    "exhausted": "!",
    "active": "▸",
    "reviewing": "▸",
    "debating": "▸",
    "synthesizing": "▸",
    "checkpoint": "?",
    "waiting_for_decision": "?",
    "partial": "!",
    "done": "✓",
    "decided": "✓",
    "reset": "–",
}

TONES: Final = {
    "review_blocking_detected": "bad",
    "phase_failed": "bad",
    "budget_exhausted": "bad",
    "review_approved": "good",
}
"""The colour of an event that matters, where its words are good or bad news."""


@dataclass(frozen=True, slots=True)
class Row:
    """An event in the list. `clock` is the time since the session began."""

    version: int
    clock: str
    role: str
    phase: str | None
    message: str
    highlight: bool
    tone: str


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A session as it stood at a version, and how far it has come since."""

    session: dict[str, Any]
    badge: str
    elapsed: str
    rows: tuple[Row, ...]
    worklog: str
    worklog_cut: bool
    artifacts: tuple[dict[str, Any], ...]
    more_artifacts: bool
    commands: tuple[str, ...]
    newest: int
    replay: bool
    live: bool

    @property
    def version(self) -> int:
        return int(self.session["version"])

    @property
    def before_rows(self) -> int:
        """The version before the oldest row, 0 where the rows begin with the first event."""
        return self.rows[0].version - 1 if self.rows else 0


@dataclass(frozen=True, slots=True)
class HomePage:
    """The list of sessions. Sections above the list are empty where something is looked for."""

    waiting: tuple[dict[str, Any], ...]
    running: tuple[dict[str, Any], ...]
    more_running: bool
    listed: tuple[dict[str, Any], ...]
    cursor: str | None
    statuses: tuple[str, ...]
    searching: bool
    first: bool
    empty: bool


def session_page(db: Database, session: Session, *, newest: int, replay: bool) -> SessionPage:
    """`newest` is the version that the session has reached by now."""
    found = view(session)
    text, shortened = newest_of(worklog.render(db, session.id, session.version) or "")
    made = artifacts.artifacts(db, session.id, session.version)
    return SessionPage(
        session=_cut(found),
        badge=badge(found["status"], exhausted=bool((found.get("budget") or {}).get("reason"))),
        elapsed=clock((found.get("budget") or {}).get("elapsedMs", 0)),
        rows=_rows(db, session, found["createdAt"]),
        worklog=rendered(text),
        worklog_cut=shortened,
        artifacts=tuple(reversed(made[-ARTIFACTS:])),
        more_artifacts=len(made) > ARTIFACTS,
        commands=() if replay else tuple(available(session)),
        newest=newest,
        replay=replay,
        live=not replay and not (session.ended and not session.outstanding),
    )


def home_page(db: Database, *, kind: str | None, status: str | None, q: str | None, cursor: str | None) -> HomePage:
    """Raises Invalid for a cursor or words that cannot be looked for."""
    searching = bool(kind or status or q)
    sections = not searching and cursor is None
    waiting = overview.waiting(db, SECTION) if sections else []
    running = _running(db) if sections else []
    page = overview.page(db, kind=kind, status=status, q=q, limit=SESSIONS, cursor=cursor)
    above = {item["id"] for item in (*waiting, *running)}
    return HomePage(
        waiting=tuple(_item(item) for item in waiting),
        running=tuple(_item(item) for item in running[:SECTION]),
        more_running=len(running) > SECTION,
        listed=tuple(_item(item) for item in page["items"] if item["id"] not in above),
        cursor=page["nextCursor"],
        statuses=tuple(dict.fromkeys((*STATUSES, *(word for found in overview.counts(db).values() for word in found)))),
        searching=searching,
        first=cursor is None,
        empty=not page["items"] and not above,
    )


def _running(db: Database) -> list[dict[str, Any]]:
    """The newest sessions at work, one more than a section holds if there are as many."""
    pages = [overview.page(db, status=status, limit=SECTION + 1)["items"] for status in RUNNING]
    found = [item for page in pages for item in page]
    return sorted(found, key=lambda item: str(item["createdAt"]), reverse=True)[: SECTION + 1]


def badge(status: str, *, exhausted: bool) -> str:
    """The state as a person sees it: a delivery that ran out of budget has failed, yet waits for somebody (K-46)."""
    return "exhausted" if exhausted and status == "failed" else status


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours}:{minutes % 60:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


def _rows(db: Database, session: Session, created_at: str) -> tuple[Row, ...]:
    """The newest rows up to the session's version, oldest first."""
    page = timeline.page(db, session.id, after=max(0, session.version - ROWS), limit=ROWS)
    began = datetime.fromisoformat(created_at)
    return tuple(_row(item, began) for item in page["items"] if item["version"] <= session.version)


def _row(item: dict[str, Any], began: datetime) -> Row:
    since = datetime.fromisoformat(item["at"]) - began
    return Row(
        version=item["version"],
        clock=clock(round(since.total_seconds() * 1000)),
        role=cut(item["role"], 40),
        phase=item["phase"],
        message=cut(item["message"], MESSAGE),
        highlight=item["highlight"],
        tone=TONES.get(item["type"].rpartition(".")[2], "note"),
    )


def _item(item: dict[str, Any]) -> dict[str, Any]:
    return item | {
        "badge": badge(item["status"], exhausted=item["waiting"] == "budget"),
        "labels": [cut(label, 64) for label in item["labels"][:5]],
    }


def _cut(found: dict[str, Any]) -> dict[str, Any]:
    """The view with everything that somebody wrote cut to what a page can hold."""
    files, steps = found.get("filePaths") or [], found.get("validationCommands") or []
    task, summary = found.get("task") or found.get("prompt"), found.get("finalSummary") or found.get("summary")
    return {"budget": None, "phaseStatuses": {}, "iteration": 0, **found} | {
        "task": cut(task or "", TASK),
        "filePaths": [cut(path, COMMAND) for path in files[:FILES]],
        "moreFiles": max(0, len(files) - FILES),
        "validationCommands": [_step(step) for step in steps[:STEPS]],
        "moreSteps": max(0, len(steps) - STEPS),
        "labels": [cut(label, 64) for label in found["labels"][:LABELS]],
        "lastError": cut(found["lastError"] or "", SENTENCE),
        "finalSummary": cut(summary or "", SENTENCE),
        "workspace": cut(found.get("workspace") or "", 2 * COMMAND),
        "origin": cut(found["origin"], 200),
        "outstandingTurns": found["outstandingTurns"][:STEPS],
    }


def _step(step: dict[str, Any]) -> dict[str, str]:
    command = step["command"]
    return {
        "stage": str(step["stage"]),
        "command": cut(command if isinstance(command, str) else " ".join(command), COMMAND),
    }
