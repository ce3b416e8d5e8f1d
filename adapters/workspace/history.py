"""What changed in a workspace: between two states, and which commit each line of a file comes from.

Two states differ by commits, and by files with their lines. Blame also says which lines later commits added and
removed.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from adapters.workspace.borrowed_objects import promisor
from adapters.workspace.git import WorkspaceError, in_theirs, line
from adapters.workspace.recording_rules import ignored_at, ignored_now
from adapters.workspace.repository import Repository
from domain.provenance.claims import BlamedLine, CommitLines
from domain.provenance.distinction import FAINT, normal, weight
from domain.provenance.patches import hunks
from domain.provenance.work import written_runs
from domain.session.workspace import ChangedFile, FileStatus, WorkspaceChanges
from domain.values.sentences import Sentence

MOST_FILES: Final = 1_000
"""How many files and commits are listed; the other files are only counted."""
_STATUSES: Final[dict[str, FileStatus]] = {"A": "added", "D": "deleted", "R": "renamed"}
_PLAIN: Final = ("-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def compared(repository: Repository, before: str, after: str) -> WorkspaceChanges:
    """Raises WorkspaceError if one of them is not recorded."""
    with repository.knowing(before, after):
        commits = repository.run("rev-list", "--reverse", "--topo-order", f"{before}..{after}").decode().split()
    files = _with_ignored(repository, before, after, changed_files(repository, before, after))
    return WorkspaceChanges(
        head=after,
        commits=tuple(commits[-MOST_FILES:]),
        files=files[:MOST_FILES],
        more_files=max(0, len(files) - MOST_FILES),
    )


def _with_ignored(
    repository: Repository, before: str, after: str, files: tuple[ChangedFile, ...]
) -> tuple[ChangedFile, ...]:
    """The files, with a mark on new ones that are ignored, by the rules before or by those after."""
    new = [os.fsencode(file.path) for file in files if file.status in ("added", "renamed")]
    if not new:
        return files
    ignored = ignored_at(repository, before, new)
    if any(file.path.rpartition("/")[2] == ".gitignore" for file in files):
        ignored |= ignored_now(repository, after, new)
    names = {os.fsdecode(path) for path in ignored}
    return tuple(file.model_copy(update={"ignored": True}) if file.path in names else file for file in files)


def changed_files(repository: Repository, before: str, after: str) -> tuple[ChangedFile, ...]:
    """All of them, by path. Raises WorkspaceError if one of the states is not recorded."""
    with repository.knowing(before, after):
        listing = repository.run("diff-tree", *_PLAIN, "--name-status", before, after)
        lines = dict(_lines(repository.run("diff-tree", *_PLAIN, "--numstat", before, after)))
    return tuple(
        ChangedFile(path=path, status=status, added=added, removed=removed, renamed_from=old)
        for path, status, old in sorted(statuses(listing))
        for added, removed in [lines.get(path, (None, None))]
    )


def _words(output: bytes) -> Iterator[str]:
    return (word.decode(errors="replace") for word in output.split(b"\0") if word)


def statuses(output: bytes) -> Iterator[tuple[str, FileStatus, str | None]]:
    """`M`, path; or `R100`, the old path, the new one. Path, status, and where it was renamed from."""
    words = _words(output)
    for letter in words:
        path = next(words)
        renamed = letter[0] == "R"
        yield next(words) if renamed else path, _STATUSES.get(letter[0], "modified"), path if renamed else None


def _lines(output: bytes) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """`added<tab>removed<tab>path`; of a renamed file the path is empty, and the old and the new one follow. A binary
    file has `-` for both."""
    words = _words(output)
    for entry in words:
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(words)
            path = next(words)
        yield path, (_number(added), _number(removed))


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else None


def kept_patch(root: Path, sessions: Iterable[str], before: str, after: str) -> str | None:
    """A unified diff from the first of these sessions' workspaces that has both states; None if none has."""
    for name in sessions:
        place = root / name / "repo.git"
        if place.parent.parent == root and place.is_dir():
            with suppress(WorkspaceError):
                return Repository(place).patch(before, after)
    return None


def offered(root: Path, session: str, commit: str) -> tuple[Path, str] | None:
    """The repository, and the ref in it, from which a session's commit can be fetched; None if it is not here."""
    place, ref = root / session / "repo.git", f"refs/hansard/{commit}"
    if place.parent.parent != root or not place.is_dir():
        return None
    with suppress(WorkspaceError):
        Repository(place).check(commit)
        Repository(place).run("update-ref", ref, commit)
        return place, ref
    return None


def is_recorded(place: Path, commit: str) -> bool:
    """True if the repository of a workspace has the commit."""
    try:
        Repository(place).check(commit)
    except WorkspaceError:
        return False
    return True


# -- blame -------------------------------------------------------------------------------------------------------------


MOST_LINES: Final = 50_000
MOST_MIB: Final = 16
"""The largest file whose lines are looked for."""
MOST_COMMITS: Final = 10_000
MOST_OLDER: Final = 1_000
"""How many commits before the base of a session are searched for lines that it may have restored."""
_MARK: Final = "\x01"
_FORM: Final = "%x01%H%x00%P%x00%(trailers:key=Hansard-Turn,valueonly,separator=%x20)"
_PATCHES: Final = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-show-signature", "--no-notes",
    "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "-U1", "-w", "--cc",
)  # fmt: skip


_NAMED: Final = ("refs/heads", "refs/remotes", "refs/tags")


def is_reachable(folder: Path, commit: str, others: Callable[[], Iterable[str]]) -> bool:
    """Returns whether a branch, a tag, what is checked out or one of the other commits leads to this commit."""
    if in_theirs(["for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname)", *_NAMED], folder).strip():
        return True
    return any(_leads_to(folder, other, commit) for other in ("HEAD", *others()))


def _leads_to(folder: Path, later: str, commit: str) -> bool:
    try:
        in_theirs(["merge-base", "--is-ancestor", commit, later], folder)
    except WorkspaceError:  # also where the later commit is not in the repository
        return False
    return True


def commit_of(folder: Path, revision: str) -> str:
    """Raises WorkspaceError if this is not a commit."""
    return line(in_theirs(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], folder))


class NotHere(WorkspaceError):
    """A partial clone lacks what is asked for. It is not fetched: reading uses no network."""


def blamed(folder: Path, path: str, commit: str) -> list[BlamedLine]:
    """The lines of a file in a commit. Raises WorkspaceError if the file is not in it, or too large."""
    if _bytes_of(folder, path, commit) > MOST_MIB * 2**20:
        raise WorkspaceError(Sentence("too_large_to_blame", path=path, most=MOST_MIB))
    question = ["blame", "--porcelain", "--no-textconv", "-w", "--ignore-revs-file=", commit, "--", path]
    try:
        output = in_theirs(question, folder)
    except WorkspaceError as error:
        if _is_file(folder, path, commit) and promisor(folder) is not None:
            raise NotHere(Sentence("blame_lacks_objects", path=path)) from error
        raise
    lines: list[BlamedLine] = []
    origins: dict[str, str] = {}
    source, number = "", 0
    for words in output.decode(errors="replace").split("\n"):
        if words.startswith("\t"):
            lines.append(BlamedLine(len(lines) + 1, words[1:], source, origins.get(source, path), number))
        elif words.startswith("filename "):
            origins[source] = words.removeprefix("filename ")
        elif len(head := words.split(" ")) >= 3 and len(head[0]) in (40, 64) and head[1].isdigit():
            source, number = head[0], int(head[1])
    if len(lines) > MOST_LINES:
        raise WorkspaceError(Sentence("too_many_lines", path=path, most=MOST_LINES))
    return lines


def _is_file(folder: Path, path: str, commit: str) -> bool:
    with suppress(WorkspaceError):
        return bool(in_theirs(["--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", path], folder))
    return False


def _bytes_of(folder: Path, path: str, commit: str) -> int:
    """0 for what is not a file of the commit."""
    with suppress(WorkspaceError):
        return int(line(in_theirs(["cat-file", "-s", f"{commit}:{path}"], folder)))
    return 0


def shared_base(folder: Path, commits: Sequence[str]) -> str | None:
    """The last commit that all of these descend from; commits that are not here any more are ignored."""
    here = [commit for commit in dict.fromkeys(commits) if _has(folder, commit)]
    with suppress(WorkspaceError):
        return line(in_theirs(["merge-base", "--octopus", *here], folder)) if here else None
    return None


def _has(folder: Path, commit: str) -> bool:
    with suppress(WorkspaceError):
        in_theirs(["cat-file", "-e", f"{commit}^{{commit}}"], folder)
        return True
    return False


def commits_since(
    folder: Path,
    head: str,
    base: str | None,
    wanted: Collection[str],
    cache: dict[str, CommitLines],
    *,
    names: Collection[str],
) -> list[CommitLines]:
    """The commits that lead to `head`, oldest first, with how often each adds and removes the wanted lines. If there
    are very many, only the known ones. Earlier results are in `kept`."""
    span = [head] if base is None else [head, f"^{base}"]
    order = ["--topo-order", "--reverse", f"--max-count={MOST_COMMITS + 1}"]
    commits = in_theirs(["rev-list", *order, *span], folder).decode().split()
    if len(commits) > MOST_COMMITS:
        commits = [commit for commit in commits if commit in names]
    _read([commit for commit in commits if commit not in cache], folder, wanted, cache)
    return [cache[commit] for commit in commits if commit in cache]


def lines_before(
    folders: Sequence[Path], commit: str, wanted: Collection[str], cache: dict[str, CommitLines]
) -> frozenset[str]:
    """The wanted lines that the last commits up to this one removed, read from the first of the repositories that
    has it. Earlier results are in `kept`."""
    for folder in folders:
        with suppress(WorkspaceError):
            commits = in_theirs(["rev-list", f"--max-count={MOST_OLDER}", commit], folder).decode().split()
            _read([name for name in commits if name not in cache], folder, wanted, cache)
            return frozenset(line for name in commits if name in cache for line in cache[name].removed)
    return frozenset()


def _read(commits: Sequence[str], folder: Path, wanted: Collection[str], cache: dict[str, CommitLines]) -> None:
    if not commits:
        return
    names = "".join(f"{commit}\n" for commit in commits).encode()
    with tempfile.TemporaryFile() as output:
        command = ["log", "--no-walk=unsorted", "--stdin", "-p", f"--format={_FORM}", *_PATCHES]
        in_theirs(command, folder, stdin=names, output=output)
        output.seek(0)
        cache.update((each.commit, each) for each in _commits(_text_lines(output), wanted))


def _text_lines(output: IO[bytes]) -> Iterator[str]:
    return (words.rstrip(b"\n").decode(errors="replace") for words in output)


def _commits(lines: Iterable[str], wanted: Collection[str]) -> Iterator[CommitLines]:
    commit: CommitLines | None = None
    patch: list[str] = []
    for words in lines:
        head = words.split("\0") if words.startswith(_MARK) else []
        if len(head) != 3:
            patch.append(words)
            continue
        if commit:
            yield _counted(commit, patch, wanted)
        commit, patch = _commit(*head), []
    if commit:
        yield _counted(commit, patch, wanted)


def _commit(name: str, parents: str, turns: str) -> CommitLines:
    return CommitLines(name.removeprefix(_MARK), tuple(parents.split()), tuple(turns.split()), Counter(), Counter())


def _counted(commit: CommitLines, patch: Iterable[str], wanted: Collection[str]) -> CommitLines:
    for hunk in hunks(patch):
        for change in hunk.lines:
            if change.sign != " " and (name := normal(change.text)) in wanted:
                (commit.added if change.sign == "+" else commit.removed)[name] += 1
        lines = [(change.sign == "+", normal(change.text)) for change in hunk.lines if change.sign != "-"]
        telling = {
            name
            for change in hunk.lines
            if change.sign == "+" and (name := normal(change.text)) in wanted and weight(change.text) >= FAINT
        }
        commit.runs.extend((hunk.path, run) for run in written_runs(lines) if not telling.isdisjoint(run.names))
    return commit


def reachable(folder: Path, head: str, base: str | None) -> frozenset[str]:
    """The commits that lead to `head` but not to `base`; none if `head` is not here any more."""
    with suppress(WorkspaceError):
        span = [head] if base is None else [head, "--not", base]
        output = in_theirs(["rev-list", f"--max-count={MOST_COMMITS}", *span], folder)
        return frozenset(output.decode().split())
    return frozenset()


def lines_in(folders: Sequence[Path], commit: str, wanted: Collection[str]) -> frozenset[str] | None:
    """The lines (without surrounding blanks) that a file of the commit contains, read from the first of the
    repositories that has the commit. None if none has it."""
    for folder in folders:
        with suppress(WorkspaceError), tempfile.TemporaryFile() as output:
            in_theirs(["cat-file", "-e", f"{commit}^{{commit}}"], folder)
            plain = ["-h", "-I", "--no-color", "--no-line-number", "--no-column"]
            in_theirs(["grep", *plain, "-e", "", commit], folder, output=output, codes=(0, 1))
            output.seek(0)
            sought = {words.encode(errors="replace"): words for words in wanted}
            return frozenset(sought[words] for each in output if (words := each.strip()) in sought)
    return None
