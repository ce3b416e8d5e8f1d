"""Room on the disk: what runs is stopped before it takes the last of it, which the log needs."""

import shutil
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final

DISK_SECONDS: Final = 1.0
"""How often the disk is looked at."""
_reserve: ContextVar[int] = ContextVar("reserve", default=0)


def keep_free(size: int) -> None:
    """From now on what this task runs, and every task that it starts, leaves so many bytes free; 0: no limit."""
    _reserve.set(size)


def kept_free() -> int:
    """The bytes that are to stay free."""
    return _reserve.get()


def is_full(folder: Path) -> bool:
    """Whether less is free where the folder is."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _reserve.get()
    return False
