"""The log as a file, for the commands that prove and carry it: which one is meant, and which session in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import WHERE, Where
from api.cli.exits import Failed

if TYPE_CHECKING:
    from adapters.store.sqlite.sealed import Sealed
    from api.settings import Settings

Database = Annotated[
    Path | None,
    Parameter(group=WHERE, help="The log. HANSARD_DATABASE; else a file in your data directory."),
]
Anyway = Annotated[bool, Parameter(help="Changes nothing: it is JSON anyway.")]


def settings_of(database: Path | None) -> "Settings":
    return Where(database=str(database) if database else None).settings()


@contextmanager
def opened(settings: "Settings") -> Iterator["Sealed"]:
    """The log, to be read: proving it must not change it."""
    from adapters.store.sqlite.sealed import sealed

    if not settings.database_path.exists():
        raise Failed(f"There is no log at {settings.database_path}.", code=exits.NOT_FOUND)
    with sealed(settings.database_path) as log:
        yield log


def stream(store: "Sealed", name: str) -> str:
    """The session that is meant: its id, a unique beginning of it, or `latest`."""
    names = store.rows.streams()
    if name == "latest":
        name = next((found for found in reversed(names) if not found.startswith("channel-")), name)
    found = [name] if name in names else [known for known in names if name and known.startswith(name)]
    if len(found) > 1:
        raise Failed(f"{name!r} is the beginning of {len(found)} sessions.", code=exits.USAGE)
    if not found:
        raise Failed(f"There is no session {name!r}.", code=exits.NOT_FOUND)
    return found[0]
