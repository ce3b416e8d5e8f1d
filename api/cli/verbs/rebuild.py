"""`hansard rebuild`: build the views again from the log."""

from typing import Annotated

from cyclopts import Parameter

from api.cli.options import WHERE
from api.cli.verb import carried_out_by


@carried_out_by("rebuild:rebuild")
def rebuild(*, database: Annotated[str | None, Parameter(group=WHERE)] = None) -> None:
    """Rebuild all views from the log. Readers see the old views until the new ones are ready. The log is unchanged.

    If an event was changed since the views were made, nothing is rebuilt: they are evidence of what it was.

    The search index is only emptied: a server builds it again in the background, or else the next search does.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; default: a file in your data directory.
    """
