"""`restore`: put a copy in place of the log."""

from pathlib import Path

from api.cli.options import Database
from api.cli.verb import carried_out_by


@carried_out_by("restoration:restore")
def restore(file: Path, /, *, database: Database = None) -> None:
    """Put a copy made by `hansard backup` in place of the log. On PostgreSQL: an export, with the keys that there are.

    The copy is verified first. Stop every server and worker of the log: nothing is done while one has it open. The old
    log is set aside under another name, and nothing is deleted. Views are folded again at the next start.

    Parameters
    ----------
    file
        The copy.
    """
