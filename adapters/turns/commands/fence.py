"""Builds the fence around a turn: what its programs may access, and what is hidden from them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from adapters.fence.choice import Sandbox, choose
from adapters.fence.port import Fence, Grant, Level
from adapters.files import is_empty
from adapters.workspace import Workspace

_LOG_FILES = ("", "-wal", "-shm")


class Fencing:
    """The fence around programs on this node. `private` is the folder with the node's own data, `secrets` are files
    with keys and passwords. Nothing else needs to be named, because a fence only shows what is granted. Raises
    `NoFence`."""

    def __init__(self, sandbox: Sandbox, *, log: Path | None, private: Path, secrets: Iterable[Path] = ()) -> None:
        self._choose = choose(sandbox)
        named = (spelling for path in (private, *secrets) for spelling in _spellings(path))
        self._hidden = (*named, *(_log(log) if log else ()))

    def around(self, grant: Grant) -> Fence:
        return self._choose(grant)

    @property
    def level(self) -> Level:
        """The level of the fences here."""
        return self._choose(Grant()).level

    @property
    def links(self) -> bool:
        """True if a folder of the checkout can be shown in the workspace, instead of a copy of it."""
        return self.level == "bwrap"

    def grant(self, workspace: Workspace, folder: Path, link: Iterable[str] = ()) -> Grant:
        """The paths that a program in this folder of the workspace may access: the folder's tree, and the objects of
        its git. The person's checkout is hidden, unless it is where the agents work, except for the folders to
        `link`.
        """
        checkout = Path(workspace.repository) if workspace.repository else None
        settings, objects = workspace.git_settings, (workspace.objects,) if workspace.in_place is None else ()
        return Grant(
            writable=(workspace.tree_of(folder),),
            readable=(*objects, *((settings,) if settings else ())),
            hidden=(*self._hidden, *(_spellings(checkout) if checkout else ())),
            linked=tuple(_linked(workspace, folder, link)) if self.links else (),
        )


def _spellings(path: Path) -> Iterator[Path]:
    """The path, and the same path without symbolic links."""
    yield path.absolute()
    if path.resolve() != path.absolute():
        yield path.resolve()


def _linked(workspace: Workspace, folder: Path, names: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """The folders of the checkout with their places in the workspace. A place that has something in it keeps that."""
    source, top = workspace.source, workspace.tree_of(folder).resolve()
    if source is None or workspace.in_place is not None:
        return
    for name in names:
        path, place = (source / name).resolve(), top / name
        if path.is_dir() and path.is_relative_to(source.resolve()) and place.resolve() == place and is_empty(place):
            yield path, place


def _log(log: Path) -> Iterator[Path]:
    """The log's folder, and its files in case the folder itself is worked in."""
    for path in _spellings(log):
        yield path.parent
        yield from (path.with_name(f"{path.name}{ending}") for ending in _LOG_FILES)
