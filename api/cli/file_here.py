"""Paths of files in the repository here, as a person types them."""

import subprocess
from pathlib import Path

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence


def file_here(path: str) -> tuple[Path, str]:
    """The repository here, and the file in it."""
    top = _top()
    try:
        here = Path(path)
        target = here.parent.resolve() / here.name if here.is_symlink() else here.resolve()  # links are files, too
        return top, target.relative_to(top.resolve()).as_posix()
    except ValueError:
        raise Failed(sentence("{path} is not in the repository {top}.", path=path, top=top), code=exits.USAGE) from None


def _top() -> Path:
    command = ["git", "rev-parse", "--show-toplevel"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("{path} is not in a git repository.", path=Path.cwd()), code=exits.USAGE)
    return Path(done.stdout.rstrip("\n"))
