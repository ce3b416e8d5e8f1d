"""`orchestrate`, `continue`, `reset`: a request to the team, worked on in rounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import recorded, sentence
from api.cli.options import (
    HERE,
    AsJson,
    DebateOption,
    Json,
    Key,
    ReviewOption,
    TeamFile,
    Version,
    Where,
    discussion_option,
    split,
    text_from,
)
from api.cli.start import PLAIN, AsEnd, StartOptions, say_who_goes_on, start, started
from api.cli.terminal import put_json, say
from api.cli.watch import follow_to_end

TALK = Group("Orchestration options", sort_key=10)
Origin = Annotated[
    str | None, Parameter(help="The conversation it belongs to, one run at a time; default: the unnamed one.")
]


@Parameter(name="*", group=TALK)
@dataclass(frozen=True, kw_only=True)
class Talk:
    """How a request is worked on."""

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

    def body(self) -> Json:
        return {
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
    body: Json = {
        "kind": "orchestration",
        "prompt": text_from(prompt, file, what="prompt"),
        "origin": origin,
    } | talk.body()
    body["triage"] = talk.triage or "orchestrate"
    return await start(where, team, options, body, json=json)


def _employee(word: str) -> Json:
    """`Backend:backend`; without a role the API's own default holds."""
    name, colon, role = word.rpartition(":")
    if colon and not (name.strip() and role.strip()):
        raise Failed(
            sentence("--employee {word}: expected name:role, such as Backend:backend.", word=word), code=exits.USAGE
        )
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": word}


Which = Annotated[
    str | None,
    Parameter(help="The orchestration: an id, a unique prefix, or `latest`; default: the conversation's latest."),
]
OriginOfLatest = Annotated[
    str | None, Parameter(help="The conversation whose latest run is meant; default: the unnamed one.")
]

_BEGINNINGS: Final = ("orchestration.session_started", "orchestration.continued", "orchestration.rounds_added")


async def continue_(
    session: Which = None,
    /,
    *,
    origin: OriginOfLatest = None,
    detach: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Resume an orchestration that stopped, for example at a checkpoint or out of rounds; it gets as many rounds again.

    Exit code: 0 done, 1 reset, invalid plan, failed agent, or no agent available for the rest, 4 nothing to continue,
    6 at a checkpoint or waiting for your decision, 7 out of rounds.

    Parameters
    ----------
    detach
        Do not wait. Without a server, start `hansard serve` on this log to run it.
    """
    async with connected(where, "start" if detach else "work", team=team) as api:
        path, body = await _target(api, session, "continue", origin=origin, version=if_version)
        answer = await api.post(path, body, key=idempotency_key, version=if_version)
        say(sentence("Resumed session {session_id}.", session_id=answer["sessionId"]))
        if detach:
            return started(api, answer, json=json)
        return await see_latest_run(api, str(answer["sessionId"]), json=json)


async def reset(
    session: Which = None,
    /,
    *,
    origin: OriginOfLatest = None,
    reason: Annotated[str | None, Parameter(allow_leading_hyphen=True, help="Why; goes on record.")] = None,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """End an orchestration for good, even while it runs. The record stays."""
    async with connected(where, "all") as api:
        path, body = await _target(api, session, "reset", origin=origin, version=if_version)
        answer = await api.post(path, body | {"reason": reason}, key=idempotency_key, version=if_version)
    say(sentence("Reset session {session_id}.", session_id=answer["sessionId"]))
    return put_answer(answer, json=json)


async def see_latest_run(api: Api, session_id: str, *, json: bool) -> int:
    """See an orchestration through from where it was last started or continued."""
    await say_who_goes_on(api, session_id)
    events, _ = await api.pages(f"{path_of(session_id)}/events", limit=1_000_000)
    begun = [int(event["version"]) for event in events if event["type"] in _BEGINNINGS]
    return await follow_to_end(api, session_id, after=max(begun, default=1) - 1, json=json)


def put_answer(answer: Json, *, json: bool) -> int:
    if json:
        put_json(answer)
    return exits.OK


async def _target(
    api: Api, session: str | None, verb: str, *, origin: str | None, version: int | None
) -> tuple[str, Json]:
    """Path and body: of one session, or of the latest orchestration of an origin."""
    if session is None or (session == "latest" and origin is not None):
        if version is not None:
            raise Failed(sentence("--if-version needs a session id."), code=exits.USAGE)
        return f"/api/orchestrate/{verb}", {"origin": origin}
    if origin is not None:
        raise Failed(sentence("Give a session or --origin, not both."), code=exits.USAGE)
    session_id = await resolve(api, session)
    answer = await api.session(session_id)
    if answer["session"]["kind"] != "orchestration":
        raise _other_kind(answer, verb)
    return f"{path_of(session_id)}/{verb}", {}


def _other_kind(answer: Json, verb: str) -> Failed:
    """Only orchestrations continue and reset: which command the session takes instead."""
    name, kind = answer["session"]["id"], answer["session"]["kind"]
    instead = {
        "decision": f"hansard decide {name} CHOICE",
        "retry": f"hansard retry {name}",
        "budget": f"hansard extend {name} --iterations N --reason WHY",
        "cancel": f"hansard cancel {name}",
    }
    fit = [f"`{command}`" for action, command in instead.items() if action in answer["availableCommands"]]
    hint = sentence("Use {commands}.", commands=", ".join(fit)) if fit else sentence("It has ended.")
    return Failed(
        sentence(
            "Session {name} is a {kind}; `hansard {verb}` is only for orchestrations. {hint}",
            name=name,
            kind=recorded("kind", kind),
            verb=verb,
            hint=hint,
        ),
        code=exits.REFUSED,
    )
