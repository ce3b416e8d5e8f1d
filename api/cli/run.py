"""`hansard run`: start a delivery and see it through."""

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from api.cli.client import HERE, Json, TeamFile, Where
from api.cli.given import given
from api.cli.listed import micros, split
from api.cli.starting import PLAIN, AsEnd, Start, start
from api.cli.wishes import ReviewWish, wish

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
    review: ReviewWish = False,
    options: Start = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Let the team deliver a task: plan, design, implement, validate, review, until it holds or the budget is used up.

    In a git repository the agents work in a worktree of it, and the result is a branch: your checkout stays as it is.

        hansard run -t "Add a --version flag" -f src/cli.py --test "pytest -q"

    Ctrl-C cancels nothing. Exit code: 0 success, 1 failed, cancelled, or nobody is there for what is left (another
    worker on this log is waited for), 6 waits for a decision, 7 budget exhausted.

    Parameters
    ----------
    task
        What is to be done; - reads it from stdin.
    task_file
        Read the task from this file.
    files
        The files it is about, with commas or repeated; without, the planner finds them.
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
    max_cost
        US dollars over all turns, as in 2.50.
    max_cost_micros
        The same in millionths of a dollar.
    review
        Have the approved work reviewed once more, and decide yourself: --review or --review=red-team.
    """
    body: Json = {
        "task": given(task, task_file, what="task", option="--task-file"),
        "filePaths": split(files) if files else None,
        "testCommand": test,
        "validationCommands": split(validation_commands) if validation_commands else None,
        "maxIterations": max_iterations,
        "maxMinutes": max_minutes,
        "maxAttempts": max_attempts,
        "maxTokens": max_tokens,
        "maxCostMicros": micros(max_cost, max_cost_micros, option="--max-cost"),
        "review": wish(review),
        "origin": "cli",
    }
    return await start(where, team, options, body, json=json)
