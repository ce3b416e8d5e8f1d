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
        self._file = (folder / self.name).open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def leave(self) -> None:
        (self._folder / self.name).unlink(missing_ok=True)
        self._file.close()

    def gone(self, name: str) -> bool:
        """Whether the worker of that name has certainly ended. Of a worker of another machine nothing is certain."""
        if name.rsplit(".", 2)[0] != self.name.rsplit(".", 2)[0] or "/" in name:
            return False
        path = self._folder / name
        try:
            with path.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True
