"""`changes`, `apply`, `merge` and `pr`: from a session's result to your own branch."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from adapters.workspace import move
from adapters.workspace.move import patched_tree, planned, tree_of
from adapters.workspace.person import GitRefused, PersonsGit
from api.cli import exits
from api.cli.client import connected, path_of, resolve
from api.cli.exits import Failed, worded
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, AsJson, Id, Json, Where
from api.cli.repository import (
    Result,
    apart,
    branch_of,
    head_of,
    is_related,
    merged_tree,
    moved_branch,
    note_squash,
    refusing,
    result_of,
    run_git,
    title_of,
)
from api.cli.result_notes import only_applies, result_notes
from api.cli.session import reason_of
from api.cli.terminal import counted, paint, put, put_document, put_json, say, visible, visible_name

_FINISHED: Final = ("success", "done", "checkpoint")
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


async def changes(
    session: Id,
    /,
    *,
    stat: Annotated[bool, Parameter(help="Only the files and line counts.")] = False,
    turn: Annotated[str | None, Parameter(help="Only the changes of this turn.")] = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show what a session has changed, as a patch."""
    async with connected(where) as api:
        answer = await api.get(f"{path_of(await resolve(api, session))}/changes", turnId=turn)
    if json:
        put_json(answer)
    elif stat:
        _put_files(answer["files"])
    elif answer["patch"]:
        await asyncio.to_thread(_show, answer["patch"])
    if not answer["files"] and not answer["patch"]:
        say(sentence("Nothing was changed."))
    return exits.OK


def _put_files(files: Sequence[Json]) -> None:
    """A line each: what happened to it, how many lines, its name."""
    from rich.cells import cell_len, set_cell_size

    shown = [recorded("file", file["status"]) for file in files]
    width = max((9, *map(cell_len, shown)))
    for status, file in zip(shown, files, strict=True):
        lines = sentence("binary") if file["added"] is None else f"+{file['added']} -{file['removed']}"
        notes = [sentence("not named")] if not file["named"] else []
        notes += [sentence("decides the validation")] if file.get("decides") else []
        notes += [sentence("ignored by git")] if file.get("ignored") else []
        why = f"  ({', '.join(notes)})" if notes else ""
        put(f"{set_cell_size(status, width)} {lines:>12}  {visible_name(file['path'])}{why}")


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
        before = tree_of(git, head)
        if result.commit is not None and head is not None:
            after = merged_tree(result.top, *apart(result.top, result.changes["base"]["commit"], result.commit))
        else:
            after = _patched(git, before, result.changes["patch"])
        if before != after:
            move.apply_uncommitted(planned(git, result.top, before, after))
    paths = result.changes["files"]
    applied = sentence(
        "Applied to {top}, uncommitted: {files}.", top=result.top, files=counted(len(paths), "changed file")
    )
    say(applied if before != after else sentence("Your checkout already has all changes."))
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
        plan = planned(git, top, tree_of(git, before), _merged(result, before, commit))
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
    return tree_of(PersonsGit(result.top), commit) if before is None else merged_tree(result.top, "HEAD", commit)


def _patched(git: PersonsGit, tree: str, patch: str) -> str:
    """The tree with a patch. Raises Failed where it does not fit."""
    try:
        return patched_tree(git, tree, patch.encode(errors="surrogateescape"))
    except GitRefused as error:
        why = sentence("The changes do not apply to your checkout.")
        raise Failed(why, *error.lines[:20], code=exits.REFUSED) from None


def _mergeable(result: Result) -> str:
    """The session's commit. Raises Failed if the repository does not have it, or has nothing in common with it."""
    top, name = result.top, result.changes["branch"] or result.changes["head"]
    if only_applies(result.session):
        raise Failed(worded(result.session["result"], "branchProblem"), code=exits.REFUSED)
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
        say(sentence(moved, branch=branch))


async def pr(session: Id, /, *, where: Where = HERE) -> int:
    """Push a session's branch and open a pull request with `gh`; without `gh`, print the commands."""
    async with connected(where) as api:
        result = await result_of(api, session)
    branch = result.changes["branch"]
    if branch is None or result.commit is None:
        hint = sentence("`hansard changes` shows its changes.")
        raise Failed(sentence("This session has no branch in this repository."), hint, code=exits.REFUSED)
    source = f"refs/heads/{branch}" if _has_ref(result.top, f"refs/heads/{branch}") else result.commit
    if run_git(result.top, "remote", "get-url", "origin", codes=(0, 2, 128)).returncode:
        raise Failed(
            sentence("{top} has no remote named origin.", top=result.top),
            sentence("Add it first: git remote add origin URL"),
            code=exits.REFUSED,
        )
    if _has_ref(result.top, "refs/notes/ai"):
        say(sentence("To share the notes on which lines the agents wrote: git push origin refs/notes/ai"))
    title, body = (
        title_of(result.session),
        str(result.session.get("finalSummary") or result.session.get("summary") or ""),
    )
    if result.session.get("scripted"):
        note = sentence("Scripted: scripted agents took part; they do no real work.")
        say(note)
        body = "\n\n".join(filter(None, (note, body)))
    if shutil.which("gh") is None:
        put(f"git push origin {branch if source != result.commit else f'{source}:refs/heads/{branch}'}")
        put(f"gh pr create --head {branch} --fill-first")
        return exits.OK
    with refusing():
        PersonsGit(result.top)("push", "--quiet", "origin", f"{source}:refs/heads/{branch}")
    put(_pull_request(result.top, branch, title, body or title))
    return exits.OK


def _show(patch: str) -> None:
    """In colours, without the hashes of files, and through a pager (`PAGER` may have options) on a terminal, else as it
    is."""
    if not os.isatty(1):
        put_document(patch)
        return
    shown = (line for line in patch.splitlines() if not line.startswith("index "))
    lines = "\n".join(paint(visible(line), _style(line)) for line in shown)
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if not pager or shutil.which(pager[0]) is None:
        put(lines)
        return
    subprocess.run(pager, input=lines, text=True, env={"LESS": "FRX", **os.environ}, check=False)


def _style(line: str) -> str | None:
    return "bold" if line.startswith(("diff ", "+++ ", "--- ")) else _COLOURS.get(line[:1])


def _has_ref(top: Path, ref: str) -> bool:
    return run_git(top, "show-ref", "--verify", "--quiet", ref, codes=(0, 1, 128)).returncode == 0


def _message(result: Result, title: str, commit: str) -> str:
    """The message of one commit in place of many, with the trailers of all."""
    own = ["log", "--reverse", "--format=%(trailers:only,unfold)", f"HEAD..{commit}"]
    lines = [line for line in run_git(result.top, *own).stdout.splitlines() if line.startswith("Hansard-")]
    return "\n".join([title, "", *dict.fromkeys(lines)])


def _pull_request(top: Path, branch: str, title: str, body: str) -> str:
    """Its address."""
    command = ["gh", "pr", "create", "--head", branch, "--title", title, "--body", body]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("gh pr create failed."), *done.stderr.splitlines()[-5:])
    return done.stdout.strip()
