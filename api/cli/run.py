"""`hansard run`: start a delivery and see it through."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import HERE, Api, Json, TeamFile, Where, connected
from api.cli.exits import Failed
from api.cli.listed import split
from api.cli.outcome import see_through
from api.cli.terminal import put, put_json, say

LIMITS = Group("Limits", sort_key=10)
PLACE = Group("Where the agents work", sort_key=20)


async def run(
    *,
    task: Annotated[str, Parameter(alias="-t", allow_leading_hyphen=True)],
    files: Annotated[list[str], Parameter(alias="-f")],
    test: str | None = None,
    validation_commands: Annotated[list[str] | None, Parameter(alias="--validate")] = None,
    max_iterations: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_minutes: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_attempts: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_tokens: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_cost_micros: Annotated[int | None, Parameter(group=LIMITS)] = None,
    workspace: Annotated[ExistingDirectory | None, Parameter(group=PLACE)] = None,
    fresh: Annotated[bool, Parameter(group=PLACE)] = False,
    scenario: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    title: str | None = None,
    label: list[str] | None = None,
    detach: bool = False,
    idempotency_key: str | None = None,
    json: bool = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Let the team deliver a task: plan, design, implement, validate, review, until it holds or the budget is used up.

    In a git repository the agents work in a worktree of it, and the result is a branch: your checkout stays as it is.

        hansard run -t "Add a --version flag" -f src/cli.py --test "pytest -q"

    Ctrl-C cancels nothing. Exit code: 0 success, 1 failed or cancelled, 6 waits for a decision, 7 budget exhausted.

    Parameters
    ----------
    task
        What is to be done.
    files
        The files it is about, with commas or repeated.
    test
        The command that tests the work.
    validation_commands
        The commands that must pass, in this order, with commas or repeated; a comma inside quotes splits nothing.
    max_iterations
        Rounds of implementation, validation and review, 1 to 20 (6).
    max_minutes
        Minutes from the start, 1 to 180 (45).
    max_attempts
        The older name of --max-iterations.
    max_tokens
        Tokens over all turns.
    max_cost_micros
        Money over all turns, in millionths.
    workspace
        The folder to work on. In a git repository: the current folder; else a fresh, empty one.
    fresh
        Work in a fresh, empty folder even inside a repository.
    scenario
        A scenario file (JSON) for scripted agents; - reads it from stdin.
    title
        A short name for lists.
    label
        A label to find it by; repeatable.
    detach
        Only start it and print its id. Without a server nobody works on it until `hansard serve` runs.
    idempotency_key
        Starting again with the same key and the same words gives the same session.
    json
        Print the session as JSON at the end.
    """
    folder = _workspace(workspace, fresh=fresh, server=where.address())
    body: Json = {
        "task": task,
        "filePaths": split(files),
        "testCommand": test,
        "validationCommands": split(validation_commands) if validation_commands else None,
        "maxIterations": max_iterations,
        "maxMinutes": max_minutes,
        "maxAttempts": max_attempts,
        "maxTokens": max_tokens,
        "maxCostMicros": max_cost_micros,
        "scenario": _scenario(scenario),
        "title": title,
        "labels": label,
        "origin": "cli",
        "workspace": folder,
    }
    async with connected(where, "start" if detach else "work", team=team) as api:
        answer = await api.post("/api/sessions", body, key=idempotency_key)
        say(f"Session {answer['sessionId']}")
        say(f"Workspace: {_described(folder, asked=workspace is not None)}.")
        if scenario is None and await _is_example(api):
            say("No team file: the scripted example team answers and changes nothing. HANSARD_TEAM names yours.")
        if detach:
            return _started(api, answer, json=json)
        return await see_through(api, answer["sessionId"], json=json)


def _started(api: Api, answer: Json, *, json: bool) -> int:
    if api.system is not None:
        say("Nobody works on it from here: `hansard serve` on this log does.")
    if json:
        put_json(answer)
    else:
        put(answer["sessionId"])
    return exits.OK


async def _is_example(api: Api) -> bool:
    if api.system is not None:
        return api.system.team.example
    with suppress(Failed):  # a server that is not ready still starts sessions
        return bool((await api.get("/readyz")).get("exampleTeam"))
    return False


def _workspace(asked: Path | None, *, fresh: bool, server: str | None) -> str | None:
    """The folder named, else the repository we stand in, where whoever works can reach it."""
    if asked is not None and fresh:
        raise Failed("Give --workspace or --fresh, not both.", code=exits.USAGE)
    if asked is not None:
        return str(asked.resolve())
    here = Path.cwd()
    if fresh or (server is not None and not _same_machine(server)) or not _in_repository(here):
        return None
    return str(here)


def _described(folder: str | None, *, asked: bool) -> str:
    if folder is None:
        return "a fresh, empty folder"
    if not _in_repository(Path(folder)):
        return f"{folder}, worked in as it is"
    hint = "" if asked else "; --fresh takes an empty folder instead"
    return f"a worktree of the repository at {folder}{hint}"


def _in_repository(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


def _same_machine(server: str) -> bool:
    return urlsplit(server).hostname in ("127.0.0.1", "localhost", "::1")


def _scenario(named: str | None) -> Json | None:
    """The scenario's JSON; the API says whether it is one."""
    from domain.strict import Malformed, decode

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
