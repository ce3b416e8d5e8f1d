"""The list of events: a window of it, filtered by role or to what matters, with its place in the whole."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from api.web.model import clock
from api.web.session.marks import tone_of
from api.web.shown import cut
from domain.session.state import Session
from domain.values.time import iso
from projections.engine.ports import Database
from projections.record import timeline

ROWS: Final = 400
"""Events on one page: style recalculation over thousands of rows is what makes a page slow (page design §3)."""
MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: everybody's events or those of some roles, all of them or what matters."""

    roles: tuple[str, ...] = ()
    highlights: bool = False


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


def window(db: Database, session: Session, wanted: Wanted, *, at: int | None, after: int = 0) -> dict[str, Any]:
    """Around event `at`, half before and half behind it; without it the newest, those behind `after` alone."""
    place, later = (session.version, 0) if at is None else (at, ROWS // 2)
    earlier = ROWS - later
    found = timeline.around(
        db, session.id, place, before=earlier, behind=later, roles=wanted.roles, highlights=wanted.highlights
    )
    found = [item for item in found if item["version"] <= session.version]
    began = datetime.fromisoformat(iso(session.created_at))
    upto = sum(item["version"] <= place for item in found)
    return {
        "rows": [_row(item, began) for item in found if item["version"] > after],
        "before": found[0]["version"] - 1 if upto == earlier else 0,
        "behind": found[-1]["version"] if later and len(found) - upto == later else 0,
    }


def _row(item: dict[str, Any], began: datetime) -> Row:
    since = datetime.fromisoformat(item["at"]) - began
    return Row(
        version=item["version"],
        clock=clock(round(since.total_seconds() * 1000)),
        role=cut(item["role"], 40),
        phase=item["phase"],
        message=cut(item["message"], MESSAGE),
        highlight=item["highlight"],
        tone=_tone(item),
    )


def _tone(item: dict[str, Any]) -> str:
    if item["type"] == "orchestration.verdict_given":
        return "good" if item["message"].rpartition(": ")[2].startswith("PASS") else "bad"
    return tone_of(item["type"])
