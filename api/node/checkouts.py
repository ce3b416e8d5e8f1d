"""The checkout that a folder is in, and how a branch becomes free there. Imports little: `latest` is fast."""

import shlex
from pathlib import Path


def checkout_of(folder: Path) -> Path | None:
    """The top of the checkout that contains a folder, as git finds it; None outside of git. A folder that is merely
    called `.git` does not count. A bare repository is its own top."""
    if is_bare(folder):
        return folder
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_file() or (git / "HEAD").exists():
            return place
    return None


def is_bare(folder: Path) -> bool:
    """True if this is a git repository without a checkout."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def free_branch(place: str | None) -> str:
    """The command that checks out another branch in a folder; without one, that folder was deleted, and only git still
    knows it."""
    return f"git -C {shlex.quote(place)} switch -" if place else "git worktree prune"
