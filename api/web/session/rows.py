"""The list of events: a window of it, filtered by role or to what matters, with its place in the whole."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from api.web.model import clock
from api.web.session.marks import tone_of
from api.web.shown import cut
from domain.session.state import Session
from domain.values.time import iso
from projections.engine.ports import Database
from projections.record import timeline

ROWS: Final = 60
"""Events sent at once; the script asks for more while one scrolls. Every row costs time at each step of a replay."""
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


class Span(NamedTuple):
    """How many events up to version `at`, and how many after it."""

    at: int
    before: int
    after: int


def newest(version: int) -> Span:
    return Span(version, ROWS, 0)


def around(at: int) -> Span:
    return Span(at, ROWS // 2, ROWS // 2)


def following(version: int) -> Span:
    return Span(version - 1, 0, ROWS)


def window(db: Database, session: Session, wanted: Wanted, span: Span, *, since: int = 0) -> dict[str, Any]:
    """The rows of a span, those after version `since` alone; `earlier` and `later` are the versions at which the list
    goes on, 0 where it does not."""
    found = timeline.around(
        db, session.id, span.at, before=span.before, behind=span.after, roles=wanted.roles, highlights=wanted.highlights
    )
    found = [item for item in found if item["version"] <= session.version]
    began = datetime.fromisoformat(iso(session.created_at))
    upto = sum(item["version"] <= span.at for item in found)
    return {
        "rows": [_row(item, began) for item in found if item["version"] > since],
        "earlier": found[0]["version"] - 1 if found and upto == span.before else 0,
        "later": found[-1]["version"] + 1 if span.after and len(found) - upto == span.after else 0,
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
