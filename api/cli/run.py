"""`hansard run`, `example`: a delivery, from its task to its end."""

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, WHERE, AsJson, Fields, ReviewOption, TeamFile, Where, discussion_option, micros, split
from api.cli.start import PLAIN, AsEnd, StartOptions, start
from api.cli.terminal import say
from api.cli.texts import text_from
from api.cli.watch import follow_to_end
from domain.delivery.chart import QUICK

LIMITS = Group("Limits", sort_key=10)


async def run(
    *,
    task: Annotated[str | None, Parameter(alias="-t", allow_leading_hyphen=True)] = None,
    task_file: Path | None = None,
    fix: str | None = None,
    issue: str | None = None,
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
    quick: bool = False,
    phases: str | None = None,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have the team deliver a task: plan, design, implement, validate, review, until it passes or the budget runs out.

    In a git repository the agents work in a separate worktree and the result is a branch; your checkout is untouched.

        hansard run -t "Add a --version flag" -f src/cli.py

    Ctrl-C cancels nothing. Exit code: 0 success, 1 failed, cancelled, or no agent available for the rest (unless
    another worker runs on this log), 6 waiting for a decision, 7 budget exhausted.

    Parameters
    ----------
    task
        The task; - reads stdin.
    task_file
        Read the task from this file.
    fix
        A review that was decided with apply_fix: its findings are the task. Or a delivery that `land` sent back: it is
        done again, with the same validation unless you name another.
    issue
        An issue of this repository at GitHub or GitLab: its address, or #N. Its title and text are the task.
    files
        The files it is about, comma-separated or repeated; default: the planner finds them.
    test
        The test command.
    validation_commands
        Commands that must pass, in this order, comma-separated or repeated; commas inside quotes are kept.
    max_iterations
        Rounds of implementation, validation and review, 1 to 20 [default: 6].
    max_minutes
        Minutes from the start, 1 to 180 [default: 45].
    max_attempts
        Old name of --max-iterations.
    max_tokens
        Token limit over all turns.
    max_cost
        Cost limit over all turns in US dollars, such as 2.50.
    max_cost_micros
        The same in millionths of a dollar.
    review
        Have the approved work reviewed again, then decide: --review or --review=red-team.
    no_baseline
        Do not run the validation commands before the first agent starts.
    quick
        The short way for a small task: implementation, validation, review, packaging, without a plan.
    phases
        The phases it goes through, comma-separated: a selection of planning, architecture, design, implementation,
        validation, review, packaging in this order, with implementation and validation.
    """
    has_task = (fix is None and issue is None) or task is not None or task_file is not None
    body: Fields = {
        "task": text_from(task, task_file, what="task", option="--task-file") if has_task else None,
        "fixes": fix,
        "issue": issue,
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
        "phases": _phases(quick, phases),
        "origin": "cli",
    }
    return await start(where, team, options, body, json=json)


def _phases(quick: bool, phases: str | None) -> list[str] | None:
    if quick and phases is not None:
        raise Failed(sentence("Give --quick or --phases, not both."), code=exits.USAGE)
    return list(QUICK) if quick else None if phases is None else [name.strip() for name in phases.split(",")]


async def example(*, database: Annotated[Path | None, Parameter(group=WHERE)] = None, json: AsJson = False) -> int:
    """Run the example delivery and watch it: a scripted team fixes a small repository on its second iteration.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; default: a file in your data directory.
    """
    from api.example import run_example

    here = Where(database=str(database) if database else None)
    async with connected(here, "work") as api:
        if api.system is None:
            raise Failed(sentence("The example needs direct access to a log: unset HANSARD_SERVER."), code=exits.USAGE)
        session_id = await run_example(api.system)
        say(sentence("Session {session_id}: the example, with a scripted team.", session_id=session_id))
        return await follow_to_end(api, session_id, json=json)
