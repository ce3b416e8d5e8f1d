"""Moving a log to another store: everything with its positions, hashes and receipts, all or nothing.

Open turns are asked again: a worker in the old log has no lease in the new one. Attempts keep counting, so that a late
answer is never taken for that of a new attempt.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, Literal, NamedTuple, Protocol

from adapters.store.errors import Broken, StoreError
from adapters.store.port import SealedLog
from adapters.store.rows import size_of
from domain.values.sentences import Sentence

_PAGE: Final = 500
_PAGE_BYTES: Final = 1 << 22
Table = Literal["events", "texts", "receipts", "turns"]
COLUMNS: Final[dict[Table, int]] = {"events": 7, "texts": 2, "receipts": 6, "turns": 14}
Page = tuple[Table, Sequence[Sequence[Any]]]


class NotEmpty(Broken):
    """The target of a migration is not empty."""


class Moving(StoreError):
    """The source of a migration was written to meanwhile."""


class MigrationTarget(Protocol):
    """A store that imports the tables of another one."""

    def take_over(self, pages: Iterable[Page]) -> None:
        """Store all rows in one transaction. Raises NotEmpty, or what `pages` raises; then nothing is stored."""


class Migrated(NamedTuple):
    """The numbers of what was moved."""

    events: int
    texts: int
    receipts: int
    head: int


def migrate(source: SealedLog, target: MigrationTarget) -> Migrated:
    """Raises NotEmpty, Moving or StoreError, and then the target is empty."""
    counts = dict.fromkeys(COLUMNS, 0)

    def counted() -> Generator[Page]:
        with source.rows.frozen() as rows:
            tables: dict[Table, Iterable[Sequence[Any]]] = {
                "events": rows.events(),
                "texts": rows.texts(),
                "receipts": rows.receipts(),
                "turns": map(_asked_again, rows.turns()),
            }
            for table, source_rows in tables.items():
                for page in in_pages(source_rows, most=_PAGE, size=_PAGE_BYTES):
                    counts[table] += len(page)
                    yield table, page
            last = rows.last_given()
        if source.rows.last_given() != last:
            raise Moving(Sentence("migration_moving"))

    with closing(counted()) as pages:
        target.take_over(pages)
    return Migrated(counts["events"], counts["texts"], counts["receipts"], source.head())


def _asked_again(turn: Sequence[Any]) -> Sequence[Any]:
    """A row of the lease table, without a lease."""
    *request, state, attempt, worker, until, deadline, requested, owner, rank = turn
    free = ("queued", attempt, worker, None) if state == "running" else (state, attempt, worker, until)
    return (*request, *free, deadline, requested, owner, rank)


def in_pages(rows: Iterable[Sequence[Any]], *, most: int, size: int) -> Iterator[list[Sequence[Any]]]:
    """The rows in groups of at most so many, and of about as many bytes: a single text may have millions."""
    page: list[Sequence[Any]] = []
    room = size
    for row in rows:
        page.append(row)
        room -= size_of(row)
        if len(page) == most or room <= 0:
            yield page
            page, room = [], size
    if page:
        yield page
