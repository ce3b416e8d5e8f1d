"""Memory of a process that stays."""

import ctypes
from contextlib import suppress
from typing import Final

_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's malloc.h."""


def share_one_heap() -> None:
    """Let all threads that start from now on take memory from one heap, where the C library is glibc: it would give
    each a heap of its own, and what one of them frees is of no use to the others. Most threads wait for the interpreter
    anyway. Programs that are started are not concerned."""
    with suppress(AttributeError, OSError):  # another C library has other ways
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
