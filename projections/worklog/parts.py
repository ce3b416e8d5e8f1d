"""What worklogs of all kinds are made of: rows, entries of the log, children, and the words at the end."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from domain.base import DomainEvent, Text
from domain.children import ChildClosed, ChildRequested
from domain.forks import SessionForked
from domain.turns import TurnAnswered, TurnCancelled, TurnFailed
from projections.markdown import cell, item, neutral, plain, quote, shortened
from projections.ports import Database

TITLE, RESULT, PLAN = 80, 500, 4_000
"""Characters of the title, of an agent's result, of a plan or a synthesis."""
WAITING, UNFINISHED = "(대기 중)", "(미완료)"

Row = tuple[str, str]
"""Section and body. `log` goes on with the newest entry or, with a heading, begins one; `log:<place>` belongs to the
entry of that place, wherever it stands."""

_BY = {"person": "by a person", "policy": "nobody decided in time", "cancelled": "called off"}


class Turn(NamedTuple):
    """Where a turn belongs: `number` of the round or iteration, `lane` 0 for those who do not work on the plan."""

    phase: str | None = None
    number: int = 0
    lane: int = 0


def turn(db: Database, session_id: str, turn_id: str) -> Turn:
    row = db.execute(
        "SELECT phase, iteration, lane FROM worklog_turns WHERE session_id = ? AND turn_id = ?", (session_id, turn_id)
    ).fetchone()
    return Turn() if row is None else Turn(*row)


def newest(db: Database, session_id: str, section: str) -> str | None:
    """What a section says by now."""
    row = db.execute(
        "SELECT body FROM worklog WHERE session_id = ? AND section = ? ORDER BY version DESC, ordinal DESC LIMIT 1",
        (session_id, section),
    ).fetchone()
    return None if row is None else str(row[0])


def result(event: DomainEvent) -> Iterator[str]:
    """How a turn ended, as items."""
    match event:
        case TurnAnswered():
            yield "- Status: done"
            yield from said("Result", event.reply)
        case TurnFailed():
            yield "- Status: error"
            yield item(f"Error: {event.failure.code}", event.failure.detail, limit=RESULT)
            yield from said("Result", event.reply)
        case TurnCancelled():
            yield "- Status: cancelled"
            yield item("Reason", event.reason, limit=RESULT)


def said(label: str, words: Text) -> Iterator[str]:
    if words.head.strip():
        yield item(label, words.head, limit=RESULT)


def block(words: str, *, limit: int = PLAN) -> str:
    """Somebody's text as a quote; empty for none."""
    return quote(shortened(words.strip(), limit)) if words.strip() else ""


def summary(words: str) -> str:
    """The words at the end, or that there are none yet."""
    if not words.strip():
        return UNFINISHED
    return quote(words) if "\n" in plain(words).strip() else neutral(words.strip())


# -- children ------------------------------------------------------------------------------------------------------


def link(session_id: str) -> str:
    """Another session's worklog (contract §2)."""
    return f"[{session_id}](/api/sessions/{session_id}/worklog)"


def child_begins(event: ChildRequested, what: str) -> Row:
    heading = f"### {event.child_kind.capitalize()} of {what}"
    lines = [heading, "", f"- Session: {link(event.child_id)}", f"- Strategy: {event.topic.strategy}"]
    return f"log:{event.child_id}", "\n".join(lines)


def child_ends(event: ChildClosed) -> Row:
    lines = [f"- Decision: {cell(event.choice)} ({_BY.get(event.by, cell(event.by))}, {event.rounds} rounds)"]
    lines += said("Synthesis", event.synthesis)
    return f"log:{event.child_id}", "\n".join(lines)


def forked(event: SessionForked) -> Row:
    return "log", f"### Forked from {link(event.source)} at version {event.source_version}"


# -- the log -------------------------------------------------------------------------------------------------------


def entries(rows: Iterable[Row]) -> list[str]:
    """Entries in the order of their beginning, each with the items that belong to it."""
    found: list[str] = []
    places: dict[str, int] = {}
    for section, body in rows:
        if section == "log" and (body.startswith("### ") or not found):
            found.append(body)
        elif section == "log":
            found[-1] += f"\n{body}"
        elif section in places:
            found[places[section]] += f"\n{body}"
        elif section.startswith("log:"):
            places[section] = len(found)
            found.append(body)
    return [entry.rstrip("\n") for entry in found]


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
