"""The start of a session, as far as it is the same for every kind: where the agents work, who they are, and watching
it."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from adapters.project import load as load_project
from adapters.workspace.git import WorkspaceError
from adapters.workspace.inert import inert_git
from adapters.workspace.move import InTheWay, is_unfinished, recover_inertly
from api.actions.projects import team_of
from api.cli import exits
from api.cli.client import Api, connected, repository_here, resolve_to_change
from api.cli.error_words import in_words, words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import Fields, Where
from api.cli.progress import Shown
from api.cli.silence import say_wait
from api.cli.terminal import one_line, put, put_json, say
from api.cli.watch import follow_to_end
from api.node.checkouts import checkout_of
from domain.values.json import Malformed, decode
from domain.values.sentences import from_wire

if TYPE_CHECKING:
    from api.cli.answers import MessageAnswer, Receipt

_NAMED: Final = 5
"""Files with uncommitted changes that are named."""
PLACE = Group("Where the agents work", sort_key=20)
_EXAMPLE = "The scripted example team answers; it does no real work."
AsEnd = Annotated[bool, Parameter(help="Print the session as JSON at the end.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """The options with which every kind of session can be started."""

    workspace: Annotated[ExistingDirectory | None, Parameter(group=PLACE)] = None
    """The folder to work on; without git it is edited in place. Default: the current git repository."""
    fresh: Annotated[bool, Parameter(group=PLACE)] = False
    """Work in a new, empty folder even inside a repository."""
    scenario: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A scenario file (JSON) for scripted agents; - reads stdin."""
    example: Annotated[bool | None, Parameter(negative=())] = None
    """Without a team file, let the scripted example team answer; it does no real work."""
    anyway: Annotated[bool, Parameter(negative=())] = False
    """Start even if an agent is known to lack its program or its login."""
    title: str | None = None
    """A short title for lists."""
    label: list[str] | None = None
    """A label to find it by; repeatable."""
    detach: bool = False
    """Start it and print its id without waiting. Without a server, start `hansard serve` on this log to run it."""
    quiet: Annotated[bool, Parameter(negative=())] = False
    """Show only which phase or round it is in."""
    idempotency_key: str | None = None
    """Starting again with the same key and text returns the same session."""

    def body(self, folder: str | None) -> Fields:
        """The fields of a start request that every kind has, as far as they are given."""
        fields = {
            "scenario": _scenario(self.scenario),
            "title": self.title,
            "labels": self.label,
            "workspace": folder,
            "anyway": self.anyway or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def folder(self, where: Where, here: Path | None = None) -> str | None:
        """The named folder, else the current repository (or `here`), if the worker can reach it."""
        if self.workspace is not None and self.fresh:
            raise Failed(sentence("Give --workspace or --fresh, not both."), code=exits.USAGE)
        if self.workspace is not None:
            return str(self.workspace.resolve())
        server, here = where.address(), here or Path.cwd()
        if self.fresh or (server is not None and not _same_machine(server)):
            return None
        return str(here) if in_repository(here) else None

    def working_folder(self, where: Where) -> str | None:
        """The folder for agents that change files. Raises Failed in a folder with files that git does not know: the
        agents would not see them, and edit them in place only where that is asked for."""
        folder, server = self.folder(where), where.address()
        is_here = not self.fresh and (server is None or _same_machine(server))
        if folder is None and is_here and any(Path.cwd().iterdir()):
            raise Failed(
                sentence("This folder is not a git repository, so the agents would not see its files."),
                sentence("To get the result as a branch: git init, then commit. To edit in place: --workspace ."),
                sentence("To work in a new, empty folder: --fresh"),
                code=exits.USAGE,
            )
        return folder


PLAIN = StartOptions()


def started_here(where: Where) -> Fields:
    """Returns where the start was typed, for `latest`; nothing for a server elsewhere."""
    server, here = where.address(), repository_here()
    return {} if here is None or (server is not None and not _same_machine(server)) else {"startedIn": str(here)}


async def start(
    where: Where, team: Path | None, options: StartOptions, body: Fields, *, json: bool, here: Path | None = None
) -> int:
    """Start a session and see it through, or only start it; the exit code. `here` is the person's folder."""
    talks = body.get("kind") in ("review", "debate")
    folder = options.folder(where, here) if talks else options.working_folder(where)
    whole = body | options.body(folder) | started_here(where)
    team = team or _team_of(where, options.workspace)
    async with connected(where, "start" if options.detach else "work", team=team, example=options.example) as api:
        if whole.get("fixes"):
            whole["fixes"] = await resolve_to_change(api, str(whole["fixes"]))
        answer = await api.post("/api/sessions", whole, key=options.idempotency_key)
        say_warnings(answer)
        say(sentence("Session {session_id}", session_id=answer["sessionId"]))
        if folder or not talks:
            say_where(options, folder)
        if not talks:
            say_uncommitted(folder, begins_with=await _reviewed_changes(api, whole.get("fixes")))
        await say_who(api, options)
        if options.detach:
            return await started(api, answer, json=json)
        shown: Shown = "phases" if options.quiet else "steps"
        return await follow_to_end(api, answer["sessionId"], json=json, shown=shown)


def _team_of(where: Where, folder: Path | None) -> Path | None:
    """The team of a repository other than the current one."""
    if folder is None or where.address() is not None or (settings := where.settings()).team is not None:
        return None

    return team_of(folder.resolve(), settings)


def say_where(options: StartOptions, folder: str | None) -> None:
    say(sentence("Workspace: {folder}.", folder=_described(folder, explicit=options.workspace is not None)))


async def _reviewed_changes(api: Api, fixed: object) -> bool:
    """Returns whether the session begins with the uncommitted changes that were reviewed."""
    if not fixed:
        return False
    [start] = await api.events(str(fixed), after=0, limit=1)
    return bool((start["data"].get("topic") or {}).get("reviewed"))


def say_uncommitted(folder: str | None, *, begins_with: bool = False) -> None:
    """The changes that the agents will not see, unless the work begins with those that were reviewed."""
    if folder is None or not in_repository(Path(folder)):
        return
    _recover(Path(folder))
    if _has_submodules(Path(folder)):
        say(sentence("Submodules are not checked out: their folders are empty for the agents and the validation."))
    _say_missing(Path(folder))
    branch, paths = _status(Path(folder))
    if branch.startswith("No commits yet"):
        say(
            sentence(
                "The repository has no commits yet, so the agents start with an empty folder. Commit your files first."
            )
        )
    elif begins_with:
        say(sentence("The agents begin with the changes that were reviewed, and the result replaces them."))
    elif paths:
        more = sentence(" and {n} more", n=len(paths) - _NAMED) if len(paths) > _NAMED else ""
        say(
            sentence("Uncommitted changes are not included: {paths}{more}.", paths=", ".join(paths[:_NAMED]), more=more)
        )


def _recover(folder: Path) -> None:
    """Undo or finish what a killed `merge`, `apply` or `land` has left half done, before its files count as changes."""
    top = checkout_of(folder)
    words = "A killed command has left {top} half changed. The next hansard merge or apply there undoes it."
    with suppress(WorkspaceError):
        if top is None or not is_unfinished(top):
            return
        try:
            if recover_inertly(top):
                words = "A killed command had left {top} half changed. That was undone, or finished."
            say(sentence(words, top=top))
        except InTheWay as error:
            say(words_of(error))


def _has_submodules(folder: Path) -> bool:
    top = checkout_of(folder)
    return top is not None and (top / ".gitmodules").is_file()


def _status(folder: Path) -> tuple[str, list[str]]:
    """The branch as git names it, and the files with changes that the agents will not see; empty where it cannot
    say. Nothing is executed that the repository names."""

    try:
        settings = (*inert_git(folder).settings, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    except WorkspaceError:
        return "", []
    words = ["--no-optional-locks", *settings, "status", "--porcelain", "--branch", "-z", "--no-renames"]
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    status = done.stdout.decode(errors="replace") if done.returncode == 0 else ""
    branch, *entries = status.split("\0")
    return branch.removeprefix("## "), [one_line(entry[3:]) for entry in entries if entry]


def _say_missing(folder: Path) -> None:
    """Returns which entries of `copy` and `link` name nothing in the checkout."""
    top = checkout_of(folder)
    if top is None:
        return
    setup = load_project(top).workspace
    missing = [path for path in (*setup.copy_paths, *setup.link) if not os.path.lexists(top / path)]
    if missing:
        words = "copy and link in hansard.toml name nothing in your checkout: {paths}."
        say(sentence(words, paths=", ".join(map(one_line, missing))))


def say_warnings(answer: "Receipt | MessageAnswer") -> None:
    """Returns what the answer to a start warns of."""
    for each in answer.get("warnings") or ():
        say(in_words(from_wire(str(each["detail"]), each.get("code"), each.get("params"))))


async def say_who(api: Api, options: StartOptions) -> None:
    """Plainly, when those who answer are only examples."""
    if options.scenario is None and await _is_example(api):
        say(sentence(_EXAMPLE))


async def say_who_goes_on(api: Api, session_id: str) -> None:
    """As `say_who`, of a session that was started before."""
    [start] = await api.events(session_id, after=0, limit=1)
    opening = start["data"].get("opening") or start["data"].get("topic") or start["data"]
    if not opening.get("scenario") and not opening.get("crew") and await _is_example(api):
        say(sentence(_EXAMPLE))


async def started(api: Api, answer: "Receipt | MessageAnswer", *, json: bool) -> int:
    """Only recorded: the session's id as data, and who will work on it."""
    if answer.get("sessionId") and answer.get("action") != "queued":
        await say_who_works(api, str(answer["sessionId"]))
    if json:
        put_json(answer)
    else:
        put(str(answer["sessionId"]))
    return exits.OK


async def say_who_works(api: Api, session_id: str) -> None:
    """Returns who will work on a session that was only recorded."""
    if api.system is not None:
        await say_wait(api, (await api.session(session_id))["session"])


def in_repository(folder: Path) -> bool:
    return checkout_of(folder) is not None


async def _is_example(api: Api) -> bool:
    if api.system is not None:
        return api.system.team.example
    with suppress(Failed):  # a server that is not ready still starts sessions
        return bool((await api.get("/readyz")).get("exampleTeam"))
    return False


def _described(folder: str | None, *, explicit: bool) -> str:
    if folder is None:
        return sentence("a new, empty folder")
    if not in_repository(Path(folder)):
        return sentence("{folder}, edited in place", folder=folder)
    hint = "" if explicit else sentence("; use --fresh for an empty folder")
    return sentence("a worktree of the repository at {folder}{hint}", folder=folder, hint=hint)


def _same_machine(server: str) -> bool:
    return urlsplit(server).hostname in ("127.0.0.1", "localhost", "::1")


def _scenario(named: str | None) -> Fields | None:
    """The scenario's JSON; the API says whether it is one."""

    if named is None:
        return None
    try:
        raw = sys.stdin.buffer.read() if named == "-" else Path(named).expanduser().read_bytes()
        value = decode(raw)
    except OSError as error:
        raise Failed(
            sentence("{option} {file}: {strerror}.", option="--scenario", file=named, strerror=exits.reason_of(error)),
            code=exits.USAGE,
        ) from None
    except Malformed as error:
        raise Failed(f"--scenario {named}: {in_words(error.placed)}", code=exits.USAGE) from None
    if not isinstance(value, dict):
        raise Failed(sentence("--scenario {named}: expected a JSON object.", named=named), code=exits.USAGE)
    return dict(value)
