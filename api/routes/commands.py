"""POST: every command comes in here, is parsed, carried out by the writer, and answered after its commit."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import orjson
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response

from api.allowed import allowed, waiting_child
from api.http.carrying import carry_out, respond
from api.http.idempotency import keyed, own
from api.http.problems import Problem
from api.http.requests import idempotency_key, if_match, raw_body, read, read_object, system
from api.routes import forks, starting
from api.routes.bodies import (
    Cancel,
    DebateStart,
    Decision,
    DeliveryStart,
    Empty,
    Extend,
    Fork,
    Message,
    OrchestrationStart,
    Origin,
    ReviewStart,
)
from domain.channel import ContinueLatest, ReceiveMessage, ResetLatest, channel_id
from domain.delivery.commands import ExtendBudget
from domain.discussion.commands import StartDiscussion
from domain.discussion.state import Discussion
from domain.kinds import KINDS
from domain.orchestration.commands import (
    AddRounds,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.session.actions import unfit
from domain.session.children import Decide
from domain.session.record import kind_of
from domain.session.state import Session
from domain.values.base import Command, Invalid, Stale, Unknown
from domain.values.strict import JSON

Starter = Callable[[Mapping[str, JSON], Request], Command]


def _start_delivery(found: Mapping[str, JSON], request: Request) -> Command:
    inside = system(request)
    return starting.delivery(read(DeliveryStart, found), inside.team, inside.settings)


def _start_orchestration(found: Mapping[str, JSON], request: Request) -> Command:
    inside = system(request)
    opening, blobs = starting.orchestration(read(OrchestrationStart, found), inside.team, inside.settings)
    return StartOrchestration(opening=opening, blobs=blobs)


def _start_discussion(body: type[ReviewStart] | type[DebateStart]) -> Starter:
    def start(found: Mapping[str, JSON], request: Request) -> Command:
        inside = system(request)
        topic, blobs = starting.discussion(read(body, found), inside.team, inside.settings)
        return StartDiscussion(topic=topic, blobs=blobs)

    return start


STARTERS: dict[str, Starter] = {
    "delivery": _start_delivery,
    "orchestration": _start_orchestration,
    "review": _start_discussion(ReviewStart),
    "debate": _start_discussion(DebateStart),
}


@keyed
async def start_session(request: Request) -> Response:
    """POST /api/sessions"""
    raw = await raw_body(request)
    found = read_object(raw)
    kind = found.get("kind", "delivery")
    starter = STARTERS.get(kind) if isinstance(kind, str) else None
    if starter is None:
        raise Invalid({"/kind": f"should be one of {', '.join(STARTERS)}"})
    looking = "workspace" in found  # at folders, perhaps of a slow disk
    command = await asyncio.to_thread(starter, found, request) if looking else starter(found, request)
    answer = await carry_out(request, raw, starting.new_id(str(kind)), command, starts=True, status=202)
    return respond(answer)


@keyed
async def cancel_session(request: Request) -> Response:
    """POST /api/sessions/{id}/cancel"""
    raw = await raw_body(request)
    body = read(Cancel, read_object(raw))
    session_id = _addressed(request)
    cancel = KINDS[kind_of(session_id)].cancel(body.reason)
    return respond(await carry_out(request, raw, session_id, cancel))


def _addressed(request: Request) -> str:
    """The session of the path. Raises Unknown for what is none: the stream of a channel is nobody's to command."""
    session_id: str = request.path_params["id"]
    if kind_of(session_id) not in KINDS:
        raise Unknown(f"There is no session {session_id!r}.")
    return session_id


@keyed
async def extend_budget(request: Request) -> Response:
    """POST /api/sessions/{id}/budget"""
    raw = await raw_body(request)
    body = read(Extend, read_object(raw))
    session_id = _addressed(request)
    return respond(await carry_out(request, raw, session_id, _extending(kind_of(session_id), body)))


def _extending(kind: str, body: Extend) -> Command:
    """Raises Invalid where the amounts are none that this kind has; what has no budget refuses whatever is offered."""
    amounts = body.model_dump(exclude={"reason"}, exclude_none=True)
    if kind not in _AMOUNTS:
        return ExtendBudget(reason=body.reason)
    extend, names = _AMOUNTS[kind]
    if not amounts or not amounts.keys() <= set(names):
        raise _unfit(kind, amounts, names)
    return extend(reason=body.reason, **amounts)


def _unfit(kind: str, amounts: Collection[str], names: Sequence[str]) -> Invalid:
    """What the kind takes, at each field that it does not."""
    fit = ", ".join(to_camel(name) for name in names)
    strange = [f"/{to_camel(name)}" for name in amounts if name not in names]
    if not strange:
        return Invalid({"": f"give {'at least one of ' if len(names) > 1 else ''}{fit}"})
    return Invalid(dict.fromkeys(strange, f"does not belong to the kind {kind}, which takes {fit}"))


_AMOUNTS: dict[str, tuple[type[ExtendBudget | AddRounds], tuple[str, ...]]] = {
    "delivery": (ExtendBudget, ("add_iterations", "add_minutes", "add_tokens", "add_cost_micros")),
    "orchestration": (AddRounds, ("add_rounds",)),
}


@keyed
async def continue_session(request: Request) -> Response:
    """POST /api/sessions/{id}/continue"""
    raw = await raw_body(request)
    read(Empty, read_object(raw))
    session_id = _addressed(request)
    command = await asyncio.to_thread(_continuing, request, session_id)
    return respond(await carry_out(request, raw, session_id, command))


def _continuing(request: Request, session_id: str) -> Command:
    """A held fork is released; otherwise only orchestrations stop in a way that lets them go on."""
    session = system(request).sessions.get(session_id)
    if session is not None and session.held:
        return forks.release(system(request).store.history(session_id))
    command = ContinueOrchestration()
    _closed(request, session, "continue", command)
    return command


def _closed(request: Request, session: Session | None, door: str, command: Command) -> None:
    """Raises Refused for a door that a parent keeps closed: that its discussion can be decided only we can tell."""
    if session is None or not session.open_children or if_match(request) not in (None, session.version):
        return
    doors = allowed(session, system(request).sessions.get)
    if door not in doors:
        raise unfit(session, command, doors)


@keyed
async def reset_session(request: Request) -> Response:
    """POST /api/sessions/{id}/reset"""
    raw = await raw_body(request)
    body = read(Cancel, read_object(raw))
    session_id = _addressed(request)
    command = await asyncio.to_thread(_resetting, request, session_id, body.reason)
    return respond(await carry_out(request, raw, session_id, command))


def _resetting(request: Request, session_id: str, reason: str) -> Command:
    command = ResetOrchestration(reason=reason)
    if kind_of(session_id) != "orchestration":
        _closed(request, system(request).sessions.get(session_id), "reset", command)
    return command


@keyed
async def decide(request: Request) -> Response:
    """POST /api/sessions/{id}/decision: of the review or debate itself, or of the one that its parent waits for"""
    raw = await raw_body(request)
    body = read(Decision, read_object(raw))
    session_id = await asyncio.to_thread(_waiting, request, _addressed(request))
    actor: str = request.state.actor
    command = Decide(choice=body.decision, rationale=body.rationale, actor=actor, version=body.version)
    return respond(await carry_out(request, raw, session_id, command))


def _waiting(request: Request, session_id: str) -> str:
    """The one child that waits for a decision; else the session itself, which decides or refuses in its own words.

    A key that was answered before, and a parent that has moved on from `If-Match`, are the writer's to tell.
    """
    session = system(request).sessions.get(session_id)
    if session is None or isinstance(session, Discussion) or if_match(request) not in (None, session.version):
        return session_id
    if _answered(request):
        return session_id
    return waiting_child(session, system(request).sessions.get) or session_id


def _answered(request: Request) -> bool:
    """Whether the request's key was answered before."""
    key = idempotency_key(request)
    return key is not None and system(request).store.receipt(own(request, key)) is not None


@keyed
async def fork_session(request: Request) -> Response:
    """POST /api/sessions/{id}/fork: another way on from a version; the source is untouched"""
    raw = await raw_body(request)
    body = read(Fork, read_object(raw))
    source_id = request.path_params["id"]
    fork_id = starting.new_id(kind_of(source_id))
    command = await asyncio.to_thread(_forking, request, source_id, body, fork_id)
    return respond(await carry_out(request, raw, fork_id, command, starts=True, status=202))


def _forking(request: Request, source_id: str, body: Fork, fork_id: str) -> Command:
    """A decision is taken over whole: a version in the midst of one means the version at its end."""
    inside, seen = system(request), if_match(request)
    now = inside.sessions.get(source_id) if kind_of(source_id) in KINDS else None
    if now is None:
        raise Unknown(f"There is no session {source_id!r}.")
    if seen not in (None, now.version) and not _answered(request):
        raise Stale(expected=seen, actual=now.version)
    at = forks.whole(inside.store.history(source_id), body.at_version)
    if at is None:
        raise Unknown(f"There is no version {body.at_version} of {source_id}.")
    source = inside.sessions.get(source_id, at)
    assert source is not None, "the version has just been seen"
    return forks.fork_command(body, at, source, fork_id, inside.sessions.get, actor=request.state.actor)


@keyed
async def receive_message(request: Request) -> Response:
    """POST /api/message: started, queued, rejected (and why), or unclear (and what it may mean)"""
    raw = await raw_body(request)
    body = read(Message, read_object(raw))
    if not body.prompt.strip():
        raise Problem(400, "The message is empty.", action="rejected", reason="empty")
    inside = system(request)
    opening, blobs = await asyncio.to_thread(starting.orchestration, body, inside.team, inside.settings)
    session_id, sender = starting.new_id("orchestration"), request.state.actor
    command = ReceiveMessage(session_id=session_id, opening=opening, sender=sender, blobs=blobs)
    return respond(await carry_out(request, raw, channel_id(body.origin), command, starts=True), tagged=False)


@keyed
async def continue_latest(request: Request) -> Response:
    """POST /api/orchestrate/continue: the latest orchestration of the origin goes on"""
    return await _on_latest(request, lambda _: ContinueLatest())


@keyed
async def reset_latest(request: Request) -> Response:
    """POST /api/orchestrate/reset: the latest orchestration of the origin is ended"""
    return await _on_latest(request, lambda reason: ResetLatest(reason=reason))


async def _on_latest(request: Request, command: Callable[[str], Command]) -> Response:
    raw = await raw_body(request)
    body = read(Origin, read_object(raw))
    answer = await carry_out(request, raw, channel_id(body.origin), command(body.reason), starts=True)
    return respond(replace(answer, body=orjson.dumps({"ok": True, **orjson.loads(answer.body)})))
