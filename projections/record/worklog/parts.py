"""Parts of all worklogs: rows, entries of the log, children, and the summary at the end."""

from collections.abc import Iterable, Iterator, Mapping

from domain.session.approvals import PermissionDecided, PermissionRequested
from domain.session.children import ChildClosed, ChildRequested
from domain.session.history import SessionForked
from domain.session.turns import TurnAnswered, TurnCancelled, TurnFailed
from domain.values.base import DomainEvent, Text, iso
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.markdown import cell, inline, item, neutral, plain, quote, shortened
from projections.record.worklog.log import Row
from projections.record.worklog.wording import Unworded, mark, name, recorded, sentence

TITLE, RESULT, PLAN = 80, 500, 4_000
"""Characters of the title, of an agent's result, of a plan or a synthesis."""
_BY = ("person", "policy", "cancelled")


def begun(task: str, at: int) -> Iterator[Row]:
    """The first rows of a session; `at` in milliseconds."""
    yield "task", inline(task, TITLE)
    yield "created", iso(at)


def heading(place: str, agent: str, *names: str | None) -> str:
    """The first line of an agent's entry: the round or iteration, who, and as what."""
    words = (each if isinstance(each, Unworded) else cell(each) for each in names if each)
    return f"### {place} — {cell(agent)} ({', '.join(words)})"


def point(label: str, words: str, data: Sentence | None = None) -> str:
    """An item of an entry; `data`: the words as a sentence of ours."""
    ours = sentence(words, data)
    return f"- {label}: {ours}" if ours else item(label, words, limit=RESULT)


def permissions(event: DomainEvent) -> Iterator[Row]:
    """What an agent asked permission for, and a person's answer."""
    match event:
        case PermissionRequested():
            yield "log", point(mark("permission_wanted", cell(event.agent), cell(event.tool)), event.title)
        case PermissionDecided():
            yield "log", f"- {mark('permission', name('choice', event.decision), cell(event.by))}"


def result(event: DomainEvent) -> Iterator[str]:
    """How a turn ended, as items."""
    match event:
        case TurnAnswered():
            yield status("done")
            yield from quotation(mark("result"), event.reply)
        case TurnFailed():
            yield status("error")
            yield point(f"{mark('error')}: {event.failure.code}", event.failure.detail, event.failure.sentence)
            yield from quotation(mark("result"), event.reply)
        case TurnCancelled():
            yield status("cancelled")
            yield point(mark("reason"), event.reason)


def status(word: str) -> str:
    """How a turn or a piece of work ended."""
    return f"- {mark('status')}: {name('worklog.ended', word)}"


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
    kind = name("kind", event.child_kind, event.child_kind.capitalize())
    first = f"### {mark('child', kind, what)}"
    lines = [first, "", f"- {mark('session')}: {link(event.child_id)}", f"- {mark('strategy')}: {event.topic.strategy}"]
    return f"log:{event.child_id}", "\n".join(lines)


def child_ends(event: ChildClosed) -> Row:
    by = mark(f"by.{event.by}") if event.by in _BY else cell(event.by)
    lines = [f"- {mark('child_decision', name('choice', cell(event.choice)), by, event.rounds)}"]
    lines += quotation(mark("synthesis"), event.synthesis)
    return f"log:{event.child_id}", "\n".join(lines)


def forked(event: SessionForked) -> Row:
    return "log", f"### {mark('forked', link(event.source), event.source_version)}"


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
