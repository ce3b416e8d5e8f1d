"""Finds what a session would start from in a person's folder, in a moment and without changing anything: the branch,
its commit, and the files with changes that the agents would not see."""

import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.creation import place_of
from adapters.workspace.git import WorkspaceError, in_theirs, line
from adapters.workspace.inert import inert_git
from adapters.workspace.person import WHOLE_INDEX, copy_index
from adapters.workspace.recording_rules import RecordingRules, persons_rules
from adapters.workspace.references import branch_of

SECONDS: Final = 2.0
"""For each of the questions to git; the list of changes of a huge repository takes longer and is left out."""
_LEAST: Final = 4
"""Two letters, a space and a name."""


class StartPoint(NamedTuple):
    """`branch` is None for a detached head, `commit` where there is none yet. `uncommitted` are paths below `top`, None
    where they could not be listed in time."""

    top: Path
    bare: bool
    branch: str | None
    commit: str | None
    uncommitted: tuple[str, ...] | None


def start_point(folder: Path, *, seconds: float = SECONDS) -> StartPoint | None:
    """None if the folder is in no git repository. Raises WorkspaceError, worded as by `check`."""
    place = place_of(folder, seconds=seconds)
    if place is None:
        return None
    question = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]
    commit = line(in_theirs(question, place.top, codes=(0, 1), seconds=seconds)) or None
    branch = branch_of(place.top, seconds=seconds)
    try:
        uncommitted = () if place.bare else _uncommitted(place.top, place.index, place.exclude, seconds)
    except (OSError, WorkspaceError):
        uncommitted = None
    return StartPoint(place.top, place.bare, branch, commit, uncommitted)


def is_committed(point: StartPoint, path: str) -> bool:
    """True if the commit has a file of that path below the top."""
    try:
        in_theirs(["cat-file", "-e", f"{point.commit}:{path}"], point.top, seconds=SECONDS)
    except WorkspaceError:
        return False
    return True


def _uncommitted(top: Path, index: Path, exclude: Path, seconds: float) -> tuple[str, ...]:
    """The paths that `git status` names, asked with a copy of the index, and so that nothing is executed that the
    repository names. Raises OSError or WorkspaceError, also after so many seconds."""
    with tempfile.TemporaryDirectory(prefix="hansard-status-") as made:
        copy, excluded = Path(made) / "index", Path(made) / "exclude"
        copy_index(top, index, copy)
        excluded.write_text(RecordingRules().exclude_text(persons_rules(top, exclude)), "utf-8", "surrogateescape")
        settings = [*inert_git(top).settings, *WHOLE_INDEX, "-c", f"core.excludesFile={excluded}"]
        status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all"]
        output = in_theirs([*settings, *status], top, env={"GIT_INDEX_FILE": str(copy)}, seconds=seconds)
    return tuple(entry[3:].decode(errors="replace") for entry in output.split(b"\0") if len(entry) >= _LEAST)
