"""What `hansard doctor --all` looks at: whether every history still loads, and would be decided the same way today."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from api.cli.doctor import Finding
from domain.base import HansardError, Text

if TYPE_CHECKING:
    from adapters.store import SqliteStore
    from api.settings import Settings
    from domain.record import Recorded

_LOAD: Final = "`hansard verify` says whether the log was changed; if not, this version lacks what reads the event."
_DIFFER: Final = "It stays as it is recorded; `hansard replay {} --assert` shows both sides."


def histories(settings: "Settings") -> Iterator[Finding]:
    """A finding for every stream that would not load or would differ, and one about them all. Writes nothing."""
    from adapters.store import open_store

    if not settings.database_path.exists():
        yield Finding("ok", "histories", "no log yet")
        return
    try:
        with closing(open_store(settings.database)) as store:
            yield from _examined(store)
    except HansardError as error:
        yield Finding("fail", "histories", str(error), "`hansard verify` says what is wrong with the file.")


def _examined(store: "SqliteStore") -> Iterator[Finding]:
    names, troubled = store.rows.streams(), 0
    for name in names:
        found = _trouble(store, name)
        if found is not None:
            troubled += 1
            yield found
    if not troubled:
        yield Finding("ok", "histories", f"{len(names)} load, and would be decided the same way today")


def _trouble(store: "SqliteStore", name: str) -> Finding | None:
    from adapters.store.entries import decode
    from domain.record import kind_of
    from domain.sessions import fold

    history, session = list["Recorded"](), None
    for row in store.rows.events([name]):
        try:
            recorded = decode(row.stored(), row.position)
            session = fold(kind_of(name), [(recorded.event, recorded.moment)], session)
        except Exception as error:  # whatever it is that an old event does to today's rules
            return Finding("fail", name, f"version {row.version}, {row.topic}, does not load: {_told(error)}", _LOAD)
        history.append(recorded)
    return _difference(store, name, history)


def _difference(store: "SqliteStore", name: str, history: "list[Recorded]") -> Finding | None:
    from domain.record import kind_of
    from domain.replay import first_difference
    from domain.sessions import KINDS

    def whole(text: Text) -> str:
        return (store.text(text.digest) if text.digest else None) or text.head

    if kind_of(name) not in KINDS:
        return None
    try:
        found = first_difference(history, whole)
    except Exception as error:  # as above
        return Finding("fail", name, f"cannot be decided again: {_told(error)}", _DIFFER.format(name))
    if found is None:
        return None
    topic = found.actual.partition(" ")[0]
    words = found.actual if topic == "refused:" else f"{found.command} writes another {topic}"
    return Finding("fail", name, f"version {found.version} would differ today: {words}", _DIFFER.format(name))


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
