"""`changes`, `apply`, `merge`, `pr` and `land`: from a session's result to your own branch."""

import asyncio
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.activity import StallWatch
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, AsJson, Id, Json, Where
from api.cli.repository import (
    Result,
    apart,
    merged_tree,
    note_squash,
    refuse,
    result_of,
    run_git,
    title_of,
    try_git,
    uncommitted,
)
from api.cli.session import reason_of
from api.cli.terminal import counted, paint, put, put_document, put_json, say, visible

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
        unnamed = sentence("not named")
        for file in answer["files"]:
            lines = sentence("binary") if file["added"] is None else f"+{file['added']} -{file['removed']}"
            put(f"{file['status']:<9} {lines:>12}  {file['path']}{'' if file['named'] else f'  ({unnamed})'}")
    elif answer["patch"]:
        await asyncio.to_thread(_show, answer["patch"])
    if not answer["files"] and not answer["patch"]:
        say(sentence("Nothing was changed."))
    return exits.OK


async def apply(session: Id, /, *, where: Where = HERE) -> int:
    """Apply a session's changes to your checkout, uncommitted.

    Changes nothing if those files have uncommitted changes of yours, or if both sides changed the same lines: exit
    code 4, with the files.
    """
    async with connected(where) as api:
        result = await result_of(api, session)
    _note_status(result)
    paths = [file["path"] for file in result.changes["files"]]
    refuse(sentence("These files have uncommitted changes:"), uncommitted(result.top, paths))
    patch = result.changes["patch"]
    if result.commit is not None:
        tree = merged_tree(result.top, *apart(result.top, result.changes["base"]["commit"], result.commit))
        patch = run_git(result.top, "diff-tree", "-p", "--binary", "--full-index", "HEAD", tree).stdout
    if patch:
        done = run_git(result.top, "apply", "--whitespace=nowarn", "-", stdin=patch, codes=(0, 1, 128))
        if done.returncode:
            raise Failed(
                sentence("The changes do not apply to your checkout."), *done.stderr.splitlines(), code=exits.REFUSED
            )
    applied = sentence(
        "Applied to {top}, uncommitted: {files}.", top=result.top, files=counted(len(paths), "changed file")
    )
    say(applied if patch else sentence("Your checkout already has all changes."))
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
    the files.
    """
    async with connected(where) as api:
        result = await result_of(api, session)
    _note_status(result)
    if result.commit is None:
        name = result.changes["branch"] or result.changes["head"]
        raise Failed(
            sentence("{top} does not have {name}: fetch it first, or use `hansard apply`.", top=result.top, name=name),
            code=exits.REFUSED,
        )
    merged_tree(result.top, "HEAD", result.commit)
    before, paths = _head(result.top), [file["path"] for file in result.changes["files"]]
    refuse(sentence("These files have uncommitted changes:"), uncommitted(result.top, paths))
    if squash:
        if _squash(result, result.commit):
            remaining = [file["path"] for file in result.changes["files"] if file["status"] != "deleted"]
            async with connected(where) as api:
                await note_squash(api, result.top, _head(result.top), remaining)
    else:
        title = f"Merge {result.changes['branch'] or result.session['id']}: {title_of(result.session)}"
        try_git(result.top, "merge", "--no-edit", "-m", title, result.commit)
    branch = run_git(result.top, "branch", "--show-current").stdout.strip() or "HEAD"
    merged = "{branch} already has these changes." if _head(result.top) == before else "Merged into {branch}."
    say(sentence(merged, branch=branch))
    return exits.OK


def _note_status(result: Result) -> None:
    """Say so if the work is not finished, before it gets into the checkout."""
    status, reason = str(result.session["status"]), reason_of(result.session)
    if status not in _FINISHED:
        words = f"{recorded('status', status)} ({reason})" if reason else recorded("status", status)
        note = "Session {id}: {status}. Its changes may not have passed validation or review."
        say(sentence(note, id=result.session["id"], status=words))


async def pr(session: Id, /, *, where: Where = HERE) -> int:
    """Push a session's branch and open a pull request with `gh`; without `gh`, print the commands."""
    async with connected(where) as api:
        result = await result_of(api, session)
    branch = result.changes["branch"]
    if branch is None or result.commit is None:
        hint = sentence("`hansard changes` shows its changes.")
        raise Failed(sentence("This session has no branch in this repository."), hint, code=exits.REFUSED)
    if run_git(result.top, "show-ref", "--verify", "--quiet", "refs/notes/ai", codes=(0, 1, 128)).returncode == 0:
        say(sentence("To share the notes on which lines the agents wrote: git push origin refs/notes/ai"))
    title, body = (
        title_of(result.session),
        str(result.session.get("finalSummary") or result.session.get("summary") or ""),
    )
    if shutil.which("gh") is None:
        put(f"git push origin {branch}")
        put(f"gh pr create --head {branch} --fill-first")
        return exits.OK
    try_git(result.top, "push", "--quiet", "origin", f"refs/heads/{branch}:refs/heads/{branch}")
    put(_pull_request(result.top, branch, title, body or title))
    return exits.OK


_WHY: Final = {
    "conflict": "conflicts",
    "validation": "the validation fails on the merge",
    "checkout": "uncommitted changes in the checkout are in the way",
}


async def land(
    *sessions: Annotated[str, Parameter(help="The sessions, in the order in which they land.")],
    onto: str | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Merge finished branches into one branch, one by one, each validated on top of those before it.

    A session whose branch conflicts or fails its validation is sent back: the target branch does not move, the reason
    is recorded with the session, and the others continue.

    Exit code: 0 all landed, 4 something was sent back.

    Parameters
    ----------
    onto
        The branch to land on. Default: the one that each session started from.
    """
    if not sessions:
        raise Failed(sentence("Name the sessions to land."), code=exits.USAGE)
    landed: list[Json] = []
    sent_back: list[Json] = []
    async with connected(where, "work") as api:
        for name in sessions:
            session_id = await resolve(api, name)
            outcome = await _landed(api, session_id, onto)
            (landed if "commit" in outcome else sent_back).append(outcome)
            put_line = say if json else put
            put_line(_words(outcome))
    for outcome in sent_back:
        if "before" in outcome and outcome["reason"] != "checkout":
            say(
                sentence(
                    "To have it done again on {onto} as it is now: hansard run --fix {session}",
                    onto=outcome["onto"],
                    session=outcome["session"],
                )
            )
    if json:
        put_json({"landed": landed, "sentBack": sent_back})
    return exits.REFUSED if sent_back else exits.OK


def _show(patch: str) -> None:
    """In colours on a terminal, and through a pager (`PAGER` may have options), else as it is."""
    if not os.isatty(1):
        put_document(patch)
        return
    lines = "\n".join(paint(visible(line), _style(line)) for line in patch.splitlines())
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if not pager or shutil.which(pager[0]) is None:
        put(lines)
        return
    subprocess.run(pager, input=lines, text=True, env={"LESS": "FRX", **os.environ}, check=False)


def _style(line: str) -> str | None:
    return "bold" if line.startswith(("diff ", "+++ ", "--- ")) else _COLOURS.get(line[:1])


def _head(top: Path) -> str:
    return run_git(top, "rev-parse", "HEAD").stdout.strip()


def _squash(result: Result, commit: str) -> bool:
    """One commit with the trailers of all; False where there was nothing to commit."""
    staged = run_git(result.top, "diff", "--cached", "--name-only", "-z").stdout.split("\0")
    refuse(sentence("These changes are staged already:"), filter(None, staged))
    own = ["log", "--reverse", "--format=%(trailers:only,unfold)", f"HEAD..{commit}"]
    lines = [line for line in run_git(result.top, *own).stdout.splitlines() if line.startswith("Hansard-")]
    try_git(result.top, "merge", "--squash", commit)
    if run_git(result.top, "diff", "--cached", "--quiet", codes=(0, 1)).returncode == 0:
        return False
    message = "\n".join([title_of(result.session), "", *dict.fromkeys(lines)])
    try_git(result.top, "commit", "--quiet", "-F", "-", stdin=message)
    return True


def _pull_request(top: Path, branch: str, title: str, body: str) -> str:
    """Its address."""
    command = ["gh", "pr", "create", "--head", branch, "--title", title, "--body", body]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("gh pr create failed."), *done.stderr.splitlines()[-5:])
    return done.stdout.strip()


async def _landed(api: Api, session_id: str, onto: str | None) -> Json:
    """Land one session, and wait for what comes of it."""
    try:
        answer = await api.post(f"{path_of(session_id)}/land", {"onto": onto})
    except Failed as error:
        if error.code != exits.REFUSED:
            raise
        return {"session": session_id, "onto": onto, "reason": "refused", "detail": " ".join(error.sentences)}
    seen, patience = int(answer["version"]) - 2, StallWatch(api)
    turn: str | None = None
    while True:
        events = await api.events(session_id, after=seen)
        for event in events:
            seen, data = int(event["version"]), event["data"]
            if event["type"] == "turn.requested" and data["work"] == "land":
                turn = data["turnId"]
            elif event["type"] == "session.landed" and turn:
                return {"session": session_id, "onto": data["onto"], "commit": data["commit"]}
            elif event["type"] == "session.sent_back" and turn:
                return {"session": session_id, **data}
            elif event["type"] in ("turn.failed", "turn.cancelled") and data["turnId"] == turn:
                detail = (data.get("failure") or {}).get("detail", "")
                return {"session": session_id, "onto": onto, "reason": "failed", "detail": detail}
        await patience.check([(await api.session(session_id))["session"]], moved=bool(events))
        if not events:
            await asyncio.sleep(api.poll)


def _words(outcome: Json) -> str:
    """One session's line, with the reasons below it."""
    name = outcome["session"]
    if "commit" in outcome:
        landed = sentence("landed on {branch} as {commit}", branch=outcome["onto"], commit=outcome["commit"][:10])
        return f"{name}  {landed}"
    why = sentence(_WHY[outcome["reason"]]) if outcome["reason"] in _WHY else outcome["detail"]
    paths, author = ", ".join(outcome.get("paths") or ()), outcome.get("author")
    back = sentence("sent back to {author}" if author else "sent back", author=author)
    head = f"{name}  {back}: {': '.join(filter(None, (why, paths)))}"
    reasons = outcome.get("reasons") or (outcome["detail"].splitlines() if outcome["reason"] == "validation" else ())
    return "\n".join([head, *(f"    {reason}" for reason in reasons)])
