"""`hansard worker`: runs turns, and nothing else."""

import asyncio
import signal
from pathlib import Path

from api.cli import exits
from api.cli.announcement import announce_work
from api.cli.labels import sentence
from api.cli.open_doors import refuse_a_malformed_log, refuse_an_open_database, refuse_unfit_places
from api.cli.options import Where
from api.cli.stderr_log import Full, log_to_stderr
from api.cli.terminal import say
from api.node.settings import Settings
from api.worker import WorkerProcess


def worker(*, slots: int | None, database: str | None, team: Path | None) -> int:
    """Run turns, and nothing else, until Ctrl-C or SIGTERM; unfinished turns are then released."""
    settings = Where(database=database).settings(team=team, worker_slots=slots)
    refuse_unfit_places(settings, checkpoints=False)
    refuse_a_malformed_log(settings)
    refuse_an_open_database(settings)
    log_to_stderr(Full())
    return asyncio.run(_worked(settings))


async def _worked(settings: Settings) -> int:
    process = WorkerProcess(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, process.stop)
    _announce_worker(process, settings)
    try:
        await process.run()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    say(sentence("Stopped."))
    return exits.OK


def _announce_worker(process: WorkerProcess, settings: Settings) -> None:
    running = "Hansard is running turns, up to {slots} at once, as {name}"
    say(sentence(running, slots=settings.worker_slots, name=process.name))
    announce_work(process, settings)
    say(sentence("Press Ctrl-C to stop."))
