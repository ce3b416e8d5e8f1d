"""What a session would start from in a person's folder, looked up in a moment and without changing anything: the
branch, its commit, and the files with changes that the agents would not see."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.creation import place_of
from adapters.workspace.git import OURS, WorkspaceError, answered, in_theirs, line
from adapters.workspace.recording_rules import RecordingRules, persons_rules
from adapters.workspace.references import branch_of

SECONDS: Final = 2.0
"""For each of the questions to git; the list of changes of a huge repository takes longer and is left out."""
_ATTRIBUTES: Final = "* -text !filter !diff !merge !ident !working-tree-encoding\n"
"""No filter of the repository is executed to compare a file."""
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
        uncommitted = () if place.bare else _uncommitted(place.top, place.index, place.exclude, commit, seconds)
    except (OSError, WorkspaceError):
        uncommitted = None
    return StartPoint(place.top, place.bare, branch, commit, uncommitted)


def is_committed(point: StartPoint, path: str) -> bool:
    """Whether the commit has a file of that path below the top."""
    try:
        in_theirs(["cat-file", "-e", f"{point.commit}:{path}"], point.top, seconds=SECONDS)
    except WorkspaceError:
        return False
    return True


def _uncommitted(top: Path, index: Path, exclude: Path, commit: str | None, seconds: float) -> tuple[str, ...]:
    """The paths that `git status` names, asked with a copy of the index and settings of ours: those of the repository
    could name programs. Raises OSError or WorkspaceError, also after so many seconds."""
    question = ["rev-parse", "--path-format=absolute", "--git-path", "objects", "--show-object-format"]
    objects, form = os.fsdecode(in_theirs(question, top, seconds=seconds)).split("\n")[:2]
    with tempfile.TemporaryDirectory(prefix="hansard-status-") as made:
        ours = Path(made) / "ours.git"
        new = ["init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(ours)]
        answered(new, cwd=top, codes=(0,), seconds=seconds)
        for name, text in (
            ("HEAD", f"{commit}\n" if commit else "ref: refs/heads/none\n"),
            ("objects/info/alternates", f"{objects}\n"),
            ("info/attributes", _ATTRIBUTES),
            ("info/exclude", RecordingRules().exclude_text(persons_rules(top, exclude))),
        ):
            (ours / name).parent.mkdir(parents=True, exist_ok=True)
            (ours / name).write_text(text, "utf-8", "surrogateescape")
        if index.is_file():
            shutil.copy2(index, ours / "index")  # with its time, which git compares with those of the files
        env = {"GIT_DIR": str(ours), "GIT_WORK_TREE": str(top), "GIT_INDEX_FILE": str(ours / "index"), **OURS}
        status = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"]
        output = answered(status, cwd=top, env=env, codes=(0,), seconds=seconds).stdout or b""
    return tuple(entry[3:].decode(errors="replace") for entry in output.split(b"\0") if len(entry) >= _LEAST)
