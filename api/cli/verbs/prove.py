"""`hansard prove`: that one event is in a log whose head is signed, for people without the log."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli.options import AlwaysJson, Database
from api.cli.verb import carried_out_by


@carried_out_by("prove:prove")
def prove(
    session: str,
    version: Annotated[PositiveInt, Parameter(help="The event's version.")],
    /,
    *,
    json: AlwaysJson = False,
    database: Database = None,
) -> None:
    """Print a proof that one event is in the log. Anyone can check it with only the public key.

    Parameters
    ----------
    session
        The session: an id, a unique prefix, or `latest`.
    """
