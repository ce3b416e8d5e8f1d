"""`hansard orchestrate`: a request to the team, worked on in rounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, DebateOption, Fields, ReviewOption, TeamFile, Where, discussion_option, split
from api.cli.start import PLAIN, AsEnd, StartOptions, start
from api.cli.texts import text_from

TALK = Group("Orchestration options", sort_key=10)

Origin = Annotated[
    str | None, Parameter(help="The conversation it belongs to, one run at a time; default: the unnamed one.")
]


@Parameter(name="*", group=TALK)
@dataclass(frozen=True, kw_only=True)
class Talk:
    """The way in which a request is worked on."""

    employee: Annotated[list[str] | None, Parameter(alias="-e")] = None
    """Who takes subtasks, as name:role, comma-separated or repeated; default: the team's own. Roles: frontend, backend,
    data, docs, custom."""
    max_rounds: int | None = None
    """Rounds before it stops for your go-ahead, 1 to 50 [default: 3]."""
    triage: Literal["auto", "direct", "orchestrate"] | None = None
    """Answer directly, or plan and distribute; auto decides by the text. Default: orchestrate (messages: auto)."""
    plan_review: DebateOption = False
    """Have the plan debated before work begins, then decide: --plan-review or --plan-review=perspectives."""
    work_review: ReviewOption = False
    """Have passed work reviewed, then decide: --work-review or --work-review=red-team."""

    validation_commands: Annotated[list[str] | None, Parameter(alias="--validate")] = None
    """Commands that validate the work of each round, comma-separated or repeated; default: those of hansard.toml."""
    no_validation: bool = False
    """Do not validate the work."""

    def body(self) -> Fields:
        return {
            "validationCommands": split(self.validation_commands) if self.validation_commands else None,
            "validate": False if self.no_validation else None,
            "employees": [_employee(word) for word in split(self.employee)] if self.employee else None,
            "maxRounds": self.max_rounds,
            "triage": self.triage,
            "planReview": discussion_option(self.plan_review),
            "workReview": discussion_option(self.work_review),
        }


ANYHOW = Talk()


async def orchestrate(
    prompt: Annotated[str | None, Parameter(allow_leading_hyphen=True, help="The request; - reads stdin.")] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Read the prompt from this file.")] = None,
    talk: Talk = ANYHOW,
    origin: Origin = None,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Give the team a request: it plans, works in rounds and judges each agent's phases until everything is done.

        hansard orchestrate "src/ API를 만들고 문서도 써줘" --employee Backend:backend --employee Docs:docs

    Exit code: 0 done, 1 reset, invalid plan, failed agent, or no agent available for the rest, 6 at a checkpoint or
    waiting for your decision, 7 out of rounds. Unless it was reset, `hansard continue` resumes it.

    Parameters
    ----------
    prompt
        The request; - reads stdin.
    """
    body: Fields = {
        "kind": "orchestration",
        "prompt": text_from(prompt, file, what="prompt"),
        "origin": origin,
    } | talk.body()
    body["triage"] = talk.triage or "orchestrate"
    return await start(where, team, options, body, json=json)


def _employee(word: str) -> Fields:
    """`Backend:backend`; without a role the API's own default holds."""
    name, colon, role = word.rpartition(":")
    if colon and not (name.strip() and role.strip()):
        raise Failed(
            sentence("--employee {word}: expected name:role, such as Backend:backend.", word=word), code=exits.USAGE
        )
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": word}
