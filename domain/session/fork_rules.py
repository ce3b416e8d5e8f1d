"""Forking: another session's history under one's own name, and how commands on it are decided (K-46's freedom, without
the risk)."""

from collections.abc import Iterable
from typing import Any, TypeVar

from domain.session.decision import Events, Now, cancel_turn, cancel_turns, moved_deadline
from domain.session.forks import (
    RECAST,
    Diverge,
    ForkedWait,
    ForkSession,
    Release,
    SessionDiverged,
    SessionForked,
    SessionReleased,
)
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import DomainEvent, Refused, Text
from domain.values.sentences import Sentence

E = TypeVar("E", bound=DomainEvent)
S = TypeVar("S", bound=Session)
HELD = "held"


def renamed(event: E, *, source: str, fork: str) -> E:
    """The event for the fork: the source's id is replaced by the fork's. Texts are not changed."""
    return type(event).model_validate(_renamed(event.model_dump(), source, fork))


def _renamed(value: Any, source: str, fork: str) -> Any:
    match value:
        case str() if value == source or value.startswith(f"{source}."):
            return fork + value[len(source) :]
        case str() if value.startswith(address := f"/api/sessions/{source}/"):
            return f"/api/sessions/{fork}/" + value[len(address) :]
        case dict():
            return {key: _renamed(part, source, fork) for key, part in value.items()}
        case list() | tuple():
            return [_renamed(part, source, fork) for part in value]
        case _:
            return value


def names(history: Iterable[Recorded]) -> tuple[str, ...]:
    """The names of the fork and its sources, across forks of forks: texts in the history may use any of them."""
    ids: dict[str, None] = {}
    for recorded in history:
        ids[recorded.session_id] = None
        if isinstance(recorded.event, SessionForked):
            ids[recorded.event.source] = None
    return tuple(sorted(ids, key=len, reverse=True))


def unnamed(words: str, names: Iterable[str]) -> str:
    """The text without those names: two histories that only differ in them are the same."""
    for name in names:
        words = words.replace(name, "…")
    return words


def fork(now: Now[S], command: ForkSession) -> SessionForked:
    """The first event of a fork, before the history that it takes from its source."""
    return SessionForked(
        message=f"Forked from {command.source} at version {command.at_version}.",
        source=command.source,
        source_version=command.at_version,
        mode=command.mode,
        substitute=command.substitute,
        profile=command.profile,
        author=command.author,
        agents=command.agents or None,
        models=command.models or None,
        wait=_wait(now) if command.restarts_wait else None,
    )


def _wait(now: Now[S]) -> ForkedWait:
    """The decision that waits, if any, has as much time as it had in the source."""
    turn = next((turn for turn in now.state.outstanding.values() if turn.work == "wait"), None)
    if turn is None:
        return ForkedWait()
    return ForkedWait(turn_id=turn.turn_id, deadline=moved_deadline(turn.deadline, now.at - turn.requested_at))


def asked_instead(now: Now[S], command: ForkSession) -> Events:
    """The questions that waited for agents whose roles have passed to others: they are asked instead."""
    waiting = now.state.outstanding
    requests = [request for request in command.requests if request.turn_id in waiting]
    for request in requests:
        yield cancel_turn(waiting[request.turn_id], RECAST)
    for request in requests:
        name = now.state.recast[request.role]
        own = {
            "turn_id": f"{now.state.id}.t{now.state.turns + 1}",
            "agent": name,
            "ordinal": now.state.asked.get(name, 0),
            "role_ordinal": now.state.asked_roles.get(request.role, 0),
            "agent_session": now.state.thread(name, request.role),
        }
        yield request.model_copy(update=own)


def diverge(now: Now[S], command: Diverge) -> Events:
    """A turn has no recorded answer that fits: go on live, or wait if the mode is `stop`."""
    now.turn(command.turn_id)
    if now.state.reuse is None:
        raise Refused(Sentence("reuses_no_answers"))
    held = now.state.reuse.mode == "stop"
    yield SessionDiverged(
        message="Here the fork leaves what is recorded." + (" It waits to be released." if held else ""),
        turn_id=command.turn_id,
        held=held,
        pauses=(held and command.pauses) or None,
    )
    if held:
        yield from cancel_turns(now, HELD)


def release(now: Now[S], command: Release) -> Events:
    """A held fork continues: its open turns are asked live. Raises Refused if it is not held."""
    if not now.state.held:
        raise Refused(Sentence("not_held"))
    yield SessionReleased(message="The fork continues live.")
    for request in command.requests:
        yield request.model_copy(update={"turn_id": f"{now.state.id}.t{now.state.turns + 1}"})


def same_request(one: TurnRequested, other: TurnRequested, whole: Whole) -> bool:
    """Returns whether two turns ask the same agent the same thing, so that one answer fits both.

    Older logs contain texts that are derived today.
    """
    return _question(one) == _question(other) and all(
        place in other.context and _same_text(text, other.context[place], whole) for place, text in one.context.items()
    )


_NOT_ASKED = {"turn_id", "ordinal", "role_ordinal", "agent_session", "deadline", "context"}


def _question(request: TurnRequested) -> tuple[dict[str, Any], int]:
    return request.model_dump(exclude=_NOT_ASKED), len(request.context)


def _same_text(one: Text, other: Text, whole: Whole) -> bool:
    if one == other or one.length != other.length:
        return one == other
    if one.derived is not None and other.derived is not None:  # their versions differ: a fork has events of its own
        at = {"session_id": other.derived.session_id, "version": other.derived.version}
        return one.derived.changed(**at) == other.derived
    stored_by_one_only = (one.derived is None) != (other.derived is None)
    return stored_by_one_only and whole(one) == whole(other)
