"""Publishes a result as a branch of the person's repository, under an unused name."""

from pathlib import Path, PurePosixPath
from typing import Final

from adapters.workspace.git import WorkspaceError, branch_at, in_theirs
from adapters.workspace.workspace import Workspace
from domain.session.workspace import BranchWas
from domain.values.sentences import Sentence

_BRANCHES: Final = 9
"""How many names are tried for a branch."""


def hand_over(workspace: Workspace, commit: str, branch: str) -> str | None:
    """Publish as this branch, or as `…-2` and so on if another one has the name. Returns the name, or None if the
    source has no repository. Raises WorkspaceError if git can create none of them."""
    if workspace.repository is not None:
        _check(Path(workspace.repository), branch)
    for name in (branch, *(f"{branch}-{number}" for number in range(2, _BRANCHES + 1))):
        try:
            published = workspace.publish(commit, name)
        except WorkspaceError:
            at = branch_at(Path(workspace.repository or "."), name)
            if at == commit:
                return name
            if at is None or name.endswith(f"-{_BRANCHES}"):
                raise
        else:
            if published:
                workspace.write_notes(commit)
            return name if published else None
    return None


def state_before(workspace: Workspace, branch: str, last: str | None) -> BranchWas:
    """Tells how the branch is before the work is published as it, which was published as `last` before."""
    folder = Path(workspace.repository or ".")
    at = branch_at(folder, branch)
    if last is None:
        return "new"
    if at is None:
        return "gone"
    return "set_back" if at != last and _leads_to(folder, at, last) else "here"


def _leads_to(folder: Path, older: str, newer: str) -> bool:
    try:
        in_theirs(["merge-base", "--is-ancestor", older, newer], folder)
    except WorkspaceError:
        return False
    return True


class BranchMoved(WorkspaceError):
    """Somebody has committed to the branch meanwhile."""


def move_on(workspace: Workspace, commit: str, branch: str) -> str:
    """Publish as this branch, which was made before, and as no other one: it only moves forward. One that was deleted
    is made again. Raises BranchMoved, and WorkspaceError where it cannot be moved."""
    _check(Path(workspace.repository or "."), branch)
    before = branch_at(Path(workspace.repository or "."), branch)
    try:
        workspace.publish(commit, branch)
    except WorkspaceError:
        at = branch_at(Path(workspace.repository or "."), branch)
        if at == commit:
            return branch
        if at != before:
            raise BranchMoved(Sentence("branch_keeps_moving", branch=branch)) from None
        raise
    workspace.write_notes(commit)
    return branch


def _check(repository: Path, branch: str) -> None:
    """Refuses a branch that git could not create, in words that say what is in the way."""
    if not repository.is_dir():
        raise WorkspaceError(Sentence("repository_gone", path=repository))
    for folder in list(PurePosixPath(branch).parents)[:-1]:
        if branch_at(repository, str(folder)) is not None:
            raise WorkspaceError(Sentence("branch_in_the_way", taken=str(folder), branch=branch))
