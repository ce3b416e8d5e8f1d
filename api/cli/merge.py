"""`hansard merge`, `apply`: a session's result in your own branch or checkout."""

from collections.abc import Iterator
from typing import Annotated, Final

from cyclopts import Parameter

from adapters.workspace import move
from adapters.workspace.move import patched_tree, planned, tree_of
from adapters.workspace.patches import lacks_bytes
from adapters.workspace.person import GitRefused, PersonsGit
from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed, worded
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, Id, Where
from api.cli.repository import (
    Result,
    apart,
    branch_of,
    head_of,
    is_behind,
    is_related,
    merged_tree,
    moved_branch,
    note_squash,
    refusing,
    replaced_of,
    result_of,
    run_git,
    title_of,
)
from api.cli.result_notes import only_applies, result_notes
from api.cli.session import reason_of
from api.cli.terminal import counted, say

_FINISHED: Final = ("success", "done", "checkpoint")


async def apply(session: Id, /, *, where: Where = HERE) -> int:
    """Apply a session's changes to your checkout, uncommitted.

    Changes nothing if those files have uncommitted changes of yours, or if both sides changed the same lines: exit
    code 4, with the files.
    """
    async with connected(where) as api:
        result = await result_of(api, session)
    _note_status(result)
    git, head = PersonsGit(result.top), head_of(result.top)
    with refusing():
        before, old = tree_of(git, head), replaced_of(result, head)
        if result.commit is not None and head is not None:
            base, ours = (old.base, old.tree) if old else (result.begun_at, "HEAD")
            both = apart(result.top, base, ours, result.commit)
            after = merged_tree(result.top, *both, advice=_on_conflict(result, "git merge --no-commit {name}"))
        else:
            after = _patched(git, before, _patch_of(result))
        paths = old.paths if old else frozenset()
        if before != after or paths:
            move.apply_uncommitted(planned(git, result.top, before, after, replaced=paths))
    files = counted(len(result.changes["files"]), "changed file")
    applied = sentence("Applied to {top}, uncommitted: {files}.", top=result.top, files=files)
    say(applied if before != after or paths else sentence("Your checkout already has all changes."))
    return exits.OK


async def merge(
    session: Id,
    /,
    *,
    squash: Annotated[bool, Parameter(help="Make one commit with the task as its subject.")] = False,
    where: Where = HERE,
) -> int:
    """Merge a session's changes into the current branch.

    Changes nothing if both sides changed the same lines, or if uncommitted changes are in the way: exit code 4, with
    the files. A branch without commits gets those of the session.
    """
    async with connected(where) as api:
        result = await result_of(api, session)
    _note_status(result)
    top, branch, commit, before = result.top, branch_of(result.top), _mergeable(result), head_of(result.top)
    if before is None and squash:
        squashing = "{branch} has no commit to add one to: merge without --squash."
        raise Failed(sentence(squashing, branch=branch), code=exits.REFUSED)
    git = PersonsGit(top)
    with refusing():
        old = replaced_of(result, before)
        tree, paths = _merged(result, before, commit), old.paths if old else ()
        plan = planned(git, top, tree_of(git, before), tree, replaced=paths)
        name, title = result.changes["branch"] or result.session["id"], title_of(result.session)
        squashed = squash and move.squash(plan, commit, message=_message(result, title, commit))
        if not squash:
            move.merge(plan, commit, title=f"Merge {name}: {title}")
    if squashed:
        remaining = [file["path"] for file in result.changes["files"] if file["status"] != "deleted"]
        async with connected(where) as api:
            await note_squash(api, top, str(head_of(top)), remaining)
    merged = "{branch} already has these changes." if head_of(top) == before else "Merged into {branch}."
    say(sentence(merged, branch=branch))
    return exits.OK


def _merged(result: Result, before: str | None, commit: str) -> str:
    """The tree that the branch is going to have."""
    if before is None:
        return tree_of(PersonsGit(result.top), commit)
    return merged_tree(result.top, "HEAD", commit, advice=_on_conflict(result, "git merge {name}"))


def _on_conflict(result: Result, command: str) -> Iterator[str]:
    """Says what a person can do where both sides changed the same lines."""
    command = command.format(name=result.changes["branch"] or result.commit)
    yield sentence("To settle them by hand: {command}", command=command)
    if result.changes["branch"]:
        yield sentence(
            "To have it done again on what is here now: `land` sends it back to its author, and `run --fix` does it"
            " again."
        )


def _patch_of(result: Result) -> bytes:
    """The changes as git can apply them. Raises Failed where only the printed ones are known, and they do not hold
    every byte."""
    if result.patch is not None:
        return result.patch
    patch = result.changes["patch"]
    if lacks_bytes(patch):
        why = "Not every byte of these changes is known here: run `hansard apply` on the machine that worked on them."
        raise Failed(sentence(why), code=exits.REFUSED)
    return patch.encode(errors="surrogateescape")


def _patched(git: PersonsGit, tree: str, patch: bytes) -> str:
    """The tree with a patch. Raises Failed where it does not fit."""
    try:
        return patched_tree(git, tree, patch)
    except GitRefused as error:
        why = sentence("The changes do not apply to your checkout.")
        raise Failed(why, *error.lines[:20], code=exits.REFUSED) from None


def _mergeable(result: Result) -> str:
    """The session's commit. Raises Failed if the repository does not have it, or has nothing in common with it."""
    top, name = result.top, result.changes["branch"] or result.changes["head"]
    if only_applies(result.session):
        raise Failed(worded(result.session["result"] or {}, "branchProblem"), code=exits.REFUSED)
    if result.problem is not None:
        raise Failed(result.problem, code=exits.REFUSED)
    if result.commit is None:
        why = sentence("{top} does not have {name}: fetch it first, or use `hansard apply`.", top=top, name=name)
        raise Failed(why, code=exits.REFUSED)
    if head_of(top) is not None and not is_related(top, result.commit):
        why = sentence("{top} has no commit in common with {name}: use `hansard apply`.", top=top, name=name)
        raise Failed(why, code=exits.REFUSED)
    return result.commit


def _note_status(result: Result) -> None:
    """Say so if the work is not finished, before it gets into the checkout."""
    status, reason = str(result.session["status"]), reason_of(result.session)
    if status not in _FINISHED:
        words = f"{recorded('status', status)} ({reason})" if reason else recorded("status", status)
        note = "Session {id}: {status}. Its changes may not have passed validation or review."
        say(sentence(note, id=result.session["id"], status=words))
    for each in result_notes(result.session):
        say(each)
    if branch := moved_branch(result):
        moved = (
            "{branch} was changed after the session. These are the session's own changes;"
            " for the branch: git merge {branch}"
        )
        behind = (
            "{branch} holds what passed before. These are the newer changes, too, which have not passed;"
            " without them: git merge {branch}"
        )
        say(sentence(behind if status not in _FINISHED and is_behind(result) else moved, branch=branch))


def _message(result: Result, title: str, commit: str) -> str:
    """The message of one commit in place of many, with the trailers of all."""
    own = ["log", "--reverse", "--format=%(trailers:only,unfold)", f"HEAD..{commit}"]
    lines = [line for line in run_git(result.top, *own).stdout.splitlines() if line.startswith("Hansard-")]
    return "\n".join([title, "", *dict.fromkeys(lines)])
