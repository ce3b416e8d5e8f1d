"""Merging a result into a branch of the person's repository: first tried in our own repository, then the branch is
moved."""

from collections.abc import Iterator
from pathlib import Path

from adapters.workspace.git import WorkspaceError, branch_at, git, in_theirs, line
from adapters.workspace.merging import merge
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

_QUIET = ("--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-recurse-submodules")


class CheckoutInTheWay(WorkspaceError):
    """The branch is checked out, and the merge would overwrite uncommitted changes there."""


def tip(repository: Repository, theirs: Path, branch: str) -> str:
    """The commit of their branch, fetched into our repository."""
    try:
        git(["check-ref-format", "--branch", branch], cwd=repository.path)
    except WorkspaceError:
        raise WorkspaceError(Sentence("branch_name_invalid", branch=branch)) from None
    commit = branch_at(theirs, branch)
    if commit is None:
        raise WorkspaceError(Sentence("branch_not_found", branch=branch, path=theirs))
    repository.run("fetch", *_QUIET, str(theirs), f"refs/heads/{branch}")
    repository.run("update-ref", f"refs/hansard/{commit}", commit)
    return commit


def integrate(repository: Repository, *, onto: str, commit: str, message: str) -> str:
    """A merge commit of both, even if one is an ancestor of the other: `onto` gets one commit per result. Returns
    `onto` itself if it already contains everything. Raises MergeConflict."""
    merged = merge(repository, ours=onto, theirs=commit, message=message)
    if merged != commit:
        return merged
    tree = line(repository.run("rev-parse", "--verify", f"{commit}^{{tree}}"))
    return repository.record(tree, message=message, parents=(onto, commit))


def advance(repository: Repository, theirs: Path, branch: str, *, before: str, after: str) -> bool:
    """Move their branch from one commit to the next; False if it has moved meanwhile. If it is checked out, the
    checkout moves with it. Raises CheckoutInTheWay, and then nothing has changed."""
    repository.run("update-ref", f"refs/hansard/{after}", after)
    in_theirs(["fetch", *_QUIET, "--", str(repository.path), f"refs/hansard/{after}"], theirs)
    ref = f"refs/heads/{branch}"
    place = next(_checkouts(theirs, ref), None)
    try:
        if place is None:
            in_theirs(["update-ref", "-m", "hansard: land", ref, after, before], theirs)
        elif branch_at(theirs, branch) == before:
            in_theirs(["merge", "--quiet", "--ff-only", "--no-verify", after], place)
    except WorkspaceError as error:
        if branch_at(theirs, branch) == before:
            raise CheckoutInTheWay(str(error)) from None
    return branch_at(theirs, branch) == after


def _checkouts(theirs: Path, ref: str) -> Iterator[Path]:
    """The working trees in which the branch is checked out."""
    for entry in in_theirs(["worktree", "list", "--porcelain", "-z"], theirs).decode().split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in entry.split("\0"))
        if fields.get("branch") == ref:
            yield Path(fields["worktree"])
