"""A fork: a new session from a version of another. What is substituted is decided as the session would have decided it
then."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, StrictBool, StrictInt

from adapters.agents.team import Member
from adapters.store import texts
from api.actions.answers import Receipt
from api.actions.bodies import Body, Short
from api.actions.budget import MoreBudget
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from api.actions.recast import members_for, moved_requests, recasting, scripted_members
from api.actions.start_commands import new_id
from api.system import System
from domain.convergence.profiles import named
from domain.delivery.commands import ExtendBudget
from domain.discussion.state import Discussion
from domain.orchestration.commands import AddRounds
from domain.session.attempts import SUBSTITUTED
from domain.session.children import CloseChild, Decide
from domain.session.fork_rules import HELD
from domain.session.forks import ForkSession, Release
from domain.session.past_commands import mark
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.session.turns import RecordReply, TurnCancelled, TurnRequested
from domain.values.base import Command, Invalid, Refused, Stale, Text, Unknown
from domain.values.sentences import Sentence
from projections.record.cuts import around

Read = Callable[[str], Session | None]


class Answer(Body):
    """What an agent would have said instead."""

    text: Annotated[str, Field(max_length=1_000_000)]
    turn_id: Short | None = Field(default=None, description="which waiting turn; may be left out when only one waits")


class Substitute(Body):
    """What is different in the fork: one of these."""

    decision: Literal["apply_fix", "skip", "revise", "accept"] | None = None
    answer: Answer | None = None
    budget: MoreBudget | None = None
    profile: Short | dict[str, Any] | None = None


ModelName = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]*$")]
"""The name becomes an argument of a program: no quotation marks, no spaces, no option."""
Names = Annotated[dict[Short, Short], Field(max_length=50)]
Models = Annotated[dict[Short, ModelName], Field(max_length=50)]


class Fork(Body):
    """A new session whose history up to `atVersion` is the source's."""

    at_version: Annotated[StrictInt, Field(ge=1, le=2**53)]
    snap: StrictBool = Field(default=False, description="between two cuts: begin at the next one, instead of refusing")
    substitute: Substitute | None = None
    agents: Names | None = Field(default=None, description="by role: another agent for what is asked anew")
    model: Models | None = Field(default=None, description="by agent: another model for what is asked anew")
    mode: Literal["live", "stop", "ask"] = Field(
        default="live",
        description="`live`: recorded answers are reused, and where none fits the agents are asked; `stop`: there it "
        "waits instead; `ask`: none is reused",
    )


@action(
    "/api/sessions/{id}/fork",
    scope="operate",
    body=Fork,
    answer=Receipt,
    summary="Start a new session from a version of this one",
    description="The history up to `atVersion` is shared; the source is unchanged. `GET …/cuts` lists the versions at "
    "which a fork can begin; another one is refused (422), unless `snap` is true: then it begins at the next cut. "
    "Recorded answers are reused, free, until the histories diverge; then the agents are asked, or with `stop` the "
    "fork is held until it is continued. With `ask` no answer is reused. `agents` and `model` are for what is asked "
    "anew: those questions are never answered from the record.",
    example={"atVersion": 11, "substitute": {"budget": {"addIterations": 2}}, "mode": "live"},
    status=202,
    form=FormOf(
        (
            "atVersion",
            "snap",
            "mode",
            "substitute.answer.text",
            "substitute.decision",
            "substitute.profile",
            "substitute.budget.addRounds",
            "substitute.budget.addIterations",
        ),
        bound=False,
    ),
    tools=(
        Tool(
            "fork",
            "Start a new session from an earlier version of this one, optionally with one thing that is different.",
        ),
    ),
)
async def fork_session(call: ActionCall[Fork]) -> Intent:
    """Continue differently from a version of a session; the source does not change."""
    fork_id = new_id(kind_of(call.session))
    command = await asyncio.to_thread(_fork, call, fork_id)
    return Intent(fork_id, command, starts=True, status=202)


def _fork(call: ActionCall[Fork], fork_id: str) -> Command:
    """A fork copies all events of a command: a version between them means the version after them."""
    system, source_id = call.system, call.session
    now = system.sessions.get(source_id)
    if now is None:
        raise Unknown(Sentence("session_not_found", id=source_id))
    if call.version is not None and call.version != now.version and call.receipt() is None:
        raise Stale(expected=call.version, actual=now.version)
    history = system.store.history(source_id)
    at = whole(history, call.body.at_version)
    if at is None:
        raise Unknown(Sentence("version_not_found", number=call.body.at_version, id=source_id))
    if at != call.body.at_version and not call.body.snap:
        raise Invalid({"/atVersion": _between(history, call.body.at_version, at)})
    source = system.sessions.get(source_id, at)
    assert source is not None, "the version has just been seen"
    agents, models = recasting(call.body.agents or {}, call.body.model or {}, source, _members(system, source))
    command = fork_command(call.body, at, source, fork_id, system.sessions.get, actor=call.actor)
    requests = moved_requests(history[:at], source, agents, fork_id)
    return command.model_copy(update={"agents": agents, "models": models, "requests": requests})


def _members(system: System, source: Session) -> Sequence[Member]:
    if source.scenario is None:
        return members_for(source, system.team)
    spoken: Collection[str] = ()
    with suppress(ValueError):  # of a script that was taken out nothing is known
        spoken = orjson.loads(texts.whole(system.store, source.scenario)).get("replies", ())
    return scripted_members(source, spoken)


def _between(history: list[Recorded], version: int, after: int) -> Sentence:
    before, _ = around(history, version)
    if before is None:
        return Sentence("fork_before_the_first_cut", number=after)
    return Sentence("fork_between_cuts", earlier=before, later=after)


def whole(history: list[Recorded], version: int) -> int | None:
    """The version at the end of the decision that this version belongs to; None where there is no such version."""
    if version > len(history):
        return None
    ours = mark(history[version - 1])
    following = next((later.version for later in history[version:] if mark(later) != ours), len(history) + 1)
    return following - 1


def fork_command(body: Fork, at: int, source: Session, fork_id: str, load: Read, *, actor: str) -> ForkSession:
    """Raises Invalid or Refused where the substitution does not fit the session at that version."""
    substitute = body.substitute
    chosen = substitute.model_dump(exclude_none=True, by_alias=True) if substitute else {}
    if len(chosen) > 1:
        raise Invalid({"/substitute": Sentence("substitute_unknown")})
    if source.open_children and "decision" not in chosen:
        raise Refused(Sentence("fork_waits_for", sessions=list(source.open_children)))
    author = actor if source.decisions else ""
    command = ForkSession(source=source.id, at_version=at, mode=body.mode, substitute=chosen, author=author)
    if substitute is None or not chosen:
        return command
    if substitute.profile is not None:
        if not isinstance(source, Discussion):
            raise Invalid({"/substitute/profile": Sentence("profile_not_possible")})
        return command.model_copy(update={"profile": _profile(substitute)})
    then = (
        _decided(substitute, source, load, actor)
        or _answered(substitute, source, fork_id)
        or _budgeted(substitute, source)
    )
    return command.model_copy(update={"then": then, "blobs": then.blobs if then else ()})


def _profile(substitute: Substitute) -> Any:
    try:
        return named(substitute.profile or "seed")
    except Invalid as error:
        raise Invalid({f"/substitute{at}": detail for at, detail in error.errors.items()}) from None


def _decided(substitute: Substitute, source: Session, load: Read, actor: str) -> Command | None:
    """The decision of the discussion itself, or of the one that its parent waits for."""
    if substitute.decision is None:
        return None
    if isinstance(source, Discussion):
        seen = source.seen if source.decisions else None
        return Decide(choice=substitute.decision, actor=actor, rationale=SUBSTITUTED, seen=seen)
    children = [load(child) for child in source.open_children]
    waiting = [child for child in children if isinstance(child, Discussion)]
    if len(waiting) != 1:
        raise Refused(Sentence(f"fork_waits_for_{'several_decisions' if waiting else 'no_decision'}"))
    child = waiting[0]
    if child.decisions is not None:
        child.decisions.check(actor)
        if child.decisions.approvers > 1:
            raise Refused(Sentence("fork_needs_votes", number=child.decisions.approvers))
    return CloseChild(
        child_id=child.id,
        choice=substitute.decision,
        by="person",
        synthesis=child.synthesis or Text(),
        feedback=child.feedback or {},
        rounds=len(child.rounds),
        scripted=child.scripted or None,
    )


def _answered(substitute: Substitute, source: Session, fork_id: str) -> Command | None:
    if substitute.answer is None:
        return None
    questions = [turn for turn in source.outstanding.values() if turn.work == "ask"]
    wanted = [turn for turn in questions if substitute.answer.turn_id in (None, turn.turn_id)]
    if not questions:
        raise Invalid({"/substitute/answer": Sentence("nobody_is_asked_there")})
    if len(wanted) != 1:
        names = ", ".join(turn.turn_id for turn in questions)
        raise Invalid({"/substitute/answer/turnId": Sentence("turn_not_waiting", names=names)})
    reply, blobs = Text.of(substitute.answer.text)
    turn_id = fork_id + wanted[0].turn_id[len(source.id) :]
    return RecordReply(turn_id=turn_id, attempt=0, reply=reply, blobs=blobs)


def _budgeted(substitute: Substitute, source: Session) -> Command | None:
    if substitute.budget is None:
        return None
    amounts = substitute.budget.model_dump(exclude_none=True)
    rounds = source.kind == "orchestration"
    if not amounts or any((name == "add_rounds") != rounds for name in amounts):
        raise Invalid({"/substitute/budget": Sentence("budget_of_another_kind")})
    return (AddRounds if rounds else ExtendBudget)(reason=SUBSTITUTED, **amounts)


def release(history: list[Recorded]) -> Release:
    """The turns that resume a held fork: those that were cancelled when it was held."""
    held = _held(history)
    requests = [recorded.event for recorded in history if isinstance(recorded.event, TurnRequested)]
    return Release(requests=tuple(request for request in requests if request.turn_id in held))


def _held(history: list[Recorded]) -> frozenset[str]:
    called_off = (recorded.event for recorded in history if isinstance(recorded.event, TurnCancelled))
    return frozenset(event.turn_id for event in called_off if event.reason == HELD)
