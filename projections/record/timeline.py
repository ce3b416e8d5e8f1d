"""Lists what happened, event by event: a stretch of the record with its events, to be put into sentences."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from domain.session.record import Recorded
from projections.engine.ports import Histories
from projections.record.records import Record
from projections.record.turns import Entry

ROLES = 20


class Happened(NamedTuple):
    """An event, and its entry in the session."""

    entry: Entry
    recorded: Recorded


def around(
    record: Record,
    log: Histories,
    session_id: str,
    at: int,
    *,
    before: int,
    after: int,
    newest: int,
    roles: Sequence[str] = (),
    highlights: bool = False,
    shown: int | None = None,
) -> list[Happened]:
    """The events around version `at`, in order: this many up to and including it, this many after it, none after
    `newest`. Optionally only of these roles, or only highlights; with the event `shown` in any case."""
    wanted = frozenset(roles)

    def fits(entry: Entry) -> bool:
        return entry.version == shown or is_wanted(entry, wanted, highlights=highlights)

    earlier = _first(reversed(record.entries[: min(at, newest)]), fits, before)
    later = _first(record.entries[at:newest], fits, after)
    return _read(log, session_id, [*reversed(earlier), *later])


def is_wanted(entry: Entry, roles: Collection[str], *, highlights: bool) -> bool:
    """Returns whether a filter leaves the event in the list: to some roles, or to highlights."""
    return (not roles or entry.role in roles) and (entry.highlight or not highlights)


def _first(entries: Iterable[Entry], fits: Callable[[Entry], bool], most: int) -> list[Entry]:
    return list(islice(filter(fits, entries), most))


def _read(log: Histories, session_id: str, entries: Sequence[Entry]) -> list[Happened]:
    """The events of the entries: neighbours are read together."""
    happenings: list[Happened] = []
    for stretch in _neighbours(entries):
        history = log.history(session_id, after=stretch[0].version - 1, upto=stretch[-1].version)
        happenings += [Happened(entry, recorded) for entry, recorded in zip(stretch, history, strict=True)]
    return happenings


def _neighbours(entries: Sequence[Entry]) -> list[list[Entry]]:
    stretches: list[list[Entry]] = []
    for entry in entries:
        if stretches and stretches[-1][-1].version == entry.version - 1:
            stretches[-1].append(entry)
        else:
            stretches.append([entry])
    return stretches


def roles(record: Record) -> list[str]:
    """All roles that act in a session, the most active first."""
    counted = Counter(entry.role for entry in record.entries)
    return sorted(counted, key=lambda role: (-counted[role], role))[:ROLES]
