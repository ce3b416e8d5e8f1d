"""What starting a session has in common for every kind: where the agents work, who they are, and watching it or not."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import Api, Json, Where, connected
from api.cli.exits import Failed
from api.cli.outcome import see_through
from api.cli.terminal import put, put_json, say

PLACE = Group("Where the agents work", sort_key=20)
_EXAMPLE = "No team file: the scripted example team answers and changes nothing. HANSARD_TEAM names yours."
AsEnd = Annotated[bool, Parameter(help="Print the session as JSON at the end.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Start:
    """What every kind of session can be started with."""

    workspace: Annotated[ExistingDirectory | None, Parameter(group=PLACE)] = None
    """The folder to work on. In a git repository: the current folder; else a fresh, empty one."""
    fresh: Annotated[bool, Parameter(group=PLACE)] = False
    """Work in a fresh, empty folder even inside a repository."""
    scenario: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A scenario file (JSON) for scripted agents; - reads it from stdin."""
    title: str | None = None
    """A short name for lists."""
    label: list[str] | None = None
    """A label to find it by; repeatable."""
    detach: bool = False
    """Only start it and print its id. Without a server it waits until Hansard works on this log with this team, as
    `hansard serve` does."""
    idempotency_key: str | None = None
    """Starting again with the same key and the same words gives the same session."""

    def body(self, folder: str | None) -> Json:
        """The fields of a start request that every kind has, as far as they are given."""
        fields = {
            "scenario": _scenario(self.scenario),
            "title": self.title,
            "labels": self.label,
            "workspace": folder,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def folder(self, where: Where, here: Path | None = None) -> str | None:
        """The folder named, else the repository that we stand in (or `here`), where whoever works can reach it."""
        if self.workspace is not None and self.fresh:
            raise Failed("Give --workspace or --fresh, not both.", code=exits.USAGE)
        if self.workspace is not None:
            return str(self.workspace.resolve())
        server, here = where.address(), here or Path.cwd()
        if self.fresh or (server is not None and not _same_machine(server)) or not in_repository(here):
            return None
        return str(here)


PLAIN = Start()


async def start(
    where: Where, team: Path | None, options: Start, body: Json, *, json: bool, here: Path | None = None
) -> int:
    """Start a session and see it through, or only start it; the exit code. `here` is where the person stands."""
    folder = options.folder(where, here)
    whole = body | options.body(folder)
    async with connected(where, "start" if options.detach else "work", team=team) as api:
        answer = await api.post("/api/sessions", whole, key=options.idempotency_key)
        say(f"Session {answer['sessionId']}")
        if folder or body.get("kind") not in ("review", "debate"):
            say_where(options, folder)
        await say_who(api, options)
        if options.detach:
            return started(api, answer, json=json)
        return await see_through(api, answer["sessionId"], json=json)


def say_where(options: Start, folder: str | None) -> None:
    say(f"Workspace: {_described(folder, asked=options.workspace is not None)}.")


async def say_who(api: Api, options: Start) -> None:
    """Plainly, when those who answer are only examples."""
    if options.scenario is None and await _is_example(api):
        say(_EXAMPLE)


async def say_who_goes_on(api: Api, session_id: str) -> None:
    """As `say_who`, of a session that was started before."""
    [start] = await api.events(session_id, after=0, limit=1)
    opening = start["data"].get("opening") or start["data"].get("topic") or start["data"]
    if not opening.get("scenario") and not opening.get("crew") and await _is_example(api):
        say(_EXAMPLE)


def started(api: Api, answer: Json, *, json: bool) -> int:
    """Only recorded: the session's id as data, and who will work on it."""
    say_who_works(api)
    if json:
        put_json(answer)
    else:
        put(answer["sessionId"])
    return exits.OK


def say_who_works(api: Api) -> None:
    if api.system is not None:
        say("Nobody works on it from here: it waits for `hansard serve` on this log, with this team.")


def in_repository(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


async def _is_example(api: Api) -> bool:
    if api.system is not None:
        return api.system.team.example
    with suppress(Failed):  # a server that is not ready still starts sessions
        return bool((await api.get("/readyz")).get("exampleTeam"))
    return False


def _described(folder: str | None, *, asked: bool) -> str:
    if folder is None:
        return "a fresh, empty folder"
    if not in_repository(Path(folder)):
        return f"{folder}, worked in as it is"
    hint = "" if asked else "; --fresh takes an empty folder instead"
    return f"a worktree of the repository at {folder}{hint}"


def _same_machine(server: str) -> bool:
    return urlsplit(server).hostname in ("127.0.0.1", "localhost", "::1")


def _scenario(named: str | None) -> Json | None:
    """The scenario's JSON; the API says whether it is one."""
    from domain.values.strict import Malformed, decode

    if named is None:
        return None
    try:
        raw = sys.stdin.buffer.read() if named == "-" else Path(named).expanduser().read_bytes()
        found = decode(raw)
    except OSError as error:
        raise Failed(f"--scenario {named}: {error.strerror}.", code=exits.USAGE) from None
    except Malformed as error:
        raise Failed(f"--scenario {named}: {error}", code=exits.USAGE) from None
    if not isinstance(found, dict):
        raise Failed(f"--scenario {named}: a JSON object was expected.", code=exits.USAGE)
    return dict(found)
