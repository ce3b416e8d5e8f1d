"""Reads where checkpoints are put, as the setting has it: a command, or the path of a file or folder."""

import os
import shlex
import shutil
from pathlib import Path


def command_of(place: str) -> list[str] | None:
    """The command in a setting: several words, or the name of a program; None if it is a path."""
    words = shlex.split(place)
    if words and words[0].startswith("~"):
        words[0] = str(Path(words[0]).expanduser())
    if len(words) > 1 or (words and "/" not in words[0] and shutil.which(words[0])):
        return words
    return words if words and Path(words[0]).is_file() and os.access(words[0], os.X_OK) else None


def path_of(place: str) -> Path:
    """The file or folder in a setting that is no command."""
    return Path(*shlex.split(place)).expanduser()
