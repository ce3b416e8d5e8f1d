"""`hansard serve`, `worker`: the processes that stay."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from api.cli.options import TEAM
from api.cli.verb import carried_out_by


@carried_out_by("serve:serve")
def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
    example: bool = False,
    no_work: bool = False,
) -> None:
    """Serve the page and the API, update the views and run turns until Ctrl-C.

    Parameters
    ----------
    host
        The address to listen on. HANSARD_HOST; default: 127.0.0.1. HANSARD_AUTH=off requires loopback.
    port
        The port; 0 picks a free one. HANSARD_PORT; default: 8000.
    database
        The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory.
    example
        Without a team file, let the scripted example team answer. Run the example delivery first when the log is empty.
    no_work
        Run no turns here; leave them to `hansard worker` processes and external agents.
    """


@carried_out_by("worker:worker")
def worker(
    *,
    slots: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))] = None,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
) -> None:
    """Run turns, and nothing else, until Ctrl-C or SIGTERM; unfinished turns are then released.

    Any number of workers can share a log, with or without `hansard serve` and with the same team file: on the log's
    machine, with PostgreSQL on any. If one dies, another takes over its turns at once.

    Parameters
    ----------
    slots
        How many turns to run at once. HANSARD_WORKER_SLOTS; default: 8.
    database
        The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory.
    """
