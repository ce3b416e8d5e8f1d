"""The answers of the API as commands read them: the fields that they read, with their types.

Written by `.venv/bin/python -m tests.docs.typed_answers` from `docs/openapi.json`; a test compares.
Commands read the JSON itself and no models: that takes no time at the start, and what a newer server adds goes through
to `--json`. A session has the fields of its kind. Its length is that of the API.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class ActivityFrame(TypedDict):
    seq: int
    at: str
    kind: str
    id: NotRequired[str | None]
    tool: NotRequired[str | None]
    title: NotRequired[str | None]
    paths: NotRequired[list[str] | None]
    status: NotRequired[str | None]
    exitCode: NotRequired[int | None]
    text: NotRequired[str | None]


class ActivityList(TypedDict):
    nextCursor: str | None
    items: list[ActivityFrame]


class AgentView(TypedDict):
    agent: str
    task: str
    role: str
    parallel: bool
    checkpoint: bool
    phaseProfile: list[int]
    currentPhaseIdx: int
    completed: bool
    history: list[Judged]
    status: str
    gate: str


class Approval(TypedDict):
    version: int
    actor: str


class ApprovalView(TypedDict):
    approvers: int
    notAuthor: bool
    authors: list[str]
    who: list[str]
    votes: list[VoteView]
    missing: dict[str, int]


class AttentionView(TypedDict):
    fact: str
    version: int


class BecauseView(TypedDict):
    fact: str
    version: int
    finding: str | None


class BlameLine(TypedDict):
    line: int
    text: str
    commit: str
    session: str | None
    turn: str | None
    agent: str | None
    model: str | None
    iteration: int | None
    demandedBy: Demand | None
    validatedBy: int | None
    approvedBy: Approval | None


class BudgetView(TypedDict):
    maxIterations: int
    maxMinutes: int
    elapsedMs: int
    reason: str | None
    tokens: NotRequired[int | None]
    costMicros: NotRequired[int | None]
    maxTokens: NotRequired[int | None]
    maxCostMicros: NotRequired[int | None]


class ChangesView(TypedDict):
    base: ResultBase | None
    head: str | None
    branch: str | None
    files: list[ResultFile]
    namesFiles: bool
    patch: str


class ChannelView(TypedDict):
    origin: str
    busy: str | None
    latest: str | None


class ChartStep(TypedDict):
    event: str
    to: str


class CleanRoom(TypedDict):
    seconds: float
    setup: list[SetupCommand]
    same: bool
    stale: NotRequired[list[str]]


class CommentAnswerView(TypedDict):
    turnId: str
    answer: str
    words: str
    changed: list[str]


class CommentPage(TypedDict):
    nextCursor: str | None
    items: list[CommentView]


class CommentPlaceView(TypedDict):
    path: str
    line: int | None
    endLine: int | None


class CommentView(TypedDict):
    commentId: str
    path: str | None
    line: int | None
    endLine: int | None
    side: str
    quote: list[str]
    text: str
    by: str
    at: str
    head: str | None
    status: str
    reason: str
    answers: list[CommentAnswerView]
    now: CommentPlaceView | None
    outdated: bool


ComparedEvent = TypedDict(
    "ComparedEvent",
    {
        "version": "int",
        "type": "str",
        "agent": "NotRequired[str | None]",
        "round": "NotRequired[int | None]",
        "iteration": "NotRequired[int | None]",
        "phase": "NotRequired[int | str | None]",
        "pass": "NotRequired[bool | None]",
        "choice": "NotRequired[str | None]",
    },
)


class ComparedEvents(TypedDict):
    a: list[ComparedEvent]
    b: list[ComparedEvent]


class Cost(TypedDict):
    a: SpentView
    b: SpentView


class Cut(TypedDict):
    version: int
    asks: str | None
    role: str | None
    turnId: str | None
    recorded: str | None
    needs: str | None


class DecisionCommentView(TypedDict):
    text: str
    path: str | None
    line: int | None
    endLine: int | None


class DecisionPage(TypedDict):
    nextCursor: str | None
    items: list[WaitingItem]


class DecisionView(TypedDict):
    choice: str
    actor: str
    rationale: str
    at: str
    expired: bool
    votes: NotRequired[list[VoteView]]
    comments: NotRequired[list[DecisionCommentView]]


class Demand(TypedDict):
    version: int
    title: str


class Diff(TypedDict):
    a: Side
    b: Side
    firstDivergence: Divergence | None
    decisions: ComparedEvents
    cost: Cost
    state: dict[str, Differing]


class Differing(TypedDict):
    a: Any
    b: Any


class DirectStep(TypedDict):
    event: str


class Divergence(TypedDict):
    a: DivergentEvent | None
    b: DivergentEvent | None


class DivergentEvent(TypedDict):
    version: int
    type: str
    message: str


class EmployeeView(TypedDict):
    name: str
    role: str


class Event(TypedDict):
    position: int
    sessionId: str
    kind: str
    version: int
    type: str
    timestamp: str
    actor: str
    causationId: str
    data: dict[str, Any]


class EventPage(TypedDict):
    items: list[Event]
    nextCursor: str | None


class ExplainedCause(TypedDict):
    version: int
    type: str
    lines: list[str]


class ExplainedCommand(TypedDict):
    version: int
    timestamp: str
    actor: str
    causationId: str
    events: list[ExplainedEvent]


class ExplainedEvent(TypedDict):
    version: int
    type: str
    message: str
    state: str | None


class Explanation(TypedDict):
    sessionId: str
    kind: str
    version: int
    state: str
    chain: list[ExplainedCommand]
    text: str
    cause: ExplainedCause | None
    whyNot: NotRequired[WhyNot | None]


class Fault(TypedDict):
    pointer: str
    detail: str
    code: NotRequired[str | None]
    params: NotRequired[Any]


class FeedbackSummary(TypedDict):
    verdict: str | None
    summary: str
    error: str | None


class FindingEvent(TypedDict):
    version: int
    act: str
    by: str
    round: int | None
    turn: str | None


class FindingView(TypedDict):
    finding: str
    kind: str
    title: str
    detail: str
    by: str
    severity: str
    blocking: bool
    path: str | None
    line: int | None
    gone: bool
    perhaps: str | None
    origin: str | None
    weight: str
    state: str | None
    status: str | None
    open: bool
    because: list[BecauseView]
    life: list[FindingEvent]


class FindingsView(TypedDict):
    policy: str
    version: int
    items: list[FindingView]
    rounds: list[LookView]
    recommendation: str
    because: list[BecauseView]


class Flake(TypedDict):
    stage: str
    command: str
    runs: int
    failed: int
    known: bool


Judged = TypedDict("Judged", {"round": "int", "phase": "int", "pass": "bool", "feedback": "str"})


class LabAnswer(TypedDict):
    asOf: int
    profiles: list[Tried]
    items: list[LabItem]
    totals: list[Tally]
    leftOut: int


class LabItem(TypedDict):
    sessionId: str
    kind: str
    strategy: str
    title: str
    recorded: RecordedEnd
    outcomes: list[LabOutcome]


class LabOutcome(TypedDict):
    profile: str
    reason: str
    round: int | None
    against: str
    suggestion: str | None
    overruled: bool | None


class LandedView(TypedDict):
    branch: str
    commit: str


class LandingView(TypedDict):
    onto: str
    status: str
    commit: str | None
    reason: str | None
    paths: list[str]
    detail: NotRequired[str | None]
    sentence: NotRequired[SentenceData | None]


class LookView(TypedDict):
    version: int
    round: int
    by: str
    blocking: int
    recommendation: str
    because: list[BecauseView]


class MapHunkView(TypedDict):
    path: str
    place: int
    lines: list[MapLine]
    notes: NotRequired[list[PathNoteView]]
    because: list[AttentionView]


class MapLine(TypedDict):
    sign: str
    text: str
    number: int | None
    old: int | None


class MessageAnswer(TypedDict):
    action: str
    kind: str
    position: int
    sessionId: NotRequired[str | None]
    version: int
    reason: NotRequired[str | None]
    continued: NotRequired[bool | None]
    reset: NotRequired[bool | None]
    queued: NotRequired[bool | None]
    pending: NotRequired[int | None]
    suggestions: NotRequired[list[str] | None]
    warnings: NotRequired[list[Warned] | None]


class Metrics(TypedDict):
    agreementRatio: float
    avgStability: float
    overallScore: float
    recommendation: str
    profile: str


class PathNoteView(TypedDict):
    what: str
    old: NotRequired[str | None]
    new: NotRequired[str | None]


class PermissionRequestView(TypedDict):
    requestId: str
    turnId: str
    agent: str
    role: str
    tool: str
    title: str
    paths: list[str]
    since: str


class PlannedCommand(TypedDict):
    stage: str
    command: str


class ProblemDetails(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    code: NotRequired[str | None]
    params: NotRequired[Any]
    errors: NotRequired[list[Fault] | None]
    allowed: NotRequired[list[str] | None]
    reason: NotRequired[str | None]


class Profile(TypedDict):
    name: str
    version: int
    words: str
    agreement: float
    stability: float


class PullRequestCheck(TypedDict):
    name: str
    conclusion: str
    url: str


class PullRequestChecks(TypedDict):
    head: str
    conclusion: str
    items: list[PullRequestCheck]


class PullRequestComment(TypedDict):
    id: str
    by: str
    path: str | None
    line: int | None
    text: str
    head: str | None
    counts: bool
    url: str
    commentId: str | None
    status: str | None


class PullRequestRow(TypedDict):
    number: int | None
    url: str | None
    state: str
    checks: str | None
    rest: str | None
    unavailable: str | None


class PullRequestView(TypedDict):
    forge: str
    number: int | None
    url: str | None
    state: str
    follow: bool
    base: str
    branch: str
    head: str | None
    checks: PullRequestChecks | None
    comments: list[PullRequestComment]
    revisions: int
    rest: str | None
    detail: str | None
    waiting: list[str]
    unavailable: str | None
    issue: str | None


class Readiness(TypedDict):
    status: str
    head: NotRequired[int | None]
    position: NotRequired[int | None]
    views: NotRequired[dict[str, int] | None]
    exampleTeam: NotRequired[bool | None]


class Receipt(TypedDict):
    sessionId: str
    kind: str
    version: int
    position: int
    warnings: NotRequired[list[Warned] | None]


class RecordedEnd(TypedDict):
    profile: str
    rounds: int
    stopReason: str | None
    choice: str | None
    decidedBy: str | None


class RedactionAnswer(TypedDict):
    digest: str
    sessions: list[str]
    events: int
    repeated: dict[str, list[int]]
    shared: list[str]


class RefusedHost(TypedDict):
    host: str
    port: int
    reason: str
    count: int


class ReplayAnswer(TypedDict):
    sessionId: str
    version: int
    difference: ReplayDifference | None


class ReplayDifference(TypedDict):
    version: int
    command: str
    expected: str
    actual: str


class ReportView(TypedDict):
    cleanRoom: CleanRoom | bool
    flaky: list[Flake]
    weakened: list[Weakening]


class ResultBase(TypedDict):
    branch: str | None
    commit: str
    reviewedOn: NotRequired[str | None]


class ResultFile(TypedDict):
    path: str
    status: str
    added: int | None
    removed: int | None
    renamedFrom: NotRequired[str | None]
    ignored: NotRequired[bool]
    named: bool
    decides: NotRequired[str | None]


class ResultView(TypedDict):
    repository: str | None
    base: ResultBase
    branch: str | None
    branchProblem: NotRequired[str | None]
    branchProblemSentence: NotRequired[SentenceData | None]
    head: str
    files: list[ResultFile]
    namesFiles: bool
    outside: list[str]
    validated: Validated | None
    why: NotRequired[str | None]
    reviewed: NotRequired[ReviewedView | None]
    landed: NotRequired[LandedView | None]
    landing: NotRequired[LandingView | None]
    pullRequest: NotRequired[PullRequestView | None]


class ReviewMapView(TypedDict):
    version: int
    head: str | None
    unread: NotRequired[SentenceData | None]
    items: list[MapHunkView]


class ReviewedView(TypedDict):
    shown: int
    of: int


class RevisionView(TypedDict):
    by: str
    at: str
    status: str


class RoundView(TypedDict):
    round: int
    role: str
    agent: str
    content: str
    length: int
    feedback: Any
    problem: str | None
    standIn: bool


class ScopeRequestView(TypedDict):
    requestId: str
    paths: list[str]
    since: str


class SentenceData(TypedDict):
    text: str
    code: str
    params: Any


class Session(TypedDict):
    id: str
    kind: str
    status: str
    title: str
    version: int
    createdAt: str
    updatedAt: str
    origin: str
    labels: list[str]
    parent: str | None
    children: list[str]
    forkedFrom: str | None
    outstandingTurns: list[TurnView]
    lastError: str | None
    scripted: NotRequired[bool | None]
    permissionRequests: NotRequired[list[PermissionRequestView] | None]
    revisions: NotRequired[list[RevisionView] | None]
    owner: str | None
    repository: str | None
    forkedAt: int | None
    held: bool
    workspace: str | None
    fence: str | None
    fenceGaps: list[str]
    refusedHosts: list[RefusedHost]
    task: NotRequired[str]
    filePaths: NotRequired[list[str]]
    validationCommands: NotRequired[list[PlannedCommand]]
    maxAttempts: NotRequired[int]
    phaseStatuses: NotRequired[dict[str, str]]
    iteration: NotRequired[int]
    attempt: NotRequired[int]
    budget: NotRequired[BudgetView]
    feedback: NotRequired[Any]
    finalSummary: NotRequired[str | None]
    result: NotRequired[ResultView | None]
    report: NotRequired[ReportView | None]
    reason: str | None
    scopeRequest: NotRequired[ScopeRequestView | None]
    prompt: NotRequired[str]
    mode: NotRequired[str]
    triage: NotRequired[TriageView]
    employees: NotRequired[list[EmployeeView]]
    plan: NotRequired[str | None]
    planVersion: NotRequired[int]
    round: NotRequired[int]
    maxRounds: NotRequired[int]
    lastRound: NotRequired[int]
    agents: NotRequired[list[AgentView]]
    summary: NotRequired[str | None]
    warnings: NotRequired[list[str]]
    warningSentences: NotRequired[list[SentenceData | None]]
    strategy: NotRequired[str]
    profile: NotRequired[str]
    rounds: NotRequired[list[RoundView]]
    convergence: NotRequired[Metrics | None]
    convergenceHistory: NotRequired[list[Metrics]]
    synthesis: NotRequired[SynthesisView | None]
    dissent: NotRequired[list[str]]
    decision: NotRequired[DecisionView | None]
    choices: NotRequired[list[str]]
    stopReason: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    seen: NotRequired[str | None]
    approval: NotRequired[ApprovalView | None]
    subject: NotRequired[str]


class SessionAnswer(TypedDict):
    session: Session
    availableCommands: list[str]
    events: NotRequired[list[Event]]


class SessionItem(TypedDict):
    id: str
    kind: str
    status: str
    title: str
    version: int
    createdAt: str
    updatedAt: str
    origin: str
    labels: list[str]
    parent: str | None
    children: list[str]
    forkedFrom: str | None
    outstandingTurns: list[TurnView]
    lastError: str | None
    scripted: NotRequired[bool | None]
    owner: str
    repository: str | None
    iteration: int | None
    maxIterations: int | None
    round: int | None
    maxRounds: int | None
    lastRound: int | None
    strategy: str | None
    recommendation: str | None
    waiting: str | None
    held: bool
    landing: NotRequired[LandingView | None]
    pullRequest: NotRequired[PullRequestRow | None]
    forkedAt: int | None


class SessionPage(TypedDict):
    nextCursor: str | None
    items: list[SessionItem]


class SetupCommand(TypedDict):
    command: str
    exitCode: int
    passed: bool
    seconds: float


class Side(TypedDict):
    id: str
    kind: str
    version: int
    state: str
    elapsedMs: int
    createdAt: str
    updatedAt: str
    forkedFrom: str | None


class SpentView(TypedDict):
    tokens: int | None
    costMicros: int | None


class SynthesisView(TypedDict):
    text: str
    fallback: bool
    counts: Any


class Tally(TypedDict):
    profile: str
    discussions: int
    earlier: int
    same: int
    later: int
    unknown: int
    converged: int
    upheld: int
    overruled: int


class TeamMemberSettings(TypedDict):
    name: str
    adapter: str
    argv: list[str]
    home: str | None
    network: str | list[str] | None
    services: bool


class TriageView(TypedDict):
    orchestrate: bool
    signals: list[str]


class Tried(TypedDict):
    name: str
    profile: Profile


class TrustedService(TypedDict):
    name: str
    command: str
    ready: str | None
    env: dict[str, str]
    seconds: float


class TrustedSettings(TypedDict):
    workspace: str
    digest: str | None
    setup: list[str]
    env: dict[str, str]
    network: str | list[str]
    setupNetwork: str | list[str]
    services: list[TrustedService]
    ports: list[str]
    filters: bool
    cleanRoom: bool
    copy: list[str]
    link: list[str]
    files: dict[str, str]
    team: str | None
    agents: list[TeamMemberSettings]
    sandbox: str | None
    notify: list[str]


class TurnView(TypedDict):
    turnId: str
    work: str
    agent: str
    role: str
    phase: str | None
    round: int | None
    requestedAt: str
    attempt: NotRequired[int | None]
    waitingUntil: NotRequired[str | None]
    waitingFor: NotRequired[str | None]
    checkedOutIn: NotRequired[str | None]
    machine: NotRequired[str | None]
    external: NotRequired[bool | None]
    elsewhere: NotRequired[bool | None]
    queued: NotRequired[str]


class Validated(TypedDict):
    commands: list[str]
    cleanRoom: bool
    version: int
    passed: bool


class VoteView(TypedDict):
    actor: str
    choice: str
    rationale: str
    at: str


class WaitingItem(TypedDict):
    sessionId: str
    kind: str
    waitsFor: str
    reason: str
    cause: str
    why: str
    title: str
    owner: str
    repository: str | None
    costMicros: int | None
    parent: str | None
    about: str | None
    since: str
    version: int
    choices: list[str]
    requestId: str | None
    agent: NotRequired[str | None]
    tool: NotRequired[str | None]
    question: NotRequired[str | None]
    paths: NotRequired[list[str] | None]
    stopReason: str | None
    convergence: Metrics | None
    feedback: FeedbackSummary | None
    synthesis: str | None
    summary: str | None
    summarySentence: NotRequired[SentenceData | None]
    checkedOutIn: NotRequired[str | None]
    notes: NotRequired[list[SentenceData]]
    expiresAt: str | None
    seen: NotRequired[str | None]
    approval: NotRequired[ApprovalView | None]


class Warned(TypedDict):
    detail: str
    code: str
    params: Any


class Weakening(TypedDict):
    what: str
    path: str | None
    before: int | None


class WhyNot(TypedDict):
    state: str
    direct: list[DirectStep]
    steps: list[ChartStep] | None
    text: str
