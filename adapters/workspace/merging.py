"""Agents' patches of single files, and merging two states of a workspace."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.workspace.git import OURS, DoesNotFit, WorkspaceError, branch_at, git, in_theirs, line
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence, because, sentence_of

LARGEST: Final = 16_777_216
"""Maximum size of a file that can be patched."""
_FILE: Final = "file"
_NOWHERE: Final = "/dev/null"
_GIT_IS_MISSING: Final = ("git_not_started", "git_too_slow")
"""Then the patch is not to blame."""


def patched(path: str, before: bytes | None, patch: str) -> bytes | None:
    """The file after applying a unified diff; None before or after: it does not exist. Names in the diff are ignored,
    line counts are recomputed. Raises DoesNotFit if it does not apply, or if it also covers other files."""
    with tempfile.TemporaryDirectory(prefix="hansard-patch-") as made:
        folder = Path(made)
        place = folder / _FILE
        if before is not None:
            place.write_bytes(before)
        try:
            git(
                ["apply", "--recount", "--unidiff-zero", "--whitespace=nowarn", "-"],
                cwd=folder,
                env={**OURS, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
                stdin=_alone(before is None, patch).encode(),
            )
            if any(entry != place for entry in folder.iterdir()):
                raise DoesNotFit(Sentence("patch_of_other_files"))
        except (WorkspaceError, UnicodeEncodeError) as error:
            if isinstance(sentence := sentence_of(error), Sentence) and sentence.code in _GIT_IS_MISSING:
                raise
            raise DoesNotFit(Sentence("patch_does_not_apply", path=path, detail=_why(error))) from None
        return place.read_bytes() if place.exists() else None


def _alone(new: bool, patch: str) -> str:
    """The hunks below our own header."""
    lines = patch.rstrip("\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("@@")), None)
    if start is None:
        raise DoesNotFit(Sentence("patch_without_hunk"))
    gone = any(line.split("\t")[0].rstrip() == f"+++ {_NOWHERE}" for line in lines[:start])
    kind = ["new file mode 100644"] if new else ["deleted file mode 100644"] if gone else []
    old, after = _NOWHERE if new else f"a/{_FILE}", _NOWHERE if gone else f"b/{_FILE}"
    head = [f"diff --git a/{_FILE} b/{_FILE}", *kind, f"--- {old}", f"+++ {after}"]
    return "\n".join([*head, *lines[start:], ""])


def _why(error: Exception) -> str:
    """The last error message of git, without our temporary file name."""
    if isinstance(error, UnicodeEncodeError):
        return Sentence("patch_not_text")
    if isinstance(sentence := sentence_of(error), Sentence) and sentence.code.startswith("patch_"):
        return sentence
    words = str(error).rpartition("error: ")[2].removeprefix(f"{_FILE}: ")
    return Sentence("patch_lines_missing") if words == "patch does not apply" else words


# -- merging two states ----------------------------------------------------------------------------------------------


_NAMED: Final = 10
"""How many files are named; the others are only counted."""


class MergeConflict(WorkspaceError):
    """Both sides changed the same lines, or one removed what the other changed."""

    def __init__(self, words: str, paths: tuple[str, ...]) -> None:
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


def _conflict(entries: list[bytes], *, suffixes: tuple[str, str]) -> tuple[str, tuple[str, ...]]:
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
    sentences = [f"changed the same lines of {_paths_text(both)}"] if both else []
    sentences += [f"removed, moved or replaced what the other changed: {_paths_text(one)}"] if one else []
    words = f"Two turns at once {' and '.join(sentences) or 'moved the same folders apart'}."
    return words, tuple(sorted(stages))


def _paths_text(paths: list[str]) -> str:
    named = ", ".join(sorted(paths)[:_NAMED])
    return named if len(paths) <= _NAMED else f"{named} and {len(paths) - _NAMED} more"


# Merging a result into a branch of the person's repository: first tried in our own repository, then the branch is
# moved.


_QUIET = ("--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-recurse-submodules")


_IN_THE_WAY: Final = "would be overwritten"
"""What git says of uncommitted changes and of new files."""


class CheckoutInTheWay(WorkspaceError):
    """The branch is checked out, and the merge would overwrite uncommitted changes there."""


class NoBranch(WorkspaceError):
    """The name is that of no branch of the repository."""


def commit_of_branch(theirs: Path, branch: str) -> str:
    """Raises NoBranch, and WorkspaceError if the repository is gone or cannot be opened."""
    if not theirs.is_dir():
        raise WorkspaceError(Sentence("repository_gone", path=theirs))
    try:
        git(["check-ref-format", "--branch", branch], cwd=Path(theirs.anchor))
    except WorkspaceError:
        raise NoBranch(Sentence("branch_name_invalid", branch=branch)) from None
    if commit := branch_at(theirs, branch):
        return commit
    try:
        in_theirs(["rev-parse", "--git-dir"], theirs)
    except WorkspaceError as error:
        raise WorkspaceError(because(Sentence("repository_not_opened", path=theirs), sentence_of(error))) from None
    raise NoBranch(Sentence("branch_not_found", branch=branch, path=theirs))


def tip(repository: Repository, theirs: Path, branch: str) -> str:
    """The commit of their branch, fetched into our repository."""
    commit = commit_of_branch(theirs, branch)
    repository.run("fetch", *_QUIET, str(theirs), f"refs/heads/{branch}")
    repository.run("update-ref", f"refs/hansard/{commit}", commit)
    return commit


def integrate(repository: Repository, *, onto: str, commit: str, message: str) -> str:
    """A merge commit of both, even if one is an ancestor of the other: `onto` gets one commit per result. Returns
    `onto` itself if it already contains everything. Raises MergeConflict."""
    merged = merge(repository, ours=onto, theirs=commit, message=message)
    if merged != commit:
        return merged
    tree = line(repository.run("rev-parse", "--verify", f"{commit}^{{tree}}"))
    return repository.record(tree, message=message, parents=(onto, commit))


def advance(repository: Repository, theirs: Path, branch: str, *, before: str, after: str) -> bool:
    """Move their branch from one commit to the next; False if it has moved meanwhile. If it is checked out, the
    checkout moves with it. Raises CheckoutInTheWay or WorkspaceError, and then nothing has changed."""
    repository.run("update-ref", f"refs/hansard/{after}", after)
    ref = f"refs/heads/{branch}"
    try:
        in_theirs(["fetch", *_QUIET, "--", str(repository.path), f"refs/hansard/{after}"], theirs)
        place = next(_checkouts(theirs, ref), None)
        if place is None:
            in_theirs(["update-ref", "-m", "hansard: land", ref, after, before], theirs)
        elif branch_at(theirs, branch) == before:
            in_theirs(["merge", "--quiet", "--ff-only", "--no-verify", after], place)
    except WorkspaceError as error:
        if branch_at(theirs, branch) == before:
            if _IN_THE_WAY in str(error):
                raise CheckoutInTheWay(str(error)) from None
            raise WorkspaceError(because(Sentence("repository_not_changed", path=theirs), sentence_of(error))) from None
    return branch_at(theirs, branch) == after


def _checkouts(theirs: Path, ref: str) -> Iterator[Path]:
    """The working trees in which the branch is checked out; one whose folder was deleted does not count."""
    for entry in in_theirs(["worktree", "list", "--porcelain", "-z"], theirs).decode().split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in entry.split("\0"))
        if fields.get("branch") == ref and (place := Path(fields["worktree"])).is_dir():
            yield place
