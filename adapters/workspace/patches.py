"""Agents' patches of single files."""

import re
import tempfile
from pathlib import Path
from typing import Final

from adapters.workspace.git import OURS, DoesNotFit, WorkspaceError, git
from domain.values.sentences import Sentence, sentence_of

LARGEST: Final = 16_777_216
"""Maximum size of a file that can be patched."""
_FILE: Final = "file"
_NOWHERE: Final = "/dev/null"
_GIT_IS_MISSING: Final = ("git_not_started", "git_too_slow")
"""Then the patch is not to blame."""
_LACKING: Final = re.compile(
    r"^Binary files .* differ$|^\[cut here: \d+ of \d+ bytes\]$|^[+-].*\ufffd", flags=re.MULTILINE
)
"""What a printed patch has in place of bytes: of binary files, at its end, and in texts that are not UTF-8."""


def lacks_bytes(patch: str) -> bool:
    """True if a printed patch does not hold every byte, so that the files cannot be made from it."""
    return _LACKING.search(patch) is not None


def patched(path: str, before: bytes | None, patch: str) -> bytes | None:
    """The file after applying a unified diff; None before or after: it does not exist. Names in the diff are ignored,
    line counts are recomputed. Raises DoesNotFit if it does not apply, or if it also covers other files."""
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
                stdin=_alone(before is None, patch).encode(),
            )
            if any(entry != place for entry in folder.iterdir()):
                raise DoesNotFit(Sentence("patch_of_other_files"))
        except (WorkspaceError, UnicodeEncodeError) as error:
            if isinstance(sentence := sentence_of(error), Sentence) and sentence.code in _GIT_IS_MISSING:
                raise
            raise DoesNotFit(Sentence("patch_does_not_apply", path=path, detail=_why(error))) from None
        return place.read_bytes() if place.exists() else None


def _alone(new: bool, patch: str) -> str:
    """The hunks below our own header."""
    lines = patch.rstrip("\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("@@")), None)
    if start is None:
        raise DoesNotFit(Sentence("patch_without_hunk"))
    gone = any(line.split("\t")[0].rstrip() == f"+++ {_NOWHERE}" for line in lines[:start])
    kind = ["new file mode 100644"] if new else ["deleted file mode 100644"] if gone else []
    old, after = _NOWHERE if new else f"a/{_FILE}", _NOWHERE if gone else f"b/{_FILE}"
    head = [f"diff --git a/{_FILE} b/{_FILE}", *kind, f"--- {old}", f"+++ {after}"]
    return "\n".join([*head, *lines[start:], ""])


def _why(error: Exception) -> str:
    """The last error message of git, without our temporary file name."""
    if isinstance(error, UnicodeEncodeError):
        return Sentence("patch_not_text")
    if isinstance(sentence := sentence_of(error), Sentence) and sentence.code.startswith("patch_"):
        return sentence
    words = str(error).rpartition("error: ")[2].removeprefix(f"{_FILE}: ")
    return Sentence("patch_lines_missing") if words == "patch does not apply" else words
