"""What a session has changed, as its view tells it."""

import posixpath
from collections.abc import Collection

from domain.session.state import Session
from projections.views.session import ResultBase, ResultFile, ResultView


def result_of(session: Session, planned: Collection[str]) -> ResultView | None:
    """None while nothing has changed. `planned` are the files and folders that the request or the plan named."""
    base, changes = session.base, session.changes
    if base is None or changes is None or not changes.files:
        return None
    names = tuple(posixpath.normpath(path) for path in planned)
    return ResultView(
        repository=base.repository,
        base=ResultBase(branch=base.base_branch, commit=base.base_commit),
        branch=session.branch,
        head=changes.head,
        commits=changes.commits,
        files=tuple(ResultFile(**dict(file), named=_is_named(file.path, names)) for file in changes.files),
    )


def _is_named(path: str, names: Collection[str]) -> bool:
    """Whether the file itself was named, or a folder above it."""
    return any(path == name or name == "." or path.startswith(f"{name}/") for name in names)
