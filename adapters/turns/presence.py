"""Who is alive on this machine: every worker holds a lock on a file of its name, which ends with its process."""

import fcntl
import os
import secrets
from pathlib import Path


class Presence:
    """This process's own name and lock, and the question about others'."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.name = f"{os.uname().nodename}.{os.getpid()}.{secrets.token_hex(4)}"
        # Locked before it has its name: nobody is ever seen without the lock and taken for dead.
        draft = folder / f".{self.name}"
        self._file = draft.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(folder / self.name)

    def leave(self) -> None:
        self.forget(self.name)
        self._file.close()

    def others(self) -> tuple[str, ...]:
        """Who was here and has not left, alive or dead."""
        names = (path.name for path in self._folder.iterdir())
        return tuple(name for name in names if name != self.name and not name.startswith("."))

    def gone(self, name: str) -> bool:
        """Whether the worker of that name has certainly ended. Of a worker of another machine nothing is certain."""
        if name.rsplit(".", 2)[0] != self.name.rsplit(".", 2)[0] or "/" in name:
            return False
        try:
            with (self._folder / name).open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except (BlockingIOError, PermissionError):  # it holds its lock, or is another user's: nobody knows
            return False
        return True

    def forget(self, name: str) -> None:
        """Nothing of that worker is left to be taken care of."""
        (self._folder / name).unlink(missing_ok=True)
