"""Snapshots of long histories, kept next to the views, so that long sessions are not folded from the beginning.

A cache, never the truth: it may be emptied at any time and only affects speed. A snapshot is only used with the rules
that folded it, and for exactly the history that it was folded from (decision 18).
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, TypeVar

import pydantic

from domain.kinds import fold, kind
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from projections.engine.change_queue import ChangeQueue
from projections.engine.ports import LATEST, Database, Histories, Views

EVERY: Final = 128
"""There is a snapshot at every multiple of this version: shorter sessions have none."""
REST: Final = 1.0
"""Seconds without a new one until snapshots are made: a session in the middle of its work is faster without."""
SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS snapshots (session_id TEXT NOT NULL, what TEXT NOT NULL, version BIGINT NOT NULL,"
    " rules TEXT NOT NULL, hash TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (session_id, what, version))"
)

_log = logging.getLogger(__name__)

T = TypeVar("T")
HashOf = Callable[[str, int], bytes | None]
"""The chained hash of an event, which identifies its session's whole history up to that version."""
Grown = Callable[[str, int], None]
"""Folds more of a long session, at a version, before a reader asks."""


@cache
def _state(name: str) -> pydantic.TypeAdapter[Session]:
    return pydantic.TypeAdapter(kind(name).state)


@cache
def rules() -> str:
    """Identifies the code that folds sessions, so that no release reads what another one folded."""
    return digest_of("domain")


def digest_of(*packages: str) -> str:
    """Identifies the code of packages, and of what serializes its values."""
    digest = hashlib.sha256(pydantic.VERSION.encode())
    pending = [files(package) for package in packages]
    while pending:
        for place in sorted(pending.pop().iterdir(), key=lambda entry: entry.name):
            if place.is_dir():
                pending.append(place)
            elif place.name.endswith(".py"):
                digest.update(place.name.encode() + place.read_bytes())
    return digest.hexdigest()[:16]


SESSION: Final = "session"


class Snapshot(NamedTuple):
    """`state` is the JSON of what a session was folded into up to a version, by the rules with that name. Values equal
    to the defaults of these rules are left out."""

    session_id: str
    what: str
    version: int
    rules: str
    state: str


class Place(NamedTuple):
    """The session that has snapshots, and what they are of."""

    session_id: str
    what: str

    def __str__(self) -> str:
        return self.session_id


class Snapshots:
    """The snapshots of one log. Folds read them; a separate thread writes them."""

    def __init__(self, log: Histories, views: Views, hash_of: HashOf, *, every: int = EVERY) -> None:
        self._source, self._views, self._hash_of, self.every = log, views, hash_of, every
        self._offered: dict[Place, Snapshot] = {}
        self._grown: Grown = _nothing
        self._keeper = ChangeQueue(
            "snapshots",
            what="snapshots",
            where="the views",
            keep=self._keep,
            missed=self._missed,
            rest_seconds=REST,
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def nearest(self, session_id: str, version: int | None = None) -> Session | None:
        """The session from the newest valid snapshot up to that version; None if there is none."""
        state = self.read(session_id, SESSION, rules(), version)
        return None if state is None else read_as(_state(kind_of(session_id)).validate_json, state)

    def read(self, session_id: str, what: str, by: str, version: int | None = None) -> Snapshot | None:
        """The newest snapshot up to that version, with the same rules and for the current history of the log."""
        try:
            with self._views.reading() as db:
                row = db.execute(
                    "SELECT version, hash, state FROM snapshots WHERE session_id = ? AND what = ? AND version <= ?"
                    " AND rules = ? ORDER BY version DESC LIMIT 1",
                    (session_id, what, LATEST if version is None else version, by),
                ).fetchone()
        except OSError:
            _log.warning("the snapshots of %s cannot be read; its history is folded", session_id, exc_info=True)
            return None
        if row is None or row[1] != self._seal(session_id, row[0], row[2]):
            return None
        return Snapshot(session_id, what, row[0], by, row[2])

    def _seal(self, session_id: str, version: int, state: str) -> str | None:
        """Returns what the state was folded from, and that it is as it was: commands are decided on it."""
        head = self._hash_of(session_id, version)
        return None if head is None else hashlib.sha256(head + state.encode()).hexdigest()

    def newest(self, session_id: str, what: str, by: str) -> int:
        """The version of the newest snapshot by these rules; 0 if there is none."""
        with self._views.reading() as db:
            row = db.execute(
                "SELECT max(version) FROM snapshots WHERE session_id = ? AND what = ? AND rules = ?",
                (session_id, what, by),
            ).fetchone()
        return int(row[0] or 0) if row else 0

    # -- writing ---------------------------------------------------------------------------------------------------

    def seen(self, events: Sequence[Recorded]) -> None:
        """A listener of the follower: these events happened."""
        self._keeper.tell(Place(each.session_id, SESSION) for each in events if each.version % self.every == 0)

    def offer(self, snapshot: Snapshot) -> None:
        """Offer another folded value to be kept soon. Only the newest of its kind is kept, and it is tried once."""
        place = Place(snapshot.session_id, snapshot.what)
        self._offered[place] = snapshot
        self._keeper.tell([place])

    def start(self, grown: Grown) -> None:
        """Keep snapshots in a thread, starting with missing ones. `grown` is called there for each long session."""
        self._grown = grown
        self._keeper.start()

    def stop(self) -> None:
        """End after the current snapshot; missing ones are found again at the next start."""
        self._keeper.stop()

    def write(self) -> int:
        """Keep what was offered, and what is missing for sessions that grew. Returns how many failed; these are tried
        again."""
        return self._keeper.work_off()

    def forget(self, session_id: str | None) -> None:
        """Drop what is offered of a session from which a text was taken out, or of all (None). What is kept of it
        beside the views goes with their next rebuilding, and no reader continues from it."""
        for place in tuple(self._offered):
            if session_id in (None, place.session_id):
                self._offered.pop(place, None)

    def _missed(self) -> list[Place]:
        """The sessions that became long while it was not running."""
        with self._views.reading() as db:
            rows = db.execute("SELECT session_id FROM overview WHERE version >= ?", (self.every,)).fetchall()
        return [Place(row[0], SESSION) for row in rows]

    def _keep(self, place: Place) -> None:
        offered = self._offered.pop(place, None)
        if offered is not None:
            self.keep(offered)
        elif place.what == SESSION and not self._keeper.ending:
            self._follow(place.session_id)

    def _follow(self, session_id: str) -> None:
        """Fold on from the newest snapshot, in stretches."""
        session = self.nearest(session_id)
        while not self._keeper.ending:
            after = session.version if session else 0
            history = self._source.history(session_id, after=after, upto=after + self.every)
            if len(history) < self.every:
                break
            session = fold(kind_of(session_id), ((recorded.event, recorded.metadata) for recorded in history), session)
            assert session is not None, "a session that had an event exists"
            state = _state(session.kind).dump_json(session, exclude_defaults=True).decode()
            with self._views.transaction() as db:
                self._insert(db, Snapshot(session_id, SESSION, session.version, rules(), state))
        if session is not None and not self._keeper.ending:
            self._grown(session_id, session.version)

    def keep(self, snapshot: Snapshot) -> None:
        """Keep it now, in place of others of its kind. Raises what the views raise."""
        with self._views.transaction() as db:
            place = (snapshot.session_id, snapshot.what)
            db.execute("DELETE FROM snapshots WHERE session_id = ? AND what = ?", place)
            self._insert(db, snapshot)

    def _insert(self, db: Database, snapshot: Snapshot) -> None:
        seal = self._seal(snapshot.session_id, snapshot.version, snapshot.state)
        if seal is not None:
            db.execute(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, what, version) DO UPDATE"
                " SET rules = excluded.rules, hash = excluded.hash, state = excluded.state",
                (*snapshot[:4], seal, snapshot.state),
            )


def _nothing(_: str, __: int) -> None:
    """Nothing is folded ahead."""


def read_as(load: Callable[[str], T], snapshot: Snapshot) -> T | None:
    """The folded value; None if the snapshot is damaged."""
    try:
        return load(snapshot.state)
    except ValueError:
        _log.warning("a snapshot of %s is damaged; its history is folded", snapshot.session_id, exc_info=True)
        return None
