"""`hansard rebuild`: views are folds over the log, so any of them can be thrown away."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import WHERE, Where
from api.cli.terminal import say


async def rebuild(*, database: Annotated[Path | None, Parameter(group=WHERE)] = None) -> int:
    """Make every view anew from the log. Readers see the old ones until the new ones stand; the log stays as it is.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; else a file in your data directory.
    """
    settings = Where(database=str(database) if database else None).settings()
    position = await asyncio.to_thread(_rebuild, settings.database, settings.views_path)
    say(f"The views are made anew up to position {position}.")
    return exits.OK


def _rebuild(database: str, views_path: Path) -> int:
    from contextlib import closing

    from adapters.store import open_store
    from adapters.store.sqlite.views import SqliteViews
    from projections.engine.follow import Follower

    with closing(open_store(database)) as store, closing(SqliteViews(views_path)) as views:
        return Follower(store, views).rebuild()
