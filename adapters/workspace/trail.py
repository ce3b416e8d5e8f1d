"""The snapshots of a folder that everybody works in at once: each follows the one before, whoever took it. So the later
of two has both, and there is never anything to merge."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Trail:
    """A small file that holds the latest snapshot."""

    file: int

    def latest(self) -> str | None:
        return os.pread(self.file, _LONGEST, 0).decode().strip() or None

    def go_on(self, state: str) -> str:
        """The state again, from now on the latest."""
        os.pwrite(self.file, state.encode(), 0)  # always as long as the one before, so never cut
        return state


@contextmanager
def trail(path: Path) -> Iterator[Trail]:
    """Ours alone until we leave: two snapshots at once would both follow the same one."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield Trail(file)
    finally:
        os.close(file)
