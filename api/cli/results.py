"""`changes`, `apply`, `merge` and `pr`: from a session's result to your own branch."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, Json, Where
from api.cli.terminal import counted, paint, put, put_document, put_json, say, visible

_QUIET: Final = {"LC_ALL": "C.UTF-8", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


class Result(NamedTuple):
    """A session with its changes; `commit` is its newest state, as it is known in the repository here, if it is."""

    session: Json
    changes: Json
    top: Path
    commit: str | None


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


async def apply(session: Id, /, *, where: Where = HERE) -> int:
    """Apply a session's changes to your checkout, uncommitted.

    Changes nothing if those files have uncommitted changes of yours, or if both sides changed the same lines: exit
    code 4, with the files.
    """
    async with connected(where) as api:
        result = await _result(api, session)
    paths = [file["path"] for file in result.changes["files"]]
    _refuse(sentence("These files have uncommitted changes:"), _dirty(result.top, paths))
    patch = result.changes["patch"]
    if result.commit is not None:
        tree = _merged(result.top, *_apart(result.top, result.changes["base"]["commit"], result.commit))
        patch = _git(result.top, "diff-tree", "-p", "--binary", "--full-index", "HEAD", tree).stdout
    if patch:
        done = _git(result.top, "apply", "--whitespace=nowarn", "-", stdin=patch, codes=(0, 1, 128))
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
        result = await _result(api, session)
    if result.commit is None:
        name = result.changes["branch"] or result.changes["head"]
        raise Failed(
            sentence("{top} does not have {name}: fetch it first, or use `hansard apply`.", top=result.top, name=name),
            code=exits.REFUSED,
        )
    _merged(result.top, "HEAD", result.commit)
    before, paths = _head(result.top), [file["path"] for file in result.changes["files"]]
    _refuse(sentence("These files have uncommitted changes:"), _dirty(result.top, paths))
    if squash:
        if _squash(result, result.commit):
            remaining = [file["path"] for file in result.changes["files"] if file["status"] != "deleted"]
            async with connected(where) as api:
                await note_squash(api, result.top, _head(result.top), remaining)
    else:
        title = f"Merge {result.changes['branch'] or result.session['id']}: {_title(result.session)}"
        _tried(result.top, "merge", "--no-edit", "-m", title, result.commit)
    branch = _git(result.top, "branch", "--show-current").stdout.strip() or "HEAD"
    merged = "{branch} already has these changes." if _head(result.top) == before else "Merged into {branch}."
    say(sentence(merged, branch=branch))
    return exits.OK


def _head(top: Path) -> str:
    return _git(top, "rev-parse", "HEAD").stdout.strip()


def _squash(result: Result, commit: str) -> bool:
    """One commit with the trailers of all; False where there was nothing to commit."""
    staged = _git(result.top, "diff", "--cached", "--name-only", "-z").stdout.split("\0")
    _refuse(sentence("These changes are staged already:"), filter(None, staged))
    own = ["log", "--reverse", "--format=%(trailers:only,unfold)", f"HEAD..{commit}"]
    lines = [line for line in _git(result.top, *own).stdout.splitlines() if line.startswith("Hansard-")]
    _tried(result.top, "merge", "--squash", commit)
    if _git(result.top, "diff", "--cached", "--quiet", codes=(0, 1)).returncode == 0:
        return False
    message = "\n".join([_title(result.session), "", *dict.fromkeys(lines)])
    _tried(result.top, "commit", "--quiet", "-F", "-", stdin=message)
    return True


async def pr(session: Id, /, *, where: Where = HERE) -> int:
    """Push a session's branch and open a pull request with `gh`; without `gh`, print the commands."""
    async with connected(where) as api:
        result = await _result(api, session)
    branch = result.changes["branch"]
    if branch is None or result.commit is None:
        hint = sentence("`hansard changes` shows its changes.")
        raise Failed(sentence("This session has no branch in this repository."), hint, code=exits.REFUSED)
    if _git(result.top, "show-ref", "--verify", "--quiet", "refs/notes/ai", codes=(0, 1, 128)).returncode == 0:
        say(sentence("To share the notes on which lines the agents wrote: git push origin refs/notes/ai"))
    title, body = _title(result.session), str(result.session.get("finalSummary") or result.session.get("summary") or "")
    if shutil.which("gh") is None:
        put(f"git push origin {branch}")
        put(f"gh pr create --head {branch} --fill-first")
        return exits.OK
    _tried(result.top, "push", "--quiet", "origin", f"refs/heads/{branch}:refs/heads/{branch}")
    put(_pull_request(result.top, branch, title, body or title))
    return exits.OK


def _pull_request(top: Path, branch: str, title: str, body: str) -> str:
    """Its address."""
    command = ["gh", "pr", "create", "--head", branch, "--title", title, "--body", body]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("gh pr create failed."), *done.stderr.splitlines()[-5:])
    return done.stdout.strip()


# -- the repository here ---------------------------------------------------------------------------------------------


async def _result(api: Api, name: str) -> Result:
    """Raises Failed where nothing was changed, or here is no repository."""
    session = (await api.session(await resolve(api, name)))["session"]
    diff = await api.get(f"{path_of(session['id'])}/changes")
    if diff["head"] is None or not diff["files"]:
        raise Failed(sentence("Session {id} changed nothing.", id=session["id"]), code=exits.REFUSED)
    top = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel").stdout.rstrip("\n"))
    repository = (session.get("result") or {}).get("repository")
    if repository and Path(repository) != top and not _is_related(top, diff["base"]["commit"]):
        elsewhere = "{top} has nothing in common with session {id}, which worked on {repository}."
        raise Failed(sentence(elsewhere, top=top, id=session["id"], repository=repository), code=exits.REFUSED)
    return Result(session, diff, top, _fetched(api, session["id"], diff["head"], top))


def _fetched(api: Api, session_id: str, head: str, top: Path) -> str | None:
    """The commit, fetched out of the session's workspace where the repository does not have it yet."""
    if _has(top, head):
        return head
    from adapters.workspace.comparing import offered

    source = offered(api.system.settings.node_dir / "workspaces", session_id, head) if api.system else None
    if source is None:
        return None
    _git(top, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source[0]), source[1])
    return head if _has(top, head) else None


def _is_related(top: Path, commit: str) -> bool:
    """Whether the checkout and the commit have a common beginning."""
    return bool(_git(top, "merge-base", "HEAD", commit, codes=(0, 1, 128)).stdout.strip())


def _has(top: Path, commit: str) -> bool:
    return _git(top, "cat-file", "-e", f"{commit}^{{commit}}", codes=(0, 1, 128)).returncode == 0


def _merged(top: Path, ours: str, theirs: str) -> str:
    """The tree that has both. Raises Failed, with the files, where both changed the same lines."""
    words = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
    done = _git(top, *words, codes=(0, 1))
    tree, *conflicts = done.stdout.rstrip("\0").split("\0")
    _refuse(sentence("Both sides changed the same lines:"), conflicts if done.returncode else ())
    return tree


def _apart(top: Path, base: str, commit: str) -> list[str]:
    """The checkout and the result as commits right after the session's base, in no branch. Merged, they do not bring
    what the base has and the checkout lacks."""
    people = ["-c", "user.name=Hansard", "-c", "user.email=hansard@hansard.invalid", "-c", "commit.gpgSign=false"]
    make = [*people, "commit-tree", "-m", "Compared", "-p", base]
    return [_git(top, *make, f"{each}^{{tree}}").stdout.strip() for each in ("HEAD", commit)]


def _dirty(top: Path, paths: Sequence[str]) -> list[str]:
    """Those of the paths that differ from the last commit, or are there without being tracked."""
    status = _git(top, "--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames", "--", *paths).stdout
    return [entry[3:] for entry in status.split("\0") if entry]


def _refuse(why: str, paths: Iterable[str]) -> None:
    if named := sorted(set(paths)):
        raise Failed(why, *named, code=exits.REFUSED)


def _title(session: Json) -> str:
    return str(session.get("title") or session["id"])[:72]


def _tried(top: Path, *words: str, stdin: str = "") -> None:
    """A change of the person's repository, with their settings and hooks. Raises Failed with git's words."""
    done = _git(top, *words, stdin=stdin, codes=(0, 1, 2, 128))
    if done.returncode:
        lines = (done.stderr or done.stdout).splitlines()
        raise Failed(sentence("git {command} refused.", command=words[0]), *lines[:20], code=exits.REFUSED)


def _git(
    folder: Path, *words: str, stdin: str = "", codes: tuple[int, ...] = (0,)
) -> "subprocess.CompletedProcess[str]":
    command = ["git", "-c", "core.quotePath=false", *words]
    env = {**os.environ, **_QUIET}
    done = subprocess.run(
        command, cwd=folder, env=env, input=stdin, capture_output=True, check=False, encoding="utf-8",
        errors="surrogateescape",
    )  # fmt: skip
    if done.returncode in codes:
        return done
    if "not a git repository" in done.stderr:
        raise Failed(sentence("{folder} is not in a git repository.", folder=folder), code=exits.USAGE)
    raise Failed(f"git {words[0]}: {' '.join(done.stderr.split())[-500:] or done.returncode}")


# The note on a squashed commit: which of its lines agents wrote.


async def note_squash(api: Api, top: Path, commit: str, paths: Iterable[str]) -> None:
    """Say in `refs/notes/ai` what the record knows of the commit's lines; nothing where it knows nothing."""
    from adapters.workspace.git import WorkspaceError
    from adapters.workspace.packing import add_note
    from domain.provenance.notes import NotedTurn, note_of

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
