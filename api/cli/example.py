"""`hansard example`: what happens in a delivery, without an agent, a key or a cost."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import WHERE, Where, connected
from api.cli.exits import Failed
from api.cli.outcome import see_through
from api.cli.reading import AsJson
from api.cli.terminal import say


async def example(*, database: Annotated[Path | None, Parameter(group=WHERE)] = None, json: AsJson = False) -> int:
    """Run the example delivery and watch it: a scripted team mends a small repository, is sent back once, succeeds.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; else a file in your data directory.
    """
    from api.example import run_example

    here = Where(database=str(database) if database else None)
    async with connected(here, "work") as api:
        if api.system is None:
            raise Failed("The example works on a log directly: unset HANSARD_SERVER.", code=exits.USAGE)
        session_id = await run_example(api.system)
        say(f"Session {session_id}: the example; its team is scripted.")
        return await see_through(api, session_id, json=json)
