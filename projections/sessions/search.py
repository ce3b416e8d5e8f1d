"""Searching sessions by words: titles, tasks, what agents said, findings, errors and the reasons of decisions.

An index of trigrams, in a database of its own: it takes several times as long to build as all views together, so it
follows the log by itself. Hangul is split into its letters, so that two syllables are enough for a trigram. A row's id
orders by the start of its session, newest last: a search finds the sessions in the order in which the list shows them.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Final

from domain.delivery.events import DeliveryStarted
from domain.discussion.events import Decided, DecisionRequested, DecisionVoted, DiscussionStarted
from domain.orchestration.events import OrchestrationStarted
from domain.session.record import Omitted, Recorded
from domain.session.redaction import TextRedacted
from domain.session.turns import TurnAnswered
from domain.values.base import DomainEvent
from projections.engine.ports import LATEST, OMITTED, Database, Projection
from projections.facts import of_sessions
from projections.record.explain import evidence

TASK: Final = 20_000
"""Characters of a task that can be searched."""
SAID: Final = 2_000
"""Characters of a reply, a finding or a reason."""
_ROWS: Final = 300
"""Rows that are read at once."""
_VERSIONS: Final = 1 << 22
"""Above the version of any session: the index has a row for an event of it."""
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS search_sessions (session_id TEXT PRIMARY KEY, created BIGINT NOT NULL)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS search_words USING fts5(words, tokenize='trigram', detail=none)",
)


# -- building ------------------------------------------------------------------------------------------------------


def apply(db: Database, events: Sequence[Recorded]) -> None:
    relevant = of_sessions(events)
    begins = _begins(db, list({recorded.session_id for recorded in relevant}))
    begun, words = list[tuple[str, int]](), dict[int, str]()
    for recorded in relevant:
        event = recorded.event
        if isinstance(event, DeliveryStarted | OrchestrationStarted | DiscussionStarted):
            begins[recorded.session_id] = recorded.position
            begun.append((recorded.session_id, recorded.position))
        if (created := begins.get(recorded.session_id)) is None:
            continue
        if isinstance(event, TextRedacted):
            gone = [_row(created, quoting.version) for quoting in event.events]
            for row in gone:
                words.pop(row, None)
                db.execute("DELETE FROM search_words WHERE rowid = ?", (row,))
        if text := _searchable(recorded.session_id, event):
            words[_row(created, recorded.version)] = _letters(text)
    db.insert("INSERT INTO search_sessions VALUES (?, ?)", begun)
    db.insert("INSERT INTO search_words (rowid, words) VALUES (?, ?)", sorted(words.items()))


def _begins(db: Database, ids: Sequence[str]) -> dict[str, int]:
    """The position of each session's first event."""
    if not ids:
        return {}
    places = ", ".join("?" * len(ids))
    rows = db.execute(f"SELECT session_id, created FROM search_sessions WHERE session_id IN ({places})", ids)
    return dict(rows.fetchall())


def _row(created: int, version: int) -> int:
    return created * _VERSIONS + min(version, _VERSIONS - 1)


def _searchable(session_id: str, event: DomainEvent) -> str:
    match event:
        case DeliveryStarted():
            return _opening(session_id, event, event.task)
        case OrchestrationStarted(opening=opening):
            return _opening(session_id, opening, opening.prompt)
        case DiscussionStarted(topic=topic):
            return _opening(session_id, topic, topic.subject.head)
        case TurnAnswered(reply=reply):
            return reply.head[:SAID]
        case DecisionRequested():
            return _points(event.feedback)[:SAID]
        case Decided() | DecisionVoted():
            return (event.rationale or "")[:SAID]
        case _:
            return "\n".join(evidence(event))[:SAID]


def _opening(session_id: str, request: Any, task: str) -> str:
    """`request` is a start request: each kind has its own class."""
    return f"{session_id}\n{request.title}\n{task[:TASK]}"


def _points(feedback: dict[str, Any]) -> str:
    concerns = "\n".join(str(concern) for concern in feedback.get("concerns") or ())
    return str(feedback.get("summary") or concerns)


SEARCH: Final = Projection("search", tables=("search_sessions", "search_words"), schema=_SCHEMA, apply=apply)
SEARCH_OMITS: Final[Omitted] = {**OMITTED, TurnAnswered: (OMITTED[TurnAnswered] or frozenset()) - {"reply"}}
"""The fields that the index does not read."""


# -- searching -----------------------------------------------------------------------------------------------------


def matching(db: Database, q: str, before: int = LATEST) -> Iterator[Sequence[int]]:
    """The first positions of the sessions with these words, newest first, in batches; those before a position."""
    wanted, last = normal(q), min(before, LATEST // _VERSIONS) * _VERSIONS
    condition, values = _condition(_letters(q))
    newest = before
    while True:
        rows = db.execute(
            f"SELECT rowid, words FROM search_words WHERE {condition}rowid < ? ORDER BY rowid DESC LIMIT {_ROWS}",
            (*values, last),
        ).fetchall()
        begins = dict.fromkeys(row // _VERSIONS for row, words in rows if wanted in normal(words))
        yield [begin for begin in begins if begin < newest]
        if len(rows) < _ROWS:
            return
        last, newest = rows[-1][0], min(newest, *begins) if begins else newest


def _condition(letters: str) -> tuple[str, tuple[str, ...]]:
    """The trigrams that cover the words. Shorter words are looked for in every row."""
    if len(letters) < 3:
        return "", ()
    begins = dict.fromkeys((*range(0, len(letters) - 2, 3), len(letters) - 3))
    trigrams = (letters[begin : begin + 3].replace('"', '""') for begin in begins)
    return "search_words MATCH ? AND ", (" AND ".join(f'"{trigram}"' for trigram in trigrams),)


def normal(words: str) -> str:
    """A text for comparing: composed, lower case, without NUL."""
    return unicodedata.normalize("NFC", words.replace("\0", "")).lower()


def _letters(words: str) -> str:
    """A text for the index: syllables and accents taken apart."""
    return unicodedata.normalize("NFD", normal(words))
