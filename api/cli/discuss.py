"""`hansard review` and `hansard debate`: several agents talk something over, a person decides."""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import HERE, Json, TeamFile, Where
from api.cli.diff import Changes, changes
from api.cli.exits import Failed
from api.cli.given import text_or_file
from api.cli.starting import PLAIN, AsEnd, Start, start
from api.cli.wishes import DebateStrategy, ReviewStrategy

TALK: Final = Group("How they talk", sort_key=10)
CHANGES: Final = Group("Changes in a git repository", sort_key=5)
Rounds = Annotated[int | None, Parameter(group=TALK)]
Profile = Annotated[str | None, Parameter(group=TALK, help="When they agree: seed (the default), shipped-v3 or mysti.")]


async def review(
    subject: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="The text, or a file, to review; - reads it from stdin.")
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Review what stands in this file.")] = None,
    diff: Annotated[bool, Parameter(group=CHANGES)] = False,
    base: Annotated[str | None, Parameter(group=CHANGES)] = None,
    repo: Annotated[ExistingDirectory | None, Parameter(group=CHANGES)] = None,
    strategy: Annotated[ReviewStrategy | None, Parameter(group=TALK)] = None,
    max_rounds: Rounds = None,
    profile: Profile = None,
    options: Start = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have something reviewed: a reviewer and a coder talk it over, you get the result and decide.

        hansard review --diff

    reviews what you have not committed yet; with `--base main`, all that your branch has changed. At a terminal you
    are asked to apply the fix or to skip it; Enter leaves that open for `hansard decide`.

    Exit code: 0 decided or nothing to review, 1 cancelled, 6 waits for your decision.

    Parameters
    ----------
    subject
        The text to review, or the file that holds it; - reads it from stdin.
    diff
        Review the changes of the repository: staged, unstaged and untracked files.
    base
        Since the branch left this revision, as in main or HEAD~3; else since the last commit.
    repo
        The repository, if it is not the one you stand in.
    strategy
        review weighs it up; red-team attacks it.
    max_rounds
        At most so many, 1 to 20 (3).
    """
    if diff or base is not None or repo is not None:
        if subject is not None or file is not None:
            raise Failed("Give a text, --file or --diff, not several of them.", code=exits.USAGE)
        found = await changes(repo or Path.cwd(), base=base)
        if found is None:
            return exits.OK
    elif subject is None and file is None:
        raise Failed("What is to be reviewed? A text, --file FILE, - for stdin, or --diff.", code=exits.USAGE)
    else:
        found = Changes(Path.cwd(), "", text_or_file(subject, file, what="subject"))
    body: Json = {"kind": "review", "subject": found.text, "title": found.title, "strategy": strategy}
    body |= {"maxRounds": max_rounds, "profile": profile, "origin": "cli"}
    return await start(where, team, options, body, json=json, here=found.top)


async def debate(
    plan: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="The plan or its file; - reads it from stdin."),
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Debate the plan that stands in this file.")] = None,
    strategy: Annotated[DebateStrategy | None, Parameter(group=TALK)] = None,
    max_rounds: Rounds = None,
    profile: Profile = None,
    options: Start = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have a plan debated before anybody works on it: a critic challenges it, a planner defends it, you decide.

        hansard debate --file plan.md --strategy perspectives

    At a terminal you are asked to revise the plan or to accept it; Enter leaves that open for `hansard decide`.

    Exit code: 0 decided, 1 cancelled, 6 waits for your decision.

    Parameters
    ----------
    plan
        The plan to debate, or the file that holds it; - reads it from stdin.
    strategy
        debate challenges and defends; perspectives looks for risks, then for chances, then weighs both.
    max_rounds
        At most so many, up to 20 (2), and never fewer than the strategy has.
    """
    body: Json = {"kind": "debate", "plan": text_or_file(plan, file, what="plan"), "strategy": strategy}
    body |= {"maxRounds": max_rounds, "profile": profile, "origin": "cli"}
    return await start(where, team, options, body, json=json)
