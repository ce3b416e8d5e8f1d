"""Random histories: sessions of every kind side by side, where anything allowed may happen."""

import json
import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from adapters.store.sqlite.store import SqliteStore
from adapters.writer.writer import CommitListener
from domain.checks.weakening import Weakening
from domain.delivery.chart import NEEDED, PHASES
from domain.delivery.commands import (
    CancelDelivery,
    DecideScope,
    ExtendBudget,
    HoldBudget,
    RecordBaseline,
    RecordValidation,
    ResumeBudget,
)
from domain.delivery.state import Delivery
from domain.delivery.validation import Baseline, BaselineCommand
from domain.discussion.commands import CancelDiscussion
from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.orchestration.commands import AddRounds, ContinueOrchestration, RecordRound, ResetOrchestration
from domain.orchestration.events import TreeFailures
from domain.orchestration.state import Orchestration
from domain.session.activity import ActivitySummary, ToolUse
from domain.session.attempts import Failure, Outstanding, RetryPolicy
from domain.session.children import Decide
from domain.session.landing import LANDABLE, LandSession, RecordLanding
from domain.session.permissions import DecidePermission, RequestPermission, WithdrawPermissions
from domain.session.revisions import ReviseSession
from domain.session.state import Session
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import ExpireTurn, RecordPackage, RecordReply, RetryTurn
from domain.session.validation import Flake, ValidationStep
from domain.session.workspace import ChangedFile, PathScope, WorkspaceChanges, WorkspacePrepared
from domain.values.base import Command, Refused, Text, Usage
from domain.values.budget import BudgetLimits
from tests.projections.given import APPROVING, BLOCKING, SECOND
from tests.projections.stage import (
    DEBATE,
    EMPLOYEES,
    HOSTILE,
    REVIEW,
    Stage,
    challenge,
    critique,
    plan,
    subtask,
)

RUN = os.environ["XDG_STATE_HOME"]
"""The folder of this run of the tests; later, a test may have another one."""
BASE, HEAD = "a" * 40, "b" * 40
RED = f"FAILED {HOSTILE}"
TESTS = (ValidationStep(stage="test", command="pytest", argv=("pytest",)),)
SHOP: dict[str, Any] = {"repository": True, "workspace": "/home/ann/shop"}
PREPARED = WorkspacePrepared(repository="/home/ann/shop", base_branch="main", base_commit=BASE)
PATIENT = RetryPolicy(attempts=3, backoff_seconds=(1,), fallback=("Grace",))
TEAM = DecisionPolicy(approvers=2)
OUTCOMES = ({"commit": "c" * 40}, {"reason": "conflict"}, {"not_tried": "uncommitted"})
WORDS = ("이어서 해줘", "리셋해", "do it")


def wander(folder: Path, seed: int, steps: int = 80, *, hear: CommitListener = lambda _: None) -> Stage:
    """A log of this many random commands; the same one for the same seed. `hear` is called after each commit."""
    chance, stage = random.Random(seed), Stage(folder)  # noqa: S311 - the same story for the same seed
    stage.writer.on_commit.append(hear)
    for number in range(steps):
        sessions = stage.sessions()
        open_now = [session for session in sessions if allowed_actions(session)]
        landing = [session for session in sessions if session.status in LANDABLE and _published(session)]
        if not open_now:
            _begin(stage, seed, number)
        elif landing and chance.random() < 0.2:
            _lands(stage, chance.choice(landing), chance)
        else:
            _anything(stage, chance.choice(open_now), chance, number)
    return stage


def walked(folder: Path, seed: int, steps: int) -> SqliteStore:
    """The log of such a walk, for this test to change: walked once in this process, then copied."""
    shutil.copy(_made(seed, steps), folder / "log.db")
    return SqliteStore(str(folder / "log.db"))


@cache
def _made(seed: int, steps: int) -> Path:
    folder = Path(tempfile.mkdtemp(dir=RUN))
    wander(folder, seed, steps).store.close()
    assert [path.name for path in folder.iterdir()] == ["log.db"]
    return folder / "log.db"


def _begin(stage: Stage, seed: int, number: int) -> None:
    one, other = (seed + number) % 3, (seed + number) % 4
    reviewed: dict[str, Any] = {"plan_review": DEBATE, "work_review": REVIEW} if one else {}
    checked: dict[str, Any] = {} if one else SHOP | {"steps": TESTS}
    stage.orchestrates(
        f"orchestration-a{number}", f"{HOSTILE} {seed}", labels=("mixed",), **reviewed, **checked, retry=PATIENT
    )
    stage.orchestrates(f"orchestration-b{number}", "hello", triage="auto", max_rounds=2)
    scope = PathScope(allow=("src/**",), outside=("ask", "fail")[other % 2])
    stage.delivers(f"delivery-a{number}", review=REVIEW if seed % 2 else None, retry=PATIENT, baseline=other > 1)
    stage.delivers(
        f"delivery-b{number}",
        **SHOP,
        phases=NEEDED if other else PHASES,
        baseline=True,
        scope=scope,
        no_progress_limit=1 + other % 2,
        limits=BudgetLimits(max_iterations=4),
    )
    decisions = TEAM if other == 1 else None
    stage.discusses(f"review-a{number}", HOSTILE, strategy="red-team", expires_ms=SECOND, decisions=decisions)
    stage.discusses(f"debate-a{number}", strategy="debate", max_rounds=6, expires_ms=SECOND)
    stage.says(f"orchestration-c{number}", f"implement src/a.py and then test it {number}", "telegram")
    stage.says(f"orchestration-u{number}", "리셋해줘", "telegram")


def _anything(stage: Stage, session: Session, chance: random.Random, number: int) -> None:
    waiting = [turn for turn in session.outstanding.values() if turn.work != "wait"]
    try:
        if waiting and chance.random() < 0.9:
            turn = chance.choice(waiting)
            stage.do(session.id, _meanwhile(session, turn, chance) or _reply(session, turn, chance))
        elif chance.random() < 0.2:
            stage.says(f"orchestration-m{number}", chance.choice(WORDS), "telegram")
        else:
            stage.do(session.id, _persons(session, chance))
    except Refused:
        return


def _published(session: Session) -> bool:
    return session.published is not None and not session.unpublished


def _lands(stage: Stage, session: Session, chance: random.Random) -> None:
    """Land the work of a session that has ended, or record what came of it."""
    turns = [turn for turn in session.outstanding.values() if turn.work == "land"]
    if not turns:
        stage.do(session.id, LandSession(onto="main", steps=TESTS, actor="Kim"))
        return
    outcome: dict[str, Any] = chance.choice(
        ({"commit": "c" * 40}, {"reason": "conflict"}, {"not_tried": "uncommitted"})
    )
    stage.do(session.id, RecordLanding(before=BASE, paths=("a\n## b",), detail=HOSTILE, **outcome, **_fields(turns[0])))


def _persons(session: Session, chance: random.Random) -> Command:
    timers = [turn for turn in session.outstanding.values() if turn.work == "wait"]
    if "retry" in allowed_actions(session) and chance.random() < 0.5:
        return RetryTurn(reason=HOSTILE)
    if "revise" in allowed_actions(session) and chance.random() < 0.2:
        return ReviseSession(text=Text.of(HOSTILE)[0], actor="person:Kim")
    match session:
        case Discussion() if timers and chance.random() < 0.3:
            return ExpireTurn(turn_id=timers[0].turn_id)
        case Discussion() if session.choices:
            choice, actor = chance.choice(session.choices), chance.choice(("Kim", "Lee"))
            return Decide(choice=choice, rationale=HOSTILE, actor=actor, seen=session.seen)
        case Discussion():
            return CancelDiscussion(reason=HOSTILE)
        case Orchestration():
            dice = chance.random()
            if dice < 0.6:
                return ContinueOrchestration()
            return AddRounds(add_rounds=2, reason=HOSTILE) if dice < 0.9 else ResetOrchestration(reason=HOSTILE)
        case Delivery() if session.scope_request is not None:
            decision = chance.choice(("allow", "deny"))
            return DecideScope(request_id=session.scope_request.request_id, decision=decision, actor="Kim")
        case _:
            return ExtendBudget(add_iterations=1, reason="more") if chance.random() < 0.7 else CancelDelivery()


# -- turns -------------------------------------------------------------------------------------------------------------


def _fields(turn: Outstanding) -> dict[str, Any]:
    return {"turn_id": turn.turn_id, "attempt": turn.tries.ended + 1, "seconds": 1.0}


def _meanwhile(session: Session, turn: Outstanding, chance: random.Random) -> Command | None:
    """What may happen before a turn ends: a question and its answer, or a stop of the budget's clock."""
    asked = [each.request_id for each in session.questions.values() if each.turn_id == turn.turn_id]
    dice = chance.random()
    if asked and dice < 0.8:
        decision = chance.choice(("allow", "deny"))
        decided = DecidePermission(request_id=asked[0], decision=decision, remember=dice < 0.3, by="Kim")
        return decided if dice < 0.5 else WithdrawPermissions(turn_id=turn.turn_id)
    if turn.work == "ask" and dice < 0.05:
        return RequestPermission(turn_id=turn.turn_id, attempt=turn.tries.ended + 1, tool="execute", title=HOSTILE)
    if isinstance(session, Delivery) and turn.work == "validate" and dice < 0.3:
        if session.held_since is not None:
            return ResumeBudget(turn_id=turn.turn_id, apart_ms=500)
        return HoldBudget(turn_id=turn.turn_id, attempt=turn.tries.ended + 1, why="repeat")
    return None


def _reply(session: Session, turn: Outstanding, chance: random.Random) -> Command:
    failure = None
    if chance.random() < 0.085:
        failure = Failure(code=chance.choice(("timeout", "crash", "auth")), detail=HOSTILE)
    common = _fields(turn) | {"failure": failure}
    if session.workspace is not None and session.base is None:
        common["prepared"] = PREPARED
    match turn.work:
        case "prepare":
            return RecordBaseline(baseline=Baseline(commands=(_ran(passed=chance.random() < 0.7),)), **common)
        case "validate":
            return _validation(session, chance, common)
        case "package":
            return RecordPackage(branch="hansard/x", commit=session.tree, **common)
    text, blobs = Text.of(_words(session, turn, chance))
    tokens = chance.choice([None, chance.randrange(100)])
    prompt, _ = Text.of("What is asked.")
    usage = Usage(input_tokens=tokens, cost_micros=tokens)
    did = ActivitySummary(tools=(ToolUse(tool="execute", title=HOSTILE),), tools_total=1) if tokens else None
    if session.workspace is not None and _writes(turn) and chance.random() < 0.8:
        common |= _changes(session, chance)
    return RecordReply(reply=text, prompt=prompt, usage=usage, blobs=blobs, activity=did, **common)


def _writes(turn: Outstanding) -> bool:
    """Whether the agent may change files."""
    return turn.phase == "implementation" or turn.lane > 0 or turn.role == "assistant"


def _ran(*, passed: bool) -> BaselineCommand:
    reasons = () if passed else (RED,)
    fields = {"passed": passed, "exit_code": 0 if passed else 1, "reasons": reasons, "seconds": 1.0}
    return BaselineCommand(stage="test", command="pytest", startable=True, **fields)


def _validation(session: Session, chance: random.Random, common: dict[str, Any]) -> Command:
    passed = common["failure"] is None and chance.random() < (0.8 if session.workspace is None else 0.5)
    flake = Flake(stage="test", command="pytest", runs=2, failed=1, tests=(HOSTILE,))
    less = Weakening(what="assertions", path="tests/test_a.py", before=2, after=1)
    common |= {"passed": passed, "summary": HOSTILE, "reasons": () if passed else (RED,)}
    if common["failure"] is None and chance.random() < 0.3:
        common |= {"flaky": (flake,), "weakened": (less,)}
    if isinstance(session, Orchestration):
        return RecordRound(earlier=(TreeFailures(tree=BASE, reasons=()),), **common)
    return RecordValidation(classification=None if passed else "test", **common)


def _changes(session: Session, chance: random.Random) -> dict[str, Any]:
    """What a reply says that it changed; sometimes outside of the scope."""
    paths: Sequence[str] = chance.choice((("src/a.py",), ("src/a.py", "src/b.py"), ("deploy/prod.yaml",)))
    files = tuple(ChangedFile(path=path, status="modified", added=1, removed=0) for path in paths)
    patch, _ = Text.of("".join(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n a\n+b\n" for path in paths))
    head = f"{chance.randrange(2):040d}"
    changed = WorkspaceChanges(head=head, commits=(head,), files=files)
    return {"changes": changed, "files": tuple(paths), "patch": patch, "tree": head, "base": session.tree}


def _words(session: Session, turn: Outstanding, chance: random.Random) -> str:
    """Mostly a valid answer of the role, sometimes an unreadable one."""
    dice = chance.random()
    match session:
        case _ if dice < 0.08:
            return HOSTILE
        case Discussion(kind="review"):
            return _voice(chance) + critique(chance.choice(["PASS", "NEEDS_FIX"]), HOSTILE)
        case Discussion():
            return _voice(chance) + challenge(chance.choice(["APPROVE", "CHALLENGE"]), HOSTILE)
        case Orchestration() if turn.lane:
            return f"{HOSTILE}\n" + (json.dumps({"phases_completed": [3, 4]}) if dice > 0.7 else "x" * 20_000)
        case Orchestration() if turn.role == "judge":
            return json.dumps(
                {
                    "verdicts": [
                        {"agent": agent.agent, "pass": chance.random() < 0.75, "feedback": HOSTILE}
                        for agent in session.agents
                    ],
                    "allDone": dice > 0.85,
                }
            )
        case Orchestration():
            both = (
                subtask(checkpoint=dice > 0.5, start_phase=3, verification={"pass_criteria": HOSTILE}),
                subtask(EMPLOYEES[1].name, "docs", parallel=True),
            )
            return json.dumps(plan(*both[: 1 + (dice > 0.4)]) if dice > 0.2 else {"direct_answer": HOSTILE})
        case _:
            return chance.choice([BLOCKING, APPROVING, APPROVING]) if turn.role == "reviewer" else HOSTILE


def _voice(chance: random.Random) -> str:
    """Consent in ever the same words, or dissent in ever new ones."""
    if chance.random() < 0.6:
        return "I agree and accept, a valid point. "
    return "".join(f"However, I disagree with item{chance.randrange(10**6)}. " for _ in range(12))
