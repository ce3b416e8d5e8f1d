"""The first process that comes back records that nobody was there, before anything else (contract-3 §23)."""

from pathlib import Path

import pytest

from adapters.agents.team import Member, Team, example, load
from adapters.store.errors import StoreError
from adapters.store.port import Attendances, Store
from adapters.turns.lease.attendance import Attendance
from adapters.turns.lease.attendance_file import FileAttendances
from adapters.writer.writer import CommandEnvelope, Writer
from domain.delivery.commands import StartDelivery
from domain.delivery.state import Delivery
from domain.session.attendance import SessionUnattended
from domain.session.turns import ExpireTurn
from domain.session.validation import ValidationStep
from domain.values.base import Refused, milliseconds
from domain.values.budget import BudgetLimits
from tests.kit.claiming import claim

START = 1_700_000_000_000
SECOND, MINUTE = 1_000, 60_000
HOUR = 60 * MINUTE
LEASE = 60 * SECOND
NAMED = '[[agents]]\nname = "{name}"\nroles = ["planner", "dev", "reviewer"]\nadapter = "{adapter}"\n'


class Peers:
    """The other processes of the machine, by name; those that have ended."""

    name = "ours"

    def __init__(self) -> None:
        self.running: tuple[str, ...] = ()

    def others(self) -> tuple[str, ...]:
        return self.running

    def gone(self, name: str) -> bool:
        return False

    def forget(self, name: str) -> None: ...
    def leave(self) -> None: ...


class Machine:
    """A log on a machine. Its clock only moves when the test says so."""

    def __init__(self, store: Store, attendances: Attendances) -> None:
        self.store, self.attendances, self.peers, self.at = store, attendances, Peers(), START

    def clock(self) -> int:
        return self.at

    def process(self, team: Team | None = None) -> "Process":
        """A process that runs turns, and has just started."""
        return Process(self, team or example())

    def missed(self, session_id: str) -> list[tuple[int, int, str]]:
        """From which second to which nobody was there, and why."""
        events = [recorded.event for recorded in self.store.history(session_id)]
        return [
            ((milliseconds(one.since) - START) // SECOND, (milliseconds(one.until) - START) // SECOND, one.why)
            for one in events
            if isinstance(one, SessionUnattended)
        ]


class Process:
    """A writer, and what it notices."""

    def __init__(self, machine: Machine, team: Team) -> None:
        self.machine = machine
        self.writer = Writer(machine.store, machine.clock)
        self.attendance = Attendance(
            attendances=machine.attendances,
            team=team,
            turns=machine.store.turns,
            peers=machine.peers,
            load=self.writer.load,
            clock=machine.clock,
            lease_ms=LEASE,
        )
        self.writer.preludes.append(self.attendance)
        self.writer.look()

    def begins(self, session_id: str, **fields: object) -> None:
        steps = (ValidationStep(stage="custom", command="true", argv=("true",)),)
        limits = BudgetLimits(max_minutes=1)
        command = StartDelivery(task="t", file_paths=("a",), steps=steps, **{"limits": limits, **fields})  # type: ignore[arg-type]
        self.writer.do_now(CommandEnvelope(session_id, command, actor="test", command_id=session_id, starts=True))

    def expires(self, session_id: str) -> None:
        session = self.writer.load(session_id)
        assert isinstance(session, Delivery)
        [turn_id] = session.outstanding
        self.writer.do_now(CommandEnvelope(session_id, ExpireTurn(turn_id=turn_id), actor="clock", command_id=turn_id))


@pytest.fixture
def machine(store: Store, tmp_path: Path) -> Machine:
    return Machine(store, store.attendances or FileAttendances(tmp_path / "attended"))


def team(folder: Path, name: str, adapter: str = "scripted") -> Team:
    path = folder / f"{name}.toml"
    path.write_text(NAMED.format(name=name, adapter=adapter))
    return load(path)


def crew(member: Member) -> dict[str, str]:
    return {"planner": member.name}


def test_a_sleep_longer_than_the_lease_is_recorded_before_the_deadline_would_end_the_turn(machine: Machine) -> None:
    process = machine.process()
    process.begins("delivery-1")
    machine.at += 10 * MINUTE
    with pytest.raises(Refused, match="deadline has not passed"):
        process.expires("delivery-1")
    assert machine.missed("delivery-1") == [(0, 600, "asleep")]
    machine.at += LEASE  # no longer than a lease
    process.attendance.note()
    machine.at += SECOND
    process.expires("delivery-1")
    assert machine.missed("delivery-1") == [(0, 600, "asleep")]


def test_the_time_without_any_process_is_recorded_by_the_next_one_and_only_by_it(machine: Machine) -> None:
    first = machine.process()
    first.begins("delivery-1")
    machine.at += 20 * SECOND
    first.attendance.leave()
    machine.at += 10 * MINUTE
    machine.process()
    machine.process()
    assert machine.missed("delivery-1") == [(20, 620, "no_worker")]


def test_a_session_that_began_while_nobody_was_there_is_given_back_the_time_since(machine: Machine) -> None:
    machine.process().attendance.leave()
    machine.at += MINUTE
    person = Writer(machine.store, machine.clock)
    steps = (ValidationStep(stage="custom", command="true", argv=("true",)),)
    command = StartDelivery(task="t", file_paths=("a",), steps=steps, limits=BudgetLimits())
    person.do_now(CommandEnvelope("delivery-1", command, actor="ann", command_id="c", starts=True))
    machine.at += MINUTE
    machine.process()
    assert machine.missed("delivery-1") == [(60, 120, "no_worker")]


def test_while_another_process_was_there_nothing_is_missing(machine: Machine) -> None:
    """Also if its queue is full: a turn that waits is not unattended."""
    sleeper, other = machine.process(), machine.process()
    sleeper.begins("delivery-1")
    machine.at += 10 * MINUTE
    other.attendance.note()
    sleeper.writer.look()
    assert machine.missed("delivery-1") == []


def test_what_another_process_attended_is_not_missing(machine: Machine) -> None:
    sleeper, other = machine.process(), machine.process()
    sleeper.begins("delivery-1")
    machine.at += 4 * MINUTE
    other.writer.look()
    machine.at += 30 * SECOND
    other.attendance.leave()
    machine.at += 5 * MINUTE
    sleeper.writer.look()
    assert machine.missed("delivery-1") == [(0, 240, "asleep"), (270, 570, "asleep")]


def test_a_process_that_only_sleeps_says_so_to_the_next_one(machine: Machine) -> None:
    machine.process().begins("delivery-1")
    machine.at += 5 * MINUTE
    machine.peers.running = ("another",)
    machine.process()
    assert machine.missed("delivery-1") == [(0, 300, "asleep")]


def test_a_process_of_another_team_attends_to_nothing_of_ours(machine: Machine, tmp_path: Path) -> None:
    ada, bea = team(tmp_path, "Ada"), team(tmp_path, "Bea")
    ours = machine.process(ada)
    ours.begins("delivery-1", crew=crew(ada.agents[0]))
    ours.attendance.leave()
    theirs = machine.process(bea)
    for _ in range(10):
        machine.at += 30 * SECOND
        theirs.attendance.note()
    assert machine.missed("delivery-1") == []
    machine.process(bea)
    assert machine.missed("delivery-1") == []
    machine.peers.running = ("theirs",)  # which is awake
    machine.process(ada)
    assert machine.missed("delivery-1") == [(0, 300, "no_worker")]


def test_an_external_agent_that_does_not_ask_is_not_unattended(machine: Machine, tmp_path: Path) -> None:
    process = machine.process(team(tmp_path, "Ext", "external"))
    process.begins("delivery-1")
    for _ in range(10):
        machine.at += 30 * SECOND
        process.attendance.note()
    process.writer.look()
    machine.process(team(tmp_path, "Ext", "external"))
    assert machine.missed("delivery-1") == []


def test_a_restart_that_takes_a_moment_is_not_recorded(machine: Machine) -> None:
    first = machine.process()
    first.begins("delivery-1")
    first.attendance.leave()
    machine.at += SECOND
    machine.process()
    assert machine.missed("delivery-1") == []


def test_a_log_of_an_earlier_version_says_itself_when_something_happened_last(machine: Machine) -> None:
    first = machine.process()
    first.begins("delivery-1")
    machine.attendances = Nothing()
    machine.at += HOUR
    machine.process()
    assert machine.missed("delivery-1") == [(0, 3600, "no_worker")]


def test_a_turn_that_somebody_holds_is_attended_even_if_nobody_has_noted_it(machine: Machine) -> None:
    first = machine.process()
    first.begins("delivery-1")
    assert claim(machine.store, "another", now=machine.at, lease_ms=HOUR) is not None
    machine.attendances = Nothing()
    machine.at += 10 * MINUTE
    machine.process()
    assert machine.missed("delivery-1") == []


def test_what_cannot_be_stored_now_is_recorded_before_the_next_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = machine.process()
    process.begins("delivery-1")
    machine.at += 10 * MINUTE

    def away(_: object) -> None:
        raise StoreError("The database is away.")

    with monkeypatch.context() as patched:
        patched.setattr(machine.store, "append", away)
        process.writer.look()
    machine.at += SECOND
    with pytest.raises(Refused):
        process.expires("delivery-1")
    assert machine.missed("delivery-1") == [(0, 601, "asleep")]


class Nothing:
    """A machine on which nothing was noted."""

    every = 1.0

    def note(self, agents: str, at: int) -> None: ...
    def noted(self) -> dict[str, int]:
        return {}
