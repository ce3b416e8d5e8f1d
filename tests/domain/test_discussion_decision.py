"""The decision: once, by a person, on what they had seen; or expired, or cancelled (S2; K-32, K-33)."""

import pytest

from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.events import Cancelled, Decided, Expired
from domain.kinds import allowed_actions
from domain.orchestration.commands import ContinueOrchestration
from domain.session.children import Choice, Decide, ParentLink
from domain.session.forks import ForkSession
from domain.session.turns import ExpireTurn, TurnCancelled, TurnRequested
from domain.values.base import Text, Usage, iso
from domain.values.budget import Spent
from tests.kit.discussing import DiscussionStory, topic, waiting
from tests.kit.replies import critique
from tests.kit.stories import START, topics

MINUTE = 60_000
PARENT = ParentLink(session_id="orchestration-1", about="plan")


# ------------------------------------------------------------------------------------------------------- by a person


@pytest.mark.parametrize(
    ("strategy", "choice"),
    [("review", "apply_fix"), ("red-team", "skip"), ("debate", "revise"), ("perspectives", "accept")],
)
def test_a_person_decides_with_name_reason_and_time(strategy: str, choice: Choice) -> None:
    story = waiting(strategy)
    events = story.decides(choice, actor="ada", rationale="It is worth it.", after=5_000)
    assert topics(events) == [f"{story.kind}.decided", "session.agent_sessions_cleared"]
    [decided] = [event for event in events if isinstance(event, Decided)]
    assert (decided.choice, decided.actor, decided.rationale) == (choice, "ada", "It is worth it.")
    assert decided.waited == 5_000
    assert story.talk.status == "decided"
    assert story.talk.decision is not None
    assert (story.talk.decision.choice, story.talk.decision.actor) == (choice, "ada")
    assert (story.talk.decision.at, story.talk.decision.expired) == (START + 5_000, False)
    assert story.talk.choices == ()


def test_it_is_decided_once() -> None:
    story = waiting()
    story.decides("skip")
    for choice in ("skip", "apply_fix"):
        refusal = story.refused(_decide(choice))
        message = "A review in the state decided does not wait for a decision."
        assert str(refusal) == f"{message} It has been decided: skip. Nothing is allowed now."
        assert refusal.allowed == ()


@pytest.mark.parametrize(
    ("strategy", "wrong", "right"), [("review", "revise", "apply_fix, skip"), ("debate", "skip", "revise, accept")]
)
def test_only_the_choices_that_are_open_count(strategy: str, wrong: str, right: str) -> None:
    refusal = waiting(strategy).refused(_decide(wrong))
    assert str(refusal).endswith(f"is decided by one of {right}.")
    assert refusal.allowed == ("decision", "cancel")


def test_a_decision_on_an_older_version_is_refused() -> None:
    story = waiting()
    version = story.talk.version
    for stale in (1, version - 1, version + 1):
        refusal = story.refused(_decide("apply_fix", version=stale))
        message = f"is at version {version}, and the decision answers version {stale}"
        assert str(refusal) == f"A review in the state waiting_for_decision {message}."
        assert refusal.allowed == ("decision", "cancel")
    story.decides("apply_fix", version=version)
    assert story.talk.status == "decided"


def test_only_what_waits_can_be_decided() -> None:
    story = DiscussionStory(rounds=1)
    texts = []
    for words in ("It is broken.", "All in all."):
        refusal = story.refused(_decide("skip"))
        texts.append((str(refusal), refusal.allowed, allowed_actions(story.talk)))
        story.says(words)
    assert texts == [
        ("A review in the state reviewing does not wait for a decision.", ("cancel",), ("cancel",)),
        ("A review in the state synthesizing does not wait for a decision.", ("cancel",), ("cancel",)),
    ]
    assert allowed_actions(story.talk) == ("decision", "cancel")
    story.decides("skip")
    assert allowed_actions(story.talk) == ()


def test_after_an_error_a_person_decides_as_usual() -> None:
    """K-32."""
    story = DiscussionStory("debate", rounds=2)
    story.breaks(detail="gone")
    events = story.decides("revise", actor="ada")
    [decided] = [event for event in events if isinstance(event, Decided)]
    assert decided.synthesis.head == "The debate broke off: critic: crash: gone"
    assert decided.feedback["error"] == "critic: crash: gone"


def test_an_end_gives_the_parent_all_it_needs() -> None:
    story = waiting(parent=PARENT, rounds=1)
    [decided] = [event for event in story.decides("skip") if isinstance(event, Decided)]
    assert decided.parent == PARENT
    assert decided.synthesis.head == "All in all, it will not do."
    assert decided.feedback["verdict"] == "NEEDS_FIX"
    assert decided.round == 1


def test_an_end_includes_the_cost_of_the_turns() -> None:
    story = DiscussionStory(rounds=1)
    story.answer("It is broken.", usage=Usage(input_tokens=70, output_tokens=5, cost_micros=12))
    story.answer("All in all.", usage=Usage(input_tokens=25))
    [decided] = [event for event in story.decides("skip") if isinstance(event, Decided)]
    assert decided.spent == Spent(tokens=100, cost_micros=12, unknown=0)


def test_a_long_discussion_that_failed_is_kept_whole_instead_of_a_synthesis() -> None:
    story = DiscussionStory(parent=PARENT)
    story.says("가" * 5_000, "나" * 5_000)
    story.breaks()
    [decided] = [event for event in story.decides("apply_fix") if isinstance(event, Decided)]
    assert decided.synthesis.digest is not None
    assert story.whole(decided.synthesis) == "[critique]: " + "가" * 5_000 + "\n\n[rebuttal]: " + "나" * 5_000


# ------------------------------------------------------------------------------------------------------------ by none


def test_without_an_expiry_only_a_person_can_decide() -> None:
    story = waiting()
    assert story.talk.expires_at is None
    assert story.talk.outstanding == {}


@pytest.mark.parametrize(
    ("strategy", "given", "stands_for"),
    [
        ("review", None, "skip"),
        ("debate", None, "accept"),
        ("review", "apply_fix", "apply_fix"),
        ("debate", "revise", "revise"),
    ],
)
def test_a_decision_without_an_answer_expires_and_is_no_persons_choice(
    strategy: str, given: str | None, stands_for: str
) -> None:
    story = waiting(strategy, expires_ms=MINUTE, expires_as=given)
    assert story.talk.expires_at == iso(START + MINUTE)
    assert (story.turn.work, story.turn.role) == ("wait", "person")
    result = story.when(ExpireTurn(turn_id=story.turn.turn_id), after=MINUTE + 1)
    assert topics(result) == ["turn.cancelled", f"{story.kind}.expired", "session.agent_sessions_cleared"]
    [expired] = [event for event in result if isinstance(event, Expired)]
    assert (expired.choice, expired.role, expired.waited) == (stands_for, "supervisor", MINUTE + 1)
    assert story.talk.status == "decided"
    assert story.talk.decision is not None
    assert (story.talk.decision.expired, story.talk.decision.actor) == (True, "policy")
    assert str(story.refused(_decide("skip"))).endswith(f" It has expired: {stands_for}. Nothing is allowed now.")


def test_a_decision_does_not_expire_before_its_time() -> None:
    """At the instant itself a person may still decide."""
    story = waiting(expires_ms=MINUTE)
    refusal = story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=MINUTE)
    assert str(refusal) == "The decision may still be made."
    story.decides("skip")
    assert story.talk.decision is not None and not story.talk.decision.expired


def test_the_time_for_a_decision_begins_with_the_question() -> None:
    story = DiscussionStory(rounds=1, expires_ms=MINUTE)
    story.answer("It is broken.", after=7 * MINUTE)
    story.answer("All in all.", after=7 * MINUTE)
    assert story.asked_for().expires_at == iso(START + 15 * MINUTE)
    assert story.request.deadline == iso(START + 15 * MINUTE)


def test_a_decision_ends_the_waiting() -> None:
    story = waiting(expires_ms=MINUTE)
    turn_id = story.turn.turn_id
    events = story.decides("apply_fix")
    assert [event.turn_id for event in events if isinstance(event, TurnCancelled)] == [turn_id]
    assert "is settled" in str(story.refused(ExpireTurn(turn_id=turn_id), after=2 * MINUTE))


def _forked(story: DiscussionStory, *, after: int, restarts_wait: bool = True) -> None:
    """From here on, the story is that of a fork."""
    at_version = story.talk.version
    story.when(ForkSession(source="review-0", at_version=at_version, restarts_wait=restarts_wait), after=after)


@pytest.mark.parametrize("times", [1, 2])
def test_in_a_fork_a_person_has_the_whole_time_again(times: int) -> None:
    story = waiting(expires_ms=MINUTE)
    for _ in range(times):
        _forked(story, after=9 * MINUTE)
    assert story.talk.expires_at == story.turn.deadline == iso(story.at + MINUTE)
    refusal = story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=MINUTE)
    assert str(refusal) == "The decision may still be made."
    result = story.when(ExpireTurn(turn_id=story.turn.turn_id), after=1)
    assert [event.waited for event in result if isinstance(event, Expired)] == [MINUTE + 1]


def test_in_a_fork_the_wait_for_a_person_counts_from_the_fork() -> None:
    story = waiting()
    _forked(story, after=9 * MINUTE)
    events = story.decides("skip", after=MINUTE)
    assert [event.waited for event in events if isinstance(event, Decided)] == [MINUTE]


def test_a_fork_of_a_decision_that_was_made_waits_for_nobody() -> None:
    story = waiting(expires_ms=MINUTE)
    story.decides("skip", after=5_000)
    before = story.talk
    _forked(story, after=9 * MINUTE)
    assert (story.talk.expires_at, story.talk.waiting_since) == (before.expires_at, before.waiting_since)


def test_a_fork_in_an_old_log_expires_again_at_its_sources_deadline() -> None:
    """There, a fork inherited the deadline, and was decided at once."""
    story = waiting(expires_ms=MINUTE)
    deadline = story.talk.expires_at
    _forked(story, after=9 * MINUTE, restarts_wait=False)
    assert story.talk.expires_at == story.turn.deadline == deadline
    result = story.when(ExpireTurn(turn_id=story.turn.turn_id), after=1_000)
    assert [event.waited for event in result if isinstance(event, Expired)] == [9 * MINUTE + 1_000]


def test_only_the_waiting_for_a_person_expires() -> None:
    story = DiscussionStory(expires_ms=MINUTE)
    refusal = story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=9 * MINUTE)
    assert str(refusal) == "The decision may still be made."


# ---------------------------------------------------------------------------------------------------------- cancelled


@pytest.mark.parametrize("after", ["start", "a round", "the rounds", "the question"])
@pytest.mark.parametrize(("strategy", "choice"), [("red-team", "skip"), ("debate", "accept")])
def test_every_open_discussion_can_be_cancelled(strategy: str, choice: str, after: str) -> None:
    """K-33: a reset counts as skip or accept, and is no person's choice."""
    story = waiting(strategy, rounds=2) if after == "the question" else DiscussionStory(strategy, rounds=2)
    story.says(*{"a round": ["One."], "the rounds": ["One.", "Two."]}.get(after, []))
    result = story.cancels("no longer wanted")
    [cancelled] = [event for event in result if isinstance(event, Cancelled)]
    assert (cancelled.choice, cancelled.reason) == (choice, "no longer wanted")
    assert story.talk.status == "cancelled"
    assert story.talk.outstanding == {}
    expected = "limit" if after in ("the rounds", "the question") else "cancelled"
    assert story.talk.stop_reason == expected
    assert story.talk.decision is not None
    assert (story.talk.decision.choice, story.talk.decision.actor) == (choice, "policy")
    assert allowed_actions(story.talk) == ()


def test_a_cancelled_discussion_accepts_nothing() -> None:
    """K-33: late replies, decisions and a second cancel change nothing."""
    story = DiscussionStory()
    turn_id = story.turn.turn_id
    story.cancels()
    assert "is settled" in str(story.refused(story.reply("too late", turn_id=turn_id)))
    message = "A review in the state cancelled"
    decision, cancel = str(story.refused(_decide("skip"))), str(story.refused(_cancel()))
    assert decision == f"{message} does not wait for a decision. Nothing is allowed now."
    assert cancel == f"{message} cannot be cancelled. Nothing is allowed now."


def test_a_decided_discussion_cannot_be_cancelled() -> None:
    story = waiting()
    story.decides("apply_fix")
    message = "A review in the state decided cannot be cancelled."
    assert str(story.refused(_cancel())) == f"{message} It has been decided: apply_fix. Nothing is allowed now."


def test_cancelling_before_the_first_round_approves_nothing() -> None:
    story = DiscussionStory()
    [cancelled] = [event for event in story.cancels() if isinstance(event, Cancelled)]
    assert cancelled.feedback == {"verdict": "NEEDS_FIX", "summary": "The review was called off.", "issues": []}
    assert cancelled.synthesis == Text.of("The review was called off.")[0]


def test_conversations_end_with_the_discussion() -> None:
    for end in ("decides", "cancels"):
        story = DiscussionStory(rounds=1)
        story.answer("One.", agent_session="talk 1")
        story.answer("All in all.")
        result = story.decides("skip") if end == "decides" else story.cancels()
        assert result[-1].model_dump()["agent_sessions"] == {"reviewer (reviewer)": "talk 1"}
        assert story.talk.agent_sessions == {}


# ------------------------------------------------------------------------------------------------------------ refused


def test_a_discussion_starts_once_and_knows_its_own_commands_only() -> None:
    story = DiscussionStory()
    assert str(story.refused(StartDiscussion(topic=topic()))) == "This session has already started."
    refusal = story.refused(ContinueOrchestration())
    assert str(refusal) == "A review in the state reviewing cannot be continued."
    assert refusal.allowed == ("cancel",)


def test_a_round_is_answered_once() -> None:
    story = DiscussionStory()
    first = story.reply(critique())
    story.when(first)
    assert "is settled" in str(story.refused(first))
    assert len([event for event in story.events if isinstance(event, TurnRequested)]) == 2


def _decide(choice: str, **fields: object) -> Decide:
    return Decide.model_validate({"choice": choice, **fields})


def _cancel() -> CancelDiscussion:
    return CancelDiscussion()
