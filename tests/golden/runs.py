"""Scenes of the golden logs: runs and direct answers that are validated, and deliveries that go without phases."""

from collections.abc import Callable
from typing import Any

from domain.checks.weakening import Weakening
from domain.delivery.chart import NEEDED, QUICK
from domain.delivery.commands import HoldBudget, RecordBaseline, RecordValidation, ResumeBudget
from domain.delivery.validation import Baseline, BaselineCommand, Preparation
from domain.orchestration.commands import RecordRound
from domain.orchestration.events import TreeFailures
from domain.session.validation import Flake, LineRange, NotRun, WorkCoverage
from domain.session.workspace import ChangedFile, WorkspaceChanges
from domain.values.sentences import Sentence
from tests.golden.happenings import BASE, HEAD, PREPARED, SHOP, TESTS
from tests.golden.scenes import validated
from tests.projections.given import APPROVING
from tests.projections.stage import Stage, plan, subtask, verdicts

CHANGED = (ChangedFile(path="a.py", status="modified", added=1, removed=1),)
BROKEN = "FAILED test_a.py::test_add"


def runs(stage: Stage) -> None:
    """A run whose first round brings a new failure, one that stays in its last round, and a direct answer."""
    for name, rounds in (("orchestration-mended", 3), ("orchestration-broken", 1)):
        stage.orchestrates(name, steps=TESTS, workspace=SHOP, repository=True, max_rounds=rounds)
        stage.answers(name, plan(subtask(start_phase=3, end_phase=3)))
        green = Baseline(commands=(_ran(),))
        stage.do(name, RecordBaseline(**_turn(stage, name), baseline=green, prepared=PREPARED))
        _works(stage, name, HEAD)
        _checked(stage, name, BROKEN)
        stage.answers(name, verdicts(Backend=True))
    _works(stage, "orchestration-mended", "d" * 40)
    _checked(stage, "orchestration-mended")
    stage.answers("orchestration-mended", verdicts(Backend=True))


def flaky(stage: Stage) -> None:
    """A delivery whose validation stops the budget's clock, and finds a flaky command and a weaker test."""
    stage.delivers("delivery-flaky", phases=NEEDED)
    stage.answers("delivery-flaky", "Written.", prepared=PREPARED)
    turn = _turn(stage, "delivery-flaky")
    stage.do("delivery-flaky", HoldBudget(turn_id=turn["turn_id"], attempt=1, why="repeat"))
    stage.do("delivery-flaky", ResumeBudget(turn_id=turn["turn_id"], apart_ms=500))
    flake = Flake(stage="test", command="pytest", runs=2, failed=1, tests=("test_a.py::test_add",))
    less = Weakening(what="assertions", path="tests/test_a.py", before=2, after=1)
    stage.do(
        "delivery-flaky", RecordValidation(passed=True, summary="Passed.", flaky=(flake,), weakened=(less,), **turn)
    )


def short(stage: Stage) -> None:
    """The short way, and one without a review that changed nothing."""
    for name, phases in (("delivery-quick", QUICK), ("delivery-bare", NEEDED)):
        stage.delivers(name, phases=phases)
        stage.answers(name, "Written.", prepared=PREPARED)
        validated(stage, name)
    stage.answers("delivery-quick", APPROVING)


def covered(stage: Stage) -> None:
    """Validations that say which lines they have run: of a delivery, one that could not be read, and of a run."""
    missed = (NotRun(path="a.py", lines=(LineRange(first=3, last=4),)), NotRun(path="b.py", lines=(), in_report=False))
    unread = Sentence("coverage_unreadable", path="coverage.json", reason=Sentence("coverage_missing"))
    said = WorkCoverage(path="coverage.json", not_run=missed), WorkCoverage(path="coverage.json", problem=unread)
    for name, coverage in zip(("delivery-covered", "delivery-unread"), said, strict=True):
        stage.delivers(name, phases=NEEDED, preparation=Preparation(coverage="coverage.json"))
        stage.answers(name, "Written.", prepared=PREPARED)
        stage.do(name, RecordValidation(passed=True, summary="Passed.", coverage=coverage, **_turn(stage, name)))
    name = "orchestration-covered"
    stage.orchestrates(name, steps=TESTS, workspace=SHOP, repository=True, max_rounds=1)
    stage.answers(name, plan(subtask(start_phase=3, end_phase=3)))
    stage.do(name, RecordBaseline(**_turn(stage, name), baseline=Baseline(commands=(_ran(),)), prepared=PREPARED))
    _works(stage, name, HEAD)
    stage.do(name, RecordRound(**_turn(stage, name), passed=True, summary="1 passed", coverage=said[0]))
    stage.answers(name, verdicts(Backend=True))


def _ran() -> BaselineCommand:
    return BaselineCommand(stage="test", command="pytest", startable=True, exit_code=0, passed=True, seconds=1.0)


def _turn(stage: Stage, name: str) -> dict[str, Any]:
    return {"turn_id": stage.turn(name).turn_id, "attempt": 1, "seconds": 1.0}


def _works(stage: Stage, name: str, head: str) -> None:
    """The agent changes a file."""
    before = stage.session(name).tree
    stage.answers(name, "Done.", base=before, tree=head, changes=WorkspaceChanges(head=head, files=CHANGED))


def _checked(stage: Stage, name: str, *reasons: str) -> None:
    """The commands ran on the work of the round."""
    summary = "1 failed" if reasons else "1 passed"
    earlier = (TreeFailures(tree=BASE, reasons=()),) if reasons else ()
    fields = {"passed": not reasons, "summary": summary, "reasons": reasons, "earlier": earlier}
    stage.do(name, RecordRound(**_turn(stage, name), **fields))


SCENES: dict[str, Callable[[Stage], None]] = {"runs": runs, "short": short, "flaky": flaky, "covered": covered}
