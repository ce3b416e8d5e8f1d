"""What starting a session has in common for every kind: where the agents work, who they are, and watching it."""

import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import Api, connected
from api.cli.exits import Failed
from api.cli.options import (
    HERE,
    WHERE,
    AsJson,
    Json,
    ReviewOption,
    TeamFile,
    Where,
    discussion_option,
    micros,
    split,
    text_from,
)
from api.cli.terminal import one_line, put, put_json, say
from api.cli.watch import follow_to_end

_NAMED: Final = 5
"""Files with uncommitted changes that are named."""
PLACE = Group("Where the agents work", sort_key=20)
_EXAMPLE = "No team file: the scripted example team does no real work. Set HANSARD_TEAM to use yours."
AsEnd = Annotated[bool, Parameter(help="Print the session as JSON at the end.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """What every kind of session can be started with."""

    workspace: Annotated[ExistingDirectory | None, Parameter(group=PLACE)] = None
    """The folder to work on. Default: the current folder in a git repository, else a new, empty one."""
    fresh: Annotated[bool, Parameter(group=PLACE)] = False
    """Work in a new, empty folder even inside a repository."""
    scenario: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A scenario file (JSON) for scripted agents; - reads stdin."""
    title: str | None = None
    """A short title for lists."""
    label: list[str] | None = None
    """A label to find it by; repeatable."""
    detach: bool = False
    """Start it and print its id without waiting. Without a server, start `hansard serve` on this log to run it."""
    idempotency_key: str | None = None
    """Starting again with the same key and text returns the same session."""

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


PLAIN = StartOptions()


async def start(
    where: Where, team: Path | None, options: StartOptions, body: Json, *, json: bool, here: Path | None = None
) -> int:
    """Start a session and see it through, or only start it; the exit code. `here` is where the person stands."""
    folder = options.folder(where, here)
    whole = body | options.body(folder)
    team = team or _team_of(where, options.workspace)
    async with connected(where, "start" if options.detach else "work", team=team) as api:
        answer = await api.post("/api/sessions", whole, key=options.idempotency_key)
        say(f"Session {answer['sessionId']}")
        if folder or body.get("kind") not in ("review", "debate"):
            say_where(options, folder)
        if body.get("kind") not in ("review", "debate"):
            say_uncommitted(folder)
        await say_who(api, options)
        if options.detach:
            return started(api, answer, json=json)
        return await follow_to_end(api, answer["sessionId"], json=json)


def _team_of(where: Where, folder: Path | None) -> Path | None:
    """The team of a repository that we do not stand in."""
    if folder is None or where.address() is not None or (settings := where.settings()).team is not None:
        return None
    from api.projects import team_of

    return team_of(folder.resolve(), settings)


def say_where(options: StartOptions, folder: str | None) -> None:
    say(f"Workspace: {_described(folder, asked=options.workspace is not None)}.")


def say_uncommitted(folder: str | None) -> None:
    """Which changes the agents will not see."""
    if folder is not None and in_repository(Path(folder)) and (paths := _uncommitted(Path(folder))):
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        say(f"Uncommitted changes are not included: {', '.join(paths[:_NAMED])}{more}.")


def _uncommitted(folder: Path) -> list[str]:
    """The files with changes that the agents will not see; none where git cannot say."""
    command = [
        "git",
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    said = done.stdout.decode(errors="replace") if done.returncode == 0 else ""
    return [one_line(entry[3:]) for entry in said.split("\0") if entry]


async def say_who(api: Api, options: StartOptions) -> None:
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
        say("Not running yet. Start `hansard serve` on this log.")


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
        return "a new, empty folder"
    if not in_repository(Path(folder)):
        return f"{folder}, edited in place"
    hint = "" if asked else "; use --fresh for an empty folder"
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
        raise Failed(f"--scenario {named}: expected a JSON object.", code=exits.USAGE)
    return dict(found)


LIMITS = Group("Limits", sort_key=10)


async def run(
    *,
    task: Annotated[str | None, Parameter(alias="-t", allow_leading_hyphen=True)] = None,
    task_file: Path | None = None,
    files: Annotated[list[str] | None, Parameter(alias="-f")] = None,
    test: str | None = None,
    validation_commands: Annotated[list[str] | None, Parameter(alias="--validate")] = None,
    max_iterations: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_minutes: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_attempts: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_tokens: Annotated[int | None, Parameter(group=LIMITS)] = None,
    max_cost: Annotated[str | None, Parameter(group=LIMITS)] = None,
    max_cost_micros: Annotated[int | None, Parameter(group=LIMITS)] = None,
    review: ReviewOption = False,
    no_baseline: bool = False,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have the team deliver a task: plan, design, implement, validate, review, until it passes or the budget runs out.

    In a git repository the agents work in a separate worktree and the result is a branch; your checkout is untouched.

        hansard run -t "Add a --version flag" -f src/cli.py --test "pytest -q"

    Ctrl-C cancels nothing. Exit code: 0 success, 1 failed, cancelled, or no agent available for the rest (unless
    another worker runs on this log), 6 waiting for a decision, 7 budget exhausted.

    Parameters
    ----------
    task
        The task; - reads stdin.
    task_file
        Read the task from this file.
    files
        The files it is about, comma-separated or repeated; default: the planner finds them.
    test
        The test command.
    validation_commands
        Commands that must pass, in this order, comma-separated or repeated; commas inside quotes are kept.
    max_iterations
        Rounds of implementation, validation and review, 1 to 20 (6).
    max_minutes
        Minutes from the start, 1 to 180 (45).
    max_attempts
        Old name of --max-iterations.
    max_tokens
        Tokens over all turns.
    max_cost
        US dollars over all turns, such as 2.50.
    max_cost_micros
        The same in millionths of a dollar.
    review
        Have the approved work reviewed once more, then decide: --review or --review=red-team.
    no_baseline
        Do not run the validation commands before the first agent starts.
    """
    body: Json = {
        "task": text_from(task, task_file, what="task", option="--task-file"),
        "filePaths": split(files) if files else None,
        "testCommand": test,
        "validationCommands": split(validation_commands) if validation_commands else None,
        "maxIterations": max_iterations,
        "maxMinutes": max_minutes,
        "maxAttempts": max_attempts,
        "maxTokens": max_tokens,
        "maxCostMicros": micros(max_cost, max_cost_micros, option="--max-cost"),
        "review": discussion_option(review),
        "baseline": False if no_baseline else None,
        "origin": "cli",
    }
    return await start(where, team, options, body, json=json)


async def example(*, database: Annotated[Path | None, Parameter(group=WHERE)] = None, json: AsJson = False) -> int:
    """Run the example delivery and watch it: a scripted team fixes a small repository at the second attempt.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; default: a file in your data directory.
    """
    from api.example import run_example

    here = Where(database=str(database) if database else None)
    async with connected(here, "work") as api:
        if api.system is None:
            raise Failed("The example needs direct access to a log: unset HANSARD_SERVER.", code=exits.USAGE)
        session_id = await run_example(api.system)
        say(f"Session {session_id}: the example, with a scripted team.")
        return await follow_to_end(api, session_id, json=json)
