"""The single writer: answers after the commit, alone in success and failure, once per key (P1, P4, P6, P7, P8, P17)."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from typing import Any, cast

import orjson
import pytest

from adapters.store.blanks import blanked
from adapters.store.errors import Conflict, Fenced, StoreError
from adapters.store.port import Store, Write
from adapters.writer import unit_of_work
from adapters.writer import writer as writer_module
from adapters.writer.answers import Pending
from adapters.writer.writer import Busy, CommandAnswer, CommandEnvelope, KeyReused, Writer, fingerprint
from domain.channel import channel_id
from domain.delivery.commands import CancelDelivery
from domain.delivery.events import BudgetExtended
from domain.delivery.state import Delivery
from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration, StartOrchestration
from domain.orchestration.events import OrchestrationRequest
from domain.session.attempts import Failure
from domain.session.decision import Kind, Outcome
from domain.session.record import Recorded
from domain.session.redaction import RedactedEvent, RedactText
from domain.session.state import Session
from domain.session.turns import RecordReply
from domain.values.base import Command, Refused, Stale, Text, Unknown
from tests.adapters.stores_under_test import Database
from tests.kit.claiming import claim
from tests.kit.memory_store import MemoryLog, MemoryStore
from tests.kit.stories import START, extension, start

SECONDS = 10
"""After so long a test gives up waiting; nothing waits that long unless it hangs."""


class Clock:
    """The wall clock, moved by hand."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def writer(store: Store, clock: Clock) -> Iterator[Writer]:
    """A writer with its thread."""
    result = Writer(store, clock)
    result.start()
    yield result
    result.stop()


def order(command: Command, session_id: str = "delivery-1", **fields: Any) -> CommandEnvelope:
    return CommandEnvelope(
        session_id, command, actor="person", command_id=fields.pop("command_id", "command-1"), **fields
    )


def begin(session_id: str = "delivery-1", **fields: Any) -> CommandEnvelope:
    return order(start(), session_id, starts=True, status=202, **fields)


def more(session_id: str = "delivery-1", **fields: Any) -> CommandEnvelope:
    """A command that is allowed again and again."""
    return order(extension(add_iterations=1), session_id, **fields)


def cancel(session_id: str = "delivery-1", **fields: Any) -> CommandEnvelope:
    return order(CancelDelivery(), session_id, **fields)


def keyed(given: CommandEnvelope, key: str, request: str = "the request") -> CommandEnvelope:
    return given._replace(key=key, fingerprint=fingerprint(request.encode()))


def answered(turn_id: str, attempt: int = 1, **fields: Any) -> CommandEnvelope:
    session_id = turn_id.partition(".")[0]
    return order(RecordReply(turn_id=turn_id, attempt=attempt, **fields), session_id)


def extensions(store: Store, session_id: str = "delivery-1") -> int:
    return sum(isinstance(result.event, BudgetExtended) for result in store.history(session_id))


def contiguous(store: Store, session_id: str = "delivery-1") -> bool:
    versions = [result.version for result in store.history(session_id)]
    return versions == list(range(1, len(versions) + 1))


def until(holds: Callable[[], bool]) -> None:
    """Wait, without sleeping, for what another thread is about to do."""
    waited = threading.Event()
    for _ in range(SECONDS * 1_000):
        if holds():
            return
        waited.wait(0.001)
    raise AssertionError("it did not come to that")


class Held:
    """Holds the writer's thread in front of the store, so that commands gather in one batch."""

    def __init__(self, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writer = writer
        self._entered, self._open = threading.Event(), threading.Event()
        self._append = writer.store.append
        monkeypatch.setattr(writer.store, "append", self._wait)

    def _wait(self, writes: list[Write]) -> list[list[Recorded]]:
        self._entered.set()
        assert self._open.wait(SECONDS)
        return self._append(writes)

    def __enter__(self) -> "Held":
        self.first = self.writer.submit(begin("delivery-first"))
        assert self._entered.wait(SECONDS)
        return self

    def release(self) -> None:
        self._open.set()

    def __exit__(self, *_: object) -> None:
        self.release()


def together(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, *orders: CommandEnvelope
) -> list["Future[CommandAnswer]"]:
    """The outcomes of orders that were decided in one batch."""
    with Held(writer, monkeypatch):
        futures = [writer.submit(each) for each in orders]
        batches = writer.batches
    for future in futures:
        future.exception(SECONDS)
    assert writer.conflicts or writer.batches == batches + 2
    return futures


# -- answers -------------------------------------------------------------------------------------------------------


def test_a_command_is_answered_with_version_and_position(writer: Writer) -> None:
    answer = writer.do_now(begin())
    assert (answer.status, answer.session_id, answer.version, answer.position, answer.replayed) == (
        *(202, "delivery-1", 3, 3),
        False,
    )
    assert orjson.loads(answer.body) == {"sessionId": "delivery-1", "kind": "delivery", "version": 3, "position": 3}
    following = writer.do_now(more())
    assert (following.status, following.version, following.position) == (200, 4, 4)


def test_an_answer_comes_after_the_commit(writer: Writer, database: Database) -> None:
    """P1: after the answer, the events can be read, from another process too."""
    elsewhere = database.open()
    seen: list[int] = []
    with ThreadPoolExecutor(4) as threads:
        for number in range(20):
            future = writer.submit(begin(f"delivery-{number}"))
            future.add_done_callback(lambda done: seen.append(elsewhere.version(done.result().session_id)))
            threads.submit(future.result)
    until(lambda: len(seen) == 20)
    assert seen == [3] * 20


def test_the_events_say_who_did_it_by_which_command_and_because_of_what(writer: Writer, store: Store) -> None:
    writer.do_now(begin(command_id="c-1"))
    writer.do_now(more(command_id="c-2", causation_id="delivery-9:7", correlation_id="delivery-9"))
    [first, *_, last] = [result.causation for result in store.log()]
    assert (first.actor, first.command_id, first.causation_id, first.correlation_id) == (
        *("person", "c-1", "c-1"),
        "delivery-1",
    )
    assert (last.command_id, last.causation_id, last.correlation_id) == ("c-2", "delivery-9:7", "delivery-9")


def test_many_commands_are_answered_each_in_its_turn(writer: Writer, store: Store) -> None:
    async def all_of_them() -> list[CommandAnswer]:
        await writer.do(begin())
        return await asyncio.gather(*(writer.do(more()) for _ in range(100)))

    answers = asyncio.run(all_of_them())
    assert [answer.version for answer in answers] == list(range(4, 104))
    assert contiguous(store)
    assert writer.batches < 50


def test_without_its_thread_the_writer_runs_in_the_callers_thread(store: Store, clock: Clock) -> None:
    alone = Writer(store, clock)
    assert alone.do_now(begin()).version == 3
    with pytest.raises(Refused):
        alone.do_now(begin())


def test_listeners_are_notified_of_stored_events_only(store: Store, clock: Clock) -> None:
    alone, heard = Writer(store, clock), list[int]()
    alone.listeners.append(lambda: heard.append(store.head()))
    alone.do_now(begin())
    with pytest.raises(Unknown):
        alone.do_now(more("delivery-9"))
    alone.do_now(more())
    assert heard == [3, 4]


def test_time_never_falls_within_a_session(writer: Writer, store: Store, clock: Clock) -> None:
    """P21: the wall clock is set back by an hour, then by a day."""
    writer.do_now(begin())
    for jump in (5_000, -3_600_000, 1_000, -86_400_000, 7_200_000 + 86_400_000):
        clock.at += jump
        writer.do_now(more())
    times = [result.at for result in store.history("delivery-1")]
    assert times == sorted(times)
    assert times[3:] == [START + 5_000] * 4 + [START + 5_000 - 3_600_000 + 1_000 + 7_200_000]


# -- alone in success and failure ----------------------------------------------------------------------------------


def test_one_that_is_refused_in_a_batch_fails_alone(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.do_now(begin("delivery-a"))
    good, twice, unknown, stale, after, other = together(
        writer,
        monkeypatch,
        more("delivery-a"),
        begin("delivery-a"),
        cancel("delivery-9"),
        more("delivery-a", expected=3),
        more("delivery-a", expected=4),
        begin("delivery-b"),
    )
    assert (good.result().version, after.result().version, other.result().version) == (4, 5, 3)
    assert isinstance(twice.exception(), Refused)
    assert isinstance(unknown.exception(), Unknown)
    assert str(stale.exception()) == "The session is at version 4, not 3."


def test_commands_of_one_batch_see_what_those_before_them_did(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    started, first, second, ended, late = together(writer, monkeypatch, begin(), more(), more(), cancel(), more())
    assert [future.result().version for future in (started, first, second)] == [3, 4, 5]
    assert ended.result().version > 5
    message = "A delivery in the state cancelled cannot be given more budget."
    assert str(late.exception()) == f"{message} Nothing is allowed now."


def test_the_batch_mates_of_a_fenced_answer_succeed(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P18: a frozen worker's answer comes in between good ones; then the holder's."""
    for name in ("delivery-a", "delivery-b"):
        writer.do_now(begin(name))
        claim(store, "frozen", now=START, lease_ms=1_000)
    again = claim(store, "next", now=START + 1_000, lease_ms=1_000)
    assert again is not None and (again.turn_id, again.attempt) == ("delivery-a.t1", 2)
    before, zombie, mate, holder = together(
        writer,
        monkeypatch,
        more("delivery-b"),
        answered("delivery-a.t1", attempt=1),
        answered("delivery-b.t1", attempt=1),
        answered("delivery-a.t1", attempt=2),
    )
    assert isinstance(zombie.exception(), Fenced)
    assert (before.result().version, mate.result().session_id, holder.result().session_id) == (
        *(4, "delivery-b"),
        "delivery-a",
    )
    assert contiguous(store, "delivery-a") and contiguous(store, "delivery-b")
    with pytest.raises(Refused):
        writer.do_now(answered("delivery-a.t1", attempt=2))


def test_a_caller_that_leaves_affects_no_other_caller(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is cancelled while its command waits, and one whose command is being stored."""
    with Held(writer, monkeypatch) as held:
        left, stayed = writer.submit(begin("delivery-a")), writer.submit(begin("delivery-b"))
        left.cancel()
        held.first.cancel()
    assert stayed.result(SECONDS).version == 3
    assert writer.do_now(more("delivery-b")).version == 4
    assert (store.version("delivery-first"), store.version("delivery-a")) == (3, 0)


def test_a_store_that_does_not_answer_fails_the_batch_and_the_writer_lives_on(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.do_now(begin())
    with monkeypatch.context() as patched:

        def broken(_: list[Write]) -> list[list[Recorded]]:
            raise StoreError("The disk is full.")

        patched.setattr(store, "append", broken)
        with pytest.raises(StoreError, match="The disk is full"):
            writer.do_now(more())
        with pytest.raises(Refused):
            writer.do_now(begin())
    assert writer.do_now(more()).version == 4
    assert extensions(store) == 1


# -- other writers -------------------------------------------------------------------------------------------------


@pytest.fixture
def two(database: Database, clock: Clock) -> tuple[Writer, Writer]:
    """Two processes on one log."""
    return Writer(database.open(), clock), Writer(database.open(), clock)


def test_a_long_session_continues_from_its_snapshot(
    writer: Writer, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cold one reads the events after it only, and decides the same; a short one does not ask for it."""
    monkeypatch.setattr(writer_module, "LONG", 10)
    writer.do_now(begin())
    for _ in range(20):
        writer.do_now(more())
    kept, asked, read = writer.load("delivery-1", upto=18), list[tuple[str, int | None]](), list[int]()
    log = database.open()
    history = log.history

    def counted(*given: Any, **named: Any) -> list[Recorded]:
        story = history(*given, **named)
        read.append(len(story))
        return story

    def nearest(session_id: str, upto: int | None) -> Session | None:
        asked.append((session_id, upto))
        return kept

    monkeypatch.setattr(log, "history", counted)
    cold = Writer(log, clock, nearest=nearest)
    answer = cold.do_now(more())
    assert (answer.version, asked, read) == (24, [("delivery-1", None)], [10, 5])
    assert cold.load("delivery-1") == Writer(database.open(), clock).load("delivery-1")
    cold.do_now(begin("delivery-2"))
    assert asked == [("delivery-1", None)]


def test_what_another_process_wrote_is_taken_into_account(two: tuple[Writer, Writer]) -> None:
    mine, theirs = two
    mine.do_now(begin())
    assert theirs.do_now(more()).version == 4
    assert mine.do_now(more()).version == 5
    assert theirs.do_now(more()).version == 6
    assert mine.conflicts == theirs.conflicts == 1
    assert extensions(mine.store) == 3 and contiguous(mine.store)


def test_a_refusal_is_only_given_on_what_the_log_says_now(two: tuple[Writer, Writer]) -> None:
    mine, theirs = two
    mine.do_now(begin())
    theirs.do_now(more())
    theirs.do_now(cancel())
    with pytest.raises(Refused, match=r"^A delivery in the state cancelled cannot be given more budget\."):
        mine.do_now(more())


def test_no_state_that_quotes_a_text_is_kept_once_another_process_has_taken_it_out(two: tuple[Writer, Writer]) -> None:
    mine, theirs = two
    mine.do_now(begin())
    claim(mine.store, "worker", now=START, lease_ms=1_000)
    reply, [blob] = Text.of("The secret. " * 2_000)
    mine.do_now(answered("delivery-1.t1", reply=reply, blobs=(blob,)))
    assert "The secret" in repr(mine.cached("delivery-1"))
    rows = [
        (row.version, row.state, blanked(row.state, blob.digest, row.form))
        for row in mine.store.rows.events(["delivery-1"])
    ]
    quotes = tuple(
        RedactedEvent(version=version, hash=hashlib.sha256(after).hexdigest())
        for version, before, after in rows
        if after != before
    )
    theirs.do_now(order(RedactText(digest=blob.digest, reason="A key.", events=quotes)))
    with pytest.raises(Stale):
        mine.do_now(more(expected=1))
    assert "The secret" not in repr(mine.cached("delivery-1"))
    assert mine.cached("delivery-1") == Writer(mine.store, Clock()).load("delivery-1")


def test_an_answer_to_another_process_is_accepted(two: tuple[Writer, Writer]) -> None:
    """Here the cached session would refuse: it knows nothing of that turn."""
    mine, theirs = two
    mine.do_now(begin())
    for number in (1, 2):
        assert claim(mine.store, "worker", now=START, lease_ms=1_000) is not None
        answering = theirs if number == 1 else mine
        assert answering.do_now(answered(f"delivery-1.t{number}")).version == 3 + 5 * number


def test_the_expected_version_is_that_of_the_log(two: tuple[Writer, Writer]) -> None:
    """P6: 412 carries the actual version."""
    mine, theirs = two
    mine.do_now(begin())
    theirs.do_now(more())
    with pytest.raises(Stale) as stale:
        mine.do_now(more(expected=3))
    assert (stale.value.expected, stale.value.actual) == (3, 4)
    theirs.do_now(more())
    assert mine.do_now(more(expected=5)).version == 6


def test_exactly_one_of_many_commands_with_the_same_expected_version_wins(writer: Writer, store: Store) -> None:
    """P6."""
    writer.do_now(begin())
    for version in range(3, 13):
        futures = [writer.submit(more(expected=version)) for _ in range(16)]
        outcomes = [future.exception(SECONDS) for future in futures]
        assert outcomes.count(None) == 1
        assert {str(error) for error in outcomes if error} == {
            f"The session is at version {version + 1}, not {version}."
        }
    assert extensions(store) == 10 and contiguous(store)


def interfering(
    mine: Writer, theirs: Writer, monkeypatch: pytest.MonkeyPatch, *, times: int, with_order: CommandEnvelope
) -> None:
    """The other process writes between my deciding and my storing, so many times."""
    append, left = mine.store.append, [times]

    def interfered(writes: list[Write]) -> list[list[Recorded]]:
        if left[0]:
            left[0] -= 1
            theirs.do_now(with_order)
        return append(writes)

    monkeypatch.setattr(mine.store, "append", interfered)


def test_a_writer_that_comes_in_between_is_outlived(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two
    mine.do_now(begin())
    interfering(mine, theirs, monkeypatch, times=3, with_order=more())
    assert mine.do_now(more()).version == 7
    assert extensions(mine.store) == 4 and contiguous(mine.store)


class Transactions:
    """Counts the transactions that commands take."""

    def __init__(self, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self._append = 0, writer.store.append
        monkeypatch.setattr(writer.store, "append", self._counted)

    def _counted(self, writes: list[Write]) -> list[list[Recorded]]:
        self.count += 1
        return self._append(writes)


def one_batch(writer: Writer, *orders: CommandEnvelope) -> list["Future[CommandAnswer]"]:
    """The outcomes of orders that wait in the queue when the writer takes its next batch."""
    batch = [Pending(each, Future()) for each in orders]
    writer._carry_out(batch)
    return [cast("Future[CommandAnswer]", pending.future) for pending in batch]


def test_one_conflict_among_many_commands_takes_one_more_transaction(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are decided again together, and only the session that moved is read from the log."""
    mine, theirs = two
    names = [f"delivery-{number}" for number in range(201)]
    one_batch(mine, *(begin(name) for name in names))
    theirs.do_now(more("delivery-100"))
    transactions, reads = Transactions(mine, monkeypatch), Reads(mine.store, monkeypatch)
    futures = one_batch(mine, *(more(name) for name in names))
    assert [future.result(0).version for future in futures] == [4] * 100 + [5] + [4] * 100
    assert (transactions.count, mine.conflicts, reads.calls) == (2, 1, 1)


def test_many_conflicts_are_named_at_once(two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = two
    names = [f"delivery-{number}" for number in range(50)]
    one_batch(mine, *(begin(name) for name in names))
    one_batch(theirs, *(more(name) for name in names[::2]))
    transactions = Transactions(mine, monkeypatch)
    futures = one_batch(mine, *(more(name) for name in names))
    assert [future.result(0).version for future in futures] == [5, 4] * 25
    assert transactions.count == 2


def test_a_late_answer_among_many_commands_needs_no_extra_transaction(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(store, clock)
    names = [f"delivery-{number}" for number in range(200)]
    one_batch(writer, *(begin(name) for name in names))
    claim(store, "frozen", now=START, lease_ms=1_000)
    claim(store, "next", now=START + 1_000, lease_ms=1_000)
    transactions = Transactions(writer, monkeypatch)
    decided: list[Command] = []
    carry_out = unit_of_work.carry_out

    def noticed(kind: Kind[Session], session: Session | None, command: Command, *more: Any) -> Outcome:
        decided.append(command)
        return carry_out(kind, session, command, *more)

    monkeypatch.setattr(unit_of_work, "carry_out", noticed)
    late, *good = one_batch(writer, answered("delivery-0.t1", attempt=1), *(more(name) for name in names))
    assert isinstance(late.exception(0), Fenced)
    assert [future.result(0).version for future in good] == [4] * 200
    assert (transactions.count, writer.conflicts) == (1, 0)
    assert len(decided) == 200, "the late one is refused before it is decided"


def test_a_turn_that_is_lost_just_before_the_commit_fails_alone(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("delivery-a", "delivery-b"):
        writer.do_now(begin(name))
    claim(store, "slow", now=START, lease_ms=1_000)
    append = store.append

    def lost(writes: list[Write]) -> list[list[Recorded]]:
        claim(store, "fast", now=START + 1_000, lease_ms=1_000)
        return append(writes)

    monkeypatch.setattr(store, "append", lost)
    before, late, after = one_batch(writer, more("delivery-a"), answered("delivery-a.t1"), more("delivery-b"))
    assert isinstance(late.exception(0), Fenced)
    assert (before.result(0).version, after.result(0).version) == (4, 4)


def test_a_key_that_conflicts_is_named_too(two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = two
    for name in ("delivery-a", "delivery-b"):
        mine.do_now(begin(name))
    interfering(mine, theirs, monkeypatch, times=1, with_order=keyed(more("delivery-b"), "k"))
    transactions = Transactions(mine, monkeypatch)
    good, repeated = one_batch(mine, more("delivery-a"), keyed(more("delivery-b"), "k"))
    assert (good.result(0).version, repeated.result(0).replayed) == (4, True)
    assert transactions.count == 2


def test_one_that_is_always_overtaken_ends_alone(two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = two
    for name in ("delivery-a", "delivery-b"):
        mine.do_now(begin(name))
    interfering(mine, theirs, monkeypatch, times=10**6, with_order=more("delivery-b"))
    good, overtaken = one_batch(mine, more("delivery-a"), cancel("delivery-b"))
    assert good.result(0).version == 4
    assert isinstance(overtaken.exception(0), Conflict)


def test_a_writer_that_always_interferes_causes_a_conflict_and_stores_nothing(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two
    mine.do_now(begin())
    interfering(mine, theirs, monkeypatch, times=10**6, with_order=more())
    with pytest.raises(Conflict):
        mine.do_now(cancel())
    state = mine.load("delivery-1")
    assert isinstance(state, Delivery) and state.state == "planning"


def test_the_first_caller_determines_the_answer_of_the_second(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two
    mine.do_now(begin())
    interfering(mine, theirs, monkeypatch, times=1, with_order=cancel())
    with pytest.raises(Refused, match="A delivery in the state cancelled cannot be cancelled"):
        mine.do_now(cancel())


# -- reactions -----------------------------------------------------------------------------------------------------


def talk(session_id: str, origin: str = "chat") -> CommandEnvelope:
    opening = OrchestrationRequest(prompt="Hello.", triage="direct", origin=origin)
    return order(StartOrchestration(opening=opening), session_id, starts=True, status=202)


def stopped(writer: Writer, session_id: str) -> None:
    """The assistant fails; the run rests, its origin is free."""
    lease = claim(writer.store, "worker", now=START, lease_ms=1_000)
    assert lease is not None and lease.session_id == session_id
    failure = Failure(code="crash")
    writer.do_now(answered(lease.turn_id, lease.attempt, failure=failure))


def test_what_follows_from_a_command_is_stored_with_it(writer: Writer, store: Store) -> None:
    """P4; each event says what it came from."""
    answer = writer.do_now(talk("orchestration-a"))
    assert answer.session_id == "orchestration-a"
    [noted] = store.history(channel_id("chat"))
    assert (noted.event.TOPIC, noted.causation.causation_id) == ("channel.session_noted", "orchestration-a:1")
    assert noted.causation.command_id == "command-1"
    assert answer.position == store.head()


def test_what_a_reaction_refuses_is_refused_as_a_whole(writer: Writer, store: Store) -> None:
    writer.do_now(talk("orchestration-a"))
    head = store.head()
    with pytest.raises(Refused, match="Origin 'chat' is busy with session orchestration-a"):
        writer.do_now(talk("orchestration-b"))
    assert (store.head(), store.version("orchestration-b")) == (head, 0)
    stopped(writer, "orchestration-a")
    assert writer.do_now(talk("orchestration-b")).session_id == "orchestration-b"


def test_the_refusal_of_a_reaction_is_based_on_the_current_log(two: tuple[Writer, Writer]) -> None:
    """Both what is asked and what follows from it are outdated here, one after the other."""
    mine, theirs = two
    mine.do_now(talk("orchestration-a"))
    stopped(theirs, "orchestration-a")
    mine.do_now(talk("orchestration-b"))
    stopped(theirs, "orchestration-b")
    assert mine.do_now(order(ContinueOrchestration(), "orchestration-a")).session_id == "orchestration-a"
    assert mine.do_now(order(ResetOrchestration(), "orchestration-a")).session_id == "orchestration-a"


# -- once per key --------------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_first_answer_byte_for_byte_and_has_one_effect(writer: Writer, store: Store) -> None:
    """P7."""
    writer.do_now(begin())
    first = writer.do_now(keyed(more(), "k"))
    writer.do_now(more())
    again = writer.do_now(keyed(more(), "k"))
    assert again == first._replace(replayed=True)
    assert (first.replayed, extensions(store)) == (False, 2)


def test_a_start_is_repeated_with_the_id_that_was_given_first(writer: Writer, store: Store) -> None:
    first = writer.do_now(keyed(begin("delivery-a"), "k"))
    again = writer.do_now(keyed(begin("delivery-b"), "k"))
    assert again == first._replace(replayed=True)
    assert (again.status, again.session_id, store.version("delivery-b")) == (202, "delivery-a", 0)


def test_the_same_key_at_the_same_time_has_one_effect(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.do_now(begin())
    futures = together(writer, monkeypatch, *(keyed(more(), "k") for _ in range(20)))
    answers = [future.result() for future in futures]
    assert {answer.body for answer in answers} == {answers[0].body}
    assert [answer.replayed for answer in answers] == [False] + [True] * 19
    assert extensions(store) == 1


def test_a_key_outlives_the_process(database: Database, clock: Clock) -> None:
    """P7: also from another replica."""
    before = Writer(database.open(), clock)
    before.do_now(begin())
    first = before.do_now(keyed(more(), "k"))
    before.store.close()
    after = Writer(database.open(), clock)
    assert after.do_now(keyed(more(), "k")) == first._replace(replayed=True)
    assert extensions(after.store) == 1


def test_a_key_that_another_process_uses_in_between_is_answered_from_its_receipt(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P8, F4: a conflict is looked up by its key first."""
    mine, theirs = two
    mine.do_now(begin())
    interfering(mine, theirs, monkeypatch, times=1, with_order=keyed(more(), "k"))
    assert mine.do_now(keyed(more(), "k")).replayed
    assert extensions(mine.store) == 1


def test_a_lost_answer_of_the_store_is_not_a_lost_command(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P8: the commit went through, its reply did not; the caller asks again."""
    writer.do_now(begin())
    append = store.append

    def lossy(writes: list[Write]) -> list[list[Recorded]]:
        append(writes)
        monkeypatch.setattr(store, "append", append)
        raise StoreError("No answer.")

    monkeypatch.setattr(store, "append", lossy)
    with pytest.raises(StoreError):
        writer.do_now(keyed(more(), "k"))
    answer = writer.do_now(keyed(more(), "k"))
    assert (answer.replayed, answer.version, extensions(store)) == (True, 4, 1)


def test_a_key_of_another_request_is_refused_and_has_no_effect(writer: Writer, store: Store) -> None:
    writer.do_now(begin())
    first = writer.do_now(keyed(more(), "k", "one"))
    with pytest.raises(KeyReused):
        writer.do_now(keyed(more(), "k", "two"))
    assert extensions(store) == 1
    assert writer.do_now(keyed(more(), "k", "one")) == first._replace(replayed=True)


def test_a_key_of_another_request_at_the_same_time_is_refused_too(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.do_now(begin())
    one, two, three = together(
        writer, monkeypatch, keyed(more(), "k", "one"), keyed(more(), "k", "two"), keyed(more(), "k", "one")
    )
    assert (one.result().replayed, three.result().replayed) == (False, True)
    assert isinstance(two.exception(), KeyReused)
    assert extensions(store) == 1


def test_a_refusal_is_repeated_even_if_the_state_has_changed(writer: Writer, store: Store) -> None:
    """P7: the first answer again, even if it was no."""
    with pytest.raises(Unknown) as unknown:
        writer.do_now(keyed(more(), "unknown"))
    writer.do_now(begin())
    with pytest.raises(Stale) as stale:
        writer.do_now(keyed(more(expected=9), "stale"))
    with pytest.raises(Refused) as refused:
        writer.do_now(keyed(begin(), "refused"))
    for _ in range(6):
        writer.do_now(more())
    for key, first in (("unknown", unknown.value), ("stale", stale.value), ("refused", refused.value)):
        for value in (more(), cancel()):
            with pytest.raises(type(first)) as again:
                writer.do_now(keyed(value, key))
            assert (str(again.value), again.value.replayed, first.replayed) == (str(first), True, False)
    assert refused.value.allowed == ("cancel", "extend", "revise")
    with pytest.raises(Refused) as again_refused:
        writer.do_now(keyed(begin(), "refused"))
    assert again_refused.value.allowed == ("cancel", "extend", "revise")
    assert (extensions(store), writer.conflicts) == (6, 0)


def test_a_refusal_at_the_same_time_is_repeated_too(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.do_now(begin())
    first, again, mate = together(writer, monkeypatch, keyed(begin(), "k"), keyed(begin(), "k"), more())
    errors = [first.exception(), again.exception()]
    assert [str(error) for error in errors] == ["This session has already started."] * 2
    assert [isinstance(error, Refused) and error.replayed for error in errors] == [False, True]
    assert mate.result().version == 4
    assert extensions(store) == 1


def test_a_fenced_answer_leaves_no_receipt(writer: Writer, store: Store) -> None:
    """It is not the session that refuses; the holder may come yet."""
    writer.do_now(begin())
    value = keyed(answered("delivery-1.t1"), "k")
    with pytest.raises(Fenced):
        writer.do_now(value)
    assert store.receipt("k") is None
    claim(store, "worker", now=START, lease_ms=1_000)
    assert writer.do_now(value).version == 8


def test_a_fingerprint_depends_on_where_one_part_ends() -> None:
    assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc")
    assert fingerprint(b"ab", b"c") == fingerprint(b"ab", b"c")


# -- the queue -----------------------------------------------------------------------------------------------------


def test_a_full_queue_says_busy_and_takes_commands_again_later(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Writer(store, clock, waiting=2)
    small.start()
    with Held(small, monkeypatch):
        waiting = [small.submit(begin(f"delivery-{number}")) for number in range(2)]
        assert small.waiting() == 2
        with pytest.raises(Busy, match="Too many commands are waiting"):
            small.submit(begin("delivery-9"))
    assert [future.result(SECONDS).version for future in waiting] == [3, 3]
    assert small.do_now(begin("delivery-9")).version == 3
    small.stop()


def test_stopping_finishes_what_waits(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = Writer(store, clock)
    stopping.start()
    with ThreadPoolExecutor(1) as threads, Held(stopping, monkeypatch):
        waiting = [stopping.submit(begin(f"delivery-{number}")) for number in range(5)]
        stopped = threads.submit(stopping.stop)
        until(lambda: stopping.waiting() == 6)
    stopped.result(SECONDS)
    assert [future.result(0).version for future in waiting] == [3] * 5


def test_a_command_that_comes_while_the_writer_stops_is_answered(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P28: no caller waits forever."""
    stopping = Writer(store, clock)
    stopping.start()
    with ThreadPoolExecutor(2) as threads, Held(stopping, monkeypatch):
        stopped = threads.submit(stopping.stop)
        until(lambda: stopping.waiting() == 1)
        late = threads.submit(lambda: stopping.submit(begin()).result(SECONDS))
    stopped.result(SECONDS)
    assert late.result(SECONDS).version == 3
    assert stopping.do_now(more()).version == 4


# -- what it costs -------------------------------------------------------------------------------------------------


class Reads:
    """Counts the events that are read from the store, and how often."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.events = 0
        self._history = store.history
        monkeypatch.setattr(store, "history", self._count)

    def _count(self, session_id: str, **part: Any) -> list[Recorded]:
        story = self._history(session_id, **part)
        self.calls += 1
        self.events += len(story)
        return story

    def cost(self, do: Callable[[], object]) -> tuple[int, int]:
        calls, events = self.calls, self.events
        do()
        return self.calls - calls, self.events - events


def test_a_command_costs_the_same_however_long_the_history_is(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P27: counted in events read, not in time."""
    reads = Reads(store, monkeypatch)
    writer.do_now(begin())
    for length in (3, 103, 203):
        while store.version("delivery-1") < length:
            writer.do_now(more())
        assert reads.cost(lambda: writer.do_now(more())) == (0, 0)
        with pytest.raises(Refused):
            reads.cost(lambda: writer.do_now(begin()))
    assert reads.events == 0


def test_a_restarted_writer_reads_a_history_once(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Writer(database.open(), clock)
    before.do_now(begin())
    after = Writer(database.open(), clock)
    reads = Reads(after.store, monkeypatch)
    assert reads.cost(lambda: after.do_now(more())) == (1, 3)
    assert reads.cost(lambda: after.do_now(more())) == (0, 0)
    assert reads.cost(lambda: after.do_now(begin("delivery-2"))) == (1, 0)


def test_events_of_another_process_are_read_without_the_cache(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two
    mine.do_now(begin())
    for _ in range(50):
        mine.do_now(more())
    version = theirs.do_now(cancel()).version
    reads = Reads(mine.store, monkeypatch)
    with pytest.raises(Refused, match="in the state cancelled"):
        mine.do_now(more(expected=version))
    assert reads.events == version - 53


def test_a_session_that_fell_out_of_the_cache_is_read_again(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "KEPT", 2)
    small = Writer(store, clock)
    reads = Reads(store, monkeypatch)
    for number in range(3):
        small.do_now(begin(f"delivery-{number}"))
    assert reads.cost(lambda: small.do_now(more("delivery-2"))) == (0, 0)
    assert reads.cost(lambda: small.do_now(more("delivery-0"))) == (1, 3)


def test_of_sessions_without_an_open_turn_only_the_last_ones_are_kept(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server holds does not grow with what it has done."""
    monkeypatch.setattr(writer_module, "RESTING", 2)
    small = Writer(store, clock)
    for number in range(5):
        small.do_now(begin(f"delivery-{number}"))
    for number in (0, 2, 1, 4):
        small.do_now(cancel(f"delivery-{number}"))
    assert [number for number in range(5) if small.cached(f"delivery-{number}")] == [1, 3, 4]
    with pytest.raises(Refused, match="in the state cancelled"):
        small.do_now(more("delivery-0"))


def test_a_session_is_read_from_the_first_unknown_event(
    two: tuple[Writer, Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every turn reads its session, however long that is (P27)."""
    mine, theirs = two
    mine.do_now(begin())
    for _ in range(50):
        mine.do_now(more())
    reads = Reads(mine.store, monkeypatch)
    assert reads.cost(lambda: mine.load("delivery-1")) == (1, 0)
    theirs.do_now(more())
    assert reads.cost(lambda: mine.load("delivery-1")) == (1, 1)
    assert mine.load("delivery-1") == theirs.load("delivery-1") == Writer(mine.store, lambda: START).load("delivery-1")


def test_a_session_is_read_at_an_earlier_version(writer: Writer) -> None:
    writer.do_now(begin())
    writer.do_now(more())
    versions: list[Session | None] = [writer.load("delivery-1", upto=version) for version in (0, 1, 4)]
    assert [result.version if result else None for result in versions] == [None, 1, 4]
    assert writer.load("delivery-9") is None


def test_a_writer_goes_on_from_a_log_that_has_gone_back(clock: Clock) -> None:
    """What it knew of a session was lost: it decides on what the log has, and leaves no version out."""
    log = MemoryLog()
    writer = Writer(MemoryStore(log), clock)
    writer.do_now(begin())
    before = deepcopy((log.rows, log.streams, log.receipts))
    for number in range(3):
        writer.do_now(more(command_id=f"lost-{number}"))
    log.rows[:], log.streams, log.receipts = before
    version = len(log.rows)
    assert writer.do_now(more(command_id="new")).version > version
    history = MemoryStore(log).history("delivery-1")
    assert [each.version for each in history] == list(range(1, len(history) + 1))
    assert {each.causation.command_id for each in history[version:]} == {"new"}
    state = writer.load("delivery-1")
    assert state is not None and state.version == len(history)
