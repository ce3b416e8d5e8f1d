"""Finds which lines later commits added and removed."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from adapters.workspace.git import WorkspaceError, in_theirs
from domain.provenance.claims import CommitLines
from domain.provenance.distinction import FAINT, normal, weight
from domain.provenance.patches import hunks
from domain.provenance.work import written_runs

MOST_COMMITS: Final = 10_000

MOST_OLDER: Final = 1_000
"""Commits before the base of a session that are searched for lines that it may have restored."""

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
