"""Scenes of the golden logs: whatever people say in words, in every place where they may."""

from collections.abc import Callable
from typing import Any, Final

from domain.delivery.commands import CancelDelivery, ExtendBudget
from domain.discussion.state import Discussion
from domain.orchestration.commands import AddRounds, ResetOrchestration
from domain.session.children import Decide
from domain.session.comments import AddComment, ChangeComment
from domain.session.forks import ForkSession
from domain.session.revisions import ReviseSession
from domain.session.team_decisions import DecisionComment, DecisionPolicy
from domain.session.turns import RecordReply, RetryTurn
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from tests.golden.happenings import HEAD, PREPARED, changes
from tests.golden.scenes import BLOCKING, validated
from tests.projections.given import APPROVING
from tests.projections.stage import Stage, critique, plan, subtask, verdicts

ANN, BOB = "person:ann", "person:bob"
REMARKS: Final = (
    DecisionComment(text="Ann's remark on two lines.", path="src/a.py", line=1, end_line=2),
    DecisionComment(text="Ann's remark on a file.", path="src/a.py"),
    DecisionComment(text="Ann's remark on the whole."),
)
OF_BOB: Final = DecisionComment(text="Bob's remark on a line.", path="src/a.py", line=3)


def remarked(stage: Stage) -> None:
    """Decisions with remarks: of one person, of two who vote; and the reasons, answers and requests of people."""
    _decides(stage)
    _votes(stage)
    _delivers(stage)
    _forks(stage)
    _orchestrates(stage)


def _decides(stage: Stage) -> None:
    name = "review-remarked"
    stage.discusses(name)
    stage.answers(name, critique("NEEDS_FIX", "No test"))
    _all_agree(stage, name)
    stage.do(
        name,
        Decide(choice="apply_fix", rationale="Ann's reason to decide.", actor=ANN, comments=REMARKS),
        actor=ANN,
    )


def _votes(stage: Stage) -> None:
    name = "review-voted-on"
    stage.discusses(name, decisions=DecisionPolicy(approvers=2))
    _all_agree(stage, name)
    said = {ANN: ("Ann's reason to vote.", REMARKS[:1]), BOB: ("Bob's reason to vote.", (OF_BOB,))}
    for actor, (words, remarks) in said.items():
        talk = stage.session(name)
        assert isinstance(talk, Discussion)
        vote = Decide(choice="apply_fix", rationale=words, actor=actor, comments=remarks, seen=talk.seen)
        stage.do(name, vote, actor=actor)


def _all_agree(stage: Stage, name: str) -> None:
    while waiting := [turn for turn in stage.session(name).outstanding.values() if turn.work != "wait"]:
        stage.answers(name, "I agree and accept.", agent=waiting[0].agent)


def _delivers(stage: Stage) -> None:
    name = "delivery-reasoned"
    stage.delivers(name, limits=BudgetLimits(max_iterations=1))
    stage.fails(name)
    stage.do(name, RetryTurn(reason="Ann's reason to ask again."), actor=ANN)
    for words in ("One step.", "One module.", "One function."):
        stage.answers(name, words, **({"prepared": PREPARED} if words == "One step." else {}))
    stage.answers(name, "Written.", tree=HEAD, **changes("src/a.py"))
    validated(stage, name)
    stage.answers(name, BLOCKING)
    stage.do(name, ExtendBudget(add_iterations=1, reason="Ann's reason for more."), actor=ANN)
    stage.answers(name, "Fixed.")
    validated(stage, name)
    stage.answers(name, APPROVING)
    lines: dict[str, Any] = {"path": "src/a.py", "line": 1, "end_line": 1, "quote": ("x",), "head": HEAD}
    stage.do(name, AddComment(text="Ann's comment on a line.", actor=ANN, **lines), actor=ANN)
    stage.do(name, AddComment(text="Bob's comment on the whole.", actor=BOB), actor=BOB)
    resolved = ChangeComment(comment_id="c2", status="resolved", reason="Bob's reason to resolve.", actor=BOB)
    stage.do(name, resolved, actor=BOB)
    insisted = ChangeComment(comment_id="c2", status="open", reason="Ann's reason to insist.", actor=ANN)
    stage.do(name, insisted, actor=ANN)
    text, blobs = Text.of("Ann's request for changes.")
    stage.do(name, ReviseSession(text=text, blobs=blobs, actor=ANN), actor=ANN)
    stage.do(name, CancelDelivery(reason="Ann's reason to stop."), actor=ANN)


def _forks(stage: Stage) -> None:
    """Ann answers for an agent in a fork."""
    stage.delivers("delivery-asked")
    at = stage.session("delivery-asked").version
    reply, blobs = Text.of("Ann's answer for the planner.")
    then = RecordReply(turn_id="delivery-ann.t1", attempt=0, reply=reply, blobs=blobs)
    fields = {"source": "delivery-asked", "at_version": at, "author": ANN}
    instead = {"answer": {"text": "Ann's answer for the planner."}}
    stage.do("delivery-ann", ForkSession(then=then, substitute=instead, **fields), starts=True, actor=ANN)


def _orchestrates(stage: Stage) -> None:
    name = "orchestration-reasoned"
    stage.orchestrates(name, max_rounds=1)
    stage.answers(name, plan(subtask(start_phase=3, end_phase=3)))
    stage.answers(name, "Built.").answers(name, verdicts(Backend=False))
    stage.do(name, AddRounds(add_rounds=1, reason="Ann's reason for a round."), actor=ANN)
    stage.do(name, ResetOrchestration(reason="Ann's reason to reset."), actor=ANN)


SCENES: Final[dict[str, Callable[[Stage], None]]] = {"remarked": remarked}
