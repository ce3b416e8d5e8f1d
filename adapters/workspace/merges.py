"""Two states of a workspace become one that has both. Only objects are written."""

from collections import defaultdict
from typing import Final

from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

_NAMED: Final = 10
"""Files that are named; the others are only counted."""


class MergeConflict(WorkspaceError):
    """Both sides changed the same lines, or one removed what the other changed."""

    def __init__(self, words: Sentence, paths: tuple[str, ...]) -> None:
        super().__init__(words)
        self.paths = paths


def merge(repository: Repository, *, ours: str, theirs: str, message: str) -> str:
    """A commit that contains both, or one of the two if it already contains the other. Only objects are written, and no
    driver or filter runs: our git directory has none, and our attributes override the project's.

    WorkspaceError names the files for which it is unclear which of the two is meant.
    """
    with repository.knowing(ours, theirs):
        base = line(repository.answered("merge-base", ours, theirs, codes=(0, 1)).stdout)
        if base in (ours, theirs):
            return theirs if base == ours else ours
        names = ["--write-tree", "-z", "--no-messages", "--allow-unrelated-histories", ours, theirs]
        done = repository.answered("merge-tree", *names, codes=(0, 1))
    tree, *conflicts = done.stdout.rstrip(b"\0").split(b"\0")
    if done.returncode != 0:
        raise MergeConflict(*_conflict(conflicts, suffixes=(f"~{ours}", f"~{theirs}")))
    return repository.record(tree.decode(), message=message, parents=(ours, theirs))


def _conflict(entries: list[bytes], *, suffixes: tuple[str, str]) -> tuple[Sentence, tuple[str, ...]]:
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
    return _conflict_sentence(both, one), tuple(sorted(stages))


def _conflict_sentence(both: list[str], one: list[str]) -> Sentence:
    """`both`: files that both sides changed; `one`: those that one side removed, moved or replaced."""
    if both and one:
        return Sentence("turns_at_once_both", lines=_paths_text(both), paths=_paths_text(one))
    if both:
        return Sentence("turns_at_once_lines", paths=_paths_text(both))
    return Sentence("turns_at_once_removed", paths=_paths_text(one)) if one else Sentence("turns_at_once_folders")


def _paths_text(paths: list[str]) -> str:
    named, more = ", ".join(sorted(paths)[:_NAMED]), len(paths) - _NAMED
    return named if more <= 0 else Sentence("paths_and_more", paths=named, number=more)


def integrate(repository: Repository, *, onto: str, commit: str, message: str) -> str:
    """A merge commit of both, even if one is an ancestor of the other: `onto` gets one commit per result. Returns
    `onto` itself if it already contains everything. Raises MergeConflict."""
    merged = merge(repository, ours=onto, theirs=commit, message=message)
    if merged != commit or merged == onto:
        return merged
    tree = line(repository.run("rev-parse", "--verify", f"{commit}^{{tree}}"))
    return repository.record(tree, message=message, parents=(onto, commit))
