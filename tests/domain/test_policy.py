"""What follows from what: an event of one session, and the commands it means for others."""

import pytest

from domain.channel import (
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    ResetWanted,
    SessionNoted,
    channel_id,
)
from domain.channel.commands import NoteSession
from domain.orchestration.commands import (
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.events import (
    Completed,
    Continued,
    OrchestrateDone,
    OrchestrationRequest,
    OrchestrationStarted,
    TriageSignals,
)
from domain.policy import Reaction, react
from domain.values.base import DomainEvent, Text

HELLO = OrchestrationRequest(prompt="hello", origin="chat")
CHANNEL = channel_id("chat")


def noted(status: str, *, origin: str = "chat", **fields: bool) -> tuple[Reaction, ...]:
    command = NoteSession(session_id="orchestration-1", origin=origin, status=status, **fields)
    return (Reaction(channel_id(origin), command, starts=True),)


def started(opening: OrchestrationRequest) -> OrchestrationStarted:
    return OrchestrationStarted(
        state="direct",
        opening=opening,
        mode="direct",
        triage=TriageSignals(orchestrate=False, signals=(), policy="p@1"),
    )


def test_a_message_starts_an_orchestration_in_the_name_of_its_sender() -> None:
    event = MessageStarted(session_id="orchestration-1", opening=HELLO, sender="ann")
    expected = Reaction("orchestration-1", StartOrchestration(opening=HELLO), starts=True, actor="ann")
    assert react(CHANNEL, event) == (expected,)


def test_a_word_to_continue_or_reset_reaches_the_run() -> None:
    assert react(CHANNEL, ContinueWanted(session_id="orchestration-1")) == (
        Reaction("orchestration-1", ContinueOrchestration()),
    )
    assert react(CHANNEL, ResetWanted(session_id="orchestration-1", reason="리셋")) == (
        Reaction("orchestration-1", ResetOrchestration(reason="리셋")),
    )


def test_the_channel_is_notified_of_every_start_and_end() -> None:
    assert react("orchestration-1", started(HELLO)) == noted("active", claims=True, opens=True, direct=True)
    goes_on = Continued(state="working", agents=(), last_round=3, origin="chat")
    assert react("orchestration-1", goes_on) == noted("active", claims=True)
    done = OrchestrateDone(text=Text(), origin="chat", status="checkpoint", checkpoint=True)
    assert react("orchestration-1", done) == noted("checkpoint")


def test_sessions_without_an_origin_claim_none() -> None:
    assert react("orchestration-1", started(OrchestrationRequest(prompt="hello"))) == noted(
        "active", opens=True, direct=True, origin=""
    )
    goes_on = Continued(state="working", agents=(), last_round=3, origin="")
    assert react("orchestration-1", goes_on) == noted("active", origin="")


def test_a_new_request_clears_stopped_runs() -> None:
    event = SessionNoted(session_id="o", origin="chat", status="active", clears=("orchestration-1", "orchestration-2"))
    assert react(CHANNEL, event) == (
        Reaction("orchestration-1", ClearAgentSessions()),
        Reaction("orchestration-2", ClearAgentSessions()),
    )


@pytest.mark.parametrize(
    "event",
    [
        MessageQueued(session_id="orchestration-1", opening=HELLO, pending=1),
        MessageRejected(reason="busy"),
        SessionNoted(session_id="orchestration-1", origin="chat", status="done"),
        Completed(state="done", summary=Text()),
    ],
    ids=lambda event: event.TOPIC,
)
def test_nothing_follows_from_the_rest(event: DomainEvent) -> None:
    assert react(CHANNEL, event) == ()
