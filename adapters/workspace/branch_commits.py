"""Commits on a branch that a result was published as, which somebody has made since."""

from typing import Final, NamedTuple

from adapters.workspace.git import Lasting, line
from adapters.workspace.merges import MergeConflict, merge
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

MOST: Final = 500
"""Commits that are named."""
_NAMES: Final = "refs/hansard/people/"


class CommitsInTheWay(Lasting):
    """Commits on the branch cannot become part of the work: a person has to change the branch."""

    def __init__(self, words: Sentence, paths: tuple[str, ...]) -> None:
        super().__init__(words)
        self.paths = paths


class BranchCommits(NamedTuple):
    """The commits, oldest first, whose they are, and the state that has them and the work."""

    commits: tuple[str, ...]
    by: str
    tree: str


def head_under(repository: Repository, name: str) -> str | None:
    """Returns the commit that was kept under a name; None if there is none."""
    ref = f"{_NAMES}{name}"
    return line(repository.answered("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).stdout) or None


def keep_head(repository: Repository, name: str, head: str) -> None:
    """Keep a commit under a name, so that it is found again, whatever the branch becomes."""
    repository.run("update-ref", f"{_NAMES}{name}", head)


def commits_up_to(
    repository: Repository, head: str, branch: str, *, state: str, same_form: bool = True
) -> BranchCommits | None:
    """Returns what a commit of the branch has and the state has not; None if that is nothing. Raises CommitsInTheWay
    for what cannot be merged, and where the branch stores files in another form."""
    between = (f"--max-count={MOST}", f"{state}..{head}")
    commits = tuple(repository.run("rev-list", "--reverse", *between).decode().split())
    if not commits:
        return None
    by = _authors(repository.run("log", "--format=%an", *between).decode(errors="replace"))
    if not same_form:
        paths = repository.changed_files(line(repository.run("merge-base", state, head)), head)
        raise CommitsInTheWay(_sentence("commits_in_another_form", branch, by, paths), paths)
    try:
        return BranchCommits(commits, by, merge(repository, ours=state, theirs=head, message=f"Merge {branch}"))
    except MergeConflict as conflict:
        sentence = _sentence("commits_do_not_merge", branch, by, conflict.paths)
        raise CommitsInTheWay(sentence, conflict.paths) from None


def _authors(output: str) -> str:
    names = (" ".join(name.split())[:100] for name in output.splitlines())
    return ", ".join(list(dict.fromkeys(filter(None, names)))[:10])


def _sentence(code: str, branch: str, by: str, paths: tuple[str, ...]) -> Sentence:
    return Sentence(code, branch=branch, by=by, paths=", ".join(paths[:10]))
