"""Exit codes (contract §6). Alone in a file, because `--help` has no time for what else a command's end takes."""

from typing import Final

OK: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
NOT_ALLOWED: Final = 5
WAITS: Final = 6
EXHAUSTED: Final = 7
NOT_VERIFIED: Final = 8
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
