"""Reads the coverage report that validation commands write, from the folder in which they ran (contract-3 §20).

The commands run what agents wrote, so the report may be anything: a link, a pipe, of any size, in no format.
"""

import os
from pathlib import Path
from typing import NamedTuple, Self

from adapters.workspace.entries import check_place, opened_folder, read
from adapters.workspace.git import WorkspaceError
from adapters.workspace.workspace import Workspace
from domain.delivery.coverage import LARGEST, Measured, ReportNames, measured, of_work
from domain.provenance.patches import hunks
from domain.session.validation import WorkCoverage
from domain.values.json import Malformed
from domain.values.sentences import Sentence, sentence_of

_State = tuple[int, int, int] | None
"""The mark that tells a file that was written from the one before: its inode, its size, and when it was changed."""


class WrittenReport(NamedTuple):
    """A report as it was after the commands; `names` lead from what it calls files to paths of the repository."""

    path: str
    names: ReportNames
    files: Measured
    problem: Sentence | None = None

    def of(self, workspace: Workspace, state: str) -> WorkCoverage:
        """Return what it says about the lines that the work has added up to this state. Blocks."""
        if self.problem is not None:
            return WorkCoverage(path=self.path, problem=self.problem)
        patch = workspace.patch(workspace.base(), state)
        return of_work(self.files, self.names, hunks(patch.split("\n")), self.path)


class AwaitedReport(NamedTuple):
    """A report that commands in `folder` are expected to write, below `top`; `state` is how it was before them."""

    top: Path
    folder: Path
    path: str
    state: _State

    @classmethod
    def before(cls, top: Path, folder: Path, path: str) -> Self:
        """Look at the place before the commands run. Blocks."""
        return cls(top, folder, path, _state(top / path))

    def after(self, *, repeated: bool) -> WrittenReport:
        """Read it after they have passed; `repeated`: only in a second run, which wrote elsewhere. Blocks."""
        names = ReportNames(
            tops=tuple(dict.fromkeys((str(self.top), str(self.top.resolve())))), folders=self._folders()
        )
        files: Measured = {}
        problem = Sentence("coverage_of_repeated_run", path=self.path) if repeated else None
        if problem is None:
            try:
                files = self._read()
            except (WorkspaceError, Malformed, OSError) as error:
                reason = error.strerror if isinstance(error, OSError) else sentence_of(error)
                problem = Sentence("coverage_unreadable", path=self.path, reason=reason)
        return WrittenReport(self.path, names, files, problem)

    def _read(self) -> Measured:
        """Raises WorkspaceError, Malformed, OSError."""
        with opened_folder(self.top, "") as root:
            check_place(root, self.path)
            raw = read(root, self.path, LARGEST)
        if raw is None:
            raise Malformed(Sentence("coverage_missing"))
        if _state(self.top / self.path) == self.state:
            raise Malformed(Sentence("coverage_not_written"))
        return measured(raw)

    def _folders(self) -> tuple[str, ...]:
        """Returns where relative names may begin: where the commands ran, the folder of the report, the top."""
        below = self.folder.relative_to(self.top) if self.folder.is_relative_to(self.top) else Path()
        names = (str(below), str(Path(self.path).parent), ".")
        return tuple(dict.fromkeys(names))


def _state(path: Path) -> _State:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
