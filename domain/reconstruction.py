"""From events back to the commands that led to them: what replay and fork stand on.

Every decision leaves its mark: the events of one command stand together, and say all that it brought. Texts that were
stored beside them come back as the blobs that they arrived as.
"""

from collections.abc import Iterator, Sequence

from domain import channel
from domain.delivery import commands as delivery
from domain.delivery import events as delivered
from domain.discussion import commands as discussion
from domain.discussion import events as discussed
from domain.orchestration import commands as orchestration
from domain.orchestration import events as orchestrated
from domain.orchestration.events import OrchestrationRequest
from domain.session.children import ChildClosed, CloseChild
from domain.session.forks import Diverge, ForkSession, Release, SessionDiverged, SessionForked, SessionReleased
from domain.session.record import RecordedCommand, Whole
from domain.session.state import Session
from domain.session.turns import (
    AgentSessionsCleared,
    RecordReply,
    TurnAnswered,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
)
from domain.values.base import Blob, Command, DomainEvent, Unknown


def command_of(decision: RecordedCommand, session: Session | None, whole: Whole) -> Command:
    """The command that led from `session` to these events. Raises Unknown where none is known that would."""
    events = decision.events
    command = (
        _start(events[0]) or _forked(events, session) or _of_a_session(events, session) or _heard(decision, session)
    )
    if command is None:
        raise Unknown(f"No command is known that begins with {events[0].TOPIC}.")
    return command.model_copy(update={"blobs": tuple(_blobs(events, whole))})


def _blobs(events: Sequence[DomainEvent], whole: Whole) -> Iterator[Blob]:
    """The long texts that an answer brought, which deciding reads whole."""
    for event in events:
        if isinstance(event, TurnAnswered | TurnFailed) and event.reply.digest is not None:
            yield Blob(digest=event.reply.digest, content=whole(event.reply))


def _start(event: DomainEvent) -> Command | None:
    match event:
        case delivered.SessionStarted():
            known = delivery.StartDelivery.model_fields.keys() - {"blobs"}
            return delivery.StartDelivery(**{name: getattr(event, name) for name in known})
        case orchestrated.SessionStarted():
            return orchestration.StartOrchestration(opening=event.opening, policy=event.policy)
        case discussed.SessionStarted():
            return discussion.StartDiscussion(topic=event.topic, policy=event.policy)
        case _:
            return None


def _of_a_session(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    return _settled(events, session) or _by_a_person(events) or _cancelled(events)


def _forked(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    match events[0]:
        case SessionForked() as event:
            then = _of_a_session(events[1:], session) if len(events) > 1 else None
            return ForkSession(
                source=event.source,
                at_version=event.source_version,
                mode=event.mode,
                substitute=event.substitute,
                profile=event.profile,
                then=then,
            )
        case SessionDiverged() as event:
            return Diverge(turn_id=event.turn_id)
        case SessionReleased():
            requests = (event for event in events if isinstance(event, TurnRequested))
            return Release(requests=tuple(requests))
        case _:
            return None


def _settled(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    """The outcome of a turn, by the work it was."""
    first = events[0]
    if session is None or not isinstance(first, TurnAnswered | TurnFailed):
        return None
    match session.turn(first.turn_id).work:
        case "validate":
            return _validation(first, events)
        case "package":
            return _package(first, events)
        case _:
            return _reply(first, session)


def _reply(first: TurnAnswered | TurnFailed, session: Session) -> RecordReply:
    common = {
        "turn_id": first.turn_id,
        "attempt": first.attempt,
        "reply": first.reply,
        "prompt": first.prompt,
        "usage": first.usage,
        "model": first.model,
        "seconds": first.seconds,
    }
    if isinstance(first, TurnFailed):
        return RecordReply(failure=first.failure, **common)
    return RecordReply(
        agent_session=first.agent_session,
        resumed=first.resumed,
        new_conversation=first.new_conversation,
        files=first.files,
        patch=first.patch,
        base=session.tree,
        tree=first.tree,
        slot=first.slot,
        **common,
    )


def _validation(first: TurnAnswered | TurnFailed, events: Sequence[DomainEvent]) -> Command:
    common = {"turn_id": first.turn_id, "attempt": first.attempt, "seconds": first.seconds}
    if isinstance(first, TurnFailed):
        return delivery.RecordValidation(passed=False, failure=first.failure, **common)
    report = next(event.content for event in events if isinstance(event, delivered.ArtifactCreated))
    for event in events:
        match event:
            case delivered.TestsPassed():
                return delivery.RecordValidation(
                    passed=True, summary=event.summary, report=report, slot=first.slot, **common
                )
            case delivered.ValidationFailed():
                return delivery.RecordValidation(
                    passed=False,
                    classification=event.classification,
                    summary=event.summary,
                    report=report,
                    slot=first.slot,
                    **common,
                )
    raise Unknown(f"The validation {first.turn_id} has no outcome.")


def _package(first: TurnAnswered | TurnFailed, events: Sequence[DomainEvent]) -> Command:
    common = {"turn_id": first.turn_id, "attempt": first.attempt, "seconds": first.seconds}
    if isinstance(first, TurnFailed):
        return delivery.RecordPackage(failure=first.failure, **common)
    found: dict[str, object] = {"slot": first.slot}
    for event in events:
        match event:
            case delivered.ArtifactCreated():
                found["patch"] = event.content
            case delivered.BranchPublished():
                found |= {"branch": event.branch, "commit": event.commit}
            case delivered.PhaseCompleted():
                found["problem"] = event.problem
    return delivery.RecordPackage.model_validate(found | common)


def _by_a_person(events: Sequence[DomainEvent]) -> Command | None:
    """What the first telling event stands for; before it stand only turns that were called off."""
    for event in events:
        match event:
            case delivered.BudgetExtended():
                amounts = {name: getattr(event, name) or None for name in _AMOUNTS}
                return delivery.ExtendBudget(reason=event.why, **amounts)
            case orchestrated.Continued():
                return orchestration.ContinueOrchestration()
            case orchestrated.RoundsAdded():
                return orchestration.AddRounds(add_rounds=event.add_rounds, reason=event.why)
            case orchestrated.WasReset():
                return orchestration.ResetOrchestration(reason=event.reason)
            case discussed.Decided():
                return discussion.Decide(choice=event.choice, rationale=event.rationale, actor=event.actor)
            case discussed.Cancelled():
                return discussion.CancelDiscussion(reason=event.reason)
            case ChildClosed():
                known = CloseChild.model_fields.keys() - {"blobs"}
                return CloseChild(**{name: getattr(event, name) for name in known})
            case _:
                continue
    if isinstance(events[0], orchestrated.Completed):
        return orchestration.ContinueOrchestration()
    return None


_AMOUNTS = ("add_iterations", "add_minutes", "add_tokens", "add_cost_micros")


def _cancelled(events: Sequence[DomainEvent]) -> Command | None:
    """Turns that were called off: by their deadline, or because the session was cancelled."""
    first = events[0]
    if isinstance(first, TurnCancelled) and first.reason in ("deadline", "expired"):
        return delivery.ExpireTurn(turn_id=first.turn_id)
    for event in events:
        if isinstance(event, delivered.SessionFinished) and event.status == "cancelled":
            return delivery.CancelDelivery(reason=event.final_summary.partition(": ")[2])
    if isinstance(first, AgentSessionsCleared):
        return orchestration.ClearAgentSessions()
    return None


# -- channels --------------------------------------------------------------------------------------------------------


def _heard(decision: RecordedCommand, session: Session | None) -> Command | None:
    """What a channel was told; a message that led to nothing is kept as its words, which is all that was looked at (of
    one that came twice the rest is what came first)."""
    match decision.events[0]:
        case channel.MessageStarted() | channel.MessageQueued() as event:
            return channel.ReceiveMessage(session_id=event.session_id, opening=event.opening, sender=event.sender)
        case channel.MessageRejected(reason="duplicate") as event if isinstance(session, channel.Channel):
            first = session.last_opening or OrchestrationRequest(prompt=event.text)
            return channel.ReceiveMessage(session_id="", opening=first.changed(prompt=event.text))
        case channel.MessageRejected() | channel.MessageUnclear() as event:
            return _message(event.text)
        case channel.ContinueWanted() as event:
            said = event.message != channel.TO_GO_ON
            return _message(event.message) if said else channel.ContinueLatest()
        case channel.ResetWanted() as event:
            said = event.message != channel.TO_END
            return _message(event.message) if said else channel.ResetLatest(reason=event.reason)
        case channel.SessionNoted() as event:
            return channel.NoteSession(
                session_id=event.session_id,
                origin=event.origin,
                status=event.status,
                claims=event.claims,
                opens=decision.recorded[0].causation.causation_id == f"{event.session_id}:1",
                direct=event.direct,
            )
        case _:
            return None


def _message(words: str) -> Command:
    return channel.ReceiveMessage(session_id="", opening=OrchestrationRequest(prompt=words))
