"""`hansard serve`: what is refused, and the address, before the server is loaded."""

import asyncio
from pathlib import Path

from uvicorn.loops.auto import auto_loop_factory

from adapters.processes.heap import share_one_heap
from api.cli.listener import listener_of
from api.cli.open_doors import (
    refuse_a_malformed_log,
    refuse_an_open_database,
    refuse_an_open_server,
    refuse_unfit_places,
)
from api.cli.options import Where
from api.cli.stderr_log import Full, log_to_stderr
from api.node.settings import Settings


def serve(
    *, host: str | None, port: int | None, database: str | None, team: Path | None, example: bool, no_work: bool
) -> int:
    """Serve the page and the API, update the views and run turns until Ctrl-C."""
    settings = Where(database=database).settings(team=team, host=host, port=port, example=example or None)
    refuse_unfit_places(settings, checkpoints=True)
    refuse_a_malformed_log(settings)
    refuse_an_open_server(settings)
    refuse_an_open_database(settings)
    log_to_stderr(Full())
    share_one_heap()
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        return runner.run(_served(settings, example=example, no_work=no_work))


async def _served(settings: Settings, *, example: bool, no_work: bool) -> int:
    with listener_of(settings) as listener:
        from api.cli.server import served  # who calls meanwhile waits at the address

        return await served(listener, settings, example=example, no_work=no_work)
