"""Builds what all worklogs are made of: a worklog that grows with each event, and the parts of every kind's.

Each event adds to the sections, and to the log of entries. The parts are rows, entries, children, and the summary.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from domain.replies.comments import without_answers
from domain.session.children import ChildClosed, ChildRequested
from domain.session.comments import CommentAnswered, CommentChanged, CommentMade
from domain.session.forks import SessionForked
from domain.session.permissions import PermissionDecided, PermissionRequested
from domain.session.record import Recorded
from domain.session.revisions import RevisionRequested
from domain.session.turns import TurnAnswered, TurnCancelled, TurnFailed, TurnRetried
from domain.values.base import DomainEvent, Text, iso
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.describe import NAMELESS, is_person
from projections.record.markdown import (
    Unworded,
    cell,
    code,
    inline,
    item,
    mark,
    name,
    plain,
    quote,
    recorded,
    sentence,
    shortened,
    with_ours,
    with_sentence,
)

LOG = "log"
"""The beginnings of sections that only grow; for every other section, the newest text counts."""

COMMENT = "log:comment:"
"""The beginning of the places of comments."""

Row = tuple[str, str]
"""Section and text. `log` continues the newest entry or, with a heading, begins one. `log:<place>` belongs to the entry
of that place, wherever it is. What continues an entry never continues a person's comment."""


class SectionText(NamedTuple):
    """The text of a section, starting at a version."""

    version: int
    text: str


class LogRow(NamedTuple):
    """A part of the log."""

    version: int
    section: str
    body: str

    @property
    def begins(self) -> bool:
        """Returns whether an entry begins with it."""
        return self.body.startswith("### ")


@dataclass(slots=True)
class Worklog:
    """Everything written, in the order of versions. `agents` are the names in the plan, by place."""

    sections: dict[str, list[SectionText]] = field(default_factory=dict)
    log: list[LogRow] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)

    def add(self, version: int, row: Row) -> None:
        section, body = row
        if section.startswith(LOG):
            self.log.append(LogRow(version, section, body))
        elif self.newest(section) != body:
            self.sections.setdefault(section, []).append(SectionText(version, body))

    def newest(self, section: str) -> str | None:
        """The current text of a section."""
        bodies = self.sections.get(section)
        return bodies[-1].text if bodies else None

    def latest(self, version: int) -> dict[str, str]:
        """The text of every section at a version."""
        latest = {section: _upto(bodies, version) for section, bodies in self.sections.items()}
        return {section: body for section, body in latest.items() if body is not None}

    def rows(self, version: int, newest: int | None = None) -> list[Row]:
        """The log at a version: all of it, or only this many of its newest entries."""
        rows = self.log[: bisect_right(self.log, version, key=lambda row: row.version)]
        if newest is not None:
            rows = list(_newest(rows, newest))
        return [(row.section, row.body) for row in rows]


def _upto(bodies: list[SectionText], version: int) -> str | None:
    place = bisect_right(bodies, version, key=lambda body: body.version)
    return bodies[place - 1].text if place else None


def _newest(rows: list[LogRow], count: int) -> Iterator[LogRow]:
    """The rows of the newest entries, without those that belong to an earlier entry."""
    begun = [row.version for row in rows if row.begins]
    first = begun[-count] if len(begun) >= count else 0
    places = set()
    for row in rows[bisect_right(rows, first - 1, key=lambda row: row.version) :]:
        if row.begins:
            places.add(row.section)
        if not first or row.section in places:
            yield row


TITLE, RESULT, PLAN = 80, 500, 4_000
"""Characters of the title, of an agent's result, of a plan or a synthesis."""


# -- rows --------------------------------------------------------------------------------------------------------------


_BY = ("person", "policy", "cancelled")


def begun(task: str, at: int) -> Iterator[Row]:
    """The first rows of a session; `at` in milliseconds."""
    yield "task", inline(task, TITLE)
    yield "created", iso(at)


def heading(place: str, agent: str, *names: str | None, by: str | None = None) -> str:
    """The first line of an agent's entry: the round or iteration, who, and as what. `by` is the person who answered for
    the agent, if one did."""
    words = (each if isinstance(each, Unworded) else cell(each) for each in names if each)
    who = cell(agent) if by is None else mark("stand_in", who_did(by), cell(agent))
    return f"### {place} — {who} ({', '.join(words)})"


def reason(recorded: Recorded, words: str) -> Iterator[str]:
    """A person's reason, as theirs; nothing if they gave none."""
    if words.strip():
        actor = recorded.causation.actor
        yield point(mark("reason_of", who_did(actor)) if is_person(actor) else mark("reason"), words)


def asked_again(recorded: Recorded) -> Iterator[Row]:
    """A turn that a person has asked again."""
    if isinstance(recorded.event, TurnRetried):
        yield "log", "\n\n".join([f"### {mark('asked_again')}", *reason(recorded, recorded.event.reason)])


def point(label: str, words: str, data: Sentence | None = None, *, before: str = "") -> str:
    """An item of an entry; `data`: the words as a sentence of ours. `before` precedes the words."""
    ours = sentence(words, data)
    if ours:
        return f"- {label}: {ours}"
    return with_sentence(label, words, data, limit=RESULT) or item(label, words, limit=RESULT, before=before)


def changes_wanted(event: RevisionRequested) -> Row:
    """Returns what a person wants changed, in their words."""
    parts = [f"### {mark('changes_wanted', who_did(event.by))}", ""]
    parts += [point(mark("wanted_words"), event.text.head)] if event.text.length else []
    parts += [f"- {mark('comments_wanted', len(event.comments))}"] if event.comments else []
    return "log", "\n".join(parts)


def permissions(event: DomainEvent) -> Iterator[Row]:
    """The agent's request for permission, and a person's answer."""
    match event:
        case PermissionRequested():
            yield "log", point(mark("permission_wanted", cell(event.agent), cell(event.tool)), event.title)
        case PermissionDecided():
            yield "log", f"- {mark('permission', name('choice', event.decision), who_did(event.by))}"


def comments(event: DomainEvent) -> Iterator[Row]:
    """A person's comment is an entry of its own; what agents answer, and a person says of it later, belongs to it."""
    match event:
        case CommentMade():
            yield f"{COMMENT}{event.comment_id}", "\n".join(_comment(event))
        case CommentAnswered():
            words = mark(f"comment_{event.answer}", cell(event.turn_id))
            yield f"{COMMENT}{event.comment_id}", point(words, event.words) if event.words.strip() else f"- {words}"
        case CommentChanged():
            words = mark(f"comment_{event.status}", who_did(event.by))
            yield f"{COMMENT}{event.comment_id}", point(words, event.reason) if event.reason else f"- {words}"


def _comment(event: CommentMade) -> Iterator[str]:
    yield from (f"### {mark('comment', event.comment_id, who_did(event.by))}", "")
    if event.path:
        yield f"- {mark('about')}: {code(place_of(event))}"
    if any(line.strip() for line in event.quote):
        yield point(mark("lines"), "\n".join(event.quote))
    yield point(mark("words"), event.text)


def who_did(actor: str) -> str:
    """The name of who did something; of a person of whom nothing is known, that it was one."""
    return mark("a_person") if actor == NAMELESS else cell(actor.rpartition(":")[2])


def place_of(comment: CommentMade) -> str:
    """`src/shop.py:12-14`"""
    if comment.line is None:
        return comment.path or ""
    end = f"-{comment.end_line}" if comment.end_line not in (None, comment.line) else ""
    return f"{comment.path}:{comment.line}{end}"


def result(event: DomainEvent) -> Iterator[str]:
    """The end of a turn, as items."""
    match event:
        case TurnAnswered():
            yield status("done")
            yield from spoken(event.reply)
        case TurnFailed():
            yield status("error")
            yield point(f"{mark('error')}: {event.failure.code}", event.failure.detail, event.failure.sentence)
            yield from quotation(mark("result"), event.reply)
        case TurnCancelled():
            yield status("cancelled")
            yield point(mark("reason"), event.reason)


def status(word: str) -> str:
    """Returns how a turn or a piece of work ended."""
    return f"- {mark('status')}: {name('worklog.ended', word)}"


def spoken(reply: Text) -> Iterator[str]:
    """The words of an agent. Its answers to comments are with the comments."""
    words = without_answers(reply.head)
    if words.strip():
        yield point(mark("result"), words)


def quotation(label: str, words: Text) -> Iterator[str]:
    if words.head.strip():
        yield point(label, words.head)


def block(words: str, *, limit: int = PLAN) -> str:
    """A person's or an agent's text as a quote; empty if there is none."""
    return quote(shortened(words.strip(), limit)) if words.strip() else ""


def summary(text: str, say: Words) -> str:
    """The summary, or a note that there is none yet."""
    if not text.strip():
        return say("worklog.unfinished")
    return quote(text) if "\n" in plain(text).strip() else with_ours(text.strip())


# -- children ------------------------------------------------------------------------------------------------------


def link(session_id: str) -> str:
    """Another session's worklog (contract §2)."""
    return f"[{session_id}](/api/sessions/{session_id}/worklog)"


def child_begins(event: ChildRequested, what: str) -> Row:
    kind = name("kind", event.child_kind, event.child_kind.capitalize())
    first = f"### {mark('child', kind, what)}"
    lines = [first, "", f"- {mark('session')}: {link(event.child_id)}", f"- {mark('strategy')}: {event.topic.strategy}"]
    return f"log:{event.child_id}", "\n".join(lines)


def child_ends(event: ChildClosed) -> Row:
    by = mark(f"by.{event.by}") if event.by in _BY else cell(event.by)
    lines = [f"- {mark('child_decision', name('choice', cell(event.choice)), by, event.rounds)}"]
    lines += quotation(mark("synthesis"), event.synthesis)
    return f"log:{event.child_id}", "\n".join(lines)


def forked(event: SessionForked, at: int) -> Iterator[Row]:
    """It is created `at` (milliseconds)."""
    yield "created", iso(at)
    yield "log", f"### {mark('forked', link(event.source), event.source_version)}"


# -- the text ------------------------------------------------------------------------------------------------------


def title(latest: Mapping[str, str], say: Words, **facts: str) -> str:
    """The head: the task, when it was created, the status, and what the kind adds."""
    lines = {"created": latest["created"], "status": recorded(say, "status", latest["status"]), **facts}
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
    newest: int | None = None
    for section, body in rows:
        if section == "log" and (body.startswith("### ") or newest is None):
            newest = len(entries)
            entries.append(body)
        elif section == "log" and newest is not None:
            entries[newest] += f"\n{body}"
        elif section in places:
            entries[places[section]] += f"\n{body}"
        elif section.startswith("log:"):
            places[section] = len(entries)
            newest = newest if section.startswith(COMMENT) else len(entries)
            entries.append(body)
    return [entry.rstrip("\n") for entry in entries]


def joined(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
