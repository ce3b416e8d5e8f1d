"""`hansard orchestrate`: a request to the team, worked on in rounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from api.cli import exits
from api.cli.client import HERE, Json, TeamFile, Where
from api.cli.exits import Failed
from api.cli.given import given
from api.cli.listed import split
from api.cli.starting import PLAIN, AsEnd, Start, start
from api.cli.wishes import DebateWish, ReviewWish, wish

TALK = Group("How the team goes about it", sort_key=10)
Origin = Annotated[
    str | None, Parameter(help="The conversation that it belongs to, one run at a time; else the unnamed one.")
]


@Parameter(name="*", group=TALK)
@dataclass(frozen=True, kw_only=True)
class Talk:
    """How a request is worked on."""

    employee: Annotated[list[str] | None, Parameter(alias="-e")] = None
    """Who takes subtasks, as name:role with commas or repeated; else the team's own. Roles: frontend, backend, data,
    docs, custom."""
    max_rounds: int | None = None
    """Rounds until it stops and asks to go on, 1 to 50 (3)."""
    triage: Literal["auto", "direct", "orchestrate"] | None = None
    """Answer directly, or plan and distribute; auto decides by the words. Default: orchestrate (of a message: auto)."""
    plan_review: DebateWish = False
    """Have the plan debated, and decide yourself, before anybody works: --plan-review or --plan-review=perspectives."""
    work_review: ReviewWish = False
    """Have passed work reviewed, and decide yourself: --work-review or --work-review=red-team."""

    def body(self) -> Json:
        return {
            "employees": [_employee(word) for word in split(self.employee)] if self.employee else None,
            "maxRounds": self.max_rounds,
            "triage": self.triage,
            "planReview": wish(self.plan_review),
            "workReview": wish(self.work_review),
        }


ANYHOW = Talk()


async def orchestrate(
    prompt: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="What is wanted; - reads it from stdin.")
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Read the prompt from this file.")] = None,
    talk: Talk = ANYHOW,
    origin: Origin = None,
    options: Start = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Give the team a request: it plans, works in rounds, judges each agent's phases, until all is done.

        hansard orchestrate "src/ API를 만들고 문서도 써줘" --employee Backend:backend --employee Docs:docs

    Exit code: 0 done, 1 reset, stopped by a plan that does not hold or an agent that failed, or nobody is there for
    what is left, 6 at a checkpoint or waiting for your decision, 7 the rounds are used up. Unless it was reset,
    `hansard continue` goes on.

    Parameters
    ----------
    prompt
        What is wanted; - reads it from stdin.
    """
    body: Json = {"kind": "orchestration", "prompt": given(prompt, file, what="prompt"), "origin": origin} | talk.body()
    body["triage"] = talk.triage or "orchestrate"
    return await start(where, team, options, body, json=json)


def _employee(word: str) -> Json:
    """`Backend:backend`; without a role the API's own default holds."""
    name, colon, role = word.rpartition(":")
    if colon and not (name.strip() and role.strip()):
        raise Failed(f"--employee {word}: name:role was expected, as in Backend:backend.", code=exits.USAGE)
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": word}
