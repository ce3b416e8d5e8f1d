"""The three endpoints of external workers. A worker is known by the name of its API key."""

import asyncio
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictInt, model_validator
from starlette.requests import Request
from starlette.responses import Response

from adapters.agents.port import Reply
from adapters.store.turns import Lease
from adapters.turns.external.leases import LeaseLost
from adapters.turns.external.queue import TurnFilter
from adapters.turns.external.turns import Offer, ResultKey
from adapters.workspace import WorkspaceError, confine
from adapters.writer.writer import CommandAnswer
from api.actions.bodies import Body
from api.actions.declaration import ActionCall
from api.http.guards import check_key
from api.http.idempotency import call_of, once, refusal
from api.http.problems import Problem
from api.http.requests import answer_headers, header, raw_body, read, read_object, system, version_of
from api.node.worker_settings import worker_settings
from domain.session.attempts import Failure, OldCode, Retryable
from domain.session.turns import Access
from domain.values.base import HansardError, Invalid, Refused, Stale, Usage, iso
from domain.values.sentences import Sentence, sentence_of
from projections.views.base import View

Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(min_length=1, max_length=100)]
Model = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
Attempt = Annotated[StrictInt, Field(ge=1, le=2**31, description="`lease.attempt` of the claim")]


class TurnClaim(Body):
    """Which turns are wanted; any waiting turn if no agents and no roles are named."""

    agents: Names | None = Field(default=None, description="turns of these agents, in any case")
    roles: Names | None = Field(default=None, description="or turns in these roles")
    wait_seconds: Annotated[float, Field(ge=0, le=86_400, strict=True)] = Field(
        default=0.0, description="how long to wait for one; the server has a limit of its own"
    )


class TurnHeartbeat(Body):
    """A sign of life."""

    attempt: Attempt


class TurnUsage(Body):
    """What the turn cost, as far as it is known; money in millionths."""

    input_tokens: Number | None = Field(default=None, description="cache reads and writes included")
    cached_tokens: Number | None = Field(default=None, description="those read from a cache")
    output_tokens: Number | None = None
    reasoning_tokens: Number | None = None
    cost_micros: Number | None = None
    model: Model | None = Field(default=None, description="the model that answered, here or beside `usage`")


class TurnFault(Body):
    """Why there is no usable answer."""

    code: Literal[Retryable, OldCode, "auth", "refused", "limit"]
    detail: Annotated[str, Field(max_length=2_000)] = ""
    retry_after: Annotated[float, Field(ge=0, le=31_536_000)] | None = Field(
        default=None, description="seconds until it makes sense to ask again, where they are known"
    )


class TurnResult(Body):
    """The result of a turn: an answer, or why there is none."""

    text: str | None = Field(default=None, description="what the agent says; may be left out of a failure")
    usage: TurnUsage = TurnUsage()
    model: Model | None = Field(default=None, description="the model that answered, where it is known")
    agent_session: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        default=None, description="the handle to resume this conversation; unchanged if left out"
    )
    files: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=1_024)], str],
        Field(max_length=1_000, description="contents by path in the workspace; written if the turn may write"),
    ] = {}
    failure: TurnFault | None = None
    attempt: Attempt

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.text is None and self.failure is None:
            raise ValueError(Sentence("answer_missing"))
        if self.failure is not None and self.files:
            raise ValueError(Sentence("failure_brings_no_files"))
        return self


class LeaseView(View):
    """How long a turn is held; without a heartbeat before `until` another worker can claim it."""

    attempt: int = Field(description="send it with heartbeats and the result; it identifies this claim")
    until: str
    seconds: float = Field(description="how far a heartbeat extends it")
    heartbeat_seconds: float = Field(description="the recommended interval between heartbeats")


class TurnOffer(View):
    """A turn that was claimed."""

    turn_id: str
    session_id: str
    kind: str
    role: str
    agent: str
    prompt: str = Field(description="the exact prompt")
    context: dict[str, str] = Field(description="the sections of the prompt")
    workspace: str | None = Field(description="the folder to work in, on the server's machine; null if none")
    env: dict[str, str] = Field(description="the variables of `hansard.toml` for your programs")
    setup: tuple[tuple[str, ...], ...] = Field(
        description="commands of `hansard.toml` that have not run in this folder yet; run them before anything else"
    )
    access: Access = Field(description="the access to it; changes are kept only for `write`")
    reads: str = Field(description="the expected kind of reply, as in the policy `parse`; `text` is free-form")
    expects: tuple[str, ...] = Field(description="the agents to be judged")
    phase: str | None
    iteration: int | None
    round: int | None
    agent_session: str | None = Field(description="the conversation to resume, from an earlier result")
    deadline: str | None = Field(description="when the turn is stopped, regardless of the lease")
    lease: LeaseView


class HeldTurn(View):
    """A turn that is still held."""

    turn_id: str
    session_id: str
    lease: LeaseView


_NOTHING: Final = 204


@once
async def claim_turn(request: Request) -> Response:
    """POST /api/turns/claim: the oldest turn that waits for an external agent, as soon as there is one"""
    body = read(TurnClaim, read_object(await raw_body(request)))
    offer = await _unless_gone(request, body)
    if offer is None:
        check_key(request)
        return Response(status_code=_NOTHING, headers=answer_headers())
    return _answer(_offered(offer, request))


async def _unless_gone(request: Request, body: TurnClaim) -> Offer | None:
    """A client that has left gets nothing."""
    inside = system(request)
    wish = TurnFilter(_folded(body.agents), _folded(body.roles))
    seconds = min(body.wait_seconds, inside.settings.claim_wait_seconds)
    claiming = asyncio.create_task(inside.external_turns().claim(_worker(request), wish, seconds))
    leaving = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({claiming, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return claiming.result() if claiming.done() else None
    finally:
        claiming.cancel()
        leaving.cancel()
        await asyncio.gather(claiming, leaving, return_exceptions=True)


def _folded(names: list[str] | None) -> frozenset[str]:
    return frozenset(name.casefold() for name in names or ())


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@once
async def heartbeat_turn(request: Request) -> Response:
    """POST /api/turns/{turn}/heartbeat: hold on to a turn"""
    desk = system(request).external_turns()
    await desk.look_up(request.path_params["turn"])
    body = read(TurnHeartbeat, read_object(await raw_body(request)))
    try:
        lease = await desk.heartbeat(_worker(request), request.path_params["turn"], body.attempt)
    except LeaseLost as lost:
        raise _lost(lost) from None
    return _answer(HeldTurn(turn_id=lease.turn_id, session_id=lease.session_id, lease=_lease(lease, request)))


def _lost(lost: LeaseLost) -> Problem:
    return Problem(409, str(lost), allowed=[], reason=lost.reason)


async def record_result(request: Request) -> Response:
    """POST /api/turns/{turn}/result: hand in what came of a turn, once"""
    call = await call_of(request)
    try:
        answer = await _recorded(request, call)
    except LeaseLost as lost:
        return await refusal(call, _lost(lost))
    except (Refused, Stale):
        raise  # the writer keeps it
    except HansardError as error:
        return await refusal(call, error)
    headers = answer_headers(ETag=f'"{answer.version}"')
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, headers=headers, media_type="application/json")


async def _recorded(request: Request, call: ActionCall[bytes]) -> CommandAnswer:
    desk = call.system.external_turns()
    await desk.look_up(request.path_params["turn"])
    body = read(TurnResult, read_object(call.body))
    reply = _reply(body, most=call.system.team.limits.output_bytes)
    expected = version_of(header(request, "if-match"))
    key = ResultKey(key=call.owned_key, fingerprint=call.fingerprint, expected=expected)
    return await desk.result(_worker(request), request.path_params["turn"], body.attempt, reply, key)


def _reply(body: TurnResult, *, most: int) -> Reply:
    """The result as a reply. Raises Invalid for files that leave the workspace and for two models; 413 for too long an
    answer."""
    text = body.text or ""
    if len(text.encode()) > most:
        raise Problem(413, Sentence("answer_too_large", number=most))
    errors = {f"/files/{_escaped(path)}": fault for path in body.files if (fault := _unconfined(path)) is not None}
    if len({body.model, body.usage.model} - {None}) > 1:
        errors["/usage/model"] = Sentence("models_differ")
    if errors:
        raise Invalid(errors)
    failure = None if body.failure is None else Failure(**body.failure.model_dump())
    usage = Usage(**body.usage.model_dump(exclude={"model"}))
    return Reply(text, usage, body.files, body.agent_session, failure, model=body.usage.model or body.model)


def _unconfined(path: str) -> Sentence | str | None:
    """Tells why it is not a path within the workspace; None if it is one."""
    try:
        confine(path)
    except WorkspaceError as error:
        return sentence_of(error)
    return None


def _escaped(path: str) -> str:
    return path.replace("~", "~0").replace("/", "~1")


def _worker(request: Request) -> str:
    """The name under which leases are held: none of this machine's own workers has one with a colon."""
    return f"external:{request.state.actor}"


def _offered(offer: Offer, request: Request) -> TurnOffer:
    turn, session, lease = offer.job.request, offer.job.session, offer.lease
    return TurnOffer(
        turn_id=lease.turn_id,
        session_id=lease.session_id,
        kind=session.kind,
        role=lease.role,
        agent=lease.agent,
        prompt=offer.asked.prompt,
        context=dict(offer.asked.context),
        workspace=None if offer.asked.folder is None else str(offer.asked.folder),
        env=dict(offer.asked.env),
        setup=tuple(map(tuple, offer.asked.setup)),
        access=turn.access,
        reads=turn.reads,
        expects=tuple(turn.expects),
        phase=turn.phase,
        iteration=turn.iteration,
        round=turn.round,
        agent_session=turn.agent_session,
        deadline=None if offer.job.deadline is None else iso(offer.job.deadline),
        lease=_lease(lease, request),
    )


def _lease(lease: Lease, request: Request) -> LeaseView:
    worker = worker_settings(system(request).settings)
    return LeaseView(
        attempt=lease.attempt, until=iso(lease.until), seconds=worker.lease, heartbeat_seconds=worker.heartbeat
    )


def _answer(view: View) -> Response:
    return Response(view.json_bytes(), headers=answer_headers(), media_type="application/json")
