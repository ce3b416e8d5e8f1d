"""Commits that git reads in another form, in our repository (`git replace`).

Git stores some files in another form than a checkout shows: Git LFS pointers, ciphertext, other encodings and line
endings. Where agents are to see the shown form (`[workspace] filters = true`), a commit has a twin that holds it, and
git reads the twin in the commit's place. Ids, history and what is fetched from here stay as they are.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from adapters.workspace.git import line
from adapters.workspace.repository import Repository

REPLACED: Final = "refs/replace/"
_AS_THEY_ARE: Final = "* -text !eol !crlf !ident !filter !working-tree-encoding\n"
"""For the agents' own git: files have the shown form there already."""

Show = Callable[[Repository, str, Mapping[str, Any], Path, bool], str | None]
"""Has a commit seen as a checkout would show it, by facts from `conversion_of`, in the repository at that path, which
may be bare. Returns the twin; None where both are the same."""


def twin_of(repository: Repository, commit: str) -> str | None:
    """The commit that git reads in place of this one."""
    words = ("rev-parse", "--verify", "--quiet", f"{REPLACED}{commit}")
    return line(repository.answered(*words, codes=(0, 1)).stdout) or None


def replace(repository: Repository, commit: str, tree: str) -> str:
    """Have git read this tree as that of the commit. Returns the twin."""
    head, separator, message = repository.stored.run("cat-file", "commit", commit).partition(b"\n\n")
    lines = [b"tree " + tree.encode(), *head.split(b"\n")[1:]]
    whole = b"\n".join(lines) + separator + message
    twin = line(repository.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=whole))
    repository.run("update-ref", f"{REPLACED}{commit}", twin)
    return twin


def give_twins(repository: Repository, inside: Repository) -> None:
    """Let another repository on the same objects see the same commits otherwise."""
    place = repository.path / REPLACED
    if not place.is_dir():
        return
    for entry in sorted(place.iterdir()):
        inside.write(f"{REPLACED}{entry.name}", entry.read_text("ascii"))
    inside.write("info/attributes", _AS_THEY_ARE)
