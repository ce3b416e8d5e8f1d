"""Things in a working folder that no commit can hold: names that git refuses, paths that are too long, files in the
place of a submodule (`submodules`), and repositories of their own.

The agent is told of the first three, and nothing is recorded until they are gone: otherwise they would be missing from
the work without a word. What git keeps in a repository inside the folder never counts, so validation goes without it.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.folders import delete
from adapters.workspace.git import DoesNotFit
from domain.values.sentences import Sentence

_NAMED: Final = 10
"""How many files are named."""
_SHOWN: Final = 200
"""Characters of a name that are shown."""


def refuse(paths: Collection[str]) -> None:
    """Raises DoesNotFit if there are any."""
    if paths:
        shown = tuple(repr(path[:_SHOWN]) for path in sorted(paths)[:_NAMED])
        raise DoesNotFit(Sentence("files_not_recordable", number=len(paths), paths=shown))


def delete_repositories(tree: Path, repositories: Sequence[str], keep: Collection[str]) -> None:
    """Delete what git keeps in repositories inside the folder, but not below the paths to `keep`."""
    for path in repositories:
        if not any(path == name or path.startswith(f"{name}/") for name in keep):
            with suppress(OSError):  # somebody was faster
                delete(tree / path)
