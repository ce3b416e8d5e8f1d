"""A channel: what a message means, one orchestration of an origin at a time, the queue (behaviour §1.2, §1.4)."""

import unicodedata
from typing import Any

import pytest

from domain.channel import (
    Channel,
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    MessageUnclear,
    ResetWanted,
    SessionNoted,
    channel_id,
)
from domain.channel.commands import ContinueLatest, NoteSession, ReceiveMessage, ResetLatest
from domain.orchestration.commands import ResetOrchestration
from domain.orchestration.events import OrchestrationRequest
from domain.values.base import DomainEvent
from tests.kit.stories import START, Story, topics


class Talk(Story):
    """One origin: its messages, and what becomes of its sessions."""

    def __init__(self, origin: str = "chat") -> None:
        super().__init__("channel", channel_id(origin))
        self.origin = origin

    @property
    def channel(self) -> Channel:
        assert isinstance(self.now, Channel)
        return self.now

    def says(self, text: str, session_id: str = "orchestration-1", *, after: int = 0, sender: str = "") -> DomainEvent:
        """A message, and the one thing that came of it."""
        opening = OrchestrationRequest(prompt=text, origin=self.origin)
        command = ReceiveMessage(session_id=session_id, opening=opening, sender=sender)
        [event] = self.when(command, after=after)
        return event

    def notes(self, session_id: str, status: str, **fields: bool) -> list[DomainEvent]:
        return self.when(NoteSession(session_id=session_id, origin=self.origin, status=status, **fields))

    def begins(self, session_id: str) -> SessionNoted:
        """A session of this origin has been started."""
        [event] = self.notes(session_id, "active", opens=True, claims=bool(self.origin))
        assert isinstance(event, SessionNoted)
        return event

    def started(self, text: str, session_id: str, *, after: int = 6_000) -> SessionNoted:
        """A message that starts a session at once."""
        assert isinstance(self.says(text, session_id, after=after), MessageStarted)
        return self.begins(session_id)

    def queued(self) -> list[str]:
        return [waiting.session_id for waiting in self.channel.queue]


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def busy(talk: Talk) -> Talk:
    talk.started("first", "orchestration-1")
    return talk


def rests(talk: Talk, status: str) -> Talk:
    talk.started("first", "orchestration-1")
    talk.notes("orchestration-1", status)
    return talk


def thanked(talk: Talk, status: str = "done") -> Talk:
    """A message that an agent answers directly."""
    talk.says("고마워", "orchestration-2", after=6_000)
    [noted] = talk.notes("orchestration-2", "active", opens=True, claims=True, direct=True)
    assert isinstance(noted, SessionNoted) and noted.clears == ()
    talk.notes("orchestration-2", status)
    return talk


# -- a message -----------------------------------------------------------------------------------------------------


def test_a_message_starts_a_session(talk: Talk) -> None:
    event = talk.says("hello", "orchestration-7", sender="ann")
    assert isinstance(event, MessageStarted)
    assert (event.session_id, event.opening.prompt, event.sender, event.queued) == (
        "orchestration-7",
        "hello",
        "ann",
        False,
    )
    assert (talk.channel.busy, talk.channel.latest, talk.channel.status) == (
        "orchestration-7",
        "orchestration-7",
        "busy",
    )
    assert talk.channel.receipt() == {
        "kind": "orchestration",
        "action": "started",
        "sessionId": "orchestration-7",
        "version": 0,
    }


@pytest.mark.parametrize("status", ["done", "reset", "checkpoint", "partial"])
def test_every_end_of_a_run_frees_its_origin(talk: Talk, status: str) -> None:
    assert rests(talk, status).channel.busy is None
    assert isinstance(talk.says("second", "orchestration-2"), MessageStarted)


def test_origins_do_not_know_each_other() -> None:
    assert channel_id("a") != channel_id("b") != channel_id("")
    assert channel_id("a") == channel_id("a")


# -- one at a time -------------------------------------------------------------------------------------------------


def test_messages_during_a_busy_run_are_queued_in_order(busy: Talk) -> None:
    for number in (2, 3, 4):
        event = busy.says(f"message {number}", f"orchestration-{number}", sender="ann")
        assert isinstance(event, MessageQueued)
        assert event.pending == number - 1
    assert busy.queued() == ["orchestration-2", "orchestration-3", "orchestration-4"]
    assert [waiting.sender for waiting in busy.channel.queue] == ["ann", "ann", "ann"]
    assert (busy.channel.busy, busy.channel.latest) == ("orchestration-1", "orchestration-1")
    assert busy.channel.receipt() == {
        "kind": "orchestration",
        "action": "queued",
        "queued": True,
        "pending": 3,
        "reason": "busy",
        "sessionId": "orchestration-4",
        "version": 0,
    }


@pytest.mark.parametrize("status", ["done", "reset", "checkpoint", "partial"])
def test_when_the_run_stops_the_first_waiting_message_starts(busy: Talk, status: str) -> None:
    for number in (2, 3):
        busy.says(f"message {number}", f"orchestration-{number}", sender="ann")
    noted, started = busy.notes("orchestration-1", status)
    assert isinstance(noted, SessionNoted) and isinstance(started, MessageStarted)
    assert (started.session_id, started.opening.prompt, started.queued, started.sender) == (
        "orchestration-2",
        "message 2",
        True,
        "ann",
    )
    assert (busy.channel.busy, busy.queued()) == ("orchestration-2", ["orchestration-3"])


def test_a_message_does_not_overtake_those_that_wait(busy: Talk) -> None:
    busy.says("second", "orchestration-2")
    busy.notes("orchestration-1", "done")
    assert isinstance(busy.says("third", "orchestration-3"), MessageQueued)
    assert (busy.channel.busy, busy.queued()) == ("orchestration-2", ["orchestration-3"])


def test_events_of_another_session_do_not_free_the_origin(busy: Talk) -> None:
    busy.says("second", "orchestration-2")
    assert topics(busy.notes("orchestration-0", "done")) == ["channel.session_noted"]
    assert (busy.channel.busy, busy.channel.latest) == ("orchestration-1", "orchestration-1")


def test_a_second_session_may_not_claim_a_busy_origin(busy: Talk) -> None:
    command = NoteSession(session_id="orchestration-2", origin="chat", status="active", claims=True, opens=True)
    refusal = busy.refused(command)
    assert str(refusal) == "Origin 'chat' is busy with session orchestration-1."
    assert refusal.allowed == ("cancel", "reset")


def test_a_session_started_by_other_means_also_occupies_the_origin(talk: Talk) -> None:
    talk.begins("orchestration-5")
    assert isinstance(talk.says("second", "orchestration-6"), MessageQueued)


def test_sessions_without_an_origin_do_not_block_each_other() -> None:
    """Only messages without an origin wait for one another; the latest is the latest all the same."""
    talk = Talk(origin="")
    talk.begins("orchestration-5")
    talk.begins("orchestration-6")
    assert (talk.channel.busy, talk.channel.latest) == (None, "orchestration-6")
    talk.started("hello", "orchestration-7")
    assert isinstance(talk.says("second", "orchestration-8"), MessageQueued)


def test_a_queue_has_an_end(busy: Talk) -> None:
    for number in range(100):
        assert isinstance(busy.says(f"message {number}", f"orchestration-q{number}"), MessageQueued)
    event = busy.says("one too many", "orchestration-x")
    assert isinstance(event, MessageRejected)
    assert (event.reason, len(busy.channel.queue)) == ("queue_full", 100)


# -- the same words again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "action"), [(0, "rejected"), (5_000, "rejected"), (5_001, "started")])
def test_the_same_words_within_five_seconds_are_one_message(talk: Talk, after: int, action: str) -> None:
    rests(talk, "done")
    talk.says("hello", "orchestration-2", after=6_000)
    talk.notes("orchestration-2", "done")
    talk.says("hello", "orchestration-3", after=after)
    assert talk.channel.receipt()["action"] == action


def test_a_duplicate_gets_the_session_of_the_first_message(busy: Talk) -> None:
    busy.says("second", "orchestration-2")
    event = busy.says("second", "orchestration-3")
    assert isinstance(event, MessageRejected)
    assert (event.reason, event.session_id) == ("duplicate", "orchestration-2")
    assert (busy.queued(), busy.channel.receipt()["sessionId"]) == (["orchestration-2"], "orchestration-2")


def test_a_duplicate_is_recognized_however_its_letters_were_typed(talk: Talk) -> None:
    talk.says(unicodedata.normalize("NFC", "안녕"), "orchestration-1")
    event = talk.says(unicodedata.normalize("NFD", "안녕"), "orchestration-2")
    assert isinstance(event, MessageRejected)


def test_the_same_text_with_other_fields_is_another_message(talk: Talk) -> None:
    rests(talk, "done")
    talk.says("hello", "orchestration-2", after=6_000)
    talk.notes("orchestration-2", "done")
    opening = OrchestrationRequest(prompt="hello", origin=talk.origin, triage="direct")
    [event] = talk.when(ReceiveMessage(session_id="orchestration-3", opening=opening))
    assert isinstance(event, MessageStarted)


def test_a_message_that_waited_is_not_a_duplicate_of_itself(busy: Talk) -> None:
    """The message counts from its arrival, not from its start."""
    busy.says("second", "orchestration-2")
    busy.at += 6_000
    busy.notes("orchestration-1", "done")
    assert isinstance(busy.says("second", "orchestration-3"), MessageQueued)


# -- intents, by whole phrases only (K-1, K-6) ---------------------------------------------------------------------


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("status", ["checkpoint", "partial"])
@pytest.mark.parametrize("text", ["이어서 해줘", "리뷰해봐", "계속", "다음", "/continue"])
def test_a_word_to_continue_continues_the_latest_run(talk: Talk, text: str, status: str, form: Any) -> None:
    event = rests(talk, status).says(unicodedata.normalize(form, text), "orchestration-2")
    assert event == ContinueWanted(message=unicodedata.normalize(form, text), session_id="orchestration-1")
    assert talk.channel.receipt() == {
        "kind": "orchestration",
        "action": "started",
        "continued": True,
        "sessionId": "orchestration-1",
        "version": 0,
    }


@pytest.mark.parametrize("text", ["리뷰도 해봐", "다시", "again", "이어서 테스트도 해줘", "continue the work"])
def test_more_than_the_phrase_is_a_new_request(talk: Talk, text: str) -> None:
    """K-6: "리뷰도 해봐" is none of the exact phrases."""
    assert isinstance(rests(talk, "checkpoint").says(text, "orchestration-2"), MessageStarted)


@pytest.mark.parametrize("status", ["done", "reset", None])
def test_a_word_to_continue_is_a_message_if_nothing_can_continue(talk: Talk, status: str | None) -> None:
    """#182: it never revives what has ended."""
    if status is not None:
        rests(talk, status)
    assert isinstance(talk.says("이어서 해줘", "orchestration-2"), MessageStarted)


def test_a_word_to_continue_while_the_run_is_busy_is_rejected(busy: Talk) -> None:
    event = busy.says("이어서 해줘", "orchestration-2")
    assert isinstance(event, MessageRejected)
    assert (event.reason, busy.queued()) == ("busy", [])
    assert busy.channel.receipt() == {
        "kind": "orchestration",
        "action": "rejected",
        "reason": "busy",
        "sessionId": None,
        "version": 0,
    }


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", ["리셋", "리셋해", "초기화", "페이즈 리셋", "phase reset"])
def test_a_word_to_reset_ends_the_latest_run(talk: Talk, text: str, form: Any) -> None:
    event = rests(talk, "checkpoint").says(unicodedata.normalize(form, text), "orchestration-2")
    assert isinstance(event, ResetWanted)
    assert event.session_id == "orchestration-1"
    assert (talk.channel.receipt()["action"], talk.channel.receipt()["reset"]) == ("started", True)


def test_a_word_to_reset_ends_a_run_that_is_busy(busy: Talk) -> None:
    """K-17."""
    assert isinstance(busy.says("리셋", "orchestration-2"), ResetWanted)


@pytest.mark.parametrize(
    "text", ["초기화 코드를 작성해줘", "리셋 버튼 추가해줘", "리셋하지 마", "다른데서 리뷰했으니 리셋해"]
)
def test_a_sentence_never_resets(talk: Talk, text: str) -> None:
    """K-1: a prefix would wipe a run."""
    assert isinstance(rests(talk, "checkpoint").says(text, "orchestration-2"), MessageStarted)
    assert isinstance(talk.says(f"{text} 2", "orchestration-3"), MessageQueued)


@pytest.mark.parametrize("status", ["checkpoint", "partial", "active"])
@pytest.mark.parametrize(
    ("text", "nearest"),
    [("리셋해줘", "reset"), ("계속 진행해줘", "continue"), ("취소해", "cancel"), ("please continue", "continue")],
)
def test_a_near_miss_of_a_phrase_starts_nothing_while_a_run_is_active(
    talk: Talk, text: str, nearest: str, status: str
) -> None:
    """Contract §13, K-1: it is asked about, never guessed at."""
    event = rests(talk, status).says(text, "orchestration-2")
    assert isinstance(event, MessageUnclear)
    assert (event.text, event.suggestions[0]) == (text, nearest)
    assert talk.channel.receipt() == {
        "kind": "orchestration",
        "action": "unclear",
        "suggestions": list(event.suggestions),
        "sessionId": None,
        "version": 0,
    }
    assert talk.queued() == []


@pytest.mark.parametrize("status", ["done", "reset"])
@pytest.mark.parametrize("text", ["리셋해줘", "취소해", "계속 진행해줘", "stop", "go on please"])
def test_a_word_for_a_run_that_has_ended_starts_nothing(talk: Talk, status: str, text: str) -> None:
    rests(talk, status)
    event = talk.says(text, "orchestration-2")
    assert isinstance(event, MessageRejected) and event.reason == "nothing_runs"
    assert talk.queued() == []


def test_the_same_word_is_a_message_where_no_run_was_before(talk: Talk) -> None:
    assert isinstance(talk.says("리셋해줘", "orchestration-2"), MessageStarted)


@pytest.mark.parametrize("status", ["done", "reset", None])
def test_a_word_to_reset_where_nothing_is_to_be_reset_is_rejected(talk: Talk, status: str | None) -> None:
    if status is not None:
        rests(talk, status)
    event = talk.says("리셋", "orchestration-2")
    assert isinstance(event, MessageRejected)
    assert (event.reason, event.message) == (
        "nothing_to_reset",
        "리셋할 worklog가 없습니다. (There is nothing to reset.)",
    )


def test_the_answer_to_a_reset_reports_the_reset_even_if_a_message_continues(busy: Talk) -> None:
    """What waited starts in the same breath; the person who wrote 리셋 gets the run that was reset."""
    busy.says("second", "orchestration-2")
    busy.says("리셋", "orchestration-3")
    busy.notes("orchestration-1", "reset")
    assert (busy.channel.busy, busy.channel.receipt()["sessionId"]) == ("orchestration-2", "orchestration-1")


# -- the endpoints that need no words ----------------------------------------------------------------------------------


def test_continue_and_reset_apply_to_the_latest_run(talk: Talk) -> None:
    rests(talk, "checkpoint")
    [event] = talk.when(ContinueLatest())
    assert event == ContinueWanted(message="The latest run is to go on.", session_id="orchestration-1")
    [event] = talk.when(ResetLatest(reason="enough"))
    assert isinstance(event, ResetWanted)
    assert (event.session_id, event.reason) == ("orchestration-1", "enough")


def test_continue_and_reset_are_refused_without_any_run(talk: Talk) -> None:
    talk.says("리셋", "orchestration-1")
    assert str(talk.refused(ContinueLatest())) == "이어갈 worklog가 없습니다. (There is nothing to continue.)"
    assert str(talk.refused(ResetLatest())) == "리셋할 worklog가 없습니다. (There is nothing to reset.)"


def test_a_continued_run_is_busy_again_also_without_an_origin() -> None:
    talk = Talk(origin="")
    rests(talk, "checkpoint")
    talk.says("이어서 해줘", "orchestration-2")
    talk.notes("orchestration-1", "active")
    assert isinstance(talk.says("second", "orchestration-3"), MessageQueued)


def test_a_continued_run_is_the_latest_again(talk: Talk) -> None:
    rests(talk, "partial")
    talk.started("second", "orchestration-2")
    talk.notes("orchestration-2", "done")
    talk.notes("orchestration-1", "active", claims=True)
    assert (talk.channel.latest, talk.channel.busy) == ("orchestration-1", "orchestration-1")


# -- a new request begins clean (S1 §2, K-10) ----------------------------------------------------------------------


@pytest.mark.parametrize("status", ["checkpoint", "partial"])
def test_a_new_request_clears_the_stopped_run(talk: Talk, status: str) -> None:
    """S1 §5.6 and §5.7."""
    rests(talk, status)
    assert talk.started("second", "orchestration-2").clears == ("orchestration-1",)


@pytest.mark.parametrize("status", ["checkpoint", "partial"])
def test_a_direct_answer_does_not_clear_or_hide_the_waiting_run(talk: Talk, status: str) -> None:
    """Contract §13: "고마워", then "이어서 해줘"."""
    thanked(rests(talk, status))
    event = talk.says("이어서 해줘", "orchestration-3")
    assert isinstance(event, ContinueWanted)
    assert event.session_id == "orchestration-1"


def test_continue_without_text_finds_the_waiting_run_after_a_direct_answer(talk: Talk) -> None:
    thanked(rests(talk, "checkpoint"))
    assert isinstance(talk.says("리셋해줘", "orchestration-3"), MessageUnclear)
    [event] = talk.when(ResetLatest())
    assert isinstance(event, ResetWanted) and event.session_id == "orchestration-1"
    [event] = talk.when(ContinueLatest())
    assert isinstance(event, ContinueWanted) and event.session_id == "orchestration-1"


def test_a_waiting_direct_answer_is_continued(talk: Talk) -> None:
    thanked(rests(talk, "checkpoint"), status="partial")
    event = talk.says("이어서 해줘", "orchestration-3")
    assert isinstance(event, ContinueWanted) and event.session_id == "orchestration-2"


@pytest.mark.parametrize("status", ["done", "reset"])
def test_what_has_ended_has_nothing_to_clear(talk: Talk, status: str) -> None:
    rests(talk, status)
    assert talk.started("second", "orchestration-2").clears == ()


def test_a_request_that_waited_clears_what_it_waited_for(busy: Talk) -> None:
    busy.says("second", "orchestration-2")
    busy.notes("orchestration-1", "checkpoint")
    assert busy.begins("orchestration-2").clears == ("orchestration-1",)


def test_a_session_started_by_other_means_also_starts_without_old_conversations(talk: Talk) -> None:
    rests(talk, "checkpoint")
    assert talk.begins("orchestration-2").clears == ("orchestration-1",)


def test_every_stopped_run_is_cleared_not_only_the_latest(talk: Talk) -> None:
    rests(talk, "partial")
    talk.started("second", "orchestration-2")
    talk.notes("orchestration-2", "checkpoint")
    talk.notes("orchestration-1", "active", claims=True)
    talk.notes("orchestration-1", "partial")
    assert set(talk.started("third", "orchestration-3").clears) == {"orchestration-1", "orchestration-2"}
    talk.notes("orchestration-3", "done")
    assert talk.started("fourth", "orchestration-4").clears == ()


def test_continuing_clears_nothing(talk: Talk) -> None:
    rests(talk, "checkpoint")
    [event] = talk.notes("orchestration-1", "active", claims=True)
    assert isinstance(event, SessionNoted)
    assert event.clears == ()


def test_a_session_without_an_origin_leaves_other_sessions_alone() -> None:
    """Sessions without an origin belong to no one; only a message applies to the latest of them."""
    talk = Talk(origin="")
    for number in (5, 6):
        talk.begins(f"orchestration-{number}")
        talk.notes(f"orchestration-{number}", "checkpoint")
    assert talk.begins("orchestration-7").clears == ()
    talk.notes("orchestration-7", "checkpoint")
    assert talk.started("hello", "orchestration-8").clears == ("orchestration-7",)


# -- a stream, but no session --------------------------------------------------------------------------------------


def test_a_channel_takes_no_other_command(busy: Talk) -> None:
    sentence = "A channel accepts only messages and requests to continue or reset."
    assert str(busy.refused(ResetOrchestration())) == sentence


def test_a_queued_message_knows_when_it_came(busy: Talk) -> None:
    busy.says("second", "orchestration-2", after=2_000)
    assert busy.channel.queue[0].queued_at == START + 8_000
