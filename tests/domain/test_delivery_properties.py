"""Whatever happens to a delivery, in whatever order: what always holds (P14, P17, P20, P21)."""

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.delivery.chart import TABLE
from domain.delivery.commands import CancelDelivery, RecordValidation
from domain.delivery.events import (
    AttemptStarted,
    BudgetExtended,
    DeliveryEvent,
    DeliveryRetried,
    DeliveryTransition,
    RevisionBegun,
    SessionFinished,
)
from domain.delivery.evolve import evolve
from domain.delivery.state import Delivery
from domain.kinds import TOPICS
from domain.session.attempts import ONCE, Failure, RetryPolicy
from domain.session.revisions import ReviseSession, RevisionRequested
from domain.session.turns import (
    ExpireTurn,
    RecordPackage,
    RecordReply,
    RetryTurn,
    Settled,
    TurnAttemptFailed,
    TurnRequested,
    TurnRetried,
)
from domain.values.base import Command, DomainEvent, Refused, Text, Usage
from tests.kit.replies import review
from tests.kit.stories import MINUTE, DeliveryStory, extension, start

Step = Callable[[DeliveryStory], Command | None]


def _waiting(story: DeliveryStory) -> str:
    return story.request.turn_id


def _reply(words: str, **fields: Usage | Failure) -> Step:
    return lambda story: story.reply(words, turn_id=_waiting(story), **fields)


def _validation(*, passed: bool) -> Step:
    return lambda story: RecordValidation(turn_id=_waiting(story), attempt=1, passed=passed, summary="…")


def _good(story: DeliveryStory) -> Command:
    """What leads on, whatever is waited for."""
    match story.request.work, story.request.phase:
        case "validate", _:
            return RecordValidation(turn_id=_waiting(story), attempt=1, passed=True)
        case "package", _:
            return RecordPackage(turn_id=_waiting(story), attempt=1, branch="b", commit="c")
        case _, "review":
            return story.reply(review(), turn_id=_waiting(story), usage=Usage(input_tokens=10))
        case _:
            return story.reply("ok", turn_id=_waiting(story), usage=Usage(output_tokens=5, cost_micros=1))


STEPS: list[Step] = [
    *[_good] * 8,
    *[_reply(review("No tests"))] * 3,
    *[_validation(passed=False)] * 3,
    _reply("prose"),
    _reply("", failure=Failure(code="timeout")),
    lambda story: story.reply("late", turn_id="delivery-1.t1"),
    lambda story: RecordPackage(turn_id=_waiting(story), attempt=1),
    *[lambda story: ExpireTurn(turn_id=_waiting(story))] * 2,
    lambda story: extension(add_iterations=1),
    lambda story: extension(add_minutes=10),
    lambda story: extension(add_iterations=1, add_minutes=10, add_tokens=20),
    lambda story: extension(),
    lambda story: RetryTurn(reason="again"),
    *[lambda story: ReviseSession(text=Text.of("Change it.")[0])] * 2,
    lambda story: ReviseSession(text=Text.of("Change it.")[0], add_iterations=1, add_minutes=1),
    *[_reply("", failure=Failure(code="rate_limit", retry_after=90))] * 2,
    _reply("", failure=Failure(code="network")),
    lambda story: CancelDelivery(),
    lambda story: start(),
]

POLICIES = st.sampled_from([ONCE, RetryPolicy(attempts=3, fallback=("Grace",)), RetryPolicy(attempts=2, repairs=2)])

moves = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from([0, 0, 1, MINUTE, 9 * MINUTE, 50 * MINUTE])), max_size=40
)


@settings(max_examples=100, deadline=None)
@given(
    moves=moves,
    iterations=st.integers(1, 4),
    tokens=st.none() | st.integers(1, 60),
    repository=st.booleans(),
    retry=POLICIES,
)
def test_no_order_of_commands_breaks_what_always_holds(
    moves: list[tuple[Step, int]], iterations: int, tokens: int | None, repository: bool, retry: RetryPolicy
) -> None:
    story = DeliveryStory(iterations=iterations, tokens=tokens, repository=repository, retry=retry)
    for step, later in moves:
        before, story.at = story.delivery, story.at + later
        command = step(story)
        assert command is not None
        try:
            recorded = story.when(command)
        except Refused as refusal:
            assert story.delivery == before
            assert set(refusal.allowed) <= {"cancel", "extend", "retry", "revise"}
            continue
        assert recorded
        _one_turn_at_most(story.delivery)
        _budget_is_hard(before, story, recorded)
    _every_prefix_folds(story)
    _turns_are_settled_once(story.events)
    _nothing_happens_after_the_end(story.events)


def _one_turn_at_most(delivery: Delivery) -> None:
    """Work is waited for exactly while the delivery runs."""
    assert len(delivery.outstanding) == (0 if delivery.ended else 1)
    assert (delivery.stopped_at is not None) == delivery.ended
    assert delivery.state in TABLE.states
    assert list(delivery.phases.values()).count("running") == (0 if delivery.ended else 1)


def _budget_is_hard(before: Delivery, story: DeliveryStory, recorded: list[DomainEvent]) -> None:
    """What is left never grows, but for what a person added; no iteration beyond it begins."""
    after = story.delivery
    claimed = next((event for event in recorded if isinstance(event, BudgetExtended | RevisionRequested)), None)
    was, now = before.snapshot(before.updated_at), after.snapshot(story.at)
    more = claimed.add_iterations if claimed else 0
    assert now.remaining_iterations <= was.remaining_iterations + more
    if claimed is None:
        assert now.elapsed_ms >= was.elapsed_ms
    waits = any(turn.tries.until for turn in before.outstanding.values())
    moved = BudgetExtended | RevisionBegun | DeliveryRetried | TurnAttemptFailed | TurnRetried
    if not waits and not any(isinstance(event, moved) for event in recorded):
        assert (after.budget.limits, after.budget.paused) == (before.budget.limits, before.budget.paused)
    for event in recorded:
        if isinstance(event, AttemptStarted):
            assert event.iteration <= after.budget.limits.max_iterations
            assert event.iteration == before.iteration + 1
        if isinstance(event, TurnRequested) and event.phase != "packaging":
            assert story.at <= after.budget.deadline_at


def _every_prefix_folds(story: DeliveryStory) -> None:
    """P14; and what the log gives back is what was written."""
    delivery: Delivery | None = None
    for version, (event, metadata) in enumerate(story.history, start=1):
        row = event.model_dump(mode="json", by_alias=True, exclude_none=True)
        read = TOPICS[event.TOPIC].model_validate(row)
        assert read == event
        delivery = evolve(delivery, read, metadata)
        assert (delivery.version, delivery.updated_at) == (version, metadata.at)
        assert delivery.snapshot(metadata.at).elapsed_ms >= 0
        if isinstance(event, DeliveryTransition):
            assert delivery.state == event.state
    assert delivery == story.delivery


def _turns_are_settled_once(events: list[DomainEvent]) -> None:
    """P17."""
    requested = [event.turn_id for event in events if isinstance(event, TurnRequested)]
    settled = list(dict.fromkeys(event.turn_id for event in events if isinstance(event, Settled)))
    assert requested == [f"delivery-1.t{number}" for number in range(1, len(requested) + 1)]
    assert settled == requested[: len(settled)]
    assert len(requested) - len(settled) <= 1


def _nothing_happens_after_the_end(events: list[DomainEvent]) -> None:
    for event, following in pairwise(events):
        if isinstance(event, SessionFinished):
            assert isinstance(following, BudgetExtended | DeliveryRetried | RevisionRequested)
            assert event.status == "failed" or (event.status == "success" and isinstance(following, RevisionRequested))


@given(moves=st.lists(st.sampled_from([_good, _reply(review("x")), _validation(passed=False)]), max_size=60))
@settings(max_examples=30, deadline=None)
def test_a_delivery_always_ends_within_its_iterations(moves: list[Step]) -> None:
    """However its agents answer, 3 iterations of 3 turns each after 3 turns of planning are all there is."""
    story = DeliveryStory(iterations=3)
    for step in moves:
        if story.delivery.ended:
            break
        command = step(story)
        assert command is not None
        try:
            story.when(command)
        except Refused:
            story.when(_good(story))
    assert story.delivery.turns <= 3 + 3 * 3
    assert [e.iteration for e in story.events if isinstance(e, AttemptStarted)] == list(
        range(1, story.delivery.iteration + 1)
    )
    assert all(event.iteration <= 4 for event in story.events if isinstance(event, DeliveryEvent))


@given(st.lists(st.integers(0, 3), max_size=12))
def test_replies_are_settled_by_their_own_turn_alone(late: list[int]) -> None:
    """Answers to older turns, sent again and again, change nothing."""
    story = DeliveryStory().designed()
    before = story.delivery
    for number in late:
        story.refused(RecordReply(turn_id=f"delivery-1.t{number}", attempt=1))
    assert story.delivery == before
