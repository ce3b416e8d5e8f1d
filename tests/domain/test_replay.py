"""A recorded history is decided again and compared: channels, too, and what follows from other sessions (P16)."""

from collections.abc import Sequence

import pytest

from domain import channel
from domain.delivery.events import DeliveryStarted, PhaseCompleted
from domain.kinds import STREAMS, kind
from domain.orchestration.commands import StartOrchestration
from domain.orchestration.events import OrchestrationRequest
from domain.replay import Difference, first_difference
from domain.session.forks import ForkSession
from domain.session.record import Causation, Recorded
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.session.turns import ExpireTurn
from domain.values.base import Command, DomainEvent, Unknown
from tests.kit.discussing import DiscussionStory
from tests.kit.stories import MINUTE, DeliveryStory, Story, topics

NAME = channel.channel_id("chat")
ONE, TWO = "orchestration-1", "orchestration-2"


def says(text: str, session_id: str = ONE) -> Command:
    return channel.ReceiveMessage(
        session_id=session_id, opening=OrchestrationRequest(prompt=text, origin="chat"), sender="Kim"
    )


def noted(session_id: str, status: str, **fields: bool) -> Command:
    return channel.NoteSession(session_id=session_id, origin="chat", status=status, **fields)


def history_of(*commands: Command, seconds: int = 10) -> list[Recorded]:
    """The history of a channel that got these commands, a number of seconds apart."""
    history: list[Recorded] = []
    session: Session | None = None
    for number, command in enumerate(commands):
        at = number * seconds * 1_000
        decision = carry_out(kind("channel"), session, command, EventMetadata(NAME, at))
        session = decision.session
        causation = Causation("tester", f"c{number}", NAME, followed(command))
        for event in decision.events:
            history.append(Recorded(len(history) + 1, NAME, len(history) + 1, at, causation, event))
    return history


def followed(command: Command) -> str:
    """What a command follows from: the beginning of a session, an event in it, or nothing but words."""
    if not isinstance(command, channel.NoteSession):
        return "c"
    return f"{command.session_id}:1" if command.opens else f"{ONE}:9"


def difference(history: Sequence[Recorded], causation: Recorded | None = None) -> Difference | None:
    return first_difference(history, lambda text: text.head, lambda _: causation)


def changed(recorded: Recorded, event: DomainEvent, *, version: int = 0, command_id: str = "") -> Recorded:
    """The same with another event, at another version or of another command."""
    known = recorded.causation
    causation = Causation(known.actor, command_id or known.command_id, known.correlation_id, known.causation_id)
    number = version or recorded.version
    return Recorded(recorded.position, recorded.session_id, number, recorded.at, causation, event)


STARTED = (says("do this"), noted(ONE, "active", claims=True, opens=True))
PAUSED = (*STARTED, noted(ONE, "checkpoint"))


@pytest.mark.parametrize(
    ("commands", "last"),
    [
        ([says("do this")], channel.MessageStarted),
        ([says("리셋")], channel.MessageRejected),
        ([*STARTED, says("do that", TWO)], channel.MessageQueued),
        ([*STARTED, says("이어서 해줘")], channel.MessageRejected),
        ([*STARTED, says("do that", TWO), noted(ONE, "done")], channel.MessageStarted),
        ([*PAUSED, says("이어서 해줘")], channel.ContinueWanted),
        ([*PAUSED, channel.ContinueLatest()], channel.ContinueWanted),
        ([*PAUSED, says("reset")], channel.ResetWanted),
        ([*PAUSED, channel.ResetLatest(reason="enough")], channel.ResetWanted),
        ([*PAUSED, channel.ResetLatest()], channel.ResetWanted),
        ([*PAUSED, says("new", TWO), noted(TWO, "active", claims=True, opens=True)], channel.SessionNoted),
    ],
)
def test_a_channel_is_decided_again(commands: list[Command], last: type[DomainEvent]) -> None:
    history = history_of(*commands)
    assert isinstance(history[-1].event, last)
    assert difference(history) is None


def test_the_same_words_sent_twice_are_rejected_again() -> None:
    history = history_of(says("do this"), says("do this", TWO), seconds=1)
    assert isinstance(history[1].event, channel.MessageRejected) and history[1].event.reason == "duplicate"
    assert difference(history) is None


def test_a_whole_message_that_was_sent_twice_is_rejected_again() -> None:
    whole = channel.ReceiveMessage(
        session_id=ONE, opening=OrchestrationRequest(prompt="do this", title="This", triage="direct")
    )
    history = history_of(whole, whole.changed(session_id=TWO), seconds=1)
    assert isinstance(history[1].event, channel.MessageRejected) and history[1].event.reason == "duplicate"
    assert difference(history) is None


def test_paused_runs_are_cleared_by_a_new_request_only_and_that_is_decided_again() -> None:
    history = history_of(*PAUSED, says("new", TWO), noted(TWO, "active", claims=True, opens=True))
    cleared = history[-1].event
    assert isinstance(cleared, channel.SessionNoted) and cleared.clears == (ONE,)
    lost = [*history[:-1], changed(history[-1], cleared.model_copy(update={"clears": ()}))]
    result = difference(lost)
    assert result is not None
    assert (result.version, result.command) == (len(history), "NoteSession")


def test_a_message_that_would_not_wait_today_is_the_difference() -> None:
    history = history_of(*STARTED, says("do that", TWO))
    queued = history[-1].event
    assert isinstance(queued, channel.MessageQueued)
    result = difference([changed(history[-1], queued, version=1)])
    assert result is not None
    assert (result.version, result.command) == (1, "ReceiveMessage")
    assert result.expected.startswith("channel.message_queued ")
    assert result.actual.startswith("channel.message_started ")


@pytest.mark.parametrize("name", STREAMS)
def test_events_that_no_command_begins_with_are_the_difference(name: str) -> None:
    """As in a log that somebody has cut."""
    only = [Recorded(1, f"{name}-1", 1, 0, Causation("", "c1", f"{name}-1", ""), PhaseCompleted(phase="design"))]
    result = difference(only)
    assert result is not None
    assert (result.version, result.command) == (1, "")
    assert result.actual.startswith("refused: "), result.actual
    assert PhaseCompleted.TOPIC in result.actual


@pytest.mark.parametrize("name", ["", "channels", "Delivery"])
def test_there_is_no_other_kind_of_session(name: str) -> None:
    with pytest.raises(Unknown):
        kind(name)
    with pytest.raises(Unknown):
        kind("channel").cancel("enough")


# -- rules that have changed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["delivery@1", "delivery@2"])
def test_a_delivery_replays_under_whatever_name_its_rules_had(policy: str) -> None:
    """Before 0.1.0 the rules had two versions; the newest is the one that remains."""
    story = DeliveryStory(iterations=1, policy=policy)
    for words in ("the plan", "the architecture", "the design", "the code"):
        story.answer(words, after=1)
    story.passes(after=1)
    story.blocks(after=1)
    story.extend(add_iterations=1, after=1)
    history = recorded(story)
    assert topics(story.events).count("delivery.session_finished") == 1
    assert difference(history) is None


def test_a_start_without_a_policy_is_of_the_first() -> None:
    """Logs of before the field had another value stay what they were."""
    [started] = [event for event in DeliveryStory().events if isinstance(event, DeliveryStarted)]
    data = {name: value for name, value in started.model_dump().items() if name != "policy"}
    assert DeliveryStarted.model_validate(data).policy == "delivery@1"


@pytest.mark.parametrize("restarts_wait", [True, False])
def test_a_fork_whose_decision_expired_replays_with_the_time_that_it_had(restarts_wait: bool) -> None:
    """In old logs, that was the time of its source."""
    story = DiscussionStory(rounds=1, expires_ms=MINUTE)
    story.answer("It is broken.", after=1)
    story.answer("All in all.", after=1)
    at_version = story.talk.version
    story.when(ForkSession(source="review-0", at_version=at_version, restarts_wait=restarts_wait), after=2 * MINUTE)
    story.when(ExpireTurn(turn_id=story.turn.turn_id), after=2 * MINUTE)
    assert difference(recorded(story)) is None


@pytest.mark.parametrize("until", ["validation", "packaging"])
def test_a_step_of_our_own_that_failed_is_decided_again(until: str) -> None:
    story = DeliveryStory(repository=True)
    story.pace = 1
    for words in ("the plan", "the architecture", "the design", "the code"):
        story.answer(words)
    if until == "packaging":
        story.passes()
        story.approves()
    assert (story.delivery.state, story.turn.work == "ask") == (until, False)
    story.fail("workspace", "The disk is full.")
    assert difference(recorded(story)) is None


def test_a_validation_without_an_outcome_is_the_difference() -> None:
    """As in a log that somebody has cut."""
    story = DeliveryStory()
    story.pace = 1
    for words in ("the plan", "the architecture", "the design", "the code"):
        story.answer(words)
    version = story.delivery.version
    story.passes()
    history = [each for each in recorded(story) if each.event.TOPIC != "delivery.tests_passed"]
    result = difference(history)
    assert result is not None
    assert (result.version, result.actual.startswith("refused: ")) == (version + 1, True)


def recorded(story: Story) -> list[Recorded]:
    """The story as the log has it: the events of one instant are those of one command."""
    commands = list(dict.fromkeys(metadata.at for _, metadata in story.history))
    return [
        Recorded(
            number, story.id, number, metadata.at, Causation("", f"c{commands.index(metadata.at)}", story.id, ""), event
        )
        for number, (event, metadata) in enumerate(story.history, start=1)
    ]


# -- what follows from events of other sessions ----------------------------------------------------------------------


def test_a_command_that_gives_the_same_events_today_is_not_a_difference() -> None:
    [message] = history_of(says("do this"))
    assert difference(begun(message), message) is None


def test_a_command_that_would_not_be_given_today_is_the_difference() -> None:
    """The message says to begin something else than what was begun."""
    [message] = history_of(says("do this"))
    [other] = history_of(says("do that"))
    result = difference(begun(message), other)
    assert result is not None
    assert (result.version, result.command) == (1, "StartOrchestration")
    assert result.actual == f"not followed: channel.message_started of {NAME}:1 leads to StartOrchestration"


def test_effects_of_another_command_are_not_a_difference() -> None:
    [message] = history_of(says("do this"))
    [other] = history_of(says("do that"))
    assert difference(begun(message), changed(other, other.event, command_id="x")) is None


def begun(message: Recorded) -> list[Recorded]:
    """The history of the session that a message began."""
    event = message.event
    assert isinstance(event, channel.MessageStarted)
    decision = carry_out(kind("orchestration"), None, StartOrchestration(opening=event.opening), EventMetadata(ONE, 0))
    causation = Causation("Kim", "c0", ONE, message.event_id)
    return [Recorded(9 + n, ONE, n, 0, causation, made) for n, made in enumerate(decision.events, start=1)]
