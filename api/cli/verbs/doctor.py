"""`hansard doctor`: a line for each thing Hansard needs, and what to do where one is missing."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.cli.options import TEAM
from api.cli.verb import carried_out_by


@carried_out_by("doctor:doctor")
def doctor(
    *,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    try_: Annotated[bool, Parameter(name="--try")] = False,
    json: Annotated[bool, Parameter(help="Print the results as JSON.")] = False,
) -> None:
    """Check Python, SQLite, the log's location, git, the team and its programs, disk and clock. Changes nothing.

    Exit code 1 if something that Hansard needs is missing.

    Parameters
    ----------
    database
        The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory.
    all_
        Also load every session and check it against today's rules.
    try_
        Ask each agent one tiny question instead: does it answer, what does it cost, can it resume?
    """
