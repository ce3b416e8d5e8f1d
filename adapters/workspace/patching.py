"""Patches of single files as agents write them: applied by git, in a folder where nothing but that file is."""

import tempfile
from pathlib import Path
from typing import Final

from adapters.workspace.errors import WorkspaceError
from adapters.workspace.git import OURS, git

LARGEST: Final = 16_777_216
"""Bytes of a file that may be patched."""
_FILE: Final = "file"
_NOWHERE: Final = "/dev/null"


def patched(path: str, before: bytes | None, patch: str) -> bytes | None:
    """The file after a unified diff of it; None before or after: there is none. Names in the diff are not looked at,
    counts of lines are made anew. Raises WorkspaceError where it does not apply, or speaks of other files, too."""
    with tempfile.TemporaryDirectory(prefix="hansard-patch-") as made:
        folder = Path(made)
        place = folder / _FILE
        if before is not None:
            place.write_bytes(before)
        try:
            git(
                ["apply", "--recount", "--unidiff-zero", "--whitespace=nowarn", "-"],
                cwd=folder,
                env={**OURS, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
                given=_alone(before is None, patch).encode(),
            )
            if any(found != place for found in folder.iterdir()):
                raise WorkspaceError("it speaks of other files, too.")
        except (WorkspaceError, UnicodeEncodeError) as error:
            raise WorkspaceError(f"The patch of {path!r} does not apply: {_why(error)}") from None
        return place.read_bytes() if place.exists() else None


def _alone(new: bool, patch: str) -> str:
    """The hunks under a head of ours."""
    lines = patch.rstrip("\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("@@")), None)
    if start is None:
        raise WorkspaceError("it has no line that begins with @@.")
    gone = any(line.split("\t")[0].rstrip() == f"+++ {_NOWHERE}" for line in lines[:start])
    kind = ["new file mode 100644"] if new else ["deleted file mode 100644"] if gone else []
    old, after = _NOWHERE if new else f"a/{_FILE}", _NOWHERE if gone else f"b/{_FILE}"
    head = [f"diff --git a/{_FILE} b/{_FILE}", *kind, f"--- {old}", f"+++ {after}"]
    return "\n".join([*head, *lines[start:], ""])


def _why(error: Exception) -> str:
    """What git complains of last, without the name that only we know."""
    if isinstance(error, UnicodeEncodeError):
        return "it is not valid text."
    told = str(error).rpartition("error: ")[2].removeprefix(f"{_FILE}: ")
    return "the lines that it changes are not there." if told == "patch does not apply" else told
