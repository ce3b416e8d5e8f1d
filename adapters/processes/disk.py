"""The room that runs leave free on the disk: they are ended before they take the last of it."""

import shutil
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final

# Free disk space: programs are stopped before they use the last of it, which the log needs.
DISK_SECONDS: Final = 1.0
"""How often the disk is checked."""
_reserve: ContextVar[int] = ContextVar("reserve", default=0)


def keep_free(size: int) -> None:
    """From now on, this task and every task that it starts leave this many bytes free; 0: no limit."""
    _reserve.set(size)


def kept_free() -> int:
    """The number of bytes that must stay free."""
    return _reserve.get()


def is_full(folder: Path) -> bool:
    """True if less is free on the disk of the folder."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _reserve.get()
    return False
