"""`hansard export`, `import`, `backup`: the log as a file."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.cli.options import AlwaysJson, Database
from api.cli.verb import carried_out_by


@carried_out_by("transfer:export")
def export(session: str | None = None, /, *, json: AlwaysJson = False, database: Database = None) -> None:
    """Write the whole log, or a session with its reviews and debates, to stdout as JSON Lines.

    A manifest at the end has counts and hashes for everything before it.

    Parameters
    ----------
    session
        Only this session, with its reviews and debates: an id, a unique prefix, or `latest`.
    """


@carried_out_by("transfer:import_sessions")
def import_sessions(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True, help="A file written by `export`; - reads stdin.")],
    /,
    *,
    checkpoint: Path | None = None,
    public_key: str | None = None,
    database: Database = None,
) -> None:
    """Import sessions from a file written by `export`; - reads stdin. All or nothing.

    An export carries no signature. With a checkpoint that its log signed, nothing is imported unless the file begins
    with the events that the checkpoint covers.

    Imported sessions do not run on their own; you can read, replay, fork and cancel them. If you make one run again
    (by a fork, more budget or `continue`), it uses the validation commands from the file: check them first.

    Parameters
    ----------
    checkpoint
        A signed checkpoint of the log that the file comes from.
    public_key
        The key that signed it, from `hansard checkpoint --public-key`; default: this log's key.
    """


@carried_out_by("backup:backup")
def backup(target: Path, /, *, replace: bool = False, database: Database = None) -> None:
    """Copy the log to a new file while it is in use. The copy has the same positions, and is verified.

    Parameters
    ----------
    target
        The new file.
    replace
        Replace an earlier copy of this log, once the new one has been verified. No other file is ever replaced.
    """
