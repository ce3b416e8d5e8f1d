"""Random commands and answers over HTTP against a small model of a delivery (promise P22).

The model is written from the rules alone and shares no code with them: what it says of a delivery has to be what the
server says of it, after every step. A command that the model does not allow is answered with 409 and changes nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from starlette.testclient import TestClient

from tests.api.pulling import begin, claim, nothing, result, team
from tests.api.server import Json, inside, session, until
from tests.kit.postgres import Cluster, require
from tests.kit.replies import review

FULL: Final = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")
QUICK: Final = ("implementation", "validation", "review", "packaging")
UNREVIEWED: Final = ("planning", "implementation", "validation", "packaging")
ASKED: Final = {
    "planning": "planner",
    "architecture": "architect",
    "design": "designer",
    "implementation": "dev",
    "review": "reviewer",
}
"""The phases in which an agent is asked, and who."""
FEW: Final = settings(max_examples=6, stateful_step_count=25, deadline=None)
MANY: Final = settings(max_examples=200, stateful_step_count=50, deadline=None)


@dataclass
class Model:
    """The rules of a delivery, as few as there are. Packaging is over at once, and nothing is ever waited for."""

    way: tuple[str, ...]
    most: int
    phase: str = ""
    status: str = "running"
    iteration: int = 0
    reason: str = ""
    """Why it has failed: `turn` or `iterations`."""

    def begins(self) -> None:
        self.phase = self.way[0]
        self.iteration = int(self.phase == "implementation")

    def goes_on(self) -> None:
        """To the phase after this one."""
        self.phase = self.way[self.way.index(self.phase) + 1]
        if self.phase == "packaging":
            self.status = "success"
        elif self.phase == "implementation":
            self.iteration = 1

    def is_sent_back(self) -> None:
        if self.iteration == self.most:
            self.status, self.reason = "failed", "iterations"
        else:
            self.phase, self.iteration = "implementation", self.iteration + 1

    def fails(self) -> None:
        self.status, self.reason = "failed", "turn"

    @property
    def commands(self) -> set[str]:
        """What a person may do now."""
        match self.status, self.reason:
            case "running", _:
                return {"cancel", "extend", "revise"}
            case "failed", reason:
                again = {"retry"} if reason == "turn" else {"extend"}
                return again | {"revise"} if self.iteration else again
            case status, _:
                return {"revise"} if status == "success" else set()

    # -- what a person may do: each returns whether it is allowed --------------------------------------------------

    def is_cancelled(self) -> bool:
        if self.status != "running":
            return False
        self.status = "cancelled"
        return True

    def is_extended(self) -> bool:
        ran_out = (self.status, self.reason) == ("failed", "iterations")
        if self.status != "running" and not ran_out:
            return False
        self.most += 1
        if ran_out:
            self.status, self.phase, self.iteration = "running", "implementation", self.iteration + 1
        return True

    def is_retried(self) -> bool:
        if (self.status, self.reason) != ("failed", "turn"):
            return False
        self.status = "running"
        return True

    def is_revised(self) -> bool:
        """Of one that has stopped."""
        if self.status == "cancelled" or not self.iteration:
            return False
        self.most += 2
        self.status, self.phase, self.iteration = "running", "implementation", self.iteration + 1
        return True


class DeliveryMachine(RuleBasedStateMachine):
    """A delivery and the model get the same commands, step by step."""

    client: ClassVar[TestClient]
    visited: ClassVar[set[tuple[str, str, str]]]
    """What was done in which place, and where that led."""

    @initialize(way=st.sampled_from([FULL, QUICK, UNREVIEWED]), most=st.integers(1, 3))
    def begin(self, way: tuple[str, ...], most: int) -> None:
        self.model, self.written = Model(way, most), 0
        self.model.begins()
        fields: Json = {"phases": list(way), "maxIterations": most, "noProgressLimit": 0, "retry": {"attempts": 1}}
        self.id = begin(self.client, validationCommands=["grep -q good src/login.py"], **fields)
        self.settle()

    def teardown(self) -> None:
        if hasattr(self, "id"):
            self.client.post(f"/api/sessions/{self.id}/cancel", json={})
            nothing(self.client)

    @property
    def place(self) -> str:
        model = self.model
        if model.status == "failed":
            return f"failed {model.reason}"
        return model.phase if model.status == "running" else model.status

    def look_at(self) -> Json:
        """The session, and what may be done with it."""
        answer: Json = self.client.get(f"/api/sessions/{self.id}").json()
        return answer

    def settle(self) -> None:
        """Until nothing runs but an agent's turn, as the model says it."""
        expected = ASKED[self.model.phase] if self.model.status == "running" else None

        def there() -> Json | None:
            view = session(self.client, self.id)
            turns = view["outstandingTurns"]
            ready = all(turn["role"] in ASKED.values() for turn in turns) if turns else view["status"] != "running"
            return view if ready else None

        self.view = until(there, what="an agent's turn or the end", seconds=30, pause=0.002)
        assert [turn["role"] for turn in self.view["outstandingTurns"]] == ([expected] if expected else [])

    def step(self, name: str, change: Callable[[], object]) -> None:
        """Change the model, and wait for the delivery to arrive there."""
        before = self.place
        change()
        self.settle()
        self.visited.add((before, name, self.place))

    def answer(self, text: str, **fields: object) -> None:
        role = ASKED[self.model.phase]
        done = result(self.client, claim(self.client, roles=[role]), text, **fields)
        assert done.status_code == 200, done.text

    def command(self, name: str, body: Json, allowed: Callable[[], bool], status: int) -> None:
        """Send a command: it is carried out as the model says, or refused and nothing changes."""
        before, place = self.look_at(), self.place
        said = self.client.post(f"/api/sessions/{self.id}/{name}", json=body)
        if allowed():
            assert said.status_code == status, (place, name, said.text)
            self.settle()
            self.visited.add((place, name, self.place))
        else:
            assert said.status_code == 409, (place, name, said.text)
            assert self.look_at() == before

    # -- agents ------------------------------------------------------------------------------------------------------

    def work(self, *, well: bool) -> None:
        """The agent that is asked does it well, or else as badly as one can in its role."""
        match self.model.phase:
            case "implementation":
                self.written += 1
                self.answer("Done.", files={"src/login.py": f"{'good' if well else 'bad'} {self.written}\n"})
                self.step("pass" if well else "break", lambda: self.validate(passes=well))
            case "review":
                self.answer(review() if well else review("It is wrong."))
                self.step("approve" if well else "block", self.model.goes_on if well else self.model.is_sent_back)
            case _:
                self.answer("So be it.")
                self.step("answer", self.model.goes_on)

    def validate(self, *, passes: bool) -> None:
        self.model.goes_on()
        if passes:
            self.model.goes_on()
        else:
            self.model.is_sent_back()

    @precondition(lambda self: self.model.status == "running")
    @rule(well=st.booleans())
    def work_once(self, well: bool) -> None:
        self.work(well=well)

    @precondition(lambda self: self.model.status == "running")
    @rule(well=st.lists(st.sampled_from([True, True, True, False]), min_size=2, max_size=5))
    def work_on(self, well: list[bool]) -> None:
        """So that deliveries reach their end and not only the middle."""
        for each in well:
            if self.model.status == "running":
                self.work(well=each)

    @precondition(lambda self: self.model.status == "running")
    @rule(chance=st.integers(0, 3))
    def give_up(self, chance: int) -> None:
        if chance:  # else few deliveries would get far
            return
        turn = claim(self.client, roles=[ASKED[self.model.phase]])
        body = {"failure": {"code": "refused"}, "attempt": turn["lease"]["attempt"]}
        assert self.client.post(f"/api/turns/{turn['turnId']}/result", json=body).status_code == 200
        self.step("fail", self.model.fails)

    # -- a person ----------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(["budget", "retry", "revise", "continue", "reset", "decision", "scope"]))
    def command_something(self, name: str) -> None:
        """Whether it is allowed or not. A request for changes to one that runs is another story."""
        model = self.model
        match name:
            case "budget":
                self.command(name, {"addIterations": 1, "reason": "more"}, model.is_extended, 200)
            case "retry":
                self.command(name, {}, model.is_retried, 202)
            case "revise" if model.status != "running":
                self.command(name, {"text": "Otherwise."}, model.is_revised, 202)
            case "decision":
                self.command(name, {"decision": "skip"}, lambda: False, 409)
            case "scope":
                self.command(name, {"requestId": "s1", "decision": "allow"}, lambda: False, 409)
            case "continue" | "reset":
                self.command(name, {}, lambda: False, 409)

    @rule(chance=st.integers(0, 9))
    def cancel(self, chance: int) -> None:
        if not chance or self.model.status != "running":
            self.command("cancel", {"reason": "enough"}, self.model.is_cancelled, 200)

    @rule()
    def command_too_late(self) -> None:
        stale = {"If-Match": f'"{self.view["version"] - 1}"'}
        body = {"addIterations": 1, "reason": "more"}
        said = self.client.post(f"/api/sessions/{self.id}/budget", json=body, headers=stale)
        assert said.status_code == 412, said.text

    # -- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def stands_where_the_model_stands(self) -> None:
        answer, model = self.look_at(), self.model
        view = answer["session"]
        assert (view["status"], view["budget"]["maxIterations"]) == (model.status, model.most)
        assert view["attempt"] == model.iteration
        if model.status == "running":
            assert view["currentPhase"] == model.phase
        assert set(answer["availableCommands"]) == model.commands


STEPS: Final = frozenset(
    {
        *((phase, "answer", after) for phase, after in pairwise(FULL[:4])),
        ("planning", "answer", "implementation"),
        ("implementation", "pass", "review"),
        ("implementation", "pass", "success"),
        ("implementation", "break", "implementation"),
        ("implementation", "break", "failed iterations"),
        ("review", "approve", "success"),
        ("review", "block", "implementation"),
        ("review", "block", "failed iterations"),
        *((phase, "fail", "failed turn") for phase in ASKED),
        *((phase, "cancel", "cancelled") for phase in ASKED),
        *((phase, "budget", phase) for phase in ASKED),
        *(("failed turn", "retry", phase) for phase in ASKED),
        ("failed iterations", "budget", "implementation"),
        *((place, "revise", "implementation") for place in ("success", "failed turn", "failed iterations")),
    }
)
"""Every way from place to place that the model has."""


def tour() -> Iterator[DeliveryMachine]:
    """Deliveries that together go every way that the model has."""

    def begun(way: tuple[str, ...], most: int, phase: str) -> DeliveryMachine:
        machine = DeliveryMachine()
        machine.begin(way=way, most=most)
        while machine.model.phase != phase and machine.model.status == "running":
            machine.work(well=True)
        return machine

    for phase in ASKED:
        machine = begun(FULL, 1, phase)
        for name in ("budget", "give up", "retry", "give up", "revise"):
            machine.give_up(chance=0) if name == "give up" else machine.command_something(name=name)
        if machine.model.status != "running":  # it has not implemented anything that could be revised
            machine.command_something(name="retry")
        yield machine
        machine = begun(FULL, 1, phase)
        machine.cancel(chance=0)
        yield machine
    for way, most in ((UNREVIEWED, 1), (QUICK, 1), (QUICK, 2)):
        machine = begun(way, most, "packaging")
        machine.command_something(name="revise")
        yield machine
        machine = begun(way, most, "implementation")
        machine.work(well=False)
        machine.command_something(name="budget")
        yield machine
        if way == QUICK:
            machine = begun(way, most, "review")
            machine.work(well=False)
            machine.command_something(name="revise")
            yield machine


@contextmanager
def served(folder: Path, database: str | None = None) -> Iterator[None]:
    """A server for the machine, whose agents are this test."""
    where: dict[str, Any] = {} if database is None else {"database": database}
    roles = ("planner", "architect", "designer", "dev", "reviewer")
    with inside(folder, team=team(folder, *roles), **where) as client:
        DeliveryMachine.client, DeliveryMachine.visited = client, set()
        yield


def test_every_way_that_the_model_has_is_gone(tmp_path: Path) -> None:
    with served(tmp_path):
        for machine in tour():
            machine.stands_where_the_model_stands()
            machine.command_too_late()
            machine.teardown()
        assert DeliveryMachine.visited == STEPS


def test_a_delivery_does_what_the_model_says(tmp_path: Path) -> None:
    with served(tmp_path):
        run_state_machine_as_test(DeliveryMachine, settings=FEW)
        assert DeliveryMachine.visited <= STEPS


@pytest.mark.nightly
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_many_deliveries_do_what_the_model_says(tmp_path: Path, store: str) -> None:
    with ExitStack() as left:
        database = None
        if store == "postgresql":
            cluster = Cluster(require())
            left.callback(cluster.remove)
            database = cluster.database(tmp_path)
        left.enter_context(served(tmp_path, database))
        run_state_machine_as_test(DeliveryMachine, settings=MANY)
        assert DeliveryMachine.visited <= STEPS
