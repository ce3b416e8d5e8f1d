"""`hansard export`, `import`, `backup`: the log itself, copied and carried."""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.exits import Failed
from api.cli.opened import Anyway, Database, opened, settings_of, stream
from api.cli.terminal import counted, say

if TYPE_CHECKING:
    from api.settings import Settings


def export(session: str | None = None, /, *, json: Anyway = False, database: Database = None) -> int:
    """Write the whole log, or a session with the reviews and debates that it opened, to stdout as JSON Lines.

    A manifest at the end counts and hashes all that stands before it.
    """
    from adapters.proof.transfer import export as lines

    with opened(settings_of(database)) as store:
        for line in lines(store, None if session is None else stream(store, session)):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return exits.OK


def take_in(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True, help="What `export` wrote; - reads stdin.")],
    /,
    *,
    database: Database = None,
) -> int:
    """Import sessions from a file that `export` wrote; - reads stdin. All of it, or nothing.

    Nobody goes on working on what was imported; it can be read, replayed, forked and cancelled. What you let go on
    yourself (by a fork, more budget, a continuation) runs the commands that the file brought: look at them first.
    """
    try:
        with _lines(file) as lines:
            return _taken_in(lines, settings_of(database))
    except OSError as error:
        raise Failed(f"{file} cannot be read: {error.strerror}.") from None


def _lines(file: Path) -> AbstractContextManager[Iterable[bytes]]:
    return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def _taken_in(lines: Iterable[bytes], settings: "Settings") -> int:
    from adapters.proof.transfer import NotImported
    from adapters.proof.transfer import take_in as carry_in
    from adapters.store import open_store

    with closing(open_store(settings.database)) as store:
        try:
            sessions, events = carry_in(store, lines)
        except NotImported as error:
            raise Failed(f"Nothing was imported. {error}", code=exits.NOT_VERIFIED) from None
    say(f"Imported {counted(events, 'event')} of {counted(sessions, 'session')}.")
    return exits.OK


def backup(target: Path, /, *, database: Database = None) -> int:
    """Copy the log to a new file while it is in use. The copy is complete and has the same positions."""
    if target.exists():
        raise Failed(f"{target} is there already.", code=exits.REFUSED)
    if not target.absolute().parent.is_dir():
        raise Failed(f"There is no folder {target.absolute().parent}.")
    with opened(settings_of(database)) as store:
        store.rows.backup(target)
    say(f"The log stands in {target} too; `hansard verify --database {target}` checks it.")
    return exits.OK
