"""The lease table: who works on which turn, and that only the holder settles it, once (P17, P18, P21)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adapters.proof.transfer import export, take_in
from adapters.proof.verify import verify
from adapters.store.errors import Fenced
from adapters.store.port import Store, Write
from adapters.store.turns import Lease, Turns
from adapters.writer.unit_of_work import CommandEnvelope
from adapters.writer.writer import Writer
from domain.delivery.commands import CancelDelivery
from domain.session.attempts import Failure
from domain.session.forks import ForkSession
from domain.session.turns import ExpireTurn, TurnRequested
from tests.adapters.stores_under_test import Database, delivery_story, store_events, write
from tests.kit import claiming
from tests.kit.discussing import DiscussionStory, waiting
from tests.kit.memory_store import MemoryLog, MemoryStore
from tests.kit.stories import MINUTE, START, DeliveryStory

LEASE = 60_000


def begin(store: Store, session_id: str = "delivery-1", *, at: int = START, **fields: Any) -> DeliveryStory:
    """A delivery in the log whose planning waits."""
    story = delivery_story(session_id, **fields)
    store.append([write(story.begun, session_id=session_id, at=at)])
    return story


def claim(store: Store, worker: str = "worker", *, now: int = START) -> Lease | None:
    return claiming.claim(store, worker, now=now, lease_ms=LEASE)


def claimed(store: Store, worker: str = "worker", *, now: int = START) -> Lease:
    lease = claim(store, worker, now=now)
    assert lease is not None
    return lease


def settle(store: Store, story: DeliveryStory, lease: Lease, words: str = "ok") -> None:
    """Store the answer of an attempt; a story whose answer is fenced is not used any more."""
    store_events(store, story, story.answer(words, turn_id=lease.turn_id, attempt=lease.attempt))


# -- claiming ------------------------------------------------------------------------------------------------------


def test_a_lease_says_all_that_a_worker_needs(store: Store) -> None:
    begin(store, crew={"planner": "Ada"})
    assert claim(store, now=START + 5) == Lease(
        turn_id="delivery-1.t1",
        session_id="delivery-1",
        version=3,
        work="ask",
        agent="Ada",
        role="planner",
        attempt=1,
        worker="worker",
        until=START + 5 + LEASE,
        deadline=START + 45 * MINUTE,
    )


def test_the_request_is_at_the_position_of_the_lease(store: Store) -> None:
    begin(store)
    lease = claimed(store)
    [request] = store.history(lease.session_id, after=lease.version - 1, upto=lease.version)
    assert isinstance(request.event, TurnRequested)
    assert request.event.turn_id == lease.turn_id


def test_nothing_is_claimed_from_an_empty_queue(store: Store) -> None:
    assert claim(store) is None
    assert not store.turns.waiting(START)


def test_turns_are_claimed_oldest_first_and_each_once(store: Store) -> None:
    for name, at in (("delivery-b", START + 1), ("delivery-c", START + 1), ("delivery-a", START + 2)):
        begin(store, name, at=at)
    order = [claimed(store, now=START + 3).session_id for _ in range(3)]
    assert order == ["delivery-b", "delivery-c", "delivery-a"]
    assert claim(store, now=START + 3) is None


def test_concurrent_claimers_never_share_a_turn(database: Database) -> None:
    """P17: eight at once, half of them in another process."""
    stores = [database.open(), database.open()]
    for number in range(40):
        begin(stores[0], f"delivery-{number}")
    barrier = threading.Barrier(8, timeout=10)

    def take(number: int) -> list[tuple[str, int]]:
        barrier.wait()
        taken = []
        while lease := claim(stores[number % 2], f"worker-{number}"):
            assert lease.worker == f"worker-{number}"
            taken.append((lease.turn_id, lease.attempt))
        return taken

    with ThreadPoolExecutor(8) as threads:
        taken = [turn for result in threads.map(take, range(8)) for turn in result]
    assert sorted(taken) == sorted((f"delivery-{number}.t1", 1) for number in range(40))


def test_a_count_gives_the_waiting_and_the_running_turns(store: Store) -> None:
    assert store.turns.count() == {"queued": 0, "running": 0}
    begin(store)
    begin(store, "delivery-2")
    claim(store, "Ada")
    assert store.turns.count() == {"queued": 1, "running": 1}
    assert store.turns.workers() == ("Ada",)


# -- a person's decision --------------------------------------------------------------------------------------------


def test_a_decision_in_a_fork_has_its_whole_time_again(store: Store) -> None:
    story = waiting(expires_ms=MINUTE)
    store.append([settled(story)])
    writer = Writer(store, lambda: START + 9 * MINUTE)
    fork(writer, "review-2", store, source="review-1")
    fork(writer, "review-3", store, source="review-2")
    assert overdue(store, 10 * MINUTE) == ["review-1"]
    assert overdue(store, 10 * MINUTE + 1) == ["review-1", "review-2", "review-3"]
    assert verify(store).faults == []


def test_an_imported_decision_in_a_fork_does_not_expire(store: Store) -> None:
    story = waiting(expires_ms=MINUTE)
    other = MemoryStore(MemoryLog())
    other.append([settled(story)])
    fork(Writer(other, lambda: START + 9 * MINUTE), "review-2", other, source="review-1")
    take_in(store, list(export(other)))
    assert overdue(store, 99 * MINUTE) == []
    assert verify(store).faults == []


def settled(story: DiscussionStory) -> Write:
    """The story's events, whose turns were done elsewhere."""
    return write(story.events, session_id=story.id)._replace(adopted=True)


def fork(writer: Writer, name: str, store: Store, *, source: str) -> None:
    command = ForkSession(source=source, at_version=len(store.history(source)))
    writer.do_now(CommandEnvelope(name, command, actor="Kim", command_id=name, starts=True))


def overdue(store: Store, after: int) -> list[str]:
    return sorted(session_id for session_id, _ in store.turns.overdue(START + after))


# -- leases that run out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "taken"), [(LEASE - 1, False), (LEASE, True), (LEASE + 1, True)])
def test_a_turn_whose_lease_ran_out_is_given_to_another(store: Store, later: int, taken: bool) -> None:
    begin(store)
    claim(store, "frozen")
    assert store.turns.waiting(START + later) == taken
    lease = claim(store, "next", now=START + later)
    assert (lease is not None) == taken
    if lease is not None:
        assert (lease.worker, lease.attempt) == ("next", 2)


def test_a_heartbeat_keeps_a_turn(store: Store) -> None:
    begin(store)
    lease = claimed(store)
    assert store.turns.heartbeat(lease, until=START + 3 * LEASE)
    assert claim(store, "other", now=START + 3 * LEASE - 1) is None
    assert claim(store, "other", now=START + 3 * LEASE) is not None


def test_a_heartbeat_never_shortens_a_lease(store: Store) -> None:
    """P21: the wall clock was set back."""
    begin(store)
    lease = claimed(store)
    assert store.turns.heartbeat(lease, until=START - LEASE)
    assert claim(store, "other", now=START + LEASE - 1) is None


def test_a_heartbeat_says_that_the_turn_is_lost(store: Store) -> None:
    story = begin(store)
    first = claimed(store, "frozen")
    second = claimed(store, "next", now=START + LEASE)
    assert not store.turns.heartbeat(first, until=START + 9 * LEASE)
    assert store.turns.heartbeat(second, until=START + 3 * LEASE)
    settle(store, story, second)
    assert not store.turns.heartbeat(second, until=START + 9 * LEASE)


def test_a_cancelled_turn_is_lost_to_its_holder(store: Store) -> None:
    story = begin(store)
    lease = claimed(store)
    store_events(store, story, story.when(CancelDelivery()))
    assert not store.turns.heartbeat(lease, until=START + 9 * LEASE)
    assert store.turns.held(lease.turn_id) is None
    assert claim(store, now=START + 9 * LEASE) is None


def test_the_turns_of_a_dead_worker_are_returned_at_once(store: Store) -> None:
    begin(store)
    begin(store, "delivery-2")
    begin(store, "delivery-3")
    first = claimed(store, "dead")
    claim(store, "dead")
    kept = claimed(store, "alive")
    assert store.turns.release("dead") == 2
    assert store.turns.workers() == ("alive",)
    assert store.turns.release("dead") == 0
    again = claimed(store, "alive")
    assert (again.turn_id, again.attempt) == (first.turn_id, 2)
    assert store.turns.heartbeat(kept, until=START + 2 * LEASE)
    assert not store.turns.heartbeat(first, until=START + 2 * LEASE)


def test_the_holder_of_a_turn_is_known(store: Store) -> None:
    begin(store)
    assert store.turns.held("delivery-1.t1") is None
    lease = claimed(store)
    assert store.turns.held("delivery-1.t1") == lease
    store.turns.release("worker")
    assert store.turns.held("delivery-1.t1") is None


# -- fencing -------------------------------------------------------------------------------------------------------


def test_the_holders_answer_settles_the_turn_and_queues_the_next(store: Store) -> None:
    story = begin(store)
    settle(store, story, claimed(store))
    assert store.turns.count() == {"queued": 1, "running": 0}
    following = claimed(store)
    assert (following.turn_id, following.role, following.attempt) == ("delivery-1.t2", "architect", 1)


def test_the_answer_of_an_attempt_that_lost_its_turn_stores_nothing(store: Store) -> None:
    """P18: a frozen worker wakes up."""
    story = begin(store)
    zombie = claimed(store, "frozen")
    claim(store, "next", now=START + LEASE)
    sentence = r"^Turn delivery-1\.t1 is not held by attempt 1; its answer changes nothing\.$"
    with pytest.raises(Fenced, match=sentence):
        settle(store, story, zombie)
    assert (store.version("delivery-1"), store.turns.count()) == (3, {"queued": 0, "running": 1})


@pytest.mark.parametrize("attempt", [0, 1, 2])
def test_an_unclaimed_turn_cannot_be_answered(store: Store, attempt: int) -> None:
    story = begin(store)
    with pytest.raises(Fenced):
        store_events(store, story, story.answer(attempt=attempt))
    assert store.version("delivery-1") == 3


def test_a_turn_that_was_given_back_is_not_answered_by_its_old_holder(store: Store) -> None:
    story = begin(store)
    lease = claimed(store)
    store.turns.release("worker")
    with pytest.raises(Fenced):
        settle(store, story, lease)


def test_an_answer_after_the_lease_counts_if_no_other_worker_took_the_turn(store: Store) -> None:
    story = begin(store)
    lease = claimed(store)
    story.at += 9 * LEASE
    settle(store, story, lease)
    assert store.turns.held(lease.turn_id) is None


def test_a_failure_settles_a_turn_like_an_answer(store: Store) -> None:
    story = begin(store)
    lease = claimed(store)
    store_events(store, story, story.answer(attempt=lease.attempt, failure=Failure(code="timeout")))
    assert store.turns.count() == {"queued": 0, "running": 0}


def test_a_settled_turn_is_not_settled_again(store: Store) -> None:
    """Even if the events said so: the table refuses what the domain has let through."""
    story = begin(store)
    lease = claimed(store)
    answered = story.answer()
    store_events(store, story, answered)
    with pytest.raises(Fenced):
        store.append([write(answered[:1], after=len(story.history))])
    assert lease.attempt == 1


def test_waiting_and_running_turns_can_be_cancelled(store: Store) -> None:
    running, waiting = begin(store), begin(store, "delivery-2", at=START + 1)
    assert claimed(store).session_id == "delivery-1"
    for story in (waiting, running):
        store_events(store, story, story.when(CancelDelivery()))
    assert store.turns.count() == {"queued": 0, "running": 0}
    assert not store.turns.waiting(START + 9 * LEASE)


def test_a_turn_is_queued_in_the_transaction_of_its_request(store: Store) -> None:
    """P4."""
    story = begin(store)
    lease = claimed(store)
    answered = story.answer()
    with pytest.raises(Fenced):
        store.append([write(answered, after=3), write(answered[:1], after=len(story.history))])
    assert store.turns.held(lease.turn_id) == lease
    assert store.turns.count() == {"queued": 0, "running": 1}


# -- deadlines -----------------------------------------------------------------------------------------------------


def test_turns_are_overdue_after_their_deadline_whether_they_wait_or_run(store: Store) -> None:
    """P20, also when the deadline passed while the service was down."""
    begin(store, "delivery-1", minutes=10)
    begin(store, "delivery-2", minutes=10)
    begin(store, "delivery-3", minutes=20)
    claim(store)
    assert store.turns.overdue(START + 10 * MINUTE) == []
    assert sorted(store.turns.overdue(START + 10 * MINUTE + 1)) == [
        ("delivery-1", "delivery-1.t1"),
        ("delivery-2", "delivery-2.t1"),
    ]


def test_a_settled_turn_is_not_overdue(store: Store) -> None:
    story = begin(store, minutes=10)
    claim(store)
    store_events(store, story, story.when(ExpireTurn(turn_id=story.turn.turn_id), after=11 * MINUTE))
    assert store.turns.overdue(START + 99 * MINUTE) == []


def test_the_table_is_the_same_for_every_opening_of_the_log(database: Database) -> None:
    first, second = database.open(), database.open()
    begin(first)
    lease = claimed(second)
    tables: list[Turns] = [first.turns, second.turns]
    assert [table.held(lease.turn_id) for table in tables] == [lease, lease]
    assert claim(first) is None
