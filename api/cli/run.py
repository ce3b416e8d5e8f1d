"""`hansard run`: start a delivery and see it through."""

import os
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import HERE, Api, Json, Where, connected
from api.cli.exits import Failed
from api.cli.listed import split
from api.cli.outcome import see_through
from api.cli.terminal import put, put_json, say

LIMITS = Group("Limits", sort_key=10)
PLACE = Group("Where the agents work", sort_key=20)


async def run(
    *,
    task: Annotated[str, Parameter(alias="-t")],
    files: Annotated[list[str], Parameter(alias="-f")],
    test: str | None = None,
    validation_commands: Annotated[list[str] | None, Parameter(alias="--validate")] = None,
    max_iterations: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_minutes: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_attempts: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_tokens: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_cost_micros: Annotated[int | None, Parameter(group=LIMITS)] = None,
    workspace: Annotated[ExistingDirectory | None, Parameter(group=PLACE)] = None,
    fresh: Annotated[bool, Parameter(group=PLACE, negative="")] = False,
    scenario: str | None = None,
    title: str | None = None,
    label: list[str] | None = None,
    detach: Annotated[bool, Parameter(negative="")] = False,
    idempotency_key: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    where: Where = HERE,
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
        "workspace": _workspace(workspace, fresh=fresh, server=where.address()),
    }
    async with connected(where, work=not detach) as api:
        if scenario is None:
            _introduce_team(api)
        answer = await api.post("/api/sessions", body, key=idempotency_key)
        if detach:
            return _started(api, answer, json=json)
        say(f"Session {answer['sessionId']}")
        return await see_through(api, answer["sessionId"], json=json)


def _started(api: Api, answer: Json, *, json: bool) -> int:
    if api.system is not None:
        say("Nobody works on it from here: `hansard serve` on this log does.")
    if json:
        put_json(answer)
    else:
        put(answer["sessionId"])
    return exits.OK


def _introduce_team(api: Api) -> None:
    if api.system is not None and api.system.team.example:
        say("No team file: the scripted example team answers and changes nothing. HANSARD_TEAM or --team names yours.")


def _workspace(asked: Path | None, *, fresh: bool, server: str | None) -> str | None:
    """The folder named, else the repository we stand in, where whoever works can reach it; said on stderr."""
    from adapters.workspace import is_repository

    if asked is not None and fresh:
        raise Failed("Give --workspace or --fresh, not both.", code=exits.USAGE)
    if asked is not None:
        return str(asked.resolve())
    here = Path.cwd()
    if fresh or (server is not None and not _same_machine(server)) or not is_repository(here):
        say("Workspace: a fresh, empty folder.")
        return None
    say(f"Workspace: a worktree of the repository at {here} (--fresh for an empty folder).")
    return str(here)


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
        raise Failed(f"--scenario {named}: {error.strerror or os.strerror(error.errno or 0)}.", code=exits.USAGE) from None
    except Malformed as error:
        raise Failed(f"--scenario {named}: {error}", code=exits.USAGE) from None
    if not isinstance(found, dict):
        raise Failed(f"--scenario {named}: a JSON object was expected.", code=exits.USAGE)
    return dict(found)
