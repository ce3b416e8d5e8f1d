"""`hansard clean`: deletes working folders that are no longer needed."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from api.cli.options import Database
from api.cli.verb import carried_out_by


@carried_out_by("clean:clean")
def clean(
    *,
    days: Annotated[
        float,
        Parameter(validator=Number(gte=0), help="Only sessions idle for at least this many days [default: 30]."),
    ] = 30,
    dry_run: Annotated[bool, Parameter(help="Show what would be deleted without deleting it.")] = False,
    json: Annotated[bool, Parameter(help="Print what was deleted as JSON.")] = False,
    database: Database = None,
) -> None:
    """Delete the working folders of idle sessions. The record stays.

    Replay, patches, branches and artifacts need no folder; forking, extending and continuing recreate it from the
    record. Only ignored files (.gitignore) are lost: installed dependencies, build output.

    With PostgreSQL, this also removes the commits of ended sessions from the database, if this machine has their
    workspace. This machine keeps them, and later forks of these sessions start here.
    """
