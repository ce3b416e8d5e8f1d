"""A branch of the person's repository: its commit, and moving it to a result that was tried in our own repository."""

import os
from functools import partial
from pathlib import Path

from adapters.workspace.git import WorkspaceError, branch_at, git, in_theirs
from adapters.workspace.inert import InertGit, inert_git
from adapters.workspace.move import InTheWay, advance_checkout, check_not_busy, planned, tree_of
from adapters.workspace.repository import Repository
from adapters.workspace.snapshot import git_folder
from domain.values.sentences import Sentence, because, sentence_of

_QUIET = ("--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-recurse-submodules")


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
    checkout moves with it. Raises InTheWay or WorkspaceError, and then nothing has changed."""
    repository.run("update-ref", f"refs/hansard/{after}", after)
    ref = f"refs/heads/{branch}"
    in_theirs(["fetch", *_QUIET, "--", str(repository.path), f"refs/hansard/{after}"], theirs)
    move = partial(in_theirs, ["update-ref", "-m", "hansard: land", ref, after, before], theirs)
    try:
        place = _checkout_of(theirs, ref)
        if place is None:
            move()
        elif branch_at(theirs, branch) == before:
            checkout = inert_git(place)
            check_not_busy(checkout)
            trees = [tree_of(checkout, commit) for commit in (before, after)]
            advance_checkout(planned(checkout, place, *trees, executes=False), trees[0], move)
    except InTheWay:
        raise
    except WorkspaceError as error:
        if branch_at(theirs, branch) == before:
            raise WorkspaceError(because(Sentence("repository_not_changed", path=theirs), sentence_of(error))) from None
    return branch_at(theirs, branch) == after


def _checkout_of(theirs: Path, ref: str) -> Path | None:
    """The working tree in which the branch is checked out; one whose folder was deleted does not count. Raises InTheWay
    where a rebase of the branch is under way."""
    place = None
    for entry in os.fsdecode(in_theirs(["worktree", "list", "--porcelain", "-z"], theirs)).split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in entry.split("\0"))
        if "worktree" not in fields or not (folder := Path(fields["worktree"])).is_dir():
            continue
        if fields.get("branch") == ref:
            place = place or folder
        elif "detached" in fields:
            own = git_folder(InertGit(folder, ()))
            for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
                if (own / name).is_file() and (own / name).read_text().strip() == ref:
                    raise InTheWay("busy", [name.partition("/")[0]])
    return place
