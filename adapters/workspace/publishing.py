"""Publishes a result as a branch of the person's repository, under an unused name."""

from pathlib import Path, PurePosixPath
from typing import Final

from adapters.workspace.git import WorkspaceError, branch_at
from adapters.workspace.workspace import Workspace
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


def _check(repository: Path, branch: str) -> None:
    """Why git could create no such branch, in words that say what is in the way."""
    if not repository.is_dir():
        raise WorkspaceError(Sentence("repository_gone", path=repository))
    for folder in list(PurePosixPath(branch).parents)[:-1]:
        if branch_at(repository, str(folder)) is not None:
            raise WorkspaceError(Sentence("branch_in_the_way", taken=str(folder), branch=branch))
