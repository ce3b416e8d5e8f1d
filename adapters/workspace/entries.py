"""Files below a folder of an agent: read, written and removed.

Each step of a path is opened by itself, and links are never followed (S14).
"""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from adapters.workspace.git import DoesNotFit, WorkspaceError
from domain.values.sentences import Sentence

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
