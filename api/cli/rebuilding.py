"""Rebuilding all views, in several processes where the log is long, and comparing them with a rebuild."""

import gc
import multiprocessing
import os
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.proof.faults import Unchecked
from adapters.store import Log, reading
from adapters.store.rows import Rows
from adapters.store.sqlite.connection import is_damaged
from adapters.store.sqlite.rows import UNREADABLE, read_only
from adapters.store.sqlite.views import SqliteViews, is_unavailable
from api.__main__ import ALLOCATIONS
from api.cli.labels import sentence
from api.node.settings import Settings
from domain.session.record import Omitted, Recorded
from projections.catalogue import dump
from projections.follow import Follower
from projections.parts import MOST, WORTH, DividedLog, Undivided, divided, fold_part


def rebuild(follower: Follower, log: DividedLog, database: str, folder: Path) -> int:
    """Replace the views; the position that they reach. `folder` is on the disk of the views."""
    try:
        with _folded(log, database, folder) as (parts, head):
            return follower.replace(parts, head)
    except Undivided:
        return follower.rebuild()


@contextmanager
def _folded(log: DividedLog, database: str, folder: Path) -> Iterator[tuple[Sequence[Path], int]]:
    """Files with the views of all sessions up to the log's head. Raises Undivided."""
    head = log.head()
    count = min(MOST, len(os.sched_getaffinity(0)), head // WORTH)
    if count < 2:
        raise Undivided
    with TemporaryDirectory(dir=folder, prefix="rebuild-") as place:
        paths = [Path(place) / f"{number}.db" for number in range(count)]
        parts = divided(log, count)
        with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as processes:
            try:
                list(processes.map(_fold, [database] * count, paths, parts, [head] * count))
            except Exception as error:  # whatever it is, such as too little memory: a single process reports what lasts
                raise Undivided from error
        yield paths, head


def _fold(database: str, path: Path, sessions: Sequence[str], head: int) -> None:
    """In a process of its own."""
    gc.set_threshold(ALLOCATIONS)
    with reading(database) as log, closing(SqliteViews(path)) as views:
        fold_part(log, views, sessions, head)


# -- comparing -------------------------------------------------------------------------------------------------------


class _Frozen:
    """The log up to its current end; others may be writing."""

    def __init__(self, store: Log) -> None:
        self._store, self._head = store, store.head()

    def head(self) -> int:
        return self._head

    def log(
        self,
        *,
        after: int = 0,
        limit: int = 500,
        sessions: Sequence[str] | None = None,
        omitted: Omitted | None = None,
    ) -> list[Recorded]:
        entries = self._store.log(after=after, limit=limit, sessions=sessions, omitted=omitted)
        return [recorded for recorded in entries if recorded.position <= self._head]

    @property
    def rows(self) -> Rows:
        return self._store.rows

    def beginnings(self, sessions: Sequence[str]) -> list[Recorded]:
        return self._store.beginnings(sessions)


def difference(store: Log, settings: Settings) -> str | None:
    """Whether the views, once caught up, equal a rebuild from the log. Works on a copy. Raises Unchecked."""
    log, path = _Frozen(store), settings.views_path
    try:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "views.db"
            if path.exists():
                with closing(read_only(path)) as source, closing(sqlite3.connect(copy)) as target:
                    source.backup(target)
                    [report] = target.execute("PRAGMA integrity_check(1)").fetchone()
                if report != "ok":  # such as a row that an index does not lead to: no list would show it
                    return sentence(
                        "the views {path} are damaged ({report}): keep a copy before you replace them",
                        path=path,
                        report=report,
                    )
            with closing(SqliteViews(copy)) as views:
                follower = Follower(log, views)
                follower.catch_up()
                problems = [sentence("the views: {problem}", problem=each) for each in follower.problems()]
                before = dump(views)
                rebuild(follower, log, settings.database, Path(folder))
                if before != dump(views):
                    problems.append(
                        sentence("the views {path} differ from the log: keep a copy before you replace them", path=path)
                    )
    except (OSError, *UNREADABLE) as error:
        cause = error.__cause__ or error  # of what `SqliteViews` says
        if is_damaged(cause) or not (isinstance(cause, OSError) or is_unavailable(cause)):
            return sentence(
                "the views {path} cannot be read ({cause}): delete the file, and they are rebuilt",
                path=path,
                cause=cause,
            )
        raise Unchecked(f"{path}: {cause}.") from error
    return "; ".join(problems) or None
