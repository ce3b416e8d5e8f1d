"""`hansard`, or `python -m api`: the command line, which lives in `api/cli`."""

import sys

from api.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
