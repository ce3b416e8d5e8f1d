"""Looks at the places that settings name, before a process that stays begins to use them: the data folder, the folder
of worklogs, and where checkpoints are put."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from api.node.checkpoint_place import command_of, path_of
from api.node.settings import Settings
from domain.values.sentences import Sentence

_OURS: Final = frozenset(("agents", "attended", "examples", "homes", "keys", "views", "workers", "workspaces"))
"""Folders in the data folder: agents write into some of them, and what is not ours is removed from others."""


class PlaceFault(NamedTuple):
    """A setting that names a place which cannot be used, and why."""

    setting: str
    problem: Sentence


def unfit_places(settings: Settings, *, checkpoints: bool = True) -> Iterator[PlaceFault]:
    """Yields what is wrong with each place, as far as it shows now. `checkpoints`: this process puts some."""
    faults = [
        ("HANSARD_DATA_DIR", _of_data(settings)),
        ("HANSARD_WORKLOG_FOLDER", settings.worklog_folder and _of_worklogs(settings, settings.worklog_folder)),
        ("HANSARD_CHECKPOINT_TO", settings.checkpoint_to and checkpoints and _of_checkpoints(settings)),
    ]
    yield from (PlaceFault(setting, problem) for setting, problem in faults if isinstance(problem, Sentence))


def is_beside_the_log(settings: Settings) -> bool:
    """True if checkpoints are put where whoever can change the log can change them, too."""
    if not settings.checkpoint_to or command_of(settings.checkpoint_to) is not None:
        return False
    place, log = path_of(settings.checkpoint_to), settings.log_file
    return place.is_relative_to(settings.node_dir) or (log is not None and log.absolute().parent in place.parents)


def reveals_the_log(settings: Settings) -> bool:
    """True if the data folder is in the folder of the log, or is that folder."""
    log = settings.log_file
    return log is not None and settings.node_dir.is_relative_to(log.absolute().parent)


def _of_data(settings: Settings) -> Sentence | None:
    if settings.data_dir is None:
        return None
    log = settings.log_file
    if log is not None and _is_ours(settings, log):
        return Sentence("place_of_log_is_ours", path=log, folder=settings.node_dir)
    return _of_folder(settings.node_dir)


def _of_worklogs(settings: Settings, folder: Path) -> Sentence | None:
    folder = folder.expanduser()
    if _is_ours(settings, folder):
        return Sentence("place_is_ours", path=folder, folder=settings.node_dir)
    return _of_folder(folder)


def _of_checkpoints(settings: Settings) -> Sentence | None:
    command = command_of(settings.checkpoint_to)
    if command is not None:
        return None if shutil.which(command[0]) else Sentence("place_without_program", name=command[0])
    path = path_of(settings.checkpoint_to)
    if not path.is_absolute():
        return Sentence("place_is_no_program", name=str(path))
    log = settings.log_file
    if log is not None and str(path) in (str(log.absolute()), f"{log.absolute()}-wal", f"{log.absolute()}-shm"):
        return Sentence("place_is_the_log", path=path)
    if _is_ours(settings, path) or path == settings.signing_key:
        return Sentence("place_is_ours", path=path, folder=settings.node_dir)
    if path.is_dir():
        return _of_folder(path)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        return Sentence("place_is_no_file", path=path)
    return _of_folder(path.parent) if path.parent.is_dir() else Sentence("place_without_folder", path=path.parent)


def _is_ours(settings: Settings, path: Path) -> bool:
    """True if the path is in one of the folders that Hansard makes for itself in the data folder."""
    place, node = path.resolve(), settings.node_dir.resolve()
    return place.is_relative_to(node) and not _OURS.isdisjoint(place.relative_to(node).parts[:1])


def _of_folder(folder: Path) -> Sentence | None:
    """Returns what is wrong with a folder that exists, or will be made."""
    place = folder
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return Sentence("place_is_no_folder", path=place)
    if not os.access(place, os.W_OK | os.X_OK) or _is_of_the_kernel(place):
        return Sentence("place_not_writable", path=place)
    return None


def _is_of_the_kernel(place: Path) -> bool:
    """True for /proc and /sys, where root may write, but nobody makes a file."""
    return place.parts[1:2] in (("proc",), ("sys",))
