"""Rebuilding all views, in several processes where the log is long, and comparing them with a rebuild."""

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.proof.verdict import LogFault, Unchecked
from adapters.store.location import reading
from adapters.store.port import Log
from adapters.store.rows import Rows
from adapters.store.sqlite.failures import is_damaged
from adapters.store.sqlite.sealed_log import UNREADABLE, read_only
from adapters.store.sqlite.views import SqliteViews, is_unavailable
from api.cli import ALLOCATIONS
from api.cli.labels import sentence
from domain.session.record import Omitted, Recorded, Sight
from domain.values.base import Value
from domain.values.sentences import Sentence
from projections.catalogue import fingerprint
from projections.engine import witness
from projections.follow import Follower
from projections.parts import MOST, WORTH, DividedLog, Undivided, divided, fold_part


def rebuild(follower: Follower, log: DividedLog, database: str) -> int:
    """Replace the views; the position that they reach. `database` is where other processes find the log."""
    try:
        with _folded(log, database) as (parts, head):
            return follower.replace(parts, head)
    except Undivided:
        return follower.rebuild()


@contextmanager
def _folded(log: DividedLog, database: str) -> Iterator[tuple[Sequence[Path], int]]:
    """Files with the views of all sessions up to the log's head. Raises Undivided, for whatever reason: a rebuild in
    one process reports what is wrong."""
    head = log.head()
    count = min(MOST, _processors(), head // WORTH)
    if count < 2:
        raise Undivided
    with TemporaryDirectory() as folder, ExitStack() as running:
        parts = [
            _PartOfRebuild(database=database, sessions=tuple(sessions), head=head, path=Path(folder) / f"{number}.db")
            for number, sessions in enumerate(divided(log, count))
        ]
        processes = [running.enter_context(_process(part)) for part in parts]
        counts = [process.communicate()[0] for process in processes]
        if any(process.returncode for process in processes) or sum(map(int, counts)) != log.rows.count(head):
            raise Undivided  # also where a damaged index of the log hides a session
        yield [part.path for part in parts], head


def _processors() -> int:
    """Those that this process may use; macOS only tells how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _PartOfRebuild(Value):
    """The part of a rebuild that one process does."""

    database: str
    sessions: tuple[str, ...]
    head: int
    path: Path


@contextmanager
def _process(part: _PartOfRebuild) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that folds the part and writes how many events that were; it is killed if it is not needed any more.
    Others do not see what it gets: the address of a database may have a password."""
    task = part.path.with_suffix(".json")
    task.write_text(part.model_dump_json())
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, task],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _fold(part: _PartOfRebuild) -> int:
    with reading(part.database) as log, closing(SqliteViews(part.path)) as views:
        return fold_part(log, views, part.sessions, part.head)


# -- comparing -------------------------------------------------------------------------------------------------------


class _Frozen:
    """The log up to its current end; others may be writing."""

    def __init__(self, store: Log) -> None:
        self._store, self._head = store, store.head()

    def head(self) -> int:
        return self._head

    def sight(self, *positions: int) -> Sight:
        return self._store.sight(*positions)._replace(head=self._head)

    def gone_back(self, since: int) -> int:
        """The log's own epoch, whatever the views have seen: a copy of them is compared, and nothing is noted."""
        return self.sight().epoch

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


def rewritten(store: Log, views: Path) -> list[LogFault]:
    """The first event of each session that is not the one that the views were made from."""
    if not views.exists():
        return []
    try:
        with closing(read_only(views)) as connection:
            if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'witness'").fetchone() is None:
                return []
            events = list(witness.rewritten(connection, store.rows, store.head()))
    except UNREADABLE as error:
        raise Unchecked(f"{views}: {error}.") from error
    return [
        LogFault(each.position, Sentence("fault_event_rewritten", id=each.session_id, number=each.version))
        for each in events
    ]


def difference(store: Log, path: Path, database: str) -> str | None:
    """Tells whether the views, once caught up, equal a rebuild from the log. Works on a copy. Raises Unchecked."""
    log = _Frozen(store)
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
                before = fingerprint(views)
                rebuild(follower, log, database)
                if before != fingerprint(views):
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


if __name__ == "__main__":
    gc.set_threshold(ALLOCATIONS)
    sys.stdout.write(str(_fold(_PartOfRebuild.model_validate_json(Path(sys.argv[1]).read_bytes()))))
