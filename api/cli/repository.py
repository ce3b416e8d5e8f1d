"""The repository of the current folder, and a session's result in it. It is changed with the settings and hooks of the
person who works there."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from adapters.fence.choice import choose
from adapters.workspace import Workspaces
from adapters.workspace.conversion import converted
from adapters.workspace.conversion_scratch import NotConverted
from adapters.workspace.git import WorkspaceError
from adapters.workspace.history import offered
from adapters.workspace.move import InTheWay, check_not_busy
from adapters.workspace.notes import add_note
from adapters.workspace.person import GitRefused, Interrupted, PersonsGit
from adapters.workspace.replacement import ReplacedChanges, replaced_changes
from api.cli import exits
from api.cli.client import Api, path_of, resolve_to_change
from api.cli.error_words import in_words, words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.terminal import visible_name
from domain.provenance.notes import NotedTurn, note_of
from domain.values.sentences import sentence_of

if TYPE_CHECKING:
    from api.cli.answers import ChangesView, Session

_QUIET: Final = {"LC_ALL": "C.UTF-8", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
_READ_ONLY: Final = (
    "git cannot write in {folder}.",
    "Check its permissions, and whether its file system is read-only.",
)
_COMPLAINTS: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "not a git repository": (exits.USAGE, ("{folder} is not in a git repository.",)),
    "must be run in a work tree": (
        exits.REFUSED,
        (
            "{folder} is in a git repository without a checkout.",
            "Make one (git worktree add FOLDER BRANCH) and run the command there.",
        ),
    ),
    "dubious ownership": (
        exits.REFUSED,
        (
            "git does not trust {folder}, which belongs to another account.",
            "To trust it: git config --global --add safe.directory {folder}",
        ),
    ),
    "unable to create temporary file": (exits.REFUSED, _READ_ONLY),
    "insufficient permission": (exits.REFUSED, _READ_ONLY),
}
"""What git complains of, the exit code for it, and what to say instead."""
_HEADS: Final[Mapping[str, str]] = {
    "staged": "These changes are staged already:",
    "uncommitted": "These files have uncommitted changes:",
    "not_in_git": "These files are not in git and would be lost:",
}


class Result(NamedTuple):
    """A session with its changes; `commit` is its newest state, as it is known in the repository here, if it is."""

    session: "Session"
    changes: "ChangesView"
    top: Path
    commit: str | None
    problem: str | None = None
    """Why no commit can be made of it, where only the person's own git can convert its files."""
    patch: bytes | None = None
    """What `apply` uses then, if it is more than the printed changes, which only say of binary files that they
    differ."""

    @property
    def begun_at(self) -> str:
        """The commit that the session began with."""
        base = self.changes["base"]
        return base["commit"] if base else ""


async def note_squash(api: Api, top: Path, commit: str, paths: Iterable[str]) -> None:
    """Say in `refs/notes/ai` what the record knows of the commit's lines; nothing where it knows nothing."""

    works = defaultdict[NotedTurn, dict[str, list[int]]](dict)
    for path in paths:
        with suppress(Failed):  # the server may have no such repository
            for line in await api.values("/api/blame", repository=str(top), path=path, revision=commit):
                if line["session"] is not None and line["commit"] == commit:
                    writer = NotedTurn(
                        session=line["session"],
                        turn=line["turn"],
                        agent=line["agent"],
                        model=line["model"] or "",
                        iteration=str(line["iteration"] or ""),
                    )
                    works[writer].setdefault(path, []).append(line["line"])
    if works:
        with suppress(WorkspaceError):  # the commit is there; the note is not worth failing for
            add_note(top, commit, note_of(commit, list(works.items())))


async def result_of(api: Api, name: str) -> Result:
    """Raises Failed where nothing was changed, or here is no checkout."""
    session = (await api.session(await resolve_to_change(api, name)))["session"]
    diff: ChangesView = await api.get(f"{path_of(session['id'])}/changes")
    if diff["head"] is None or not diff["files"]:
        raise Failed(sentence("Session {id} changed nothing.", id=session["id"]), code=exits.REFUSED)
    top = Path(run_git(Path.cwd(), "rev-parse", "--show-toplevel").stdout.rstrip("\n"))
    result = session.get("result")
    repository = result and result["repository"]
    if repository and Path(repository) != top and not is_related(top, diff["base"]["commit"] if diff["base"] else ""):
        elsewhere = "{top} has nothing in common with session {id}, which worked on {repository}."
        raise Failed(sentence(elsewhere, top=top, id=session["id"], repository=repository), code=exits.REFUSED)
    try:
        return Result(session, diff, top, _fetched(api, session["id"], diff["head"], top))
    except WorkspaceError as error:  # only the person's own git can convert its files
        words = in_words(sentence_of(error))
        return Result(session, diff, top, None, words, _whole_patch(api, session["id"], diff["head"]))


def _fetched(api: Api, session_id: str, head: str, top: Path) -> str | None:
    """The commit, fetched out of the session's workspace where the repository does not have it yet, as the person's
    own git would have made it. Raises NotConverted where that cannot be done."""
    if _has(top, head):
        return head
    root = api.system.settings.node_dir / "workspaces" if api.system else None
    if root is None or not Workspaces(root).exists(session_id):
        return None

    try:
        commit = converted(Workspaces(root).existing(session_id), head, choose("auto"))
    except NotConverted:
        raise
    except WorkspaceError:  # the workspace has no such state any more
        return None
    source = offered(root, session_id, commit)
    if source is None:
        return None
    run_git(top, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source[0]), source[1])
    return commit if _has(top, commit) else None


def _whole_patch(api: Api, session_id: str, head: str) -> bytes | None:
    """All changes, out of the session's workspace; None if it is not on this machine."""
    if api.system is None:
        return None
    with suppress(WorkspaceError):
        return Workspaces(api.system.settings.node_dir / "workspaces").existing(session_id).whole_patch(head)
    return None


def moved_branch(result: Result) -> str | None:
    """The session's branch, if a person has changed it since."""
    branch = result.changes["branch"]
    if branch is None:
        return None
    tip = run_git(result.top, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", codes=(0, 1, 128)).stdout
    return branch if tip.strip() not in ("", result.changes["head"]) else None


def is_behind(result: Result) -> bool:
    """True if the session's branch is at an earlier commit of the session: what followed has not passed yet."""
    if result.commit is None:
        return False
    branch = f"refs/heads/{result.changes['branch']}"
    tip = run_git(result.top, "rev-parse", "--verify", "--quiet", branch, codes=(0, 1, 128)).stdout.strip()
    answer = run_git(result.top, "merge-base", "--is-ancestor", tip, result.commit, codes=(0, 1, 128))
    return bool(tip) and tip != result.commit and answer.returncode == 0


def is_related(top: Path, commit: str) -> bool:
    """True if the checkout and the commit have a common beginning."""
    return bool(run_git(top, "merge-base", "HEAD", commit, codes=(0, 1, 128)).stdout.strip())


def head_of(top: Path) -> str | None:
    """The commit that is checked out; None in a repository without any."""
    return run_git(top, "rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).stdout.strip() or None


def branch_of(top: Path) -> str:
    """The branch that is checked out. Raises Failed where there is none: a merge would be on no branch."""
    if branch := run_git(top, "branch", "--show-current").stdout.strip():
        return branch
    with refusing():
        check_not_busy(PersonsGit(top))  # a rebase comes back to its branch by itself
    raise Failed(
        sentence("No branch is checked out in {top}.", top=top),
        sentence("Switch to one (git switch BRANCH), or use `hansard apply`."),
        code=exits.REFUSED,
    )


def _has(top: Path, commit: str) -> bool:
    return run_git(top, "cat-file", "-e", f"{commit}^{{commit}}", codes=(0, 1, 128)).returncode == 0


def merged_tree(top: Path, ours: str, theirs: str, *, advice: Iterable[str] = ()) -> str:
    """The tree that has both. Raises Failed, with the files and what to do, where both changed the same lines."""
    words = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
    done = run_git(top, *words, codes=(0, 1))
    tree, *conflicts = done.stdout.rstrip("\0").split("\0")
    refuse(sentence("Both sides changed the same lines:"), conflicts if done.returncode else (), advice)
    return tree


def apart(top: Path, base: str, ours: str, commit: str) -> list[str]:
    """The checkout (`ours`) and the result as commits right after the session's base, in no branch. Merged, they do not
    bring what the base has and the checkout does not."""
    people = ["-c", "user.name=Hansard", "-c", "user.email=hansard@hansard.invalid", "-c", "commit.gpgSign=false"]
    make = [*people, "commit-tree", "-m", "Compared", "-p", base]
    return [run_git(top, *make, f"{each}^{{tree}}").stdout.strip() for each in (ours, commit)]


def replaced_of(result: Result, head: str | None) -> ReplacedChanges | None:
    """The uncommitted changes that the result was made from, as far as the checkout still has them; None for a result
    that was made from a commit."""
    base = result.changes["base"]
    reviewed_on = base and base.get("reviewedOn")
    if head is None or result.commit is None or base is None or not reviewed_on:
        return None
    return replaced_changes(PersonsGit(result.top), result.top, head, reviewed=base["commit"], on=reviewed_on)


def refuse(why: str, paths: Iterable[str], advice: Iterable[str] = ()) -> None:
    """Raises Failed where there are paths."""
    if named := sorted(set(paths)):
        raise Failed(why, *map(visible_name, named), *advice, code=exits.REFUSED)


def title_of(session: "Session") -> str:
    return str(session.get("title") or session["id"])[:72]


@contextmanager
def refusing() -> Iterator[None]:
    """A move of the checkout that is not possible ends the command: exit code 4, with the paths; nothing changed."""
    try:
        yield
    except InTheWay as error:
        if error.obstacle in _HEADS:
            refuse(sentence(_HEADS[error.obstacle]), error.paths)
        raise Failed(words_of(error), *_kept_in(error), code=exits.REFUSED) from None
    except GitRefused as error:
        refused = sentence("git {command} refused.", command=error.command)
        raise Failed(refused, *error.lines[:20], *_kept_in(error), code=exits.REFUSED) from None
    except WorkspaceError as error:
        raise Failed(words_of(error), *_kept_in(error), code=exits.REFUSED) from None
    except Interrupted as stopped:
        stopped.pass_on()


def _kept_in(error: WorkspaceError) -> tuple[str, ...]:
    """Says where the files are that a hook, or somebody else, wrote before all was put back."""
    if error.kept_in is None:
        return ()
    return (sentence("Files that were written meanwhile are kept for 30 days in {path}.", path=error.kept_in),)


def run_git(
    folder: Path, *words: str, stdin: str = "", codes: tuple[int, ...] = (0,)
) -> "subprocess.CompletedProcess[str]":
    """Line endings stay as they are, also those of other systems."""
    command = ["git", "-c", "core.quotePath=false", *words]
    data = stdin.encode(errors="surrogateescape")
    raw = subprocess.run(
        command, cwd=folder, env={**os.environ, **_QUIET}, input=data, capture_output=True, check=False
    )
    out, err = (each.decode(errors="surrogateescape") for each in (raw.stdout, raw.stderr))
    done = subprocess.CompletedProcess(command, raw.returncode, out, err)
    if done.returncode in codes:
        return done
    for complaint, (code, lines) in _COMPLAINTS.items():
        if complaint in done.stderr:
            raise Failed(*(sentence(line, folder=folder) for line in lines), code=code)
    name = next(word for at, word in enumerate(words) if "-c" not in words[max(0, at - 1) : at + 1])
    raise Failed(f"git {name}: {' '.join(done.stderr.split())[-500:] or done.returncode}", code=exits.REFUSED)
