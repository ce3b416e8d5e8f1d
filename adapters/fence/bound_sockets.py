"""Finds the sockets that other programs have put into folders: to read a folder is enough to connect to them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_TABLE: Final = Path("/proc/self/net/unix")
_PATH: Final = 7
"""The place of the path in a line of the kernel's table; sockets without a name have none."""


def sockets_in(folders: Iterable[Path]) -> Iterator[Path]:
    """Yields the socket files in these folders that exist now, by the names that they have there."""
    try:
        lines = _TABLE.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    paths = {Path(words[_PATH]) for line in lines if len(words := line.split(maxsplit=_PATH)) > _PATH}
    bound = {path.parent.resolve() / path.name for path in paths if path.is_absolute() and _is_socket(path)}
    for folder in folders if bound else ():
        real = folder.resolve()
        yield from (folder / path.relative_to(real) for path in bound if path.is_relative_to(real))


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # in a folder that this account may not enter
        return False
