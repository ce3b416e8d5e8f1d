"""Folders in which agents work or have worked: scanning, restoring access, reading, writing and deleting.

An agent may be changing things at the same time: links are never followed (S14).
"""

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from adapters.workspace.git import DoesNotFit, WorkspaceError
from domain.values.sentences import Sentence


def plain_files(tree: Path, paths: Iterable[bytes]) -> Iterator[bytes]:
    """Those that are readable files or symbolic links now, not reached through a symbolic link."""
    root, real = os.fsencode(tree), {b"": True}

    def is_real(folder: bytes) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition(b"/")[0]) and stat.S_ISDIR(_mode(root + b"/" + folder))
        return real[folder]

    for path in paths:
        mode = _mode(root + b"/" + path) if is_real(path.rpartition(b"/")[0]) else 0
        if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and os.access(root + b"/" + path, os.R_OK)):
            yield path


def _mode(path: bytes | str | Path) -> int:
    """0 if there is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def is_real_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def existing_folder(path: Path) -> Path:
    if not path.is_dir():
        raise WorkspaceError(Sentence("folder_not_found", path=path))
    return path.resolve()


def tame(folder: Path) -> None:
    """Restore our rights to enter and read the contents, which agents may have removed, and delete pipes and sockets:
    no state records them, and opening one may block forever."""
    folder.chmod(stat.S_IMODE(_mode(folder)) | stat.S_IRWXU)
    todo = [os.fspath(folder)]
    while todo:
        for path in _names_in(todo.pop()):
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                todo.append(path)
            _tame_one(path, mode)


def open_up(folder: Path) -> None:
    """The same for folders only, in a fraction of the time; whether files are readable is not checked."""
    folder.chmod(stat.S_IMODE(_mode(folder)) | stat.S_IRWXU)
    todo = [os.fspath(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:  # gone, or not ours
            for entry in entries:
                if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    continue
                mode = _mode(entry.path)
                if stat.S_ISDIR(mode):
                    todo.append(entry.path)
                _tame_one(entry.path, mode)


def make_readable(tree: Path, paths: Iterable[bytes]) -> None:
    """Restore our right to read these files."""
    for path in paths:
        place = os.fsdecode(os.fsencode(tree) + b"/" + path)
        with suppress(OSError):
            _tame_one(place, _mode(place))


def _names_in(folder: str) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:  # gone, or not ours
        return [entry.path for entry in entries]
    return []


def _tame_one(path: str, mode: int) -> None:
    wanted = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        Path(path).unlink()
    elif (stat.S_ISDIR(mode) or stat.S_ISREG(mode)) and mode & wanted != wanted:
        Path(path).chmod(stat.S_IMODE(mode) | wanted)


def bytes_in(folder: Path) -> int:
    """The size of the files in a folder, without following links; unreadable ones count nothing."""
    total, todo = 0, [os.fspath(folder)]
    while todo:
        for path in _names_in(todo.pop()):
            with suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISDIR(status.st_mode):
                    todo.append(path)
                else:
                    total += status.st_size
    return total


def delete(path: Path) -> None:
    if not is_real_folder(path):
        path.unlink(missing_ok=True)
        return
    tame(path)
    shutil.rmtree(path)


# -- reading and writing while an agent may be changing things ---------------------------------------------------------


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def opened_folder(tree: Path, prefix: str) -> Iterator[int]:
    """A descriptor of the working folder, which is created if necessary; no symbolic link below `tree` is followed."""
    with ExitStack() as opened:
        here = os.open(tree, _FOLDER)
        opened.callback(os.close, here)
        yield _made(here, [part for part in prefix.split("/") if part], opened)


def _made(here: int, names: Iterable[str], opened: ExitStack) -> int:
    for name in names:
        try:
            os.mkdir(name, dir_fd=here)
        except FileExistsError:
            pass
        except OSError as error:
            raise WorkspaceError(Sentence("folder_not_made", path=name, detail=error.strerror)) from error
        here = _entered(here, name, opened)
    return here


def _entered(here: int, name: str, opened: ExitStack) -> int:
    try:
        deeper = os.open(name, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DoesNotFit(Sentence("folder_not_in_workspace", path=name)) from error
    opened.callback(os.close, deeper)
    return deeper


def check_place(root: int, path: str) -> None:
    """No part of the path is a symbolic link, and the target, if it exists, is a plain file."""
    *folders, name = path.split("/")
    with ExitStack() as opened:
        try:
            for folder in folders:
                root = _entered(root, folder, opened)
            mode = os.stat(name, dir_fd=root, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISREG(mode):
            raise DoesNotFit(Sentence("not_a_plain_file", path=path))


def read(root: int, path: str, most: int) -> bytes | None:
    """The content of the file, None if there is none. Raises WorkspaceError for more than `most` bytes."""
    *folders, name = path.split("/")
    with ExitStack() as opened:
        try:
            for folder in folders:
                root = _entered(root, folder, opened)
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise DoesNotFit(Sentence("file_too_large", path=path, number=most))
    return data


def replace_files(root: int, contents: Mapping[str, bytes | None]) -> None:
    """Write these contents (None: remove the file), all of them or, if one path is not allowed, none."""
    for path in contents:
        check_place(root, path)
        if any(other.startswith(f"{path}/") for other in contents):
            raise DoesNotFit(Sentence("file_and_folder", path=path))
    for path, data in contents.items():
        if data is None:
            remove(root, path)
        else:
            write(root, path, data)


def remove(root: int, path: str) -> None:
    """Remove the file, whether it exists or not."""
    *folders, name = path.split("/")
    with ExitStack() as opened, suppress(FileNotFoundError):
        for folder in folders:
            root = _entered(root, folder, opened)
        os.unlink(name, dir_fd=root)


def write(root: int, path: str, data: bytes) -> None:
    """Written atomically; an existing file keeps its mode, a new script (`#!`) can be executed."""
    *folders, name = path.split("/")
    with ExitStack() as opened:
        try:
            here = _made(root, folders, opened)
            _replace(here, name, data)
        except OSError as error:
            raise WorkspaceError(Sentence("file_not_written", path=path, detail=error.strerror)) from error


def _replace(folder: int, name: str, data: bytes) -> None:
    draft = f".hansard-{secrets.token_hex(8)}"
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, dir_fd=folder)
        with os.fdopen(made, "wb") as file:
            os.fchmod(file.fileno(), _mode_at(folder, name, 0o755 if data.startswith(b"#!") else 0o644))
            file.write(data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise


def _mode_at(folder: int, name: str, default: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return default


def encoded(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise DoesNotFit(Sentence("file_not_text", path=path)) from None
