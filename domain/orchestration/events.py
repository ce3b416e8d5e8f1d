"""The events of an orchestration. Rounds and the end have the names of the seeds' broadcasts (behaviour §1.13)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from domain.checks.weakening import Weakening
from domain.delivery.validation import BaselineCommand, Escape, Preparation
from domain.session.attempts import ONCE, RetryPolicy, Unready
from domain.session.children import ReviewSettings
from domain.session.team_decisions import TeamPolicy
from domain.session.validation import CleanRoom, Flake, SetupCommand, ValidationStep, WorkCoverage
from domain.session.workspace import EVERYTHING, PathScope
from domain.values.base import DomainEvent, Text, Value, absent
from domain.values.phases import AgentPhase, AgentPhases
from domain.values.sentences import Sentence

Mode = Literal["direct", "orchestrated"]
Forced = Literal["auto", "direct", "orchestrate"]
PartialReason = Literal[
    "rounds",
    "plan_invalid",
    "turn_failed",
    "agent_failed",
    "outside_scope",
    "validation_failed",
    "comments_unchanged",
    Unready,
]


NoChange = Annotated[
    Literal["no_change"] | None,
    Field(exclude_if=absent, description="`no_change` where planned work has changed no file"),
]


class Employee(Value):
    """An agent that takes subtasks."""

    name: str
    role: str


class OrchestrationRequest(Value):
    """The start request of an orchestration."""

    prompt: str = Field(description="the request")
    employees: tuple[Employee, ...] = Field(default=(), description="the agents for subtasks")
    max_rounds: int = Field(default=3, description="maximum number of rounds per run")
    triage: Forced = Field(default="auto", description="the forced mode, if any")
    title: str = ""
    origin: str = Field(default="", description="the conversation it belongs to")
    follows: str | None = Field(default=None, description="the session before it; empty for the first message")
    labels: tuple[str, ...] = ()
    workspace: str | None = Field(default=None, description="the given folder; null for a new one")
    repository: bool = Field(default=False, description="whether that folder is in a git repository")
    started_in: str | None = Field(
        default=None, exclude_if=absent, description="the top folder of the repository that it was started in"
    )
    scenario: Text | None = Field(default=None, description="the replies of scripted agents in this session")
    crew: dict[str, str] = Field(default={}, description="the agent's name for each role and each employee")
    plan_review: ReviewSettings | None = Field(default=None, description="how the plan is debated, if at all")
    work_review: ReviewSettings | None = Field(default=None, description="how passed work is reviewed, if at all")
    retry: RetryPolicy = Field(default=ONCE, description="how failed turns are retried")
    preparation: Preparation = Field(default=Preparation(), description="how its workspaces are prepared")
    scope: PathScope = Field(default=EVERYTHING, description="the paths it may change")
    decisions: TeamPolicy = None
    steps: tuple[ValidationStep, ...] = Field(
        default=(), description="the validation commands, in order; none: it is off"
    )


class TreeFailures(Value):
    """Why the commands fail on another tree: an earlier one of the round, or the one that the work began with."""

    tree: str
    reasons: tuple[str, ...]


class TriageSignals(Value):
    """What the triage saw: `orchestrate` is what the rule says, whatever was forced."""

    orchestrate: bool = Field(description="whether the request needs a plan and a team")
    signals: tuple[str, ...] = Field(description="the signals found")
    policy: str = Field(description="the version of the rule")


class OrchestrationEvent(DomainEvent):
    """`message` is a sentence for people; `round` is 0 before the first round."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    round: int = Field(default=0, description="0 before the first")


class OrchestrationTransition(OrchestrationEvent):
    """An event that leads to another state of the chart."""

    state: str = Field(description="the state of the chart that it leads to")


class OrchestrationStarted(OrchestrationTransition):
    """A request came in and was triaged (S3)."""

    TOPIC: ClassVar[str] = "orchestration.session_started"
    policy: str = Field(default="orchestration@1", description="the version of the rules in force for this session")
    opening: OrchestrationRequest = Field(description="the request")
    mode: Mode = Field(description="answered directly, or planned and distributed")
    triage: TriageSignals = Field(description="the result of the triage rule")


class RunBaselineRecorded(OrchestrationEvent):
    """The workspace was prepared and validated once, before any agent worked."""

    TOPIC: ClassVar[str] = "orchestration.baseline_recorded"
    commands: tuple[BaselineCommand, ...] = Field(default=(), description="the validation commands, in order")
    setup: tuple[SetupCommand, ...] = Field(default=(), description="the set-up commands, up to the first that failed")
    escapes: tuple[Escape, ...] = Field(default=(), description="what validation would load from elsewhere")
    env: dict[str, str] = Field(default_factory=dict, description="variables that make the workspace take precedence")


class BrokenBy(Value):
    """The failures that an agent's tree is the first one to show."""

    index: int = Field(description="the agent's place in the plan")
    agent: str
    reasons: tuple[str, ...]


def _is_false(value: bool) -> bool:
    return not value


class RoundValidated(OrchestrationEvent):
    """The validation commands ran on the tree of a round, before its verdicts, or on what a direct answer changed."""

    TOPIC: ClassVar[str] = "orchestration.validated"
    passed: bool = Field(description="whether every command passed")
    summary: str = ""
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="how a command that failed ended")
    reasons: tuple[str, ...] = Field(default=(), description="the lines that say why it failed")
    new_failures: tuple[str, ...] = Field(default=(), description="those that were not there before any change")
    flaky: tuple[Flake, ...] = Field(default=(), description="commands that failed and passed on the same tree")
    weakened: tuple[Weakening, ...] = Field(default=(), description="what makes the validation weaker than before")
    clean_room: CleanRoom | None = Field(
        default=None, exclude_if=absent, description="the run in a fresh checkout; null where there was none"
    )
    coverage: WorkCoverage | None = Field(
        default=None, exclude_if=absent, description="which added lines no command has run; null where it is not asked"
    )
    no_tests: bool = Field(default=False, exclude_if=_is_false, description="whether it passed without any test")
    broken: tuple[BrokenBy, ...] = Field(default=(), description="the agents who fail the round for new failures")
    earlier: tuple[TreeFailures, ...] = Field(
        default=(), description="the earlier trees of the round that were checked"
    )
    report: Text = Field(default=Text(), description="every command with its output (JSON)")


class PlanRefused(OrchestrationEvent):
    """The planner's plan is invalid; `reasons` says why (K-16, K-18)."""

    TOPIC: ClassVar[str] = "orchestration.plan_refused"
    reasons: tuple[str, ...] = Field(description="for people, and for the planner to fix")
    sentences: tuple[Sentence | None, ...] = Field(default=(), description="each as data; null for others' texts")
    attempt: int = Field(description="1 for the first plan")


class PlanMade(OrchestrationTransition):
    """Version `plan_version` of the plan: who does what, in which phases (S1 §3.1)."""

    TOPIC: ClassVar[str] = "orchestration.plan_made"
    plan_version: int = Field(description="counts the plans of this session")
    plan: Text = Field(description="the plan in the planner's words")
    agents: tuple[AgentPhases, ...] = Field(description="each agent's part, in the plan's order")
    warnings: tuple[str, ...] = Field(default=(), description="what was corrected in the plan")
    sentences: tuple[Sentence | None, ...] = Field(default=(), description="each warning as data")
    last_round: int = Field(default=0, description="the round after which the run stops unless it is given more (K-13)")
    source: Literal["planner", "agent"] = Field(default="planner", description="or an agent that delegates")


class RoundStart(OrchestrationTransition):
    """A round started; `parallel` says for each agent whether it works in parallel (K-19)."""

    TOPIC: ClassVar[str] = "orchestration.round_start"
    agent_phases: tuple[AgentPhase, ...] = Field(description="the agents of this round and their work")
    parallel: tuple[bool, ...] = Field(description="for each of them")


class WorkReported(OrchestrationEvent):
    """An agent's turn in this round is over; `claimed` are the phases it reports as done (K-12)."""

    TOPIC: ClassVar[str] = "orchestration.work_reported"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the phase it worked on")
    result: Literal["done", "error"] = Field(description="`error`: it did not answer")
    report: Text = Field(description="its answer, or the error")
    claimed: tuple[int, ...] = Field(default=(), description="phases")


class JudgingStarted(OrchestrationTransition):
    """Every agent in the round has reported; the judge is asked."""

    TOPIC: ClassVar[str] = "orchestration.judging_started"


class VerdictUnreadable(OrchestrationEvent):
    """The judge's answer could not be read; no agent advances (K-15)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_unreadable"
    problem: str = Field(description="why not")
    sentence: Sentence | None = Field(default=None, description="the problem as data; null for others' texts")
    attempt: int = Field(description="1 for the first answer; in old logs 2 for the second of a round")


class VerdictRefused(OrchestrationEvent):
    """A verdict on an agent that is not judged in this round; it changes nothing."""

    TOPIC: ClassVar[str] = "orchestration.verdict_refused"
    agent: str = Field(description="as the judge named it")
    reason: str = Field(description="why it is ignored")


class VerdictGiven(OrchestrationEvent):
    """The verdict on an agent in this round, the phases it covers, and the agent's new position. `judged` is empty
    where the judge's answer could not be read: a FAIL by default (K-15)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_given"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the first phase that was judged")
    judged: tuple[int, ...] = Field(description="the phases that were judged")
    passed: bool = Field(alias="pass")
    feedback: str = Field(description="the judge's words, for the agent's next turn")
    phase_idx: int = Field(description="the agent's new position in its phases")
    completed: bool = Field(description="whether all of them are done")


class ReviewStarted(OrchestrationTransition):
    """Passed work is reviewed before the round counts; the verdicts are kept until then."""

    TOPIC: ClassVar[str] = "orchestration.review_started"
    all_done: bool = Field(description="whether the judge reported everything as done")
    words: Text = Field(description="the judge's reply")


class VerdictOverturned(OrchestrationEvent):
    """A person wants passed work fixed; the agent goes back to the phase with the findings (K-25)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_overturned"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the phase it returns to")
    feedback: str = Field(description="for the agent's next turn")
    issues: str = Field(default="", description="what has to be fixed: the feedback without the synthesis")
    synthesis: Text = Field(description="the review in one text")
    child_id: str = Field(description="the review")


class PlanReturned(OrchestrationTransition):
    """A person wants the plan revised; the planner is asked again, with the synthesis (K-24)."""

    TOPIC: ClassVar[str] = "orchestration.plan_returned"
    synthesis: Text = Field(description="the debate in one text")
    child_id: str = Field(description="the debate")


class RoundDone(OrchestrationEvent):
    """The round is over; the next one follows, or the run is complete."""

    TOPIC: ClassVar[str] = "orchestration.round_done"
    action: Literal["next", "complete"] = Field(description="what follows")
    agent_phases: tuple[AgentPhase, ...] = Field(description="the position of every agent")
    all_done: bool = Field(default=False, description="whether the judge reported everything as done")


class CheckpointReached(OrchestrationTransition):
    """The requested scope is done and a person decides what follows; agents pause, their sessions are kept (K-2)."""

    TOPIC: ClassVar[str] = "orchestration.checkpoint_reached"
    summary: Text = Field(description="the work so far")
    hint: str = Field(description="a hint for people: how to continue")
    outside: tuple[str, ...] = Field(default=(), description="paths outside the scope, which continuing permits")
    reason: NoChange = None


class PartialReached(OrchestrationTransition):
    """The run is out of rounds, or has no valid plan; it can be continued (K-46)."""

    TOPIC: ClassVar[str] = "orchestration.partial_reached"
    reason: PartialReason = Field(description="why it stops")
    summary: Text = Field(description="the work so far")
    done: tuple[str, ...] = Field(default=(), description="agents that are done")
    pending: tuple[str, ...] = Field(default=(), description="agents that are not done")


class Completed(OrchestrationTransition):
    """The request was answered, or all its work is done."""

    TOPIC: ClassVar[str] = "orchestration.completed"
    summary: Text = Field(description="the answer, or the work done")
    all_done: bool = Field(default=False, description="whether the judge decided that")
    reason: NoChange = None


class OrchestrateDone(OrchestrationEvent):
    """Announces the end of a run (§1.13)."""

    TOPIC: ClassVar[str] = "orchestration.orchestrate_done"
    text: Text = Field(description="the summary")
    origin: str = Field(description="the conversation it belongs to")
    status: str = Field(description="the session's status")
    checkpoint: bool = Field(default=False, description="whether it paused at a checkpoint")


class Continued(OrchestrationTransition):
    """A person continued a paused or partial run from where it stopped (K-7, K-9)."""

    TOPIC: ClassVar[str] = "orchestration.continued"
    agents: tuple[AgentPhases, ...] = Field(description="each agent's part from here on")
    last_round: int = Field(description="the last round")
    origin: str = Field(description="the conversation it belongs to")


class OrchestrationRetried(OrchestrationTransition):
    """A person retried the failed turn; everything before it stays."""

    TOPIC: ClassVar[str] = "orchestration.retried"
    why: str = Field(default="", description="as the person gave it")


class RunRevisionBegun(OrchestrationTransition):
    """The run goes on with what a person wants changed: in a new round, or with another direct answer."""

    TOPIC: ClassVar[str] = "orchestration.revision_begun"
    revisions: tuple[str, ...] = Field(description="the change requests that it goes on with")
    agents: tuple[AgentPhases, ...] = Field(default=(), description="the agents with their phases")
    last_round: int = Field(description="the round after which it stops")
    more: bool = Field(default=False, description="whether it has more rounds than before")
    origin: str = Field(default="", description="where the request came from")
    answer: Text = Field(default=Text(), description="the direct answer so far")


class RoundsAdded(OrchestrationEvent):
    """A person added rounds."""

    TOPIC: ClassVar[str] = "orchestration.rounds_added"
    add_rounds: int = Field(description="how many")
    last_round: int = Field(description="the last round")
    why: str = Field(description="as the person gave it")


class WasReset(OrchestrationTransition):
    """A person ended the run for good; its history stays (K-17, K-20)."""

    TOPIC: ClassVar[str] = "orchestration.reset"
    reason: str = Field(description="as the person gave it")
    origin: str = Field(description="the conversation it belongs to")
    summary: Text = Field(description="the work so far")
    children: tuple[str, ...] = Field(default=(), description="discussions that end with it")


EVENTS: tuple[type[DomainEvent], ...] = (
    OrchestrationStarted,
    RunBaselineRecorded,
    RoundValidated,
    PlanRefused,
    PlanMade,
    RoundStart,
    WorkReported,
    JudgingStarted,
    VerdictUnreadable,
    VerdictRefused,
    VerdictGiven,
    ReviewStarted,
    VerdictOverturned,
    PlanReturned,
    RoundDone,
    CheckpointReached,
    PartialReached,
    Completed,
    OrchestrateDone,
    Continued,
    RunRevisionBegun,
    OrchestrationRetried,
    RoundsAdded,
    WasReset,
)
