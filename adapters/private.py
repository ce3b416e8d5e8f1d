"""Private files: a log contains prompts, replies and source code (promise S24).

Only what is made here is closed to others; what somebody made or opened themselves stays as they want it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_OTHERS: Final = 0o077


def private_folder(path: Path) -> None:
    """Make the folder, for its owner alone, and what is missing above it. Raises OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def private_file(path: Path) -> None:
    """Make the file, empty and for its owner alone, where it is missing. What SQLite keeps beside a database gets the
    same mode. Raises OSError."""
    if str(path).startswith(":"):
        return  # `:memory:` is no file to SQLite
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_to_others(path: Path) -> bool:
    """Whether other users of the machine have any right to the file itself. Raises OSError."""
    return bool(path.stat().st_mode & _OTHERS)
