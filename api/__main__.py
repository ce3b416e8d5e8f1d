"""`hansard`, or `python -m api`: the command line, which lives in `api/cli`."""

import gc
import sys

__all__ = ["main"]

_ALLOCATIONS = 50_000


def main() -> int:
    """Carry out this process's command line; the exit code."""
    # Python's own 700 would have it look for garbage hundreds of times in modules that are only just being imported.
    gc.set_threshold(_ALLOCATIONS)
    from api.cli.app import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
