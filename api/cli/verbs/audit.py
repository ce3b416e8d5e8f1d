"""`hansard verify`, `checkpoint`: the log itself, proved."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.cli.options import Database
from api.cli.verb import carried_out_by

AsJson = Annotated[bool, Parameter(help="JSON to stdout.")]


@carried_out_by("audit:verify")
def verify(
    file: Annotated[Path | None, Parameter(help="A file that `share` or `backup` wrote. Default: the log.")] = None,
    /,
    *,
    checkpoint: Path | None = None,
    public_key: str | None = None,
    proof: Path | None = None,
    redacted: Annotated[list[str], Parameter(negative="")] | None = None,
    json: AsJson = False,
    database: Database = None,
) -> None:
    """Verify that the log is complete and unchanged: file, hash chains, versions, rules, views. Exit code 8 if not.

    If the views cannot be read, verify warns and checks the log anyway. With a FILE that `share` wrote, it checks the
    record in it and renders the page again: any changed byte is named. This needs no log. With a FILE that `backup`
    wrote, it verifies that copy.

    Parameters
    ----------
    checkpoint
        An earlier signed checkpoint: everything it covers must still be in the log.
    public_key
        The key that signed it, from `hansard checkpoint --public-key`; default: this log's key.
    proof
        A proof of one event from `hansard prove`; checking it needs only the public key, not the log.
    redacted
        With --checkpoint: the digest of a text that you know to be redacted since. Repeat it for more.
    """


@carried_out_by("audit:checkpoint")
def checkpoint(*, public_key: bool = False, json: AsJson = False, database: Database = None) -> None:
    """Print a signed checkpoint of the log. Keep it elsewhere: it lets `verify` detect a truncated log.

    Parameters
    ----------
    public_key
        Print the public key instead.
    """
