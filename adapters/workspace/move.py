"""Moving a checkout from one tree to another without losing a byte that git would not give back.

`planned` says what a move writes and deletes, and raises InTheWay where that would meet staged or uncommitted changes,
or files that are untracked or ignored. `safely` then carries it out: it succeeds, or everything is as it was. Where a
process was killed meanwhile, the next move of the checkout first finishes that, or undoes it.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.inert import Git, InertGit, drivers, inert_git
from adapters.workspace.recovery import NewerVersions, recover_moves
from adapters.workspace.snapshot import CheckoutSnapshot, git_folder
from adapters.workspace.undo_journal import PREFIX, has_owner, read_journal
from domain.values.sentences import Sentence

Obstacle = Literal["unmerged", "staged", "uncommitted", "not_in_git", "filtered", "locked", "busy", "edited"]
_GITLINK: Final = "160000"
_SYMLINK: Final = "120000"
_MOST: Final = 100
"""Paths of a folder that is in the way that are named."""
_IN_PROGRESS: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
PRIVATE: Final = ("-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.fsmonitor=false")
"""For an index of ours: complete, in one file, and read without a monitor."""
_WHOLE: Final = ("-c", "core.sparseCheckout=false", "-c", "core.sparseCheckoutCone=false")


class InTheWay(WorkspaceError):
    """The move would cost the person something. Nothing has changed."""

    def __init__(self, obstacle: Obstacle, paths: Iterable[str]) -> None:
        self.obstacle, self.paths = obstacle, tuple(sorted(set(paths)))
        super().__init__(Sentence(f"in_the_way_{obstacle}", paths=", ".join(self.paths)))


class TreeFile(NamedTuple):
    """One file of a tree."""

    mode: str
    id: str


class PathChange(NamedTuple):
    """The effect of a move on a path. None: the tree has no such file."""

    path: str
    before: TreeFile | None
    after: TreeFile | None


@dataclass(frozen=True, slots=True)
class CheckoutMove:
    """The effects of a move from one tree to another in a checkout; checked against everything that is there.

    `same` are the files outside git that have the new content already, `skipped` the index entries that a sparse
    checkout leaves out, `clean` the tracked files as git has them.
    """

    git: Git
    top: Path
    after: str
    changes: tuple[PathChange, ...]
    same: tuple[str, ...] = ()
    skipped: frozenset[str] = frozenset()
    clean: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    """Uncommitted changes of the person that the new tree was made from: they go first."""


def tree_of(git: Git, commit: str | None) -> str:
    """The tree of a commit; the empty one where there is none yet."""
    if commit is None:
        return line(git("hash-object", "-t", "tree", "--stdin"))
    return line(git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}"))


def patched_tree(git: Git, tree: str, patch: bytes) -> str:
    """The tree with a unified diff. Raises WorkspaceError where it does not fit."""
    if not patch:
        return tree
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        env = {"GIT_INDEX_FILE": str(Path(made) / "index")}
        git(*PRIVATE, *_WHOLE, "read-tree", tree, env=env)
        git(*PRIVATE, *_WHOLE, "apply", "--cached", "--whitespace=nowarn", "-", data=patch, env=env)
        return line(git(*PRIVATE, "write-tree", env=env))


def planned(
    git: Git, top: Path, before: str, after: str, *, executes: bool = True, replaced: Collection[str] = ()
) -> CheckoutMove:
    """The move between two trees. Raises InTheWay, with the paths. `executes` says whether git may run filters, and
    `replaced` names uncommitted changes that the new tree replaces."""
    recover(git, top)
    _check_quiet(git)
    changes = tuple(_changes(git, before, after))
    facts = _facts(git, top, changes)
    if not executes:
        _refuse("filtered", _filtered(git, after, changes))
    _refuse("unmerged", (path for path in facts.unmerged))
    _refuse("staged", (path for path in _staged(facts, changes) if path not in replaced))
    blocked, same = _blocked(git, top, changes, facts)
    blocked, same = ([path for path in paths if path not in replaced] for paths in (blocked, same))
    _refuse("uncommitted", (path for path in blocked if path in facts.index))
    _refuse("not_in_git", blocked)
    clean = frozenset(facts.index) - facts.differing
    return CheckoutMove(git, top, after, changes, tuple(same), facts.skipped, clean, frozenset(replaced))


def recover(git: Git, top: Path) -> None:
    """Finish or undo the moves of processes that were killed. Raises InTheWay while another process moves the
    checkout, and where somebody has changed a file since that undoing would take away."""
    if place := _recovered(git, top):
        raise InTheWay("locked", [str(place)])


def _recovered(git: Git, top: Path) -> Path | None:
    try:
        return recover_moves(git, top)
    except NewerVersions as error:
        raise InTheWay("edited", error.paths) from None


def is_unfinished(top: Path) -> bool:
    """True if a process was killed that moved the checkout, and nobody has finished or undone that."""
    own = git_folder(InertGit(top, ()))
    return any(not has_owner(place) for place in own.glob(f"{PREFIX}*"))


def recover_inertly(top: Path) -> bool:
    """Finish or undo the moves of processes that were killed, without running anything that the repository names; False
    where only the person's own git can, because their files have filters, or where git still works there. Raises
    InTheWay where somebody has changed a file since."""
    plain = InertGit(top, ())
    for journal in map(read_journal, git_folder(plain).glob(f"{PREFIX}*")):
        if journal and _filtered(plain, journal.after, [PathChange(path, None, None) for path in journal.touched]):
            return False
    return _recovered(inert_git(top), top) is None


def _refuse(obstacle: Obstacle, paths: Iterable[str]) -> None:
    if named := tuple(paths):
        raise InTheWay(obstacle, named)


def _check_quiet(git: Git) -> None:
    """Nobody else is writing the index, which git marks with a lock."""
    index = index_of(git)
    lock = index.with_name(f"{index.name}.lock")
    if os.path.lexists(lock):
        raise InTheWay("locked", [str(lock)])


def check_not_busy(git: Git) -> None:
    """No merge, rebase or the like waits to be finished. Raises InTheWay."""
    folder = git_folder(git)
    _refuse("busy", (name for name in _IN_PROGRESS if os.path.lexists(folder / name)))


def index_of(git: Git) -> Path:
    return Path(os.fsdecode(git("rev-parse", "--path-format=absolute", "--git-path", "index")).removesuffix("\n"))


def _changes(git: Git, before: str, after: str) -> Iterator[PathChange]:
    options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    words = iter(os.fsdecode(git("diff-tree", *options, before, after)).split("\0"))
    for facts in words:
        if facts:
            old_mode, new_mode, old, new, _ = facts.removeprefix(":").split(" ")
            yield PathChange(next(words), _blob(old_mode, old), _blob(new_mode, new))


def _blob(mode: str, name: str) -> TreeFile | None:
    return TreeFile(mode, name) if mode.strip("0") else None


# -- what is there ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Facts:
    """The checkout's index, and which of its files differ from it."""

    index: dict[str, TreeFile]
    unmerged: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    differing: frozenset[str] = frozenset()
    folders: frozenset[str] = field(default_factory=frozenset)
    """Every folder that the index has files in."""


def _facts(git: Git, top: Path, changes: Sequence[PathChange]) -> _Facts:
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        private = Path(made) / "index"
        index = index_of(git)
        if index.is_file():
            shutil.copy2(index, private)  # with its time, which git compares with those of the files
            # a split index is looked for beside the repository's own
        env = {"GIT_INDEX_FILE": str(private)}
        entries: dict[str, TreeFile] = {}
        unmerged, skipped, assumed = set[str](), set[str](), set[str]()
        for entry in os.fsdecode(git(*PRIVATE, "ls-files", "-s", "-v", "-z", env=env)).split("\0"):
            if not entry:
                continue
            words, _, path = entry.partition("\t")
            tag, mode, name, stage = words.split(" ")
            if stage != "0":
                unmerged.add(path)
            if tag in "Ss":
                skipped.add(path)
            if tag.islower():
                assumed.add(path)
            entries[path] = TreeFile(mode, name)
        touched = {change.path for change in changes if change.before}
        looked_at = sorted(path for path in touched & (skipped | assumed) if is_there(top, path))
        named = "".join(f"{path}\0" for path in looked_at)
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            if looked_at:
                git(*PRIVATE, "update-index", flag, "-z", "--stdin", data=os.fsencode(named), env=env)
        differing = frozenset[str]()
        if entries:
            git(*PRIVATE, "update-index", "-q", "--refresh", codes=(0, 1), env=env)
            options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
            output = git(*PRIVATE, "diff-files", *options, env=env)
            differing = frozenset(path for path in os.fsdecode(output).split("\0") if path)
    folders = frozenset(folder for path in entries for folder in above(path))
    return _Facts(entries, frozenset(unmerged), frozenset(skipped), differing, folders)


def above(path: str) -> Iterator[str]:
    """The folders that a path is in, the highest first."""
    parts = path.split("/")
    for number in range(1, len(parts)):
        yield "/".join(parts[:number])


def is_there(top: Path, path: str) -> bool:
    """True if something has this path, and no folder of it is a link."""
    return _blocking_folder(top, path) is None and os.path.lexists(top / path)


def _blocking_folder(top: Path, path: str) -> str | None:
    """The first folder of the path that is a file or a link; None if there is none."""
    for folder in above(path):
        try:
            mode = os.lstat(top / folder).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(mode):
            return folder
    return None


def _staged(facts: _Facts, changes: Sequence[PathChange]) -> Iterator[str]:
    """The paths whose index entry is not that of the tree, or which meet one that is a folder there, or a file."""
    leaving = {change.path for change in changes if change.before and not change.after}
    for change in changes:
        if facts.index.get(change.path) != change.before:
            yield change.path
        if change.after:
            yield from (folder for folder in above(change.path) if folder in facts.index and folder not in leaving)
            if change.path in facts.folders:
                below = f"{change.path}/"
                yield from (path for path in facts.index if path.startswith(below) and path not in leaving)


def _blocked(git: Git, top: Path, changes: Sequence[PathChange], facts: _Facts) -> tuple[list[str], list[str]]:
    """The paths with something that git would not give back; and those outside git that have the new content."""
    leaving = {change.path for change in changes if change.before and not change.after}
    blocked: list[str] = []
    same: list[str] = []
    for change in changes:
        if change.path in facts.index and change.path in facts.differing and change.path not in facts.skipped:
            blocked.append(change.path)
        elif folder := _blocking_folder(top, change.path):
            if folder not in leaving:
                blocked.append(folder)
        elif is_there(top, change.path):
            if change.path in facts.index:
                if change.path in facts.differing or _is_folder(top / change.path) != (_mode(change) == _GITLINK):
                    blocked.append(change.path)
                elif _mode(change) == _GITLINK and not (change.after and change.after.mode == _GITLINK):
                    blocked += _files_below(top, change.path)
            elif change.after:
                _outside_git(git, top, change, leaving, blocked, same)
    return blocked, same


def _mode(change: PathChange) -> str | None:
    return change.before.mode if change.before else None


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _outside_git(
    git: Git, top: Path, change: PathChange, leaving: Collection[str], blocked: list[str], same: list[str]
) -> None:
    """The file of the checkout that a new path of the tree would replace."""
    assert change.after is not None
    place = top / change.path
    if _is_folder(place):
        if change.after.mode != _GITLINK:
            blocked += [path for path in _files_below(top, change.path) if path not in leaving]
    elif any(_is_same_place(top, path, place) for path in leaving if path.casefold() == change.path.casefold()):
        return  # a name that only changes its case, in a file system that does not tell them apart
    elif change.after.mode != _GITLINK and has_content(git, place, change.path, change.after):
        same.append(change.path)
    else:
        blocked.append(change.path)


def _is_same_place(top: Path, path: str, place: Path) -> bool:
    return os.path.lexists(top / path) and os.path.samestat(os.lstat(top / path), os.lstat(place))


def _files_below(top: Path, path: str) -> list[str]:
    paths: list[str] = []
    for name, folders, files in os.walk(top / path):
        folder = Path(name)
        inside = [*files, *(each for each in folders if (folder / each).is_symlink())]
        paths += [str((folder / each).relative_to(top)) for each in inside]
        if len(paths) >= _MOST:
            break
    return paths[:_MOST]


def has_content(git: Git, place: Path, path: str, blob: TreeFile) -> bool:
    """True if a file outside git is byte for byte what a checkout of the blob makes."""
    if (blob.mode == _SYMLINK) != place.is_symlink():
        return False
    if place.is_symlink():
        return os.fsencode(place.readlink()) == git("cat-file", "blob", blob.id)
    if not place.is_file():
        return False
    return place.read_bytes() == git("cat-file", "--filters", f"--path={path}", blob.id)


def _filtered(git: Git, after: str, changes: Sequence[PathChange]) -> list[str]:
    """The paths that a program of the person's settings reads or writes, by the attributes before or after."""
    configured = drivers(git)
    if not configured:
        return []
    names = os.fsencode("".join(f"{change.path}\0" for change in changes))
    paths: list[str] = []
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        env = {"GIT_INDEX_FILE": str(Path(made) / "index")}
        git(*PRIVATE, *_WHOLE, "read-tree", after, env=env)
        for where, more in ((None, ()), (env, ("--cached",))):
            output = git("check-attr", *more, "-z", "--stdin", "filter", data=names, env=where)
            words = os.fsdecode(output).split("\0")
            paths += [words[at] for at in range(0, len(words) - 2, 3) if words[at + 2] in configured]
    return paths


# -- carrying it out ---------------------------------------------------------------------------------------------------


@contextmanager
def safely(plan: CheckoutMove) -> Iterator[None]:
    """Guards a move of the checkout: if the body raises, everything is as it was: index, refs, files, a merge that is
    under way. Files outside git that have the new content already make room, because git does not compare them."""
    touched = [*(change.path for change in plan.changes), *plan.replaced]
    with CheckoutSnapshot(plan.git, plan.top, after=plan.after, touched=touched, clean=plan.clean) as snapshot:
        _take_back(plan)
        for path in plan.same:
            (plan.top / path).unlink()
        yield
        snapshot.give_back_missing(plan.same)


def _take_back(plan: CheckoutMove) -> None:
    """Bring what is replaced to the state of the checked-out commit, in the index and in the files."""
    if not plan.replaced:
        return
    paths = sorted(plan.replaced)
    head = tree_of(plan.git, "HEAD")
    in_head = set(os.fsdecode(plan.git("ls-tree", "-r", "-z", "--name-only", head)).split("\0"))
    names = os.fsencode("".join(f"{path}\0" for path in paths))
    pathspec = ("--pathspec-from-file=-", "--pathspec-file-nul")
    plan.git("--literal-pathspecs", "reset", "--quiet", "HEAD", *pathspec, data=names)
    _remove(plan.top, [path for path in paths if path not in in_head])
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        env = {"GIT_INDEX_FILE": str(Path(made) / "index")}
        plan.git(*PRIVATE, *_WHOLE, "read-tree", head, env=env)
        data = os.fsencode("".join(f"{path}\0" for path in paths if path in in_head))
        plan.git(*PRIVATE, *_WHOLE, "checkout-index", "--force", "-z", "--stdin", data=data, env=env)
    plan.git("update-index", "-q", "--refresh", codes=(0, 1))


def apply_uncommitted(plan: CheckoutMove) -> None:
    """Bring the files of the move into the checkout, uncommitted: HEAD stays, and so does the index, but for the files
    that a sparse checkout leaves out. Raises WorkspaceError; `safely` undoes it then."""
    links = [each.path for each in plan.changes if _GITLINK in {blob.mode for blob in each[1:] if blob}]
    if links:
        raise WorkspaceError(Sentence("submodules_uncommitted", paths=", ".join(links)))
    unwritten = set(plan.same)
    arriving = [change.path for change in plan.changes if change.after and change.path not in unwritten]
    removed = [change.path for change in plan.changes if not change.after]
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made, safely(plan):
        env = {"GIT_INDEX_FILE": str(Path(made) / "index")}
        plan.git(*PRIVATE, *_WHOLE, "read-tree", plan.after, env=env)
        _remove(plan.top, removed)
        for path in arriving:
            if (plan.top / path).is_dir() and not (plan.top / path).is_symlink():
                _remove_empty(plan.top / path)
        # attributes decide how the others are written
        for names in _attributes_first(arriving):
            data = os.fsencode("".join(f"{path}\0" for path in names))
            if data:
                plan.git(*PRIVATE, *_WHOLE, "checkout-index", "--force", "-z", "--stdin", data=data, env=env)
        _check_written(plan, frozenset(arriving))
        if shown := sorted(plan.skipped & {*arriving, *removed}):
            data = os.fsencode("".join(f"{path}\0" for path in shown))
            plan.git("-c", "index.sparse=false", "update-index", "--no-skip-worktree", "-z", "--stdin", data=data)


def _check_written(plan: CheckoutMove, paths: Collection[str]) -> None:
    """Raises WorkspaceError where a filter wrote nothing for a file that has content: git-crypt does for a short one
    that is not encrypted."""
    empty = [
        change.path
        for change in plan.changes
        if change.path in paths
        and change.after
        and change.after.mode not in (_GITLINK, _SYMLINK)
        and (plan.top / change.path).is_file()
        and not (plan.top / change.path).stat().st_size
        and int(plan.git("cat-file", "-s", change.after.id))
    ]
    if empty:
        raise WorkspaceError(Sentence("filter_writes_nothing", paths=", ".join(empty)))


def merge(plan: CheckoutMove, commit: str, *, title: str) -> None:
    """Merge a commit into the branch that is checked out, with the person's settings and hooks. Raises WorkspaceError
    or `Interrupted`; then nothing has changed."""
    check_not_busy(plan.git)
    head = line(plan.git("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)))
    if head and line(plan.git("merge-base", head, commit)) != head:
        _refuse("staged", (path for path in staged(plan.git) if path not in plan.replaced))
    with safely(plan):
        plan.git("merge", "--no-edit", "--commit", "--no-squash", "--no-autostash", "-m", title, commit)
        plan.git("merge-base", "--is-ancestor", commit, "HEAD")
        if plan.changes and head and not plan.replaced and tree_of(plan.git, head) == tree_of(plan.git, "HEAD"):
            raise WorkspaceError(Sentence("merge_brings_nothing"))


def squash(plan: CheckoutMove, commit: str, *, message: str) -> bool:
    """Add one commit with everything that a commit has. False if there was nothing to add. Raises like `merge`."""
    check_not_busy(plan.git)
    _refuse("staged", (path for path in staged(plan.git) if path not in plan.replaced))
    with safely(plan):
        plan.git("merge", "--squash", "--ff", "--no-autostash", commit)  # which no setting may contradict
        if not staged(plan.git):
            if plan.changes and not plan.replaced:
                raise WorkspaceError(Sentence("merge_brings_nothing"))
            return False
        plan.git("commit", "--quiet", "-F", "-", data=message.encode(errors="surrogateescape"))
    return True


def staged(git: Git) -> list[str]:
    """The paths whose next commit is prepared already."""
    return [path for path in os.fsdecode(git("diff", "--cached", "--name-only", "-z")).split("\0") if path]


def _attributes_first(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    first = [path for path in paths if path.rpartition("/")[2] == ".gitattributes"]
    return first, [path for path in paths if path not in set(first)]


def _remove(top: Path, paths: Iterable[str]) -> None:
    """Remove files, and the folders that they leave empty."""
    for path in paths:
        if not is_there(top, path):
            continue
        try:
            (top / path).unlink()
            for folder in reversed([*above(path)]):
                (top / folder).rmdir()
        except OSError as error:
            if (top / path).exists() or (top / path).is_symlink():
                raise WorkspaceError(f"{error.strerror}: {path}") from error


def _remove_empty(folder: Path) -> None:
    for each, _, _ in os.walk(folder, topdown=False):
        Path(each).rmdir()


def advance_checkout(plan: CheckoutMove, before: str, move: Callable[[], object]) -> None:
    """Bring index and files to the tree, then `move` the branch. Raises WorkspaceError; then nothing has changed."""
    with safely(plan):
        plan.git("update-index", "-q", "--refresh", codes=(0, 1))  # a copied checkout has the same files, newly dated
        plan.git("read-tree", "-m", "-u", before, plan.after)
        move()
