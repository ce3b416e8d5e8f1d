"""`share`: a session as one HTML file that shows its record and can be checked."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli.options import Database
from api.cli.verb import carried_out_by


@carried_out_by("share:share")
def share(
    session: str,
    /,
    *,
    at: PositiveInt | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"), allow_leading_hyphen=True)] = None,
    with_: Annotated[str, Parameter(name="--with")] = "",
    yes: bool = False,
    database: Database = None,
) -> None:
    """Write a session as one HTML file to show: events, turns, changes, worklog, and the record with its proof.

    The file needs no network and no JavaScript; with JavaScript it can check itself. Texts that hold a known secret are
    left out. At a terminal, it lists the people, hosts and paths in the file, and asks.

    Parameters
    ----------
    session
        The session: an id, a unique prefix, or `latest`.
    at
        As of this version.
    out
        The file. Default: SESSION.html in the current folder; - is stdout.
    with_
        What is left out otherwise: prompts, transcripts, or both with a comma.
    yes
        Do not ask.
    """
