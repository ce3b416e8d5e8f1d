"""The index of words on this machine: in a server, it follows the log in a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from adapters.store.errors import StoreError
from adapters.store.sqlite.views import SqliteViews, open_views
from api.node.local_files import search_of
from api.node.settings import Settings
from domain.values.sentences import Sentence
from projections.engine.fold import ViewProblem
from projections.engine.ports import Database, EventLog
from projections.follow import Follower
from projections.sessions.search import SEARCH, SEARCH_OMITS


class SearchIndex:
    """The search over the log. It is opened when it is first needed, and never lags behind the other views."""

    def __init__(self, log: EventLog, views: Follower, settings: Settings, patience: float | None) -> None:
        """`patience`: how many seconds a reader waits for an index that lags behind; without limit but in a server."""
        self._log, self._others, self._settings, self._patience = log, views, settings, patience
        self._lock = threading.Lock()
        self._open: tuple[SqliteViews, Follower] | None = None

    def start(self) -> None:
        """Follow the log, if this is a server."""
        if self._patience is not None:
            self._opened()[1].start()

    def _opened(self) -> tuple[SqliteViews, Follower]:
        with self._lock:
            if self._open is None:
                views = open_views(search_of(self._settings.node_dir))
                poll = self._settings.poll_seconds
                newest = self._others.newest
                follower = Follower(self._log, views, [SEARCH], newest=newest, omitted=SEARCH_OMITS, poll_seconds=poll)
                self._open = views, follower
            return self._open

    @contextmanager
    def reading(self, q: str | None) -> Iterator[Database | None]:
        """The index, if there are words to look for. Raises StoreError if it lags behind the views for too long."""
        if not q:
            yield None
            return
        views, follower = self._opened()
        position = self._others.position
        follower.catch_up(position, seconds=self._patience)
        [lag] = follower.lags().values()
        head = self._log.head()
        if head - lag < position:
            raise StoreError(Sentence("search_behind", number=head - lag, newest=head))
        with views.reading() as db:
            yield db

    def problems(self) -> list[ViewProblem]:
        """The fault that keeps the index from following; empty while it is not open."""
        return [] if self._open is None else self._open[1].problems()

    def scrub(self) -> None:
        """Leave nothing on disk of what was removed from the log."""
        views, follower = self._opened()
        follower.catch_up(self._log.head())
        views.scrub()

    def close(self) -> None:
        if self._open is not None:
            views, follower = self._open
            follower.stop()
            views.close()
