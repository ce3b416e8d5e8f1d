"""`hansard pr`: a session's branch, pushed, with a pull request."""

import shutil
import subprocess
from pathlib import Path

from adapters.workspace.person import PersonsGit
from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, Id, Where
from api.cli.repository import (
    refusing,
    result_of,
    run_git,
    title_of,
)
from api.cli.terminal import put, say


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


def _has_ref(top: Path, ref: str) -> bool:
    return run_git(top, "show-ref", "--verify", "--quiet", ref, codes=(0, 1, 128)).returncode == 0


def _pull_request(top: Path, branch: str, title: str, body: str) -> str:
    """Its address."""
    command = ["gh", "pr", "create", "--head", branch, "--title", title, "--body", body]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("gh pr create failed."), *done.stderr.splitlines()[-5:])
    return done.stdout.strip()
