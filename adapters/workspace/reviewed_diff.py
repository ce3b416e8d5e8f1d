"""The uncommitted changes of a checkout, as they are reviewed: what a later session starts from."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.inert import inert_git
from adapters.workspace.person import WHOLE_INDEX
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

LONGEST: Final = 400_000
"""Bytes of changes that are kept; who fixes more begins with the commit."""
_PLAIN: Final = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
_INDEX: Final = "reviewed"


class ReviewedPatch(NamedTuple):
    """A commit, and what a checkout of it has beyond it."""

    commit: str
    patch: str


def uncommitted(top: Path) -> ReviewedPatch | None:
    """Return the uncommitted changes of a checkout, new files among them; None where there are none, or they are no
    text, or too long. Nothing that the repository names is executed."""
    git = inert_git(top)
    head = line(git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", codes=(0, 1, 128)))
    if not head:
        return None
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        index = Path(made) / "index"
        own = Path(os.fsdecode(git("rev-parse", "--path-format=absolute", "--git-path", "index")).removesuffix("\n"))
        if own.is_file():
            shutil.copy2(own, index)
        env = {"GIT_INDEX_FILE": str(index)}
        git(*WHOLE_INDEX, "add", "--intent-to-add", "--", ".", env=env)
        patch = git(*WHOLE_INDEX, "diff", *_PLAIN, "--ignore-submodules=all", head, "--", env=env)
    try:
        text = patch.decode()
    except UnicodeDecodeError:
        return None
    return ReviewedPatch(head, text) if patch and len(patch) <= LONGEST and "\0" not in text else None


def add_reviewed(repository: Repository, top: Path, reviewed: ReviewedPatch) -> str:
    """Record the reviewed changes on their commit, which may have to be fetched from the checkout; the new commit.
    Raises WorkspaceError."""
    try:
        repository.check(reviewed.commit)
    except WorkspaceError:
        try:
            repository.run("fetch", "--quiet", "--no-tags", "--update-shallow", str(top), reviewed.commit)
        except WorkspaceError as error:
            raise WorkspaceError(Sentence("reviewed_commit_missing", commit=reviewed.commit[:10], path=top)) from error
    with repository.index(_INDEX) as index:
        repository.run("read-tree", reviewed.commit, index=index.path)
        options = ("--cached", "--whitespace=nowarn", "-")
        repository.run("apply", *options, index=index.path, stdin=reviewed.patch.encode())
        tree = index.write_tree()
    return repository.record(tree, message="The changes that were reviewed", parents=(reviewed.commit,))
