"""What `hansard doctor --all` looks at: whether every history still loads, and would be decided the same way today."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from api.cli.doctor import Finding
from domain.values.base import HansardError

if TYPE_CHECKING:
    from adapters.store.sqlite.sealed import Sealed
    from api.settings import Settings
    from domain.replay import Difference
    from domain.session.record import Recorded

_LOAD: Final = "`hansard verify` says whether the log was changed; if not, this version lacks what reads the event."
_STAYS: Final = "It stays as it is recorded."
_DIFFER: Final = "It stays as it is recorded; `hansard replay {} --assert` shows both sides."


def histories(settings: "Settings") -> Iterator[Finding]:
    """A finding for every stream that would not load or would differ, and one about them all. Writes nothing."""
    from adapters.store.sqlite.sealed import sealed

    if not settings.database_path.exists():
        yield Finding("ok", "histories", "no log yet")
        return
    try:
        with sealed(settings.database_path) as store:
            yield from _examined(store)
    except HansardError as error:
        yield Finding("fail", "histories", str(error), "`hansard verify` says what is wrong with the file.")


def _examined(store: "Sealed") -> Iterator[Finding]:
    names, troubled = store.rows.streams(), 0
    for name in names:
        found = _trouble(store, name)
        if found is not None:
            troubled += 1
            yield found
    if not troubled:
        yield Finding("ok", "histories", f"{len(names)} load, and would be decided the same way today")


def _trouble(store: "Sealed", name: str) -> Finding | None:
    from adapters.store.mapper import decode
    from domain.kinds import fold
    from domain.session.record import kind_of

    history, session = list["Recorded"](), None
    for row in store.rows.events([name]):
        try:
            recorded = decode(row.stored(), row.position)
            session = fold(kind_of(name), [(recorded.event, recorded.metadata)], session)
        except Exception as error:  # whatever it is that an old event does to today's rules
            return Finding("fail", name, f"version {row.version}, {row.topic}, does not load: {_told(error)}", _LOAD)
        history.append(recorded)
    return _difference(store, name, history)


def _difference(store: "Sealed", name: str, history: "list[Recorded]") -> Finding | None:
    from adapters.store.mapper import whole
    from domain.kinds import KINDS
    from domain.replay import first_difference
    from domain.session.record import kind_of

    advice = _DIFFER.format(name) if kind_of(name) in KINDS else _STAYS
    try:
        found = first_difference(history, partial(whole, store), lambda event_id: _event(store, event_id))
    except Exception as error:  # as above
        return Finding("fail", name, f"cannot be decided again: {_told(error)}", advice)
    if found is None:
        return None
    return Finding("fail", name, f"version {found.version} would differ today: {_words(found)}", advice)


def _event(store: "Sealed", event_id: str) -> "Recorded | None":
    stream, _, version = event_id.rpartition(":")
    if not version.isdecimal():
        return None
    found = store.history(stream, after=int(version) - 1, upto=int(version))
    return found[0] if found else None


def _words(found: "Difference") -> str:
    match found.actual.partition(" ")[0]:
        case "refused:" | "not":
            return f"{found.command} {found.actual}".strip()
        case "nothing":
            return f"{found.command} writes nothing there"
        case topic:
            return f"{found.command} writes another {topic}"


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
