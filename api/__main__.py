"""`hansard`, or `python -m api`: the command line, which lives in `api/cli`."""

import gc
import os
import sys
from typing import Final

__all__ = ["main"]

_ALLOCATIONS = 50_000
_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def main() -> int:
    """Carry out this process's command line; the exit code."""
    # Python's own 700 would have it look for garbage hundreds of times in modules that are only just being imported.
    gc.set_threshold(_ALLOCATIONS)
    _stand_in()
    from api.cli.main import main

    return main()


def _stand_in() -> None:
    """The null device in the place of each stream that the caller has closed, under its own number: else the next
    file that is opened, the log say, would get that number, and what somebody prints to it."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free is this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
