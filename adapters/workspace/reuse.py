"""Working folders are taken over from sessions that have ended: of a large repository the first checkout takes seconds,
the difference between two commits a moment. No folder is kept for this alone, so the disk holds no more than before."""

import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from adapters.workspace.folders import delete, open_up
from adapters.workspace.git import WorkspaceError
from adapters.workspace.repository import GITLINK, Index, Repository

LARGE: Final = 262_144
"""Bytes of an index from which on taking over is worth it: some 3,000 files."""
_ASKED: Final = 8
"""Sessions that are asked whether they have ended, the newest first."""
_ABANDONED: Final = 3_600.0
"""Seconds after which a folder that was being taken over belongs to a process that is gone."""

Resting = Callable[[str], bool]
"""Whether no process works in this session's folders any more."""


def take_over(home: Path, folder: Path, repository: str, resting: Resting) -> bool:
    """Make `folder` of `home` out of one of an ended session on the same repository, with its index; False where there
    is none. Nothing is in it then but files that git knows, as git will find out. A folder has one owner at any time:
    it goes from one to the next by renaming."""
    _tidy(home)
    for tree in islice(_candidates(home, repository), _ASKED):
        if resting(tree.parent.name) and _taken(tree, home, folder):
            return True
    return False


def _candidates(home: Path, repository: str) -> Iterator[Path]:
    """Folders of other sessions on the repository, the last used first."""
    trees: list[tuple[float, Path]] = []
    for tree in home.parent.glob("*/tree-*"):
        with suppress(OSError):
            status = _index_of(tree.parent, tree.name).stat()
            if tree.parent != home and status.st_size >= LARGE:
                trees.append((status.st_mtime, tree))
    for _, tree in sorted(trees, reverse=True):
        with suppress(OSError, ValueError):
            facts = json.loads((tree.parent / "repo.git" / "hansard.json").read_text(encoding="utf-8"))
            if facts["repository"] == repository:
                yield tree


def _taken(tree: Path, home: Path, folder: Path) -> bool:
    """True if it was there to be taken. What is in the folder is looked at only once it is ours."""
    ours = home / f"taken-{secrets.token_hex(4)}"
    index = Index(Repository(home / "repo.git"), _index_of(home, folder.name))
    try:
        shutil.copy2(_index_of(tree.parent, tree.name), index.path)
        if any(entry.startswith(GITLINK) for entry in index.entries()):
            raise WorkspaceError("git does not look into the folders of submodules")
        tree.with_name(f"ready-{tree.name}").unlink(missing_ok=True)
        tree.rename(ours)
        open_up(ours)
        delete(ours / ".git")
        index.clean(ours)
        ours.rename(folder)
    except (OSError, WorkspaceError):
        index.path.unlink(missing_ok=True)
        with suppress(OSError):
            delete(ours)
        return False
    return True


def _tidy(home: Path) -> None:
    """Delete what processes have left that ended while they took a folder over."""
    for left in home.glob("taken-*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_ctime > _ABANDONED:
                delete(left)


def _index_of(home: Path, name: str) -> Path:
    return home / "repo.git" / f"index-{name}"
