"""Two states in one: what agents have done at the same time, from the same start."""

from collections import defaultdict
from typing import Final

from adapters.workspace.errors import WorkspaceError
from adapters.workspace.git import line
from adapters.workspace.repository import Repository

_NAMED: Final = 10
"""So many files are named; of the others only the number."""


def merge(repository: Repository, *, ours: str, theirs: str, message: str) -> str:
    """A commit that has both, or the one of them that has the other already. Nothing is written but objects, no
    driver or filter runs: our git directory has none, and attributes of ours that beat the project's.

    WorkspaceError names the files where there is no telling which of the two is meant."""
    with repository.knowing(ours, theirs):
        base = line(repository.answered("merge-base", ours, theirs, codes=(0, 1)).stdout)
        if base in (ours, theirs):
            return theirs if base == ours else ours
        names = ["--write-tree", "-z", "--no-messages", "--allow-unrelated-histories", ours, theirs]
        done = repository.answered("merge-tree", *names, codes=(0, 1))
    tree, *conflicts = done.stdout.rstrip(b"\0").split(b"\0")
    if done.returncode != 0:
        raise WorkspaceError(_conflict(conflicts, suffixes=(f"~{ours}", f"~{theirs}")))
    return repository.record(tree.decode(), message=message, parents=(ours, theirs))


def _conflict(entries: list[bytes], *, suffixes: tuple[str, str]) -> str:
    """`entries` are git's: mode, id, stage (1: before, 2: ours, 3: theirs), tab, path."""
    stages: defaultdict[str, set[bytes]] = defaultdict(set)
    for entry in entries:
        facts, _, name = entry.partition(b"\t")
        path = name.decode(errors="replace")
        for suffix in suffixes:  # where a file meets a folder
            path = path.removesuffix(suffix)
        stages[path].add(facts.rpartition(b" ")[2])
    both = [path for path, seen in stages.items() if {b"2", b"3"} <= seen]
    one = [path for path, seen in stages.items() if not {b"2", b"3"} <= seen]
    sentences = [f"changed the same lines of {_listed(both)}"] if both else []
    sentences += [f"removed, moved or replaced what the other changed: {_listed(one)}"] if one else []
    return f"Two turns at once {' and '.join(sentences) or 'moved the same folders apart'}."


def _listed(paths: list[str]) -> str:
    named = ", ".join(sorted(paths)[:_NAMED])
    return named if len(paths) <= _NAMED else f"{named} and {len(paths) - _NAMED} more"
