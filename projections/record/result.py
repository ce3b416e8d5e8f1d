"""What a session has changed, as its view reports it."""

import posixpath
from collections.abc import Collection

from domain.session.state import Session
from domain.session.workspace import EVERYTHING, PathScope, touched
from projections.views.session import LandedView, ResultBase, ResultFile, ResultView


def result_of(session: Session, planned: Collection[str], scope: PathScope = EVERYTHING) -> ResultView | None:
    """None as long as nothing has changed. `planned` are the files and folders that the request or the plan named,
    relative to the workspace."""
    base, changes = session.base, session.changes
    if base is None or changes is None or not changes.files:
        return None
    folder = _below(session.workspace, base.repository)
    names = tuple(posixpath.normpath(posixpath.join(folder, path)) for path in planned)
    return ResultView(
        repository=base.repository,
        base=ResultBase(branch=base.base_branch, commit=base.base_commit),
        branch=session.branch,
        head=changes.head,
        commits=changes.commits,
        files=tuple(ResultFile(**dict(file), named=_is_named(file.path, names)) for file in changes.files),
        landed=LandedView(branch=session.landed.onto, commit=session.landed.commit) if session.landed else None,
        outside=scope.outside_of(touched(changes)),
    )


def _below(workspace: str | None, repository: str | None) -> str:
    """Where the workspace is in its repository; empty for the root."""
    if not workspace or not repository or not workspace.startswith(f"{repository}/"):
        return ""
    return workspace.removeprefix(f"{repository}/")


def _is_named(path: str, names: Collection[str]) -> bool:
    """Whether the file itself was named, or a folder above it."""
    return any(path == name or name == "." or path.startswith(f"{name}/") for name in names)
