"""Use cases: everything that a person or a program can do, through HTTP, a form, or the example.

Each action turns an `ApiCall` into an `Intent`: a command for one session. `api.http.commands.perform` carries it out.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from pydantic.alias_generators import to_camel

from adapters.agents.scripted import Scenario
from api.actions import forks, starting
from api.actions.bodies import DebateStart, DeliveryStart, OrchestrationStart, ReviewStart
from api.actions.changing import fix_task, may_cancel, may_permit, steps_to_pass_again
from api.actions.command_bodies import AnswerPermission, Cancel, Decision, Empty, Extend, Fork, Message, Origin, Retry
from api.actions.projects import workspace_of
from api.http.idempotency import ApiCall, Intent
from api.http.problems import Problem
from api.http.requests import read
from api.node.session_answers import allowed, waiting_child
from api.system import System
from domain.channel import channel_id
from domain.channel.commands import ContinueLatest, ReceiveMessage, ResetLatest
from domain.delivery.commands import ExtendBudget
from domain.discussion.commands import StartDiscussion
from domain.discussion.state import Discussion
from domain.kinds import KINDS
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration, StartOrchestration
from domain.session.actions import unfit
from domain.session.approvals import DecidePermission
from domain.session.children import Decide
from domain.session.record import kind_of
from domain.session.state import Session
from domain.session.turns import RetryTurn
from domain.triage import intent
from domain.values.base import Command, Invalid, Stale, Unknown
from domain.values.json import JSON
from domain.values.sentences import Sentence

Body = Mapping[str, JSON]


# -- starting ----------------------------------------------------------------------------------------------------------


async def start(call: ApiCall) -> Intent:
    """Start a session of any kind."""
    body = call.fields
    kind = body.get("kind", "delivery")
    starter = STARTERS.get(kind) if isinstance(kind, str) else None
    if starter is None:
        raise Invalid({"/kind": Sentence("not_one_of", choices=list(STARTERS))})
    may_name_workspace(call)
    looks_at_folders = "workspace" in body  # the disk may be slow
    made = partial(starter, body, call.system, call.actor)
    command = await asyncio.to_thread(made) if looks_at_folders else made()
    return Intent(starting.new_id(str(kind)), command, starts=True, status=202)


def may_name_workspace(call: ApiCall) -> None:
    """Raises Problem 403: only keys with the scope `admin` may name any folder of this machine."""
    if call.fields.get("workspace") is not None and call.scope != "admin" and not call.system.settings.root_folders:
        raise Problem(403, Sentence("roots_needed"), scope="admin")


def _start_delivery(body: Body, system: System, author: str) -> Command:
    request = read(DeliveryStart, body)
    fixed = None if request.fixes is None else system.sessions.get(request.fixes)
    if request.fixes is not None and request.task is None:
        request = request.model_copy(update={"task": fix_task(fixed)})
    return starting.delivery(request, system.team, system.settings, author=author, earlier=steps_to_pass_again(fixed))


def _start_orchestration(body: Body, system: System, author: str) -> Command:
    opening, blobs = starting.orchestration(read(OrchestrationStart, body), system.team, system.settings, author=author)
    return StartOrchestration(opening=opening, blobs=blobs)


def _start_review(body: Body, system: System, author: str) -> Command:
    topic, blobs = starting.discussion(read(ReviewStart, body), system.team, system.settings, author=author)
    return StartDiscussion(topic=topic, blobs=blobs)


def _start_debate(body: Body, system: System, author: str) -> Command:
    topic, blobs = starting.discussion(read(DebateStart, body), system.team, system.settings, author=author)
    return StartDiscussion(topic=topic, blobs=blobs)


STARTERS: Final[Mapping[str, Callable[[Body, System, str], Command]]] = {
    "delivery": _start_delivery,
    "orchestration": _start_orchestration,
    "review": _start_review,
    "debate": _start_debate,
}


# -- one session -------------------------------------------------------------------------------------------------------


async def cancel(call: ApiCall) -> Intent:
    """Cancel a session of any kind."""
    body = read(Cancel, call.fields)
    session_id = call.session_id
    await asyncio.to_thread(may_cancel, call, session_id)
    return Intent(session_id, KINDS[kind_of(session_id)].cancel(body.reason))


async def retry(call: ApiCall) -> Intent:
    """Ask a turn again that waits for its next attempt, or whose last attempt has failed."""
    body = read(Retry, call.fields)
    return Intent(call.session_id, RetryTurn(reason=body.reason), status=202)


async def permit(call: ApiCall) -> Intent:
    """Answer an agent that waits for permission to use a tool."""
    body = read(AnswerPermission, call.fields)
    return Intent(call.session_id, DecidePermission(**body.model_dump(), by=call.actor))


async def extend(call: ApiCall) -> Intent:
    """More budget, or more rounds."""
    body = read(Extend, call.fields)
    session_id = call.session_id
    return Intent(session_id, _extension(kind_of(session_id), body))


def _extension(kind: str, body: Extend) -> Command:
    """Raises Invalid for amounts that this kind does not have; a kind without a budget refuses all of them."""
    amounts = body.model_dump(exclude={"reason"}, exclude_none=True)
    if kind not in _AMOUNTS:
        return ExtendBudget(reason=body.reason)
    command, names = _AMOUNTS[kind]
    if not amounts or not amounts.keys() <= set(names):
        raise _unfit(kind, amounts, names)
    return command(reason=body.reason, **amounts)


def _unfit(kind: str, amounts: Collection[str], names: Sequence[str]) -> Invalid:
    """What the kind accepts, reported at each field that it does not have."""
    fit = [to_camel(name) for name in names]
    strange = [f"/{to_camel(name)}" for name in amounts if name not in names]
    if not strange:
        return Invalid({"": Sentence("fields_missing_any" if len(names) > 1 else "fields_missing", fields=fit)})
    return Invalid(dict.fromkeys(strange, Sentence("field_of_another_kind", kind=kind, fields=fit)))


_AMOUNTS: dict[str, tuple[type[ExtendBudget | AddRounds], tuple[str, ...]]] = {
    "delivery": (ExtendBudget, ("add_iterations", "add_minutes", "add_tokens", "add_cost_micros")),
    "orchestration": (AddRounds, ("add_rounds",)),
}


async def continue_(call: ApiCall) -> Intent:
    """Continue an orchestration that has paused, or release a held fork."""
    read(Empty, call.fields)
    session_id = call.session_id
    return Intent(session_id, await asyncio.to_thread(_continuation, call, session_id))


def _continuation(call: ApiCall, session_id: str) -> Command:
    session = call.system.sessions.get(session_id)
    if session is not None and session.held:
        return forks.release(call.system.store.history(session_id))
    may_permit(call, session)
    command = ContinueOrchestration()
    _check_allowed(call, session, "continue", command)
    return command


def _check_allowed(call: ApiCall, session: Session | None, action: str, command: Command) -> None:
    """Raises Refused for what a parent does not allow now; only here it is known whether its discussion can be
    decided."""
    if session is None or not session.open_children or call.version not in (None, session.version):
        return
    actions = allowed(session, call.system.sessions.get)
    if action not in actions:
        raise unfit(session, command, actions)


async def reset(call: ApiCall) -> Intent:
    """End an orchestration for good."""
    body = read(Cancel, call.fields)
    session_id = call.session_id
    return Intent(session_id, await asyncio.to_thread(_reset, call, session_id, body.reason))


def _reset(call: ApiCall, session_id: str, reason: str) -> Command:
    command = ResetOrchestration(reason=reason)
    if kind_of(session_id) != "orchestration":
        _check_allowed(call, call.system.sessions.get(session_id), "reset", command)
    return command


async def decide(call: ApiCall) -> Intent:
    """Decide a review or debate, named directly or through the parent that waits for it."""
    body = read(Decision, call.fields)
    session_id = await asyncio.to_thread(_decided, call, body)
    command = Decide(
        choice=body.decision, rationale=body.rationale, actor=call.actor, version=body.version, seen=body.seen
    )
    return Intent(session_id, command)


def _decided(call: ApiCall, body: Decision) -> str:
    """The session that decides or refuses: the only child that waits for a decision, otherwise the session itself.

    The writer handles repeated keys, and parents that have changed since `If-Match`. Raises Invalid.
    """
    load = call.system.sessions.get
    session, child = load(call.session_id), None
    if session is None:
        return call.session_id
    if not isinstance(session, Discussion) and call.version in (None, session.version) and call.receipt() is None:
        child = waiting_child(session, load)
    _require_seen(load(child) if child else session, body)
    return child or session.id


def _require_seen(session: Session | None, body: Decision) -> None:
    """Raises Invalid: if several people decide, each must say what they have seen."""
    if body.seen is not None or not isinstance(session, Discussion):
        return
    if session.choices and session.decisions and session.decisions.approvers > 1:
        raise Invalid({"/seen": Sentence("decision_without_seen", kind=session.kind)})


async def fork(call: ApiCall) -> Intent:
    """Continue differently from a version of a session; the source does not change."""
    body = read(Fork, call.fields)
    fork_id = starting.new_id(kind_of(call.session))
    command = await asyncio.to_thread(_fork, call, body, fork_id)
    return Intent(fork_id, command, starts=True, status=202)


def _fork(call: ApiCall, body: Fork, fork_id: str) -> Command:
    """A fork copies all events of a command: a version between them means the version after them."""
    system, source_id = call.system, call.session
    now = system.sessions.get(source_id) if kind_of(source_id) in KINDS else None
    if now is None:
        raise Unknown(Sentence("session_not_found", id=source_id))
    if call.version is not None and call.version != now.version and call.receipt() is None:
        raise Stale(expected=call.version, actual=now.version)
    at = forks.whole(system.store.history(source_id), body.at_version)
    if at is None:
        raise Unknown(Sentence("version_not_found", number=body.at_version, id=source_id))
    source = system.sessions.get(source_id, at)
    assert source is not None, "the version has just been seen"
    return forks.fork_command(body, at, source, fork_id, system.sessions.get, actor=call.actor)


# -- conversations -----------------------------------------------------------------------------------------------------


async def message(call: ApiCall) -> Intent:
    """A message to the team: it starts something, is queued, or is refused."""
    body = read(Message, call.fields)
    if not body.prompt.strip():
        raise Problem(400, Sentence("message_empty"), action="rejected", reason="empty")
    may_name_workspace(call)
    system = call.system
    opened = partial(starting.orchestration, body, system.team, system.settings, author=call.actor)
    opening, blobs = await asyncio.to_thread(opened)
    session_id = starting.new_id("orchestration")
    if intent(body.prompt) == "continue":
        await asyncio.to_thread(may_permit, call, channel=channel_id(body.origin))
    opening = opening.changed(follows="")  # the channel says which session is before it
    command = ReceiveMessage(session_id=session_id, opening=opening, sender=call.actor, blobs=blobs)
    return Intent(channel_id(body.origin), command, starts=True, tagged=False)


async def continue_latest(call: ApiCall) -> Intent:
    """Continue the latest orchestration of an origin."""
    body = await _latest(call)
    await asyncio.to_thread(may_permit, call, channel=channel_id(body.origin))
    return Intent(channel_id(body.origin), ContinueLatest(), starts=True, ok=True)


async def reset_latest(call: ApiCall) -> Intent:
    """End the latest orchestration of an origin."""
    body = await _latest(call)
    return Intent(channel_id(body.origin), ResetLatest(reason=body.reason), starts=True, ok=True)


async def _latest(call: ApiCall) -> Origin:
    """Which run is meant. A workspace and a scenario are only checked: the run has its own."""
    body = read(Origin, call.fields)
    may_name_workspace(call)
    if body.workspace is not None:
        await asyncio.to_thread(workspace_of, body.workspace, call.system.settings)
    if body.scenario is not None:
        Scenario.parse(body.scenario, at="/scenario")
    return body
