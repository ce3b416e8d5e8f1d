"""`hansard pr`: a session's branch, pushed, with a pull request, which is kept at until it is merged."""

import asyncio
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from adapters.forge.remotes import remote_repository
from adapters.workspace.person import PersonsGit
from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.handover_in_short import checks_words
from api.cli.handover_words import rest_words
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, AsJson, Id, TeamFile, Where
from api.cli.repository import (
    refusing,
    result_of,
    run_git,
    title_of,
)
from api.cli.terminal import put, put_json, say

if TYPE_CHECKING:
    from api.cli.answers import PullRequestView, ResultView
    from api.system import System

_NO_FORGE: Final = ("no_forge_at_remote", "no_forge_token")
"""Why nothing can be done at a forge; the commands are printed then, or `gh` does it."""


async def pr(
    session: Id,
    /,
    *,
    follow: Annotated[bool | None, Parameter(help="Keep at it until it is merged or closed.")] = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Push a session's branch and open a pull request at GitHub or GitLab, or bring it up to date.

    With --follow: failed checks and comments of people who may push become change requests, conflicts are merged, and
    every push is a fast-forward. Without a token, `gh` is used, or the commands are printed.

    Exit code: 4 if it waits for you, or was closed.
    """
    async with connected(where, "work" if follow else "all", team=team) as api:
        session_id = await resolve_to_change(api, session)
        body = {} if follow is None else {"follow": follow}
        try:
            await api.post(f"{path_of(session_id)}/pull-request", body)
        except Failed as error:
            if (error.problem or {}).get("code") not in _NO_FORGE:
                raise
            pull, why = None, words_of(error)
        else:
            pull = await _followed(api, session_id, to_the_end=bool(follow))
    if pull is None:
        if follow:
            say(sentence("It is not followed: {why}", why=why))
        code = await _by_hand(session, where)
        return exits.REFUSED if follow else code
    if json:
        put_json(pull)
    return exits.REFUSED if pull["rest"] or pull["state"] == "closed" else exits.OK


async def _followed(api: Api, session_id: str, *, to_the_end: bool) -> "PullRequestView":
    """Wait until the pull request is open, or over. Without a server, what is to be done is done here."""
    news: set[str] = set()
    if to_the_end:
        say(sentence("Following the pull request until it is merged or closed; Ctrl-C leaves it."))
    while True:
        if api.system is not None and not to_the_end:
            await _round(api.system, session_id)
        result, pull = await _opened(api, session_id)
        for words in _news(session_id, pull):
            if words not in news:
                news.add(words)
                say(words)
        if pull["state"] in ("merged", "closed") or pull["rest"]:
            return pull
        if not to_the_end and pull["number"] is not None and not _busy(pull, result):
            return pull
        await asyncio.sleep(max(api.poll, 0.2))


async def _opened(api: Api, session_id: str) -> tuple["ResultView", "PullRequestView"]:
    """Returns a result, and the pull request that was asked for."""
    result = (await api.session(session_id))["session"].get("result")
    pull = result and result.get("pullRequest")
    if result is None or pull is None:
        raise Failed(sentence("Session {id} has changed nothing.", id=session_id), code=exits.REFUSED)
    return result, pull


def _busy(pull: "PullRequestView", result: "ResultView") -> bool:
    """Returns whether the branch at the forge is not yet the newest."""
    return bool(pull["head"] != result["head"] and result["branch"] and not pull["unavailable"])


def _news(session_id: str, pull: "PullRequestView") -> list[str]:
    """Lists what a person is told about the pull request as it is now."""
    news = []
    if pull["number"] is not None:
        news.append(sentence("Pull request #{number}: {url}", number=pull["number"], url=pull["url"]))
    if pull["checks"]:
        news.append(f"{checks_words(pull['checks']['conclusion'])} ({pull['checks']['head'][:10]})")
    if pull["waiting"]:
        news.append(sentence("This push changes settings of the CI: {paths}", paths=", ".join(pull["waiting"])))
        news.append(sentence("To push it all the same: hansard pr {id}", id=session_id))
    elif pull["rest"] and pull["state"] != "closed":
        words = rest_words(pull["rest"])
        news.append(sentence("Waiting for you: {why}", why=" ".join(filter(None, (words, pull["detail"])))))
    if pull["unavailable"]:
        news.append(sentence("waiting for the forge: {why}", why=pull["unavailable"]))
    if pull["state"] == "merged":
        news.append(recorded("pull_state", "merged"))
    if pull["state"] == "closed":
        news.append(sentence("Closed without a merge."))
    return news


async def _round(system: "System", session_id: str) -> None:
    """Do in this process what is to be done at the forge now."""
    from api.node.pull_requests import PullRequestRounds

    work_with = system.around_forges()
    if work_with is None:
        return
    with work_with.claims.of(session_id) as claim:
        if not await asyncio.to_thread(claim.holds):
            return
        rounds = PullRequestRounds(work_with, session_id)
        try:
            await rounds.round()
        finally:
            await rounds.close()


async def _by_hand(session: str, where: Where) -> int:
    """Push with the person's git and open the pull request with `gh`; without it, print the commands."""
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
    is_gitlab = _is_gitlab(result.top)
    if is_gitlab or shutil.which("gh") is None:
        put(f"git push origin {branch if source != result.commit else f'{source}:refs/heads/{branch}'}")
        create = (
            shlex.join(("glab", "mr", "create", "--source-branch", branch, "--fill"))
            if is_gitlab
            else f"gh pr create --head {branch} --fill-first"
        )
        put(create)
        return exits.OK
    with refusing():
        PersonsGit(result.top)("push", "--quiet", "origin", f"{source}:refs/heads/{branch}")
    put(_pull_request(result.top, branch, title, body or title))
    return exits.OK


def _is_gitlab(top: Path) -> bool:
    """Return whether the remote is at GitLab, as far as its address says."""
    place = remote_repository(run_git(top, "remote", "get-url", "origin").stdout.strip())
    return place is not None and place.kind == "gitlab"


def _has_ref(top: Path, ref: str) -> bool:
    return run_git(top, "show-ref", "--verify", "--quiet", ref, codes=(0, 1, 128)).returncode == 0


def _pull_request(top: Path, branch: str, title: str, body: str) -> str:
    """Return its address."""
    command = ["gh", "pr", "create", "--head", branch, "--title", title, "--body", body]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("gh pr create failed."), *done.stderr.splitlines()[-5:])
    return done.stdout.strip()
