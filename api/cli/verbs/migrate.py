"""`hansard migrate`: the whole log into another store."""

from api.cli.verb import carried_out_by


@carried_out_by("migrate:migrate")
def migrate(source: str, target: str, /) -> None:
    """Copy a log into an empty one in another place: from a file to PostgreSQL, or back.

    Positions, hashes and receipts stay the same, so checkpoints and idempotency keys stay valid. Open turns are asked
    again. Stop the servers and workers of SOURCE first. The copy is verified; views are built at the first start.

    Parameters
    ----------
    source
        The log to copy: a file, or a postgresql:// URL. It is not changed.
    target
        Where to: a new file, or the URL of an empty database.
    """
