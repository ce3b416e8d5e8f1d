"""Parts of all worklogs: rows, entries of the log, children, and the summary at the end."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from domain.session.children import ChildClosed, ChildRequested
from domain.session.forks import SessionForked
from domain.session.permissions import PermissionDecided, PermissionRequested
from domain.session.turns import TurnAnswered, TurnCancelled, TurnFailed
from domain.values.base import DomainEvent, Text
from domain.values.time import iso
from domain.values.words import Language, Words, words
from projections.record.markdown import cell, inline, item, neutral, plain, quote, shortened
from projections.record.outcome import ROOM
from projections.record.session import GATES
from projections.record.worklog.log import Row

TITLE, RESULT, PLAN = 80, 500, 4_000
"""Characters of the title, of an agent's result, of a plan or a synthesis."""
_RECORDED: Final = {
    "worklog.waiting": "(대기 중)",
    "worklog.unfinished": "(미완료)",
    **{f"gate.{status}": gate for status, gate in GATES.items()},
}
"""Texts that the seeds' worklogs have in Korean, whatever the language (behaviour §1.12)."""

_BY = {"person": "by a person", "policy": "nobody decided in time", "cancelled": "cancelled"}


@cache
def wording(language: Language | None) -> Words:
    """The headings and marks of a worklog for a reader; without a language, those of the seeds."""
    say = words(language or "en", ROOM)
    return say if language else Words("en", {**say.messages, **_RECORDED})


def begun(task: str, at: int) -> Iterator[Row]:
    """The first rows of a session; `at` in milliseconds."""
    yield "task", inline(task, TITLE)
    yield "created", iso(at)


def heading(place: str, agent: str, *names: str | None) -> str:
    """The first line of an agent's entry: the round or iteration, who, and as what."""
    return f"### {place} — {cell(agent)} ({', '.join(cell(name) for name in names if name)})"


def point(label: str, words: str) -> str:
    """An item of an entry."""
    return item(label, words, limit=RESULT)


def permissions(event: DomainEvent) -> Iterator[Row]:
    """What an agent asked permission for, and a person's answer."""
    match event:
        case PermissionRequested():
            yield "log", point(f"Permission wanted by {cell(event.agent)} ({cell(event.tool)})", event.title)
        case PermissionDecided():
            yield "log", f"- Permission: {event.decision} by {cell(event.by)}"


def result(event: DomainEvent) -> Iterator[str]:
    """How a turn ended, as items."""
    match event:
        case TurnAnswered():
            yield "- Status: done"
            yield from quotation("Result", event.reply)
        case TurnFailed():
            yield "- Status: error"
            yield point(f"Error: {event.failure.code}", event.failure.detail)
            yield from quotation("Result", event.reply)
        case TurnCancelled():
            yield "- Status: cancelled"
            yield point("Reason", event.reason)


def quotation(label: str, words: Text) -> Iterator[str]:
    if words.head.strip():
        yield point(label, words.head)


def block(words: str, *, limit: int = PLAN) -> str:
    """Somebody's text as a quote; empty if there is none."""
    return quote(shortened(words.strip(), limit)) if words.strip() else ""


def summary(text: str, say: Words) -> str:
    """The summary, or a note that there is none yet."""
    if not text.strip():
        return say("worklog.unfinished")
    return quote(text) if "\n" in plain(text).strip() else neutral(text.strip())


# -- children ------------------------------------------------------------------------------------------------------


def link(session_id: str) -> str:
    """Another session's worklog (contract §2)."""
    return f"[{session_id}](/api/sessions/{session_id}/worklog)"


def child_begins(event: ChildRequested, what: str) -> Row:
    first = f"### {event.child_kind.capitalize()} of {what}"
    lines = [first, "", f"- Session: {link(event.child_id)}", f"- Strategy: {event.topic.strategy}"]
    return f"log:{event.child_id}", "\n".join(lines)


def child_ends(event: ChildClosed) -> Row:
    lines = [f"- Decision: {cell(event.choice)} ({_BY.get(event.by, cell(event.by))}, {event.rounds} rounds)"]
    lines += quotation("Synthesis", event.synthesis)
    return f"log:{event.child_id}", "\n".join(lines)


def forked(event: SessionForked) -> Row:
    return "log", f"### Forked from {link(event.source)} at version {event.source_version}"


# -- the text ------------------------------------------------------------------------------------------------------


def title(latest: Mapping[str, str], say: Words, **facts: str) -> str:
    """The head: the task, when it was created, the status, and what the kind adds."""
    lines = {"created": latest["created"], "status": latest["status"], **facts}
    head = f"# {say('worklog.title')}: {latest['task']}"
    return "\n".join((head, *(f"- {say(f'worklog.{name}')}: {fact}" for name, fact in lines.items())))


def chapter(name: str, body: str | None, say: Words) -> str:
    """A section; without a text, it is shown as pending."""
    return f"## {say(f'worklog.{name}')}\n\n{body or say('worklog.waiting')}"


def execution(rows: Iterable[Row], say: Words) -> str:
    """The log itself."""
    return "\n\n".join((f"## {say('worklog.log')}", *_entries(rows)))


def table(say: Words, *columns: str) -> list[str]:
    """The head of a table."""
    names = (say(f"worklog.{column}") for column in columns)
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(columns)]


def _entries(rows: Iterable[Row]) -> list[str]:
    """Entries in the order in which they began, each with its items."""
    entries: list[str] = []
    places: dict[str, int] = {}
    for section, body in rows:
        if section == "log" and (body.startswith("### ") or not entries):
            entries.append(body)
        elif section == "log":
            entries[-1] += f"\n{body}"
        elif section in places:
            entries[places[section]] += f"\n{body}"
        elif section.startswith("log:"):
            places[section] = len(entries)
            entries.append(body)
    return [entry.rstrip("\n") for entry in entries]


def joined(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
