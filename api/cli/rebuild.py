"""`rebuild`: the views, from the log."""

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.labels import sentence
from api.cli.log import settings_of
from api.cli.options import WHERE
from api.cli.terminal import say

if TYPE_CHECKING:
    from api.node.settings import Settings


async def rebuild(*, database: Annotated[str | None, Parameter(group=WHERE)] = None) -> int:
    """Rebuild all views from the log. Readers see the old views until the new ones are ready. The log is unchanged.

    The search index is only emptied: a server builds it again in the background, or else the next search does.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; default: a file in your data directory.
    """
    position, missing = await asyncio.to_thread(_rebuild, settings_of(database))
    say(sentence("Views rebuilt up to position {position}.", position=position))
    for what in missing:
        say(what, label="missing")
    return exits.NOT_VERIFIED if missing else exits.OK


def _rebuild(settings: "Settings") -> tuple[int, list[str]]:
    """The position, and what the views lack because they could not read or fold it."""
    from adapters.store import open_store
    from adapters.store.sqlite.views import open_views
    from api.node.local_files import search_of
    from projections.follow import Follower
    from projections.sessions.search import SEARCH

    with closing(open_store(settings.database)) as store, closing(open_views(settings.views_path)) as views:
        follower = Follower(store, views)
        position, missing = follower.rebuild(), [each.error for each in follower.problems()]
        with closing(open_views(search_of(settings.node_dir))) as words:
            Follower(store, words, [SEARCH]).empty()
    return position, missing
