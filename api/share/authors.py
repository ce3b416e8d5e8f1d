"""Names of people whom the repositories know: they are looked for in a file before it is shown."""

import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError, in_theirs, settings_of

_COMMITS: Final = 2_000
"""The newest commits, of which the authors are taken."""
_MOST: Final = 300
_SECONDS: Final = 10.0
_OURS: Final = ("Hansard", " via Hansard", "[bot]")


def authors_of(folders: Iterable[Path]) -> tuple[str, ...]:
    """The full names of who wrote the newest commits of these repositories, and of whoever is at this machine. A single
    word is too often one of the language, unless it is not in Latin letters."""
    names = dict.fromkeys(name for name in _own() if name)
    for folder in dict.fromkeys(folders):
        for read in (_configured, _authors):
            with suppress(WorkspaceError):
                names |= dict.fromkeys(read(folder))
    return tuple(name for name in names if _is_a_person(name))[:_MOST]


def _own() -> Iterator[str]:
    with suppress(KeyError):
        yield pwd.getpwuid(os.getuid()).pw_gecos.partition(",")[0].strip()


def _configured(folder: Path) -> list[str]:
    return [(settings_of(folder, "user.name") or "").strip()]


def _authors(folder: Path) -> list[str]:
    words = ("-c", "log.showSignature=false", "log", f"--max-count={_COMMITS}", "--format=%an%n%cn", "HEAD")
    return in_theirs(words, folder, seconds=_SECONDS).decode(errors="replace").splitlines()


def _is_a_person(name: str) -> bool:
    return len(name) > 1 and not name.endswith(_OURS) and (" " in name or not name.isascii())
