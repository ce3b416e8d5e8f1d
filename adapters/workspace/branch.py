"""A branch of the person's repository: its commit, and moving it to a result that was tried in our own repository."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError, branch_at, git, in_theirs
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence, because, sentence_of

_QUIET = ("--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-recurse-submodules")


_IN_THE_WAY: Final = "would be overwritten"
"""What git says of uncommitted changes and of new files."""


class CheckoutInTheWay(WorkspaceError):
    """The branch is checked out, and the merge would overwrite uncommitted changes there."""


class NoBranch(WorkspaceError):
    """The name is that of no branch of the repository."""


def commit_of_branch(theirs: Path, branch: str) -> str:
    """Raises NoBranch, and WorkspaceError if the repository is gone or cannot be opened."""
    if not theirs.is_dir():
        raise WorkspaceError(Sentence("repository_gone", path=theirs))
    try:
        git(["check-ref-format", "--branch", branch], cwd=Path(theirs.anchor))
    except WorkspaceError:
        raise NoBranch(Sentence("branch_name_invalid", branch=branch)) from None
    if commit := branch_at(theirs, branch):
        return commit
    try:
        in_theirs(["rev-parse", "--git-dir"], theirs)
    except WorkspaceError as error:
        raise WorkspaceError(because(Sentence("repository_not_opened", path=theirs), sentence_of(error))) from None
    raise NoBranch(Sentence("branch_not_found", branch=branch, path=theirs))


def tip(repository: Repository, theirs: Path, branch: str) -> str:
    """The commit of their branch, fetched into our repository."""
    commit = commit_of_branch(theirs, branch)
    repository.run("fetch", *_QUIET, str(theirs), f"refs/heads/{branch}")
    repository.run("update-ref", f"refs/hansard/{commit}", commit)
    return commit


def advance(repository: Repository, theirs: Path, branch: str, *, before: str, after: str) -> bool:
    """Move their branch from one commit to the next; False if it has moved meanwhile. If it is checked out, the
    checkout moves with it. Raises CheckoutInTheWay or WorkspaceError, and then nothing has changed."""
    repository.run("update-ref", f"refs/hansard/{after}", after)
    ref = f"refs/heads/{branch}"
    try:
        in_theirs(["fetch", *_QUIET, "--", str(repository.path), f"refs/hansard/{after}"], theirs)
        place = next(_checkouts(theirs, ref), None)
        if place is None:
            in_theirs(["update-ref", "-m", "hansard: land", ref, after, before], theirs)
        elif branch_at(theirs, branch) == before:
            in_theirs(["merge", "--quiet", "--ff-only", "--no-verify", after], place)
    except WorkspaceError as error:
        if branch_at(theirs, branch) == before:
            if _IN_THE_WAY in str(error):
                raise CheckoutInTheWay(str(error)) from None
            raise WorkspaceError(because(Sentence("repository_not_changed", path=theirs), sentence_of(error))) from None
    return branch_at(theirs, branch) == after


def _checkouts(theirs: Path, ref: str) -> Iterator[Path]:
    """The working trees in which the branch is checked out; one whose folder was deleted does not count."""
    for entry in in_theirs(["worktree", "list", "--porcelain", "-z"], theirs).decode().split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in entry.split("\0"))
        if fields.get("branch") == ref and (place := Path(fields["worktree"])).is_dir():
            yield place
