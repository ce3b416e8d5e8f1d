"""Chooses what a workspace's git shows of the person's repository besides the commit that it starts from: every tag,
the base branch, and the remote-tracking branch that it is compared with. No other branch.

They are written as one file, as git packs them: a repository may have thousands of tags.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import SECONDS, WorkspaceError, in_theirs, line
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

_HEADS: Final = "refs/heads/"
_REMOTES: Final = "refs/remotes/"
_WORK: Final = "hansard"
_FORM: Final = "--format=%(objectname)%00%(refname)"
"""Without what a tag is about: for that, git would read the tag, which may be broken."""
_HEADER: Final = "# pack-refs with: peeled fully-peeled sorted \n"
_QUIET: Final = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")


class Reference(NamedTuple):
    """A full name, and the object that it leads to."""

    name: str
    object: str


def branch_of(folder: Path, *, seconds: float = SECONDS) -> str | None:
    """The checked-out branch of a repository; None for a detached head. Not with `--short`, which answers
    `heads/name` where a tag has the same name."""
    output = in_theirs(["symbolic-ref", "--quiet", "HEAD"], folder, codes=(0, 1), seconds=seconds)
    name = line(output)
    return name.removeprefix(_HEADS) if name.startswith(_HEADS) else None


IN_USE: Final = ("branch_checked_out", "branch_of_deleted_worktree")


def branch_in_use(folder: Path, branch: str, code: str = IN_USE[0]) -> Sentence | None:
    """Says that this branch is checked out, in the repository's own folder or in another worktree of it, with the
    sentence of this `code`; None if it is not. A worktree that was deleted without git counts, for git, too."""
    for entry in in_theirs(["worktree", "list", "--porcelain", "-z"], folder).split(b"\0\0"):
        words, *facts = entry.split(b"\0")
        if f"branch {_HEADS}{branch}".encode() in facts:
            place = Path(os.fsdecode(words.removeprefix(b"worktree ")))
            return Sentence(code if place.exists() else IN_USE[1], branch=branch, path=place)
    return None


def shown(folder: Path, branch: str | None) -> list[Reference]:
    """The references of the person's repository that are shown, sorted by name."""
    names = ["refs/tags/"]
    if branch is not None:
        names.append(_HEADS + branch)
    if (upstream := _upstream(folder, branch)) is not None:
        names.append(upstream)
    return _references(folder, names)


def visible_references(repository: Repository) -> list[Reference]:
    """The references that are shown, as our copy of the person's repository has them."""
    return _read(repository.run("for-each-ref", _FORM, "--", _HEADS, _REMOTES, "refs/tags/"))


def _references(folder: Path, names: Sequence[str]) -> list[Reference]:
    return sorted(_read(in_theirs(["for-each-ref", _FORM, "--", *names], folder)))


def _read(output: bytes) -> list[Reference]:
    rows = (row.split("\0") for row in output.decode(errors="surrogateescape").split("\n") if row)
    return [Reference(name, id) for id, name in rows]


def _upstream(folder: Path, branch: str | None) -> str | None:
    """The remote-tracking branch of the base's upstream; without one, the default branch of `origin`."""
    if branch is not None:
        named = line(in_theirs(["for-each-ref", "--format=%(upstream)", "--", _HEADS + branch], folder)).split("\n")
        if named[0].startswith(_REMOTES) and _references(folder, named[:1]):
            return named[0]
    default = line(in_theirs(["symbolic-ref", "--quiet", f"{_REMOTES}origin/HEAD"], folder, codes=(0, 1)))
    return default if default.startswith(_REMOTES) else None


def take(repository: Repository, folder: Path, wanted: Sequence[Reference]) -> None:
    """Give our copy of the person's repository these references. Objects that the copy lacks are fetched; a reference
    that leads nowhere in the person's repository, too, is left out."""
    present = _present(repository, wanted)
    if missing := [each for each in wanted if each.object not in present]:
        try:
            _fetch(repository, folder, "".join(f"+{each.name}:{each.name}\n" for each in missing))
        except WorkspaceError:
            _fetch_each(repository, folder, missing)
    pack(repository, wanted, repository)


def _fetch_each(repository: Repository, folder: Path, wanted: Sequence[Reference]) -> None:
    """One of them is broken, which must not cost the others."""
    for each in wanted:
        try:
            _fetch(repository, folder, f"+{each.name}:{each.name}\n")
        except WorkspaceError:  # the person's own git cannot read it either
            continue


def _fetch(repository: Repository, folder: Path, specs: str) -> None:
    command = [f"--git-dir={repository.path}", "fetch", *_QUIET, "--update-shallow", "--stdin", "--", str(folder)]
    in_theirs(command, repository.path, stdin=specs.encode(errors="surrogateescape"))


def _present(repository: Repository, wanted: Sequence[Reference], suffix: str = "") -> dict[str, str]:
    """Those of the objects that the repository has, each with the object that the suffix leads to."""
    names = "".join(f"{each.object}{suffix}\n" for each in wanted).encode()
    rows = repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", stdin=names).decode().splitlines()
    return {each.object: row for each, row in zip(wanted, rows, strict=True) if " " not in row}


def pack(repository: Repository, wanted: Sequence[Reference], objects: Repository) -> None:
    """Write these as the packed references of a repository, if the other one has their `objects`."""
    peeled = _present(objects, wanted, "^{}")
    rows = [_HEADER]
    for each in sorted(wanted, key=lambda each: each.name.encode(errors="surrogateescape")):
        if each.object in peeled:
            rows.append(f"{each.object} {each.name}\n")
            if peeled[each.object] != each.object:
                rows.append(f"^{peeled[each.object]}\n")
    (repository.path / "packed-refs").write_text("".join(rows), "utf-8", "surrogateescape")


def work_branch(shown: Sequence[Reference]) -> str:
    """The name of the branch that agents work on: one that no shown branch is called, or is below."""
    taken = {each.name.removeprefix(_HEADS).split("/")[0] for each in shown if each.name.startswith(_HEADS)}
    name = _WORK
    while name in taken:
        name += "-work"
    return name
