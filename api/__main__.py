"""`hansard`, or `python -m api`: the command line, which is implemented in `api/cli`."""

import gc
import os
import sys
from typing import Final

from api.cli import ALLOCATIONS

__all__ = ["main"]

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def main() -> int:
    """Run this process's command line. Returns the exit code."""
    gc.set_threshold(ALLOCATIONS)
    _stand_in()
    from api.cli.main import main

    return main()


def _stand_in() -> None:
    """Open the null device in place of each stream that the caller has closed, with its number: otherwise the next
    opened file, such as the log, would get that number, and everything printed to it."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
