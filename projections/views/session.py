"""Defines what a session says of itself, kind by kind (contract §2, Views)."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from domain.checks.weakening import Weakening
from domain.convergence.assessment import Metrics
from domain.delivery.chart import Phase, PhaseStatus
from domain.delivery.chart import Status as DeliveryStatus
from domain.discussion.events import StopReason
from domain.orchestration.chart import Status as OrchestrationStatus
from domain.orchestration.events import Mode
from domain.session.attempts import Work
from domain.session.forge import ForgeKind, RestReason
from domain.session.turns import FenceLevel
from domain.session.validation import CleanRoom, Flake, Stage, Validated, WorkCoverage
from domain.session.workspace import FileStatus
from domain.values.base import absent
from domain.values.budget import Reason
from domain.values.network import RefusedHost
from domain.values.phases import AgentPhases, PhaseVerification
from domain.values.sentences import Sentence
from projections.views.base import ApprovalView, PermissionRequestView, RevisionView, View, VoteView, empty

IMPORTED: Final = "imported"
"""The reason of a waiting turn that came unfinished with another log."""


class TurnView(View):
    """A turn that is waited for."""

    turn_id: str
    work: Work
    agent: str
    role: str
    phase: str | None
    round: int | None
    requested_at: str
    attempt: int | None = Field(
        default=None, exclude_if=absent, description="the number of the next attempt, once one has failed"
    )
    waiting_until: str | None = Field(default=None, exclude_if=absent, description="when the next attempt begins")
    waiting_for: str | None = Field(
        default=None,
        exclude_if=absent,
        description="why it waits: the failure's code, `permission`, `machine`, or `imported` with another log",
    )
    checked_out_in: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the folder in which the session's branch is checked out, if it waits for that (`branch`): check "
        "out another one there first",
    )
    machine: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the machine that it waits for: only that machine has the workspace, and no worker runs there",
    )
    external: bool | None = Field(
        default=None, exclude_if=absent, description="true if an external worker claims the turn, or has claimed it"
    )
    elsewhere: bool | None = Field(
        default=None, exclude_if=absent, description="true if this service does not have the turn's agent"
    )


def is_imported(turns: Sequence[TurnView]) -> bool:
    """True where all work that a session waits for came unfinished with another log: nothing here does it."""
    work = [turn for turn in turns if turn.work != "wait"]
    return bool(work) and all(turn.waiting_for == IMPORTED for turn in work)


class Listed(View):
    """The parts of a session's view that lists have, too."""

    id: str
    kind: str
    status: str
    title: str
    version: int
    created_at: str
    updated_at: str
    origin: str
    labels: tuple[str, ...]
    parent: str | None
    children: tuple[str, ...]
    forked_from: str | None
    outstanding_turns: tuple[TurnView, ...]
    last_error: str | None
    last_error_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="the last error as data")
    scripted: bool | None = Field(
        default=None, exclude_if=absent, description="true if a scripted agent takes part, which does no real work"
    )


class SessionView(Listed):
    """The view of a session of any kind. A subclass says what its kind adds; its `kind` is a literal."""

    permission_requests: tuple[PermissionRequestView, ...] | None = Field(
        default=None, exclude_if=absent, description="the permissions that agents are waiting for, oldest first"
    )
    revisions: tuple[RevisionView, ...] | None = Field(
        default=None, exclude_if=absent, description="the changes that people want in its result, oldest first"
    )
    owner: str | None = Field(default=None, description="who started it")
    repository: str | None = Field(default=None, description="the workspace it was started on")
    forked_at: int | None = Field(default=None, description="the last version that a fork shares with its source")
    held: bool = Field(description="a fork that stopped where no recorded answer fits; `continue` resumes it")
    workspace: str | None
    in_place: bool | None = Field(
        default=None, exclude_if=absent, description="true if agents edit the workspace itself, as it has no git"
    )
    fence: FenceLevel | None = Field(default=None, description="the weakest sandbox of a turn; null if nothing was run")
    fence_gaps: tuple[str, ...] = Field(default=(), description="what the sandbox of a turn did not restrict")
    refused_hosts: tuple[RefusedHost, ...] = Field(
        default=(), description="hosts that its programs wanted to reach and may not; `count` says how often"
    )


class ScopeRequestView(View):
    """Changes outside the scope that a person has to allow or deny."""

    request_id: str
    paths: tuple[str, ...]
    since: str


class ResultBase(View):
    branch: str | None = Field(description="null for a detached head, and without git")
    commit: str
    reviewed_on: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the commit below it, where it has uncommitted changes that were reviewed, and are replaced",
    )


class ResultFile(View):
    path: str
    status: FileStatus
    added: int | None = Field(description="lines; null for a binary file")
    removed: int | None
    renamed_from: str | None = Field(default=None, exclude_if=absent, description="the old path of a renamed file")
    ignored: bool = Field(
        default=False,
        exclude_if=lambda ignored: not ignored,
        description="whether it is a new file that git ignores; an agent's git tracks it",
    )
    named: bool = Field(description="whether the request or the plan named it")
    decides: Literal["settings", "test"] | None = Field(
        default=None,
        exclude_if=absent,
        description="`test` for a test, `settings` for another file that decides what the validation checks",
    )


class LandedView(View):
    branch: str
    commit: str


class ReviewedView(View):
    """How much of the changes the last review was shown, in added and removed lines."""

    shown: int
    of: int


class LandingView(View):
    onto: str = Field(description="the branch")
    status: Literal["landed", "sent_back", "not_tried"]
    commit: str | None = Field(description="the merge")
    reason: str | None = Field(description="why it did not land; null if it did")
    paths: tuple[str, ...] = Field(description="the files that are in conflict, or in the way")
    detail: str | None = Field(default=None, exclude_if=absent, description="what is in the way, and what to do")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`detail` as data")


class PullRequestCheck(View):
    name: str
    conclusion: str
    url: str


class PullRequestChecks(View):
    """The checks of the newest commit, once all had ended."""

    head: str
    conclusion: Literal["success", "failure"]
    items: tuple[PullRequestCheck, ...]


class PullRequestComment(View):
    """A comment at the forge. `counts`: its author may push, or is allowed; others start nothing."""

    id: str
    by: str
    path: str | None
    line: int | None
    text: str
    head: str | None
    counts: bool
    url: str
    comment_id: str | None = Field(description="the session's comment that it became")
    status: str | None = Field(description="of that comment")


class PullRequestView(View):
    """The pull request of a result, at the forge."""

    forge: ForgeKind
    project: str
    number: int | None = Field(description="null until it is open")
    url: str | None
    state: Literal["none", "open", "merged", "closed"]
    follow: bool = Field(description="whether it is kept at until it is merged or closed")
    base: str
    branch: str
    head: str | None = Field(description="the commit of its branch at the forge")
    checks: PullRequestChecks | None
    mergeable: bool | None = Field(description="false in a conflict with the base; null before it is open")
    comments: tuple[PullRequestComment, ...]
    revisions: int = Field(description="how many revisions the forge has caused")
    rest: RestReason | None = Field(description="why nothing more is done until a person acts")
    detail: str | None = Field(description="more about that")
    waiting: tuple[str, ...] = Field(description="the settings of the CI that a push would change that waits")
    unavailable: str | None = Field(description="what the forge does instead of answering")
    issue: str | None = Field(description="the issue that the work began with")


class ResultView(View):
    """What the session has changed so far."""

    repository: str | None
    base: ResultBase
    branch: str | None = Field(description="null until the result is handed over, and without git")
    branch_problem: str | None = Field(default=None, exclude_if=absent, description="why no branch could be made")
    branch_problem_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="the problem as data")
    head: str
    commits: tuple[str, ...] = Field(description="oldest first")
    files: tuple[ResultFile, ...]
    names_files: bool = Field(default=False, description="true where the request or the plan named files")
    outside: tuple[str, ...] = Field(default=(), description="changed files that the scope does not allow")
    validated: Validated | None = Field(
        default=None, description="the last validation of this work; null where there was none"
    )
    why: Literal["no_tests"] | None = Field(
        default=None, exclude_if=absent, description="why a validation that passed counts for nothing"
    )
    reviewed: ReviewedView | None = Field(
        default=None,
        exclude_if=absent,
        description="how much of the changes the last reviewer or judge was shown, if that is known",
    )
    landed: LandedView | None = Field(default=None, exclude_if=absent, description="where `land` merged it")
    landing: LandingView | None = Field(default=None, exclude_if=absent, description="the outcome of the newest `land`")
    pull_request: PullRequestView | None = Field(
        default=None, exclude_if=absent, description="the pull request, if one was wanted"
    )


class ReportView(View):
    """What the last validation has shown besides its outcome."""

    clean_room: CleanRoom | Literal[False] = Field(
        description="the run in a fresh checkout; false where the commands were not run as in a clone"
    )
    flaky: tuple[Flake, ...] = Field(default=(), description="commands that failed and passed on the same tree")
    weakened: tuple[Weakening, ...] = Field(
        default=(), description="what makes the validation prove less than before the work"
    )
    coverage: WorkCoverage | None = Field(
        default=None, exclude_if=absent, description="which added lines no command has run; null where it is not asked"
    )


class PlannedCommand(View):
    stage: Stage
    command: str


class BudgetView(View):
    """Amounts without a limit and amounts that were never reported are left out."""

    max_iterations: int
    max_minutes: int
    started_at: str
    deadline_at: str
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason | None
    tokens: int | None = Field(default=None, exclude_if=absent)
    cost_micros: int | None = Field(default=None, exclude_if=absent)
    max_tokens: int | None = Field(default=None, exclude_if=absent)
    max_cost_micros: int | None = Field(default=None, exclude_if=absent)
    unknown_turns: int | None = Field(default=None, exclude_if=absent)


class DeliveryView(SessionView):
    kind: Literal["delivery"]
    status: DeliveryStatus
    task: str
    file_paths: tuple[str, ...]
    validation_commands: tuple[PlannedCommand, ...]
    max_attempts: int = Field(
        description="the older name of `budget.maxIterations`", json_schema_extra={"deprecated": True}
    )
    current_phase: Phase
    phase_statuses: dict[Phase, PhaseStatus]
    iteration: int
    attempt: int
    budget: BudgetView
    artifact_refs: dict[Phase, str]
    feedback: str | None
    final_summary: str | None
    final_summary_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="the summary as data")
    result: ResultView | None = Field(default=None, description="null while nothing has changed")
    report: ReportView | None = Field(default=None, description="of the last validation; null before it")
    reason: str | None = Field(
        description="why it stopped, as a code; null while it runs, and after a success `no_change` or null"
    )
    scope_request: ScopeRequestView | None = Field(
        default=None, exclude_if=absent, description="changes outside the scope that wait for a person"
    )


class TriageView(View):
    orchestrate: bool
    signals: tuple[str, ...]


class EmployeeView(View):
    name: str
    role: str


class PlannedVerification(PhaseVerification):
    """What was left out stays out."""

    pass_criteria: str | None = Field(default=None, exclude_if=absent)
    fail_criteria: str | None = Field(default=None, exclude_if=absent)
    affected_files: tuple[str, ...] | None = Field(default=None, exclude_if=absent)


class PlannedAgent(AgentPhases):
    verification: PlannedVerification | None = None


AgentStatus = Literal["active", "paused", "completed", "stopped"]
GATES: Final = {"completed": "✅ 완료", "paused": "⏸ checkpoint", "active": "⏳ 진행 중", "stopped": "⏹ 중단"}
"""The seeds' words for an agent's status; the last one is ours, for an agent whose run was reset."""


class AgentView(AgentPhases):
    """One agent's part, and its position in the matrix."""

    status: AgentStatus
    gate: str
    phase_name: str
    subtask_id: str = Field(description="as verdicts name it; an agent may have several subtasks")
    agent_session: str | None = Field(description="the handle of its conversation, null once it is cleared")


class OrchestrationView(SessionView):
    kind: Literal["orchestration"]
    status: OrchestrationStatus
    prompt: str
    mode: Mode
    triage: TriageView
    employees: tuple[EmployeeView, ...]
    plan: str | None = Field(description="its head; `plan_made` has the whole")
    plan_version: int
    round: int
    max_rounds: int
    last_round: int = Field(description="the round after which it stops unless it is given more")
    agents: tuple[AgentView, ...]
    summary: str | None
    reason: str | None
    warnings: tuple[str, ...]
    warning_sentences: tuple[Sentence | None, ...] = Field(
        default=(), exclude_if=empty, description="each warning as data, in the same order"
    )
    result: ResultView | None = Field(default=None, description="null while nothing has changed")
    report: ReportView | None = Field(default=None, description="of the last validation; null before it")


class RoundView(View):
    """One contribution to a discussion."""

    round: int
    role: str
    agent: str
    content: str = Field(description="its head; the event has the whole")
    length: int = Field(description="UTF-8 bytes of the whole text")
    feedback: dict[str, Any] | None = Field(description="what could be read of it")
    problem: str | None = Field(description="why what was needed could not be read")
    problem_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`problem` as data")
    stand_in: bool = Field(default=False, description="whether a person wrote it, for the agent")


class SynthesisView(View):
    text: str
    fallback: bool = Field(description="whether it is only the rounds, joined")
    counts: dict[str, Any] | None = Field(
        description="the verdict and the tallies that it ends with, where they could be read"
    )


class DecisionCommentView(View):
    """A person's remark with a decision."""

    text: str
    path: str | None
    line: int | None
    end_line: int | None


class DecisionView(View):
    """The decision. `expired`: no one decided in time, so the default applied."""

    choice: str
    actor: str
    rationale: str
    at: str
    expired: bool
    votes: tuple[VoteView, ...] = Field(default=(), exclude_if=empty, description="the votes for it, if people vote")
    comments: tuple[DecisionCommentView, ...] = Field(
        default=(), exclude_if=empty, description="what the person remarked with it"
    )


class DiscussionView(SessionView):
    """The common part of a review and a debate."""

    strategy: str
    max_rounds: int
    profile: str = Field(description="the name of the thresholds it is judged by; `custom` if it has its own")
    rounds: tuple[RoundView, ...]
    convergence: Metrics | None
    convergence_history: tuple[Metrics, ...]
    synthesis: SynthesisView | None
    feedback: dict[str, Any] | None
    dissent: tuple[str, ...] = Field(description="points on which the agents never agreed, whatever the metrics say")
    decision: DecisionView | None
    choices: tuple[str, ...] = Field(description="the choices that a person has now; empty if nothing waits")
    stop_reason: StopReason | None
    reason: str | None = Field(description="why its rounds are over: `turn_failed`, or the `stopReason`")
    expires_at: str | None = Field(description="when the decision expires, if it does")
    seen: str | None = Field(default=None, exclude_if=absent, description="digest of what a person decides on")
    approval: ApprovalView | None = Field(
        default=None, exclude_if=absent, description="how the team decides, if the team file says so"
    )


class ReviewView(DiscussionView):
    kind: Literal["review"]
    subject: str = Field(description="its head; `session_started` has the whole")
    status: Literal["reviewing", "synthesizing", "waiting_for_decision", "decided", "cancelled"]


class DebateView(DiscussionView):
    kind: Literal["debate"]
    plan: str = Field(description="its head; `session_started` has the whole")
    status: Literal["debating", "synthesizing", "waiting_for_decision", "decided", "cancelled"]
