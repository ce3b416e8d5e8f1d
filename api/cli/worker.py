"""`hansard worker`: a process that only works on turns, beside a server or others of its kind on the same log."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from api.cli import exits
from api.cli.client import TEAM, Where
from api.cli.logs import Full, log_to_stderr
from api.cli.terminal import counted, say

if TYPE_CHECKING:
    from api.crew import Crew
    from api.settings import Settings


async def worker(
    *,
    slots: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))] = None,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
) -> int:
    """Work on turns, and on nothing else, until Ctrl-C or SIGTERM: then the turns at hand are given back.

    Any number of workers may share a log, with `hansard serve` or without, on the machine that the log is on; they
    need the same team file. What one that died had in hand, another one takes up at once.

    Parameters
    ----------
    slots
        How many turns are worked on at once. HANSARD_WORKER_SLOTS; else 8.
    database
        The log: a file, or sqlite:///path. HANSARD_DATABASE; else a file in your data directory.
    """
    settings = Where(database=database).settings(team=team, worker_slots=slots)
    log_to_stderr(Full())
    from api.crew import Crew

    crew = Crew(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, crew.worker.stop)
    _announce(crew, settings)
    try:
        await crew.run()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    say("Stopped.")
    return exits.OK


def _announce(crew: "Crew", settings: "Settings") -> None:
    say(f"Hansard works on turns, up to {settings.worker_slots} at once, as {crew.worker.name}")
    say(f"  log   {settings.database_path}")
    if crew.team.example:
        say("  team  the scripted example team, which does no real work; HANSARD_TEAM or --team names yours")
    else:
        say(f"  team  {settings.team} ({counted(len(crew.team.agents), 'agent')})")
    say("Ctrl-C stops it.")
