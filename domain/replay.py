"""Replay: decide a recorded history again, with today's rules and the recorded answers, and compare. The stored
`message` of an event is not compared, because readers build sentences from type and data, nor is the `budget` beside
its own figures. A sentence is the same if its English text is, because old logs have nothing else, or if its code and
its parameters are: its wording may be improved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from domain.channel.commands import NoteSession
from domain.discussion.commands import StartDiscussion
from domain.kinds import command_of, fold, kind
from domain.orchestration.commands import StartOrchestration
from domain.policy import react
from domain.session.attempt_ends import work_in
from domain.session.decision import Outcome
from domain.session.fork_rules import names, unnamed
from domain.session.forks import SessionForked
from domain.session.past_commands import RecordedCommand, Whole, commands_in
from domain.session.record import Recorded, kind_of
from domain.session.redaction import TextRedacted
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.values.base import Command, DomainEvent, HansardError, Text

_FOR_READERS = ("message", "sentence", "sentences", "budget")
Find = Callable[[str], Recorded | None]
"""Finds an event by its id, in whatever session."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where today's rules would have recorded something else. `expected` is what the log contains."""

    version: int
    command: str
    expected: str
    actual: str


def first_difference(history: Sequence[Recorded], whole: Whole, find: Find | None = None) -> Difference | None:
    """None if every decision would be the same today, or if this cannot be known because a text that was decided on has
    been redacted. No agent is asked, and nothing is written.

    With `find`, commands that followed from events of other sessions are compared with what follows from them today.
    """
    if any(isinstance(recorded.event, TextRedacted) for recorded in history):
        return None
    session: Session | None = None
    adopted = _adopted(history)
    ids = names(history) if adopted else ()
    for decision in commands_in(history):
        first = decision.recorded[0]
        name = kind_of(first.session_id)
        try:
            command = command_of(decision, session, whole)
            metadata = EventMetadata(first.session_id, first.at)
            today = carry_out(kind(name), session, command, metadata, work_in(decision.events))
        except HansardError as error:
            return Difference(first.version, "", _summary(decision.events[:1]), f"refused: {error}")
        difference = _compare(first.version, type(command).__name__, decision.events, today, ids, whole)
        if difference is None and find is not None and first.version > adopted:
            difference = _unfounded(decision, command, find)
        if difference is not None:
            return difference
        session = fold(name, ((recorded.event, recorded.metadata) for recorded in decision.recorded), session)
    return None


def _compare(
    version: int, command: str, expected: Sequence[DomainEvent], today: Outcome, ids: Sequence[str], whole: Whole
) -> Difference | None:
    for place in range(max(len(expected), len(today.events))):
        recorded, decided = expected[place : place + 1], today.events[place : place + 1]
        if not recorded or not decided or not _same(recorded[0], decided[0], today, ids, whole):
            return Difference(version + place, command, _summary(recorded), _summary(decided))
    return None


def _same(recorded: DomainEvent, decided: DomainEvent, today: Outcome, ids: Sequence[str], whole: Whole) -> bool:
    """Returns whether it is the same event; events that a fork copied may name the source session (`known`)."""
    one, other = _facts(recorded), _facts(decided)
    if one == other:
        return True
    blobs = {blob.digest: blob.content for blob in today.blobs}

    def made(text: Text) -> str:
        return blobs[text.digest] if text.digest in blobs else whole(text)

    forms = ((one, other), (_coded(recorded), _coded(decided)))
    return any(_neutral(ours, ids, whole) == _neutral(theirs, ids, made) for ours, theirs in forms)


def _neutral(value: Any, ids: Sequence[str], whole: Whole) -> object:
    match value:
        case str():
            return unnamed(value, ids)
        case {"head": str(), "length": int(), **more} if more.keys() <= {"digest", "derived"}:
            return unnamed(whole(Text.model_validate(value)), ids)
        case dict():
            return {key: _neutral(part, ids, whole) for key, part in value.items()}
        case list() | tuple():
            return [_neutral(part, ids, whole) for part in value]
        case _:
            return value


def _adopted(history: Sequence[Recorded]) -> int:
    """Up to which version the history was copied from another session, and from which."""
    marks = (recorded.event for recorded in history if isinstance(recorded.event, SessionForked))
    return max((mark.source_version for mark in marks), default=0)


def _unfounded(decision: RecordedCommand, command: Command, find: Find) -> Difference | None:
    """A command that today's policy does not derive from the event that caused it."""
    first = decision.recorded[0]
    causation = find(first.causation.causation_id)
    if causation is None or causation.causation.command_id != first.causation.command_id:
        return None
    meant = react(causation.session_id, causation.event)
    if any(reaction.session_id == first.session_id and _alike(reaction.command, command) for reaction in meant):
        return None
    today = ", ".join(type(reaction.command).__name__ for reaction in meant) or "nothing"
    actual = f"not followed: {causation.event.TOPIC} of {causation.event_id} leads to {today}"
    return Difference(first.version, type(command).__name__, _summary(decision.events[:1]), actual)


def _alike(today: Command, recorded: Command) -> bool:
    """A session begins under the rules of its time: a new version of them is no difference, nor is it one that older
    logs do not record which requests were answered directly."""
    if isinstance(recorded, StartDiscussion | StartOrchestration) and type(today) is type(recorded):
        today = today.changed(policy=recorded.policy)
    if isinstance(recorded, NoteSession) and isinstance(today, NoteSession):
        today = today.changed(direct=recorded.direct)
    return today == recorded


def _facts(event: DomainEvent) -> tuple[str, dict[str, Any]]:
    topic, data = _stored_form(event)
    facts = {name: value for name, value in data.items() if name not in _FOR_READERS}
    if "failure" in facts:
        facts["failure"] = {name: value for name, value in facts["failure"].items() if name not in _FOR_READERS}
    return topic, facts


def _coded(event: DomainEvent) -> tuple[str, dict[str, Any]]:
    """The facts, with the code and the parameters of a sentence in place of its text."""
    topic, data = _stored_form(event)
    facts = {name: value for name, value in _with_code(data).items() if name not in _FOR_READERS}
    if "failure" in facts:
        facts["failure"] = _with_code(facts["failure"])
    return topic, facts


def _with_code(data: dict[str, Any]) -> dict[str, Any]:
    sentence = data.get("sentence")
    if not sentence:
        return data
    return {
        name: _unworded(sentence) if value == sentence["text"] else value
        for name, value in data.items()
        if name != "sentence"
    }


def _unworded(value: Any) -> Any:
    """A sentence without its text, and those in its parameters."""
    match value:
        case {"text": str(), "code": str(code), "params": dict(params)}:
            return {"code": code, "params": {name: _unworded(part) for name, part in params.items()}}
        case list():
            return [_unworded(part) for part in value]
        case _:
            return value


def _stored_form(event: DomainEvent) -> tuple[str, dict[str, Any]]:
    """The event as the log stores it: None values are left out, except within free-form values."""
    return event.TOPIC, event.model_dump(mode="json", by_alias=True, exclude_none=True)


def _summary(events: Sequence[DomainEvent]) -> str:
    return f"{events[0].TOPIC} {events[0].model_dump_json(by_alias=True)}" if events else "nothing"
