"""Scenes of the golden logs: what happens now and then, from a question for permission to a fork."""

from collections.abc import Callable
from typing import Any

from domain.delivery.commands import DecideScope, RecordBaseline
from domain.delivery.state import Delivery
from domain.delivery.validation import Baseline, BaselineCommand, Preparation, SetupCommand
from domain.discussion.state import Discussion
from domain.session.activity import ActivitySummary, ToolUse
from domain.session.attempts import RetryPolicy
from domain.session.children import Choice, Decide
from domain.session.comments import AddComment, ChangeComment
from domain.session.fork_rules import HELD
from domain.session.forks import Diverge, ForkSession, Release
from domain.session.landing import LandSession, RecordLanding
from domain.session.permissions import DecidePermission, RequestPermission, WithdrawPermissions
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import (
    RecordPackage,
    RetryTurn,
    TurnAnswered,
    TurnCancelled,
    TurnRequested,
)
from domain.session.validation import ValidationStep
from domain.session.workspace import ChangedFile, PathScope, WorkspaceChanges, WorkspacePrepared
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from domain.values.sentences import Sentence
from tests.golden.scenes import decided, validated
from tests.projections.given import APPROVING
from tests.projections.stage import DEBATE, REVIEW, Stage, plan, subtask, verdicts

SHOP = "/home/ann/shop"
BASE, HEAD, MERGE = "a" * 40, "b" * 40, "c" * 40
TESTS = (ValidationStep(stage="test", command="pytest", argv=("pytest",)),)
PREPARED = WorkspacePrepared(repository=SHOP, base_branch="main", base_commit=BASE, dirty=True)
DESIGN = ("One step.", "One module.", "One function.")


def changes(*paths: str) -> dict[str, Any]:
    """A reply's account of what it changed."""
    files = tuple(ChangedFile(path=path, status="modified", added=1, removed=0) for path in paths)
    patch, _ = Text.of("".join(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n a\n+b\n" for path in paths))
    return {"changes": WorkspaceChanges(head=HEAD, commits=(HEAD,), files=files), "files": paths, "patch": patch}


def said(stage: Stage, name: str, *replies: str) -> None:
    for words in replies:
        stage.answers(name, words)


def landing(stage: Stage) -> None:
    """A delivery in a repository: its branch is published, sent back twice, and lands."""
    name = "delivery-landed"
    stage.delivers(name, repository=True, workspace=SHOP)
    tools = (ToolUse(tool="execute", title="pytest -q", exit_code=1, milliseconds=900), ToolUse(title="x", denied=True))
    did = ActivitySummary(tools=tools, tools_total=2, denied=1, transcript=Text.of("reading a.py\n")[0])
    place: dict[str, Any] = {"fence": "landlock", "fence_gaps": ("The network is open.",), "agent_session": "ann-1"}
    stage.answers(name, "One step.", prepared=PREPARED, activity=did, model="claude-opus", **place)
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, resumed=True, slot=1, **changes("src/a.py"))
    validated(stage, name)
    stage.answers(name, APPROVING)
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, branch="hansard/landed", commit=HEAD))
    failed: dict[str, Any] = {
        "reason": "validation",
        "author": "Grace",
        "reasons": ("FAILED a",),
        "detail": "It failed.",
    }
    for outcome in (failed, {"reason": "conflict", "paths": ("src/a.py",)}, {"commit": MERGE}):
        stage.do(name, LandSession(onto="main", steps=TESTS, actor="person:ann"))
        stage.do(name, RecordLanding(turn_id=stage.turn(name).turn_id, attempt=1, before=BASE, **outcome))


def not_landed(stage: Stage) -> None:
    """A delivery in a repository that is not ready for its result, twice; then it lands."""
    name = "delivery-not-landed"
    stage.delivers(name, repository=True, workspace=SHOP)
    stage.answers(name, "One step.", prepared=PREPARED)
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, **changes("src/a.py"))
    validated(stage, name)
    stage.answers(name, APPROVING)
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, branch="hansard/waits", commit=HEAD))
    why = Sentence("in_the_way_uncommitted", paths="src/a.py")
    dirty: dict[str, Any] = {"not_tried": "uncommitted", "paths": ("src/a.py",), "detail": str(why), "sentence": why}
    for outcome in (dirty, {"not_tried": "branch"}, {"commit": MERGE}):
        stage.do(name, LandSession(onto="main", steps=TESTS, actor="person:ann"))
        stage.do(name, RecordLanding(turn_id=stage.turn(name).turn_id, attempt=1, before=BASE, **outcome))


def published(stage: Stage) -> None:
    """An orchestration in a repository, whose first verdict cannot be read and whose second names a stranger."""
    name = "orchestration-published"
    stage.orchestrates(name, repository=True, workspace=SHOP)
    stage.answers(name, plan(subtask(end_phase=3, start_phase=3)), prepared=PREPARED)
    stage.answers(name, "Done.", tree=HEAD, **changes("src/a.py"))
    said(stage, name, '{"verdicts": "all good"}')
    stage.answers(name, verdicts(Backend=True, Stranger=True))
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, branch="hansard/published", commit=HEAD))
    stage.orchestrates("orchestration-retried")
    for stranger in ("Ghost", "Phantom"):
        stage.answers("orchestration-retried", plan(subtask(stranger)))
    stage.do("orchestration-retried", RetryTurn(reason="once more"))


def baselines(stage: Stage) -> None:
    """One that passes, one whose set-up fails, one whose command cannot be started."""
    test = BaselineCommand(stage="test", command="pytest", startable=True, exit_code=0, passed=True, seconds=1.5)
    red = test.model_copy(update={"exit_code": 1, "passed": False, "reasons": ("FAILED a.py::test_old",)})
    missing = test.model_copy(update={"startable": False, "exit_code": -1, "passed": False, "detail": "No such file."})
    setup = SetupCommand(command="npm ci", exit_code=1, passed=False, tail="ERR! no lock file")
    for name, found in {
        "passed": Baseline(commands=(test, red)),
        "setup": Baseline(setup=(setup,)),
        "missing": Baseline(commands=(missing,)),
    }.items():
        session = f"delivery-{name}"
        steps = (ValidationStep(stage="custom", command="npm ci", argv=("npm", "ci")),)
        stage.delivers(session, baseline=True, preparation=Preparation(setup=steps))
        stage.do(session, RecordBaseline(turn_id=stage.turn(session).turn_id, attempt=1, baseline=found))
    stage.do("delivery-missing", RetryTurn(reason="installed it"))


def scopes(stage: Stage) -> None:
    """Changes outside of the scope: allowed, denied, refused."""
    for name, outside in (("allowed", "ask"), ("denied", "ask"), ("refused", "fail")):
        session = f"delivery-{name}"
        stage.delivers(session, scope=PathScope.model_validate({"allow": ("src/**",), "outside": outside}))
        said(stage, session, *DESIGN)
        stage.answers(session, "Written.", **changes("src/a.py", "deploy/prod.yaml"))
    for name, choice in (("allowed", "allow"), ("denied", "deny")):
        open_now = stage.session(f"delivery-{name}")
        assert isinstance(open_now, Delivery) and open_now.scope_request
        answer = {"request_id": open_now.scope_request.request_id, "decision": choice, "actor": "person:ann"}
        stage.do(open_now.id, DecideScope.model_validate(answer))


def stuck(stage: Stage) -> None:
    """The same failure again and again."""
    name = "delivery-stuck"
    stage.delivers(name, no_progress_limit=1, limits=BudgetLimits(max_iterations=5))
    said(stage, name, *DESIGN)
    for _ in range(2):
        stage.answers(name, "Written.", patch=Text.of("+ line")[0])
        validated(stage, name, passed=False)


def attempts(stage: Stage) -> None:
    """Turns that need several attempts: a wait, a new conversation, a repair, another agent; one is retried."""
    name = "delivery-tried"
    stage.delivers(name, retry=RetryPolicy(attempts=4, backoff_seconds=(1,), fallback=("Grace",)))
    stage.fails(name, "429", code="rate_limit").fails(name, "gone", code="lost_conversation")
    stage.fails(name, "no list", code="bad_output").fails(name, "the key is wrong", code="auth")
    stage.answers(name, "One step.")
    stage.delivers("delivery-waiting", retry=RetryPolicy(attempts=3, backoff_seconds=(600,)))
    stage.fails("delivery-waiting", "503", code="overloaded").do("delivery-waiting", RetryTurn(reason="it is up"))


def permissions(stage: Stage) -> None:
    """Questions of one attempt: allowed and remembered, denied, withdrawn."""
    name = "delivery-asking"
    turn = stage.delivers(name).turn(name).turn_id
    for title in ("rm -rf build", "rm -rf build", "ls", "curl example.com"):
        stage.do(name, RequestPermission(turn_id=turn, attempt=1, tool="execute", title=title, paths=("build",)))
    first, _, third, _ = stage.session(name).questions
    stage.do(name, DecidePermission(request_id=first, decision="allow", remember=True, by="person:ann"))
    stage.do(name, DecidePermission(request_id=third, decision="deny", by="person:ann"))
    stage.do(name, WithdrawPermissions(turn_id=turn)).answers(name, "One step.")


def votes(stage: Stage) -> None:
    """A team decides: two of its people have to agree, and one changes his mind. A debate converges."""
    name = "review-voted"
    stage.discusses(name, decisions=DecisionPolicy(approvers=2, not_author=True, authors=("person:ann",)))
    while any(turn.work == "ask" for turn in stage.session(name).outstanding.values()):
        stage.answers(name, "I agree and accept.")
    for actor, choice in (("bob", "skip"), ("eve", "apply_fix"), ("eve", "skip")):
        talk = stage.session(name)
        assert isinstance(talk, Discussion)
        vote = {"choice": choice, "actor": f"person:{actor}", "seen": talk.seen, "rationale": "as I see it"}
        stage.do(name, Decide.model_validate(vote))
    stage.discusses("debate-converged", strategy="debate", max_rounds=9)
    decided(stage, "debate-converged", "accept")


def _child(stage: Stage, name: str) -> str:
    return next(iter(stage.session(name).open_children))


def discussed(stage: Stage) -> None:
    """A plan that is returned once, and work that a review sends back once."""
    name = "orchestration-discussed"
    stage.orchestrates(name, plan_review=DEBATE, work_review=REVIEW)
    work = plan(subtask(start_phase=3, end_phase=3))
    decided(stage.answers(name, work), _child(stage, name), "revise")
    stage.answers(name, work)
    choices: tuple[Choice, ...] = ("apply_fix", "skip")
    for choice in choices:
        stage.answers(name, "Done.").answers(name, verdicts(Backend=True))
        decided(stage, _child(stage, name), choice)


def comments(stage: Stage) -> None:
    """People comment on the result of a delivery and of a direct answer, settle that, and take some of it back."""
    name = "delivery-commented"
    stage.delivers(name, repository=True, workspace=SHOP)
    stage.answers(name, "One step.", prepared=PREPARED)
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, **changes("src/a.py"))
    ann, bob = {"head": HEAD, "actor": "person:ann"}, {"head": HEAD, "actor": "person:bob"}
    lines: dict[str, Any] = {"path": "src/a.py", "line": 1, "end_line": 2, "quote": ("a", "b")}
    stage.do(name, AddComment(text="Name this\nafter what it returns.", **lines, **ann))
    validated(stage, name)
    stage.answers(name, APPROVING)
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, branch="hansard/commented", commit=HEAD))
    old: dict[str, Any] = {"path": "src/a.py", "line": 1, "end_line": 1, "side": "old", "quote": ("a",)}
    stage.do(name, AddComment(text="Why is this gone?", **old, **bob))
    stage.do(name, AddComment(text="The file is long.", path="src/a.py", **ann))
    stage.do(name, AddComment(text="And a test, please.", **ann))
    stage.do(name, ChangeComment(comment_id="c2", status="withdrawn", actor="person:bob"))
    stage.do(name, ChangeComment(comment_id="c3", status="resolved", reason="It is fine.", actor="person:bob"))
    stage.do(name, ChangeComment(comment_id="c3", status="open", reason="No, it is not.", actor="person:ann"))
    fork = ForkSession(source=name, at_version=stage.session(name).version, mode="live", author="person:ann")
    stage.do("delivery-again", fork, starts=True)
    stage.do("delivery-again", AddComment(text="Here, too.", **bob))
    answered = "orchestration-answered"
    stage.orchestrates(answered, triage="direct", repository=True, workspace=SHOP)
    stage.answers(answered, "It is done.", prepared=PREPARED, tree=HEAD, **changes("src/a.py"))
    stage.do(answered, AddComment(text="Thanks. One more thing.", **ann))


def channels(stage: Stage) -> None:
    """Messages of one conversation: a run that waits is continued, another is reset, one message is unclear."""
    name = "orchestration-talked"
    stage.says(name, "implement src/a.py and then test it", "chat")
    stage.answers(name, plan(subtask(start_phase=3, end_phase=3, checkpoint=True)))
    stage.answers(name, "Done.").answers(name, verdicts(Backend=True))
    for number, words in enumerate(("계속 진행해줘", "이어서 해줘", "리셋")):
        stage.says(f"orchestration-unused{number}", words, "chat")


def forks(stage: Stage) -> None:
    """One that goes on live, and one that waits where no recorded answer fits, until it is released."""
    said(stage.delivers("delivery-source"), "delivery-source", *DESIGN)
    requests = [each for each in stage.events() if isinstance(each.event, TurnRequested)]
    at = requests[1].version
    for fork, mode in (("delivery-live", "live"), ("delivery-held", "stop")):
        order = {"source": "delivery-source", "at_version": at, "mode": mode, "author": "person:ann"}
        stage.do(fork, ForkSession.model_validate(order), starts=True)
        stage.do(fork, Diverge(turn_id=stage.turn(fork).turn_id))
    stage.answers("delivery-live", "Another module.")
    history = [each.event for each in stage.store.history("delivery-held")]
    held = {each.turn_id for each in history if isinstance(each, TurnCancelled) and each.reason == HELD}
    turns = tuple(each for each in history if isinstance(each, TurnRequested) and each.turn_id in held)
    stage.do("delivery-held", Release(requests=turns)).answers("delivery-held", "Yet another module.")


def redacted(stage: Stage) -> None:
    """A long reply that two sessions quote is taken out of the log."""
    name = "orchestration-redacted"
    stage.orchestrates(name, work_review=REVIEW).answers(name, plan(subtask(start_phase=3, end_phase=3)))
    stage.answers(name, "sk-secret-123 " + "x" * 20_000).answers(name, verdicts(Backend=True))
    replies = [each.event.reply for each in stage.events() if isinstance(each.event, TurnAnswered)]
    stage.redacts(next(reply.digest for reply in replies if reply.digest))


SCENES: dict[str, Callable[[Stage], None]] = {
    scene.__name__: scene
    for scene in (
        landing,
        not_landed,
        published,
        baselines,
        scopes,
        stuck,
        attempts,
        permissions,
        votes,
        discussed,
        comments,
        channels,
        forks,
        redacted,
    )
}
