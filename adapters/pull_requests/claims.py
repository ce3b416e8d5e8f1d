"""Claims to follow a session's pull request: one process at a time, of all machines that use the log."""

import fcntl
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from adapters.files import private_folder
from adapters.store.port import NameClaims


class PullRequestClaims:
    """The claims of this process. `folder` has a file for each session; `shared` are those of all machines, if there
    are others."""

    def __init__(self, folder: Path, shared: NameClaims | None = None) -> None:
        self._folder, self._shared = folder, shared

    def of(self, session_id: str) -> "PullRequestClaim":
        return PullRequestClaim(self._folder / f"{session_id}.lock", self._shared, f"pull-request {session_id}")


class PullRequestClaim:
    """The claim on one session's pull request, from when it is entered until it is left."""

    def __init__(self, file: Path, shared: NameClaims | None, name: str) -> None:
        self._path, self._shared, self._name = file, shared, name
        self._file: TextIO | None = None
        self._is_ours = False

    def __enter__(self) -> Self:
        private_folder(self._path.parent)
        self._file = self._path.open("w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._is_ours = True
        except OSError:
            self._is_ours = False
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._is_ours and self._shared is not None:
            self._shared.give_back(self._name)
        if self._file is not None:
            self._file.close()

    def holds(self) -> bool:
        """Return whether this process is the one that follows it now. Blocks where other machines are asked."""
        return self._is_ours and (self._shared is None or self._shared.take(self._name))
