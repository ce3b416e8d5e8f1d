"""Names a changed file, with its old name where it was renamed."""

from typing import TYPE_CHECKING

from api.cli.terminal import visible_name

if TYPE_CHECKING:
    from api.cli.answers import ResultFile


def path_words(file: "ResultFile") -> str:
    """`old.py → new.py`, or the one name."""
    old = file.get("renamedFrom")
    return f"{visible_name(old)} → {visible_name(file['path'])}" if old else visible_name(file["path"])
